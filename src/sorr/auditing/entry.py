"""An audit from beginning to end: the fit, the judgement of every row, and what both depend on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone

from sorr._checks import as_whole_seed
from sorr._typing import BoolArray, Report
from sorr.auditing.findings import judge
from sorr.auditing.fit import Drop, fit_rows
from sorr.auditing.report import AuditReport
from sorr.auditing.rows import Roles, Rows, labelled_rows
from sorr.auditing.table import Table, TableError, quote_bare
from sorr.auditing.variations import ignore_warnings, resample, sweep
from sorr.datasets import flip_symmetric, load_monk

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["TARGET", "Example", "audit", "audit_example", "audit_rows", "audit_table", "example"]


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
    progress: Report | None = None,
) -> AuditReport:
    """Audit a table that was read from a file; the arguments are those of ``sorr audit``."""
    roles = Roles(target, id_column, tuple(ignore), tuple(group))
    rows = labelled_rows(table, roles, task)
    return audit_rows(rows, m=m, seed=seed, jobs=jobs, progress=progress)


def audit_example(*, seed: int = 0, jobs: int = 1, progress: Report | None = None) -> AuditReport:
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
    progress: Report | None = None,
    is_wrong: BoolArray | None = None,
) -> AuditReport:
    """Fit, judge every row, and find out what both depend on."""
    tell = _teller(progress)
    tell(0.0)(0.0, "the robust fit")
    fitted = fit_rows(rows, m=m, seed=seed, jobs=jobs)
    tell(0.3)(0.0, "the plain fit")
    with ignore_warnings():
        plain = clone(fitted.model).set_params(m=0).fit(fitted.X, rows.y)
        judgement = judge(fitted, seed, jobs)
    swept = sweep(fitted, seed, jobs, tell(0.35, 0.65))
    resampled = resample(fitted, seed, jobs, tell(0.65, 1.0))
    report = AuditReport(fitted, plain, judgement, swept, resampled, is_wrong)
    tell(1.0)(0.0, "")
    return report


def _teller(progress: Report | None) -> Callable[..., Callable[[float, str], None]]:
    """Return what makes the progress of a part into that of the whole."""

    def part(begin: float, end: float = 1.0) -> Callable[[float, str], None]:
        def tell(done: float, label: str) -> None:
            if progress is not None:
                progress(begin + done * (end - begin), 1.0, label)

        return tell

    return part


# -- Rows and labels that are in memory already, as a table to audit -------------------------------


def audit(
    X: Any,
    y: Any,
    *,
    m: Drop = "auto",
    task: str = "auto",
    id_column: str | None = None,
    ignore: Sequence[str] = (),
    group: Sequence[str] = (),
    random_state: Any = 0,
    n_jobs: int = 1,
    progress: Report | None = None,
) -> AuditReport:
    """Find the rows that do not belong, and fit a model without them.

    Parameters
    ----------
    X : DataFrame or array-like of shape (n_samples, n_columns)
        Rows with columns of numbers or texts, some of them missing perhaps.
    y : array-like of shape (n_samples,), or str
        Labels, or the name of the column of X that holds them. Rows without one are left aside.
    m : float, int or "auto", default="auto"
        How many rows to leave out: a share of each class, a number of all rows, or as many as
        seem wrong.
    task : {"auto", "classification", "regression"}, default="auto"
        What to learn. Texts are classes, and so are up to 20 different whole numbers.
    id_column : str, optional
        The column that tells rows apart. It is not learned from.
    ignore : sequence of str, default=()
        Columns that are not learned from.
    group : sequence of str, default=()
        Columns by which the share of rows that are left out is told.
    random_state : int, RandomState, Generator or None, default=0
        Draws starts, folds and halves: the same number gives the same report, byte by byte.
    n_jobs : int, default=1
        How many threads; -1 for one on each core. The result does not depend on it.
    progress : callable, optional
        Told how much is done, of how much, and what is being done.

    Returns
    -------
    AuditReport
        With the suspects, the model and a page for people; it shows itself in a notebook.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.where(X @ [2, -1, 0] > 0, "spam", "ham")
    >>> y[[3, 70, 150]] = np.where(y[[3, 70, 150]] == "spam", "ham", "spam")
    >>> report = audit(X, y, m=3)
    >>> sorted(report.suspects["row"])
    [3, 70, 150]
    """
    seed = as_whole_seed(random_state)
    frame, target = _frame_and_target(X, y)
    n = len(frame)
    table = Table(frame, np.arange(n), None, n, (), "the rows given")
    roles = Roles(target, id_column, _as_names("ignore", ignore), _as_names("group", group))
    rows = labelled_rows(table, roles, task)
    return audit_rows(rows, m=m, seed=seed, jobs=n_jobs, progress=progress)


def _as_names(option: str, given: Any) -> tuple[str, ...]:
    if isinstance(given, str):
        raise TypeError(
            f"{option}={given!r} is a text; needed a list of names, such as [{given!r}]"
        )
    return tuple(map(str, given))


def _frame_and_target(X: Any, y: Any) -> tuple[DataFrame, str]:
    """Return X and y in one frame, and the name of the column that y has there."""
    import pandas as pd

    frame = _as_frame(X)
    if isinstance(y, str):
        return frame, y
    values = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if values.ndim != 1:
        raise TableError(f"y has shape {values.shape}; needed one label for each row")
    labels = pd.Series(values)
    if len(labels) != len(frame):
        raise TableError(f"X has {len(frame)} rows, y {len(labels)}; needed one label for each row")
    name = str(getattr(y, "name", None) or "label")
    if name in frame.columns:
        if frame[name].reset_index(drop=True).equals(labels):
            raise TableError(
                f"X holds the labels themselves in column {quote_bare(name)}; needed X without it, "
                f"or y={name!r}"
            )
        name += " (y)"
    return frame.assign(**{name: labels.to_numpy()}), name


def _as_frame(X: Any) -> DataFrame:
    import pandas as pd

    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if isinstance(X, pd.DataFrame):
        names = [str(name) for name in X.columns]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise TableError(f"X has two columns {quote_bare(twice)}; needed names that differ")
        return X.set_axis(names, axis=1).reset_index(drop=True)
    values = X.toarray() if hasattr(X, "toarray") else X
    if np.ndim(values[:1]) != 2:
        raise TableError(f"X has shape {np.shape(values)}; needed rows and columns")
    frame = pd.DataFrame(values).infer_objects()
    return frame.set_axis([f"x{i}" for i in range(frame.shape[1])], axis=1)


# -- A table to try an audit on: robots, of which some carry a wrong label on purpose --------------


TARGET = "friendly"
_WRONG = 0.07  # of the labels
_SHAPES = ("round", "square", "octagon")
_VALUES = {
    "head": _SHAPES,
    "body": _SHAPES,
    "smiling": ("yes", "no"),
    "holding": ("sword", "balloon", "flag"),
    "jacket": ("red", "yellow", "green", "blue"),
    "tie": ("yes", "no"),
}


class Example(NamedTuple):
    """A table, and which of its labels are wrong."""

    table: Table
    wrong: BoolArray


def example(seed: int = 0) -> Example:
    """Return the robots of the third Monk's problem, 30 of 432 with the wrong label.

    A robot is friendly if its jacket is green and it holds a sword, or if neither its jacket is
    blue nor its body an octagon.
    """
    import pandas as pd

    codes, friendly = load_monk(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(friendly))
    codes, friendly = codes[order].astype(int), friendly[order]
    noisy = flip_symmetric(np.where(friendly == 1, "yes", "no"), _WRONG, random_state=seed)
    columns = {
        name: np.array(values, dtype=object)[codes[:, i] - 1]
        for i, (name, values) in enumerate(_VALUES.items())
    }
    frame = pd.DataFrame(columns | {TARGET: noisy.y})
    n = len(frame)
    return Example(Table(frame, np.arange(n), None, n, (), "the robots"), noisy.wrong)
