"""Logistic regression of each label by itself, and its sum with other scores."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from sorr._typing import FloatArray
from sorr.estimators.notices import NotConvergedWarning
from sorr.estimators.progress import Reporter

__all__ = ["LabelScores", "logistic_scores", "standardised_sum"]

_UNFINISHED = (
    "Not converged: the logistic regression of a label reached its limit of steps; scale the "
    "columns of X, lower C_logistic, or raise tol."
)


class LabelScores(NamedTuple):
    """Linear scores, one for each label."""

    coef: npt.NDArray[Any]
    """Of shape (n_features, n_labels)."""
    intercept: npt.NDArray[Any]
    notices: tuple[Warning, ...] = ()

    def of(self, X: Any) -> FloatArray:
        """Return the scores of rows."""
        return np.asarray(X @ self.coef + self.intercept)


def logistic_scores(
    X: Any,
    indicator: npt.NDArray[np.bool_],
    weight: FloatArray | None = None,
    *,
    C: float,
    fit_intercept: bool = True,
    tol: float = 1e-6,
    max_iter: int = 1000,
    progress: Reporter | None = None,
) -> LabelScores:
    r"""Fit scikit-learn's logistic regression to each label: its log odds are the scores.

    .. math:: \frac{1}{n} \sum_i \log(1 + e^{-y_{ij} s_{ij}}) + \frac{\|w_j\|^2}{2C}

    A label that all rows have, or none, has nothing to be told by: its score is the same
    everywhere, the log odds of its share with half a row added on both sides (zero without an
    intercept).

    Parameters
    ----------
    X : ndarray or sparse array of shape (n_samples, n_features)
    indicator : ndarray of bool of shape (n_samples, n_labels)
    weight : ndarray of shape (n_samples,), optional
        The mass of each row.
    C : float
        The inverse strength of the ridge; scikit-learn's is ``C / n``.
    fit_intercept : bool, default=True
    tol, max_iter
        Of scikit-learn.
    progress : Reporter, optional
        Told of each label.
    """
    n_samples, n_labels = indicator.shape
    mass = float(n_samples if weight is None else weight.sum())
    counts = indicator.sum(axis=0) if weight is None else weight @ indicator
    coef, intercept = np.zeros((X.shape[1], n_labels)), np.zeros(n_labels)
    model = LogisticRegression(C=C / mass, fit_intercept=fit_intercept, tol=tol, max_iter=max_iter)
    is_converged = True
    for j, truth in enumerate(indicator.T):
        if truth.all() or not truth.any():
            odds = (counts[j] + 0.5) / (mass - counts[j] + 0.5)
            intercept[j] = np.log(odds) if fit_intercept else 0.0
            continue
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            model.fit(X, truth, weight)
        is_converged &= not any(issubclass(w.category, ConvergenceWarning) for w in caught)
        coef[:, j], intercept[j] = model.coef_[0], np.squeeze(model.intercept_)
        if progress is not None:
            progress.say(f"logistic scores of {j + 1} of {n_labels} labels")
    return LabelScores(coef, intercept, () if is_converged else (NotConvergedWarning(_UNFINISHED),))


def standardised_sum(
    parts: Sequence[LabelScores], X: Any, weight: FloatArray | None = None
) -> LabelScores:
    """Return the sum of scores, each in units of its standard deviation over rows and labels.

    Scores that are the same for all of them add nothing.
    """
    coef, intercept = np.zeros_like(parts[0].coef), np.zeros_like(parts[0].intercept)
    for part in parts:
        scores = part.of(X)
        mean = np.average(scores.mean(axis=1), weights=weight)
        deviation = np.sqrt(np.average(((scores - mean) ** 2).mean(axis=1), weights=weight))
        if deviation > 0:
            coef += part.coef / deviation
            intercept += part.intercept / deviation
    return LabelScores(coef, intercept)
