"""What displays read off fitted estimators, by attribute: they know no class of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._typing import BoolArray, FloatArray

__all__ = [
    "Judged",
    "Parts",
    "fitted",
    "judge",
    "label_index",
    "left_out_rows",
    "missing",
    "name_of",
    "take_apart",
]


_FITTED = ("coef_", "classes_")  # one of which most estimators have after fit, of any library


class Parts(NamedTuple):
    """An estimator without its wrapping."""

    model: Any
    before: tuple[Any, ...]

    def transform(self, X: Any) -> Any:
        """Return the rows as the model sees them, after the other steps of its pipeline."""
        for step in self.before:
            X = step.transform(X)
        return X


def take_apart(estimator: Any) -> Parts:
    """Return the last step of a pipeline and the steps before it, the best model of a search."""
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


def fitted(estimator: Any, *attributes: str) -> Any:
    """Return the model with these attributes, or say which one is missing."""
    model = take_apart(estimator).model
    for attribute in attributes:
        if not hasattr(model, attribute):
            raise missing(model, attribute, "RankedRangeClassifier", "RankedRangeRegressor")
    return model


def missing(estimator: Any, attribute: str, *kinds: str) -> Exception:
    """Return the error to raise where an estimator is not fitted, or is of another kind.

    `kinds` are the names of estimators that have the attribute after fit.
    """
    from sklearn.exceptions import NotFittedError

    name = name_of(estimator)
    if any(hasattr(estimator, sign) for sign in _FITTED):
        return TypeError(
            f"this {name} has no {attribute}, though it is fitted: it is an estimator of another "
            f"kind; needed one that has it, such as {' or '.join(kinds)}"
        )
    error: Exception = NotFittedError(
        f"this {name} has no {attribute}: it is not fitted, or it is an estimator of another "
        f"kind; needed a fitted one, such as {kinds[0]}().fit(X, y)"
    )
    return error


def name_of(estimator: Any) -> str:
    """Return the name of the class of an estimator."""
    return type(estimator).__name__


def label_index(y: Any, classes: Any) -> npt.NDArray[np.intp]:
    """Return the place of each label among the classes, which are sorted."""
    labels, names = np.asarray(y), np.asarray(classes)
    if labels.ndim != 1:
        raise ValueError(f"y has shape {labels.shape}; needed one label per row, in one dimension")
    strangers = labels[~np.isin(labels, names)]
    if len(strangers):
        raise ValueError(
            f"{strangers.tolist()[0]!r} is none of the classes of the fit; needed labels among "
            f"{', '.join(map(repr, names.tolist()))}"
        )
    return np.searchsorted(names, labels)


class Judged(NamedTuple):
    """Rows as a fitted model sees them."""

    values: FloatArray
    """Their losses; of new rows, by how much these exceed the largest that was kept."""

    left_out: BoolArray
    """Whether they were left out of the fit, or would have been."""

    group: npt.NDArray[np.intp] | None
    """Which rows are ranked together, by number; None if all are."""

    labels: list[Any] | None
    """The names of these groups."""

    is_fit: bool
    """Whether they are the rows of the fit."""

    model: Any

    def ends(self, mass: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ranks m and k of each group: of new rows, what would be dropped, and all."""
        if self.is_fit:
            return np.asarray(self.model.m_, float), np.asarray(self.model.k_, float)
        group = np.zeros(len(mass), np.intp) if self.group is None else self.group
        n_groups = len(self.model.m_)
        parts = [np.bincount(group, part, n_groups) for part in (mass * self.left_out, mass)]
        return parts[0].astype(np.float64), parts[1].astype(np.float64)


def judge(estimator: Any, X: Any = None, y: Any = None) -> Judged:
    """Return what a fitted estimator makes of rows: those of the fit if no others are given."""
    parts = take_apart(estimator)
    model = fitted(estimator, "losses_", "m_", "k_", "outlier_mask_")
    if X is not None and y is None:
        raise ValueError("X is given without y; a loss needs both: pass y as well")
    is_grouped = len(model.m_) > 1
    if is_grouped and y is None:
        raise ValueError(
            "each class is ranked by itself, and the fit does not keep the labels; pass X and y, "
            "or the y of the fit alone"
        )
    group = label_index(y, model.classes_) if is_grouped else None
    labels = np.asarray(model.classes_).tolist() if is_grouped else None
    losses, mask = np.asarray(model.losses_, float), np.asarray(model.outlier_mask_, bool)
    if X is not None:
        score = np.asarray(model.outlier_score(parts.transform(X), y), float)
        if not _is_fit(score, losses, group):
            return Judged(score, score > 0, group, labels, False, model)
    elif group is not None and len(group) != len(losses):
        raise ValueError(
            f"y has {len(group)} labels, the fit had {len(losses)} rows; needed the y of the fit, "
            "or X as well"
        )
    return Judged(losses, mask, group, labels, True, model)


def _is_fit(score: FloatArray, losses: FloatArray, group: npt.NDArray[np.intp] | None) -> bool:
    """Tell the rows of a fit: their scores are its losses, less a number for each group."""
    if len(score) != len(losses):
        return False
    less = losses - score
    for number in (None,) if group is None else np.unique(group):
        rows = ~np.isnan(losses) & (True if number is None else group == number)
        if rows.any():
            off = np.abs(less[rows] - np.median(less[rows]))
            if (off > 1e-4 * (1 + np.abs(losses[rows]))).any():
                return False
    return True


def left_out_rows(estimator: Any, X: Any, y: Any) -> BoolArray | None:
    """Return which rows were left out or would have been; None if the model leaves out none."""
    parts = take_apart(estimator)
    if not (hasattr(parts.model, "outlier_mask_") and hasattr(parts.model, "outlier_score")):
        return None
    if not hasattr(parts.model, "m_"):  # no ranks: outliers are above a threshold
        return np.asarray(parts.model.outlier_score(parts.transform(X), y), float) > 0
    return judge(estimator, X, y).left_out
