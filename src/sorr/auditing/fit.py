"""The robust fit to a table: raw columns are prepared, and the rows that seem wrong left out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.pipeline import Pipeline

from sorr.auditing.columns import Roles
from sorr.auditing.preparation import RawColumns, Source, prepared_by, sources
from sorr.auditing.rows import Rows, Task, labelled_rows
from sorr.auditing.table import Table
from sorr.estimators import RankedRangeClassifier, RankedRangeRegressor

__all__ = ["Drop", "Fitted", "Progress", "fit_model", "fit_rows", "fit_table"]

Progress = Callable[[float, float, str], None]
Drop = float | int | Literal["auto"]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model, the rows it was fitted to, and what became of each.

    Attributes
    ----------
    rows : Rows
    pipeline : Pipeline
        From raw columns to predictions; its last step is a ranked-range estimator.
    X : ndarray or sparse matrix of shape (n_rows, n_columns)
        The columns as the last step sees them.
    m : float, int or "auto"
        How many rows to leave out, as it was asked for.
    notes : tuple of str
        What the fit warned about.
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
        """The estimate of how many rows are wrong; None where their number was given."""
        return getattr(self.model, "share_", None)

    @property
    def dropped(self) -> npt.NDArray[np.bool_]:
        """Which rows were left out."""
        return np.asarray(self.model.outlier_mask_)

    @property
    def classes(self) -> list[Any]:
        """The classes; none of a regression."""
        return self.model.classes_.tolist() if self.rows.task == "classification" else []

    @property
    def strata(self) -> npt.NDArray[np.intp]:
        """The place of the class of each row among all; zero in a regression."""
        if not self.classes:
            return np.zeros(len(self.rows), dtype=np.intp)
        return np.asarray(np.searchsorted(self.model.classes_, self.rows.y))

    @property
    def groups(self) -> npt.NDArray[np.intp]:
        """Which rows are ranked together: those of a class, or all."""
        return self.strata if len(self.model.m_) > 1 else np.zeros(len(self.rows), dtype=np.intp)

    @property
    def sources(self) -> list[Source]:
        """Where each column of X comes from."""
        return sources(self.pipeline.named_steps["prepare"])

    @property
    def prediction(self) -> npt.NDArray[Any]:
        """What the model makes of each row."""
        return np.asarray(self.model.predict(self.X))


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
    """Fit a model to the rows of a table that have a label, and leave out those that are wrong."""
    roles = Roles(target, id_column, tuple(ignore), tuple(group))
    return fit_rows(labelled_rows(table, roles, task), m=m, seed=seed, jobs=jobs)


def fit_rows(rows: Rows, *, m: Drop = "auto", seed: int = 0, jobs: int = 1) -> Fitted:
    """Fit a model to rows, and leave out those that are wrong."""
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

    Of classes, as many rows are left out as seem wrong. ``m="auto"`` of the estimator itself keeps
    those that do its predictions no harm: a better model by a little, and a worse list.
    """
    options = {"C": float(len(y)), "random_state": seed, "n_jobs": jobs, **options}
    if task == "regression":
        return RankedRangeRegressor(m, **options).fit(X, y)
    options["m"] = "estimate" if m == "auto" else m
    if isinstance(m, int) and m:
        options["ranking"] = "pooled"  # a count is of all rows
    return RankedRangeClassifier(**options).fit(X, y)
