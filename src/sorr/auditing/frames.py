"""Rows and labels that are in memory already, as a table to audit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sorr.auditing.columns import Roles
from sorr.auditing.fit import Drop, Progress
from sorr.auditing.report import AuditReport
from sorr.auditing.rows import labelled_rows
from sorr.auditing.run import audit_rows
from sorr.auditing.table import Table, TableError, plain
from sorr.estimators.base import as_seed

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["audit"]


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
    progress: Progress | None = None,
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
    seed = _as_seed(random_state)
    frame, target = _frame_and_target(X, y)
    n = len(frame)
    table = Table(frame, np.arange(n), None, n, (), "the rows given")
    roles = Roles(target, id_column, _as_names("ignore", ignore), _as_names("group", group))
    rows = labelled_rows(table, roles, task)
    return audit_rows(rows, m=m, seed=seed, jobs=n_jobs, progress=progress)


def _as_seed(random_state: Any) -> int:
    seed = as_seed(random_state)
    if isinstance(seed, int):
        return seed
    draw = np.random.default_rng() if seed is None else seed
    return int(draw.integers(2**31))


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
                f"X holds the labels themselves in column {plain(name)}; needed X without it, or "
                f"y={name!r}"
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
            raise TableError(f"X has two columns {plain(twice)}; needed names that differ")
        return X.set_axis(names, axis=1).reset_index(drop=True)
    values = X.toarray() if hasattr(X, "toarray") else X
    if np.ndim(values[:1]) != 2:
        raise TableError(f"X has shape {np.shape(values)}; needed rows and columns")
    frame = pd.DataFrame(values).infer_objects()
    return frame.set_axis([f"x{i}" for i in range(frame.shape[1])], axis=1)
