"""Print every benchmark, or those that are named: ``python -m benchmarks solvers``.

Some have options, given after a single name: ``python -m benchmarks quality --data breast``. The
long ones, `labels`, `regression`, `topk`, `mnist`, `audit`, `intake`, `review`, `workbench` and
`networks`, run only if named.
"""

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import takewhile

SHORT = ("ranked", "solvers", "estimators", "quality")
LONG = (
    *("labels", "regression", "topk", "mnist", "audit", "intake", "review", "workbench"),
    "networks",
)
WITH_OPTIONS = ("solvers", "quality", *LONG)

names = list(takewhile(lambda argument: not argument.startswith("-"), sys.argv[1:]))
options = sys.argv[1 + len(names) :]
if unknown := [name for name in names if name not in SHORT + LONG]:
    sys.exit(f"{', '.join(unknown)} not known; needed names among {', '.join(SHORT + LONG)}")
if options and (len(names) != 1 or names[0] not in WITH_OPTIONS):
    sys.exit(f"{' '.join(options)}: options need a single name, one of {', '.join(WITH_OPTIONS)}")
for name in names or SHORT:
    report: Callable[..., Iterator[str]] = import_module(f"benchmarks.{name}").report
    for line in report(options) if name in WITH_OPTIONS else report():
        print(line, flush=True)
