"""What displays read from fitted estimators: attributes, never the class of an estimator."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sorr._checks import as_vector, class_index
from sorr._typing import BoolArray, FloatArray, IntArray

_FITTED_ATTRIBUTES = ("coef_", "classes_")  # most fitted estimators of any library have one


class Parts(NamedTuple):
    """A model, and the steps before it in its pipeline."""

    model: Any
    before: tuple[Any, ...]

    def transform(self, X: Any) -> Any:
        """Return the rows as the model sees them."""
        for step in self.before:
            X = step.transform(X)
        return X


def take_apart(estimator: Any) -> Parts:
    """Return the last step of a pipeline and the steps before it; of a search, the best model."""
    before: list[Any] = []
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            steps = [step for _, step in estimator.steps]
            before += [step for step in steps[:-1] if step not in (None, "passthrough")]
            estimator = steps[-1]
        else:
            return Parts(estimator, tuple(before))


def require_fitted(estimator: Any, *attributes: str) -> Any:
    """Return the model if it has these attributes, or raise an error about the missing one."""
    model = take_apart(estimator).model
    for attribute in attributes:
        if not hasattr(model, attribute):
            raise missing_attribute(
                model, attribute, "RankedRangeClassifier", "RankedRangeRegressor"
            )
    return model


def missing_attribute(estimator: Any, attribute: str, *kinds: str) -> Exception:
    """Return the error to raise if an estimator is not fitted, or is of another kind.

    `kinds` are the names of estimators that have the attribute after fit.
    """
    from sklearn.exceptions import NotFittedError

    name = type(estimator).__name__
    if any(hasattr(estimator, sign) for sign in _FITTED_ATTRIBUTES):
        return TypeError(
            f"this {name} has no {attribute}, though it is fitted; needed an estimator that has "
            f"it, such as {' or '.join(kinds)}"
        )
    error: Exception = NotFittedError(
        f"this {name} has no {attribute}: it is not fitted, or it is an estimator of another "
        f"kind; needed a fitted one, such as {kinds[0]}().fit(X, y)"
    )
    return error


def label_index(y: Any, classes: Any, name: str = "y") -> IntArray:
    """Return the position of each label among the classes of a fit."""
    return class_index(as_vector(name, y), np.asarray(classes), name)


class RowLosses(NamedTuple):
    """Rows as a fitted model sees them."""

    values: FloatArray
    """Their losses; of new rows, how far these exceed the largest loss that was kept."""

    left_out: BoolArray
    """Whether they were left out of the fit, or would have been."""

    group: IntArray | None
    """The group of each row, whose rows are ranked together; None if there is only one."""

    labels: list[Any] | None
    """The names of the groups."""

    is_fit: bool
    """Whether they are the rows of the fit."""

    model: Any

    def ends(self, mass: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ranks m and k of each group; of new rows, how many would be dropped, and all."""
        if self.is_fit:
            if hasattr(self.model, "judgement_") and self.left_out.any():
                raise ValueError(
                    "this fit dropped rows by its judgement of their labels, not by the rank of "
                    "their loss; draw LabelCurveDisplay.from_judgement(model.judgement_), or fit "
                    "with m as a share or count"
                )
            return np.asarray(self.model.m_, float), np.asarray(self.model.k_, float)
        group = np.zeros(len(mass), np.intp) if self.group is None else self.group
        n_groups = len(self.model.m_)
        parts = [np.bincount(group, part, n_groups) for part in (mass * self.left_out, mass)]
        return parts[0].astype(np.float64), parts[1].astype(np.float64)


def read_losses(estimator: Any, X: Any = None, y: Any = None) -> RowLosses:
    """Return the losses of rows under a fitted estimator: those of the fit by default."""
    parts = take_apart(estimator)
    model = require_fitted(estimator, "losses_", "m_", "k_", "outlier_mask_")
    if X is not None and y is None:
        raise ValueError("X is given without y, and a loss needs both; pass y as well")
    is_grouped = len(model.m_) > 1
    if is_grouped and y is None:
        raise ValueError(
            "each class is ranked by itself, and the fit does not keep the labels; pass X and y, "
            "or only the y of the fit"
        )
    group = label_index(y, model.classes_) if is_grouped else None
    labels = np.asarray(model.classes_).tolist() if is_grouped else None
    losses, mask = np.asarray(model.losses_, float), np.asarray(model.outlier_mask_, bool)
    if X is not None:
        score = np.asarray(model.outlier_score(parts.transform(X), y), float)
        if not _are_rows_of_fit(score, losses, group):
            return RowLosses(score, score > 0, group, labels, is_fit=False, model=model)
    elif group is not None and len(group) != len(losses):
        raise ValueError(
            f"y has {len(group)} labels, the fit had {len(losses)} rows; needed the y of the fit, "
            "or X as well"
        )
    return RowLosses(losses, mask, group, labels, is_fit=True, model=model)


def _are_rows_of_fit(score: FloatArray, losses: FloatArray, group: IntArray | None) -> bool:
    """Tell whether scores are the losses of the fit, less one number for each group."""
    if len(score) != len(losses):
        return False
    difference = losses - score
    group = np.zeros(len(losses), np.intp) if group is None else group
    for number in np.unique(group):
        rows = ~np.isnan(losses) & (group == number)
        if rows.any():
            error = np.abs(difference[rows] - np.median(difference[rows]))
            if (error > 1e-4 * (1 + np.abs(losses[rows]))).any():
                return False
    return True


def find_left_out(estimator: Any, X: Any, y: Any) -> BoolArray | None:
    """Return which rows were left out, or would have been; None if the model keeps all rows."""
    parts = take_apart(estimator)
    if not (hasattr(parts.model, "outlier_mask_") and hasattr(parts.model, "outlier_score")):
        return None
    if not hasattr(parts.model, "m_"):  # no ranks: outliers are above a threshold
        return np.asarray(parts.model.outlier_score(parts.transform(X), y), float) > 0
    return read_losses(estimator, X, y).left_out
