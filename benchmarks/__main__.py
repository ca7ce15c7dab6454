"""Print every benchmark."""

from benchmarks import ranked

print(ranked.report())
