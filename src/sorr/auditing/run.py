"""An audit from beginning to end: the fit, the judgement of every row, and what both depend on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from sorr.auditing.columns import Roles
from sorr.auditing.example import TARGET, example
from sorr.auditing.fit import Drop, Progress, fit_rows
from sorr.auditing.judgement import judge
from sorr.auditing.report import AuditReport
from sorr.auditing.rows import Rows, labelled_rows
from sorr.auditing.table import Table
from sorr.auditing.variations import quiet, resample, walk

__all__ = ["audit_example", "audit_rows", "audit_table"]


def audit_table(
    table: Table,
    target: str,
    *,
    m: Drop = "auto",
    task: str = "auto",
    id_column: str | None = None,
    ignore: Sequence[str] = (),
    group: Sequence[str] = (),
    seed: int = 0,
    jobs: int = 1,
    progress: Progress | None = None,
) -> AuditReport:
    """Audit a table that was read from a file; the arguments are those of ``sorr audit``."""
    roles = Roles(target, id_column, tuple(ignore), tuple(group))
    rows = labelled_rows(table, roles, task)
    return audit_rows(rows, m=m, seed=seed, jobs=jobs, progress=progress)


def audit_example(*, seed: int = 0, jobs: int = 1, progress: Progress | None = None) -> AuditReport:
    """Audit the robots, whose wrong labels are known."""
    table, wrong = example(seed)
    rows = labelled_rows(table, Roles(TARGET))
    return audit_rows(rows, seed=seed, jobs=jobs, progress=progress, is_wrong=wrong)


def audit_rows(
    rows: Rows,
    *,
    m: Drop = "auto",
    seed: int = 0,
    jobs: int = 1,
    progress: Progress | None = None,
    is_wrong: npt.NDArray[np.bool_] | None = None,
) -> AuditReport:
    """Fit, judge every row, and find out what both depend on."""
    tell = _teller(progress)
    tell(0.0)(0.0, "the robust fit")
    fitted = fit_rows(rows, m=m, seed=seed, jobs=jobs)
    tell(0.3)(0.0, "the plain fit")
    with quiet():
        plain = clone(fitted.model).set_params(m=0).fit(fitted.X, rows.y)
        judgement = judge(fitted, seed, jobs)
    walked = walk(fitted, seed, jobs, tell(0.35, 0.65))
    resampled = resample(fitted, seed, jobs, tell(0.65, 1.0))
    report = AuditReport(fitted, plain, judgement, walked, resampled, is_wrong)
    tell(1.0)(0.0, "")
    return report


def _teller(progress: Progress | None) -> Callable[..., Callable[[float, str], None]]:
    """Return what makes the progress of a part into that of the whole."""

    def part(begin: float, end: float = 1.0) -> Callable[[float, str], None]:
        def tell(done: float, label: str) -> None:
            if progress is not None:
                progress(begin + done * (end - begin), 1.0, label)

        return tell

    return part
