"""Print every benchmark, or those that are named: ``python -m benchmarks solvers``.

Options are for the benchmark of quality alone: ``python -m benchmarks quality --data breast``.
"""

import sys
from itertools import takewhile

from benchmarks import estimators, quality, ranked, solvers

REPORTS = {
    "ranked": ranked.report,
    "solvers": solvers.report,
    "estimators": estimators.report,
}

names = list(takewhile(lambda argument: not argument.startswith("-"), sys.argv[1:]))
options = sys.argv[1 + len(names) :]
if options and names != ["quality"]:
    sys.exit(f"{' '.join(options)}: options are for `python -m benchmarks quality` alone")
for name in names or [*REPORTS, "quality"]:
    for line in quality.report(options) if name == "quality" else REPORTS[name]():
        print(line, flush=True)
