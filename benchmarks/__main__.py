"""Print every benchmark, or those that are named: ``python -m benchmarks solvers``."""

import sys

from benchmarks import ranked, solvers

REPORTS = {"ranked": ranked.report, "solvers": solvers.report}

for name in sys.argv[1:] or REPORTS:
    for line in REPORTS[name]():
        print(line, flush=True)
