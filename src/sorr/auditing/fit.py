"""The robust fit to a table: prepare raw columns, and fit without the rows that look wrong."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.pipeline import Pipeline

from sorr._typing import FloatArray
from sorr.auditing.preparation import RawColumns, Source, prepared_by, sources
from sorr.auditing.rows import Roles, Rows, Task, labelled_rows
from sorr.auditing.table import Table, TableError
from sorr.estimators import RankedRangeClassifier, RankedRangeRegressor
from sorr.ranked import kth_largest

Drop = float | int | Literal["auto"]

_LARGEST_CURVATURE = 5e7  # entries (rows times classes squared) up to which a fit is certified


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model, and its rows.

    Attributes
    ----------
    rows : Rows
    pipeline : Pipeline
        From raw columns to predictions. Its last step is a ranked-range estimator.
    X : ndarray or sparse matrix of shape (n_rows, n_columns)
        The columns as the last step sees them.
    m : float, int or "auto"
        How many rows to drop, as given.
    notes : tuple of str
        The warnings of the fit.
    """

    rows: Rows
    pipeline: Pipeline
    X: Any = field(repr=False)
    m: Drop
    notes: tuple[str, ...]

    @property
    def model(self) -> Any:
        """The fitted estimator."""
        return self.pipeline[-1]

    @property
    def share(self) -> Any:
        """The estimate of how many rows are wrong, or None if the number was given."""
        return getattr(self.model, "share_", None)

    @cached_property
    def dropped(self) -> npt.NDArray[np.bool_]:
        """Which rows were dropped. Of rows with equal losses, the first are."""
        return largest(self.model.losses_, self.groups, self.counts)

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many rows were dropped of each group that is ranked together."""
        return np.asarray(np.rint(self.model.m_), dtype=np.int64)

    @cached_property
    def classes(self) -> list[Any]:
        """The classes. Empty for regression."""
        return self.model.classes_.tolist() if self.rows.task == "classification" else []

    @cached_property
    def class_of_row(self) -> npt.NDArray[np.intp]:
        """The index of the class of each row. Zero for regression."""
        if not self.classes:
            return np.zeros(len(self.rows), dtype=np.intp)
        return np.asarray(np.searchsorted(self.model.classes_, self.rows.y))

    @property
    def is_pooled(self) -> bool:
        """Whether all rows are ranked together."""
        return len(self.model.m_) == 1

    @cached_property
    def groups(self) -> npt.NDArray[np.intp]:
        """The group of each row that is ranked together: its class, or all rows."""
        return np.zeros(len(self.rows), dtype=np.intp) if self.is_pooled else self.class_of_row

    @cached_property
    def sources(self) -> list[Source]:
        """Where each column of X comes from."""
        return sources(self.pipeline.named_steps["prepare"])

    @cached_property
    def prediction(self) -> npt.NDArray[Any]:
        """The prediction of the model for each row."""
        return np.asarray(self.model.predict(self.X))


def largest(
    losses: FloatArray, groups: npt.NDArray[np.intp], counts: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Return which rows have the largest losses of their group. Of equal losses, the first."""
    is_largest = np.zeros(len(losses), dtype=bool)
    for group, count in enumerate(counts.tolist()):
        if count == 0:
            continue
        rows = np.flatnonzero(groups == group)
        values = losses[rows]
        level = float(kth_largest(values, count))
        above = values > level
        is_largest[rows[above]] = True
        is_largest[rows[np.flatnonzero(values == level)[: count - int(above.sum())]]] = True
    return is_largest


def fit_table(
    table: Table,
    target: str,
    *,
    m: Drop = "auto",
    task: str = "auto",
    id_column: str | None = None,
    ignore: tuple[str, ...] = (),
    group: tuple[str, ...] = (),
    seed: int = 0,
    jobs: int = 1,
) -> Fitted:
    """Fit a model to the labelled rows of a table, without those that look wrong."""
    roles = Roles(target, id_column, tuple(ignore), tuple(group))
    return fit_rows(labelled_rows(table, roles, task), m=m, seed=seed, jobs=jobs)


def fit_rows(rows: Rows, *, m: Drop = "auto", seed: int = 0, jobs: int = 1) -> Fitted:
    """Fit a model to rows, without those that look wrong."""
    m = as_drop(m)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        columns = RawColumns().fit(rows.frame)
        raw = columns.transform(rows.frame)
        prepare = prepared_by(columns)
        X = prepare.fit_transform(raw)
        model = fit_model(X, rows.y, rows.task, m, seed, jobs)
    steps = [("columns", columns), ("prepare", prepare), ("model", model)]
    notes = dict.fromkeys(str(warning.message) for warning in caught)
    return Fitted(rows, Pipeline(steps), X, m, tuple(notes))


def fit_model(
    X: Any, y: npt.NDArray[Any], task: Task, m: Drop, seed: int, jobs: int, **options: Any
) -> Any:
    """Return a fitted estimator. The ridge is that of scikit-learn's `LogisticRegression`.

    For classes, as many rows are dropped as look wrong. ``m="auto"`` of the estimator keeps those
    that do not harm its predictions: that gives a slightly better model and a worse list.
    """
    n_classes = 1 if task == "regression" else len(np.unique(y))
    options = {
        "C": float(len(y)),
        "certify": len(y) * n_classes**2 <= _LARGEST_CURVATURE,
        "random_state": seed,
        "n_jobs": jobs,
        "m": m,
        **options,
    }
    if task == "regression":
        return RankedRangeRegressor(**options).fit(X, y)
    if m == "auto":
        options["m"] = "estimate"
    elif isinstance(m, int) and m:
        options["ranking"] = "pooled"  # a count is of all rows
    return RankedRangeClassifier(**options).fit(X, y)


def as_drop(m: Any) -> Drop:
    """Return how many rows to drop, as a Python number or "auto"."""
    if isinstance(m, str) and m == "auto":
        return "auto"
    if isinstance(m, str | bool | np.bool_) or not isinstance(m, Real):
        raise TableError(f"m={m!r} is not a number; needed 'auto', a share, or a number of rows")
    return int(m) if isinstance(m, Integral) else float(m)
