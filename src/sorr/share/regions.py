r"""Regions where one class is nearly alone: what a rate of wrong labels cannot exceed there.

If labels go wrong at a rate that depends on the true class c alone, then in any region A

.. math:: P(y \ne c \mid A) \ge \rho_c,

whatever the model: the region holds rows of class c, of which :math:`\rho_c` are labelled
otherwise, and rows of other classes, of which most are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.tree import DecisionTreeClassifier

from sorr._typing import FloatArray
from sorr.share.average import AverageLoss

_SIZES = (0.05, 0.1, 0.2, 0.3)  # of the regions, as shares of the rows
_ROWS, _MORE_ROWS, _FEW_FEATURES = 1000, 2000, 6  # of the tree; more rows if features are few
_FEATURES, _DEPTH, _LEAF = 6, 6, 10  # of the tree
_ONE_SIDED, _SLACK = 1.64, 0.005  # a 95 % bound, and a little for the choice of the best region


class Region(NamedTuple):
    """For one class: the share of other labels among the rows most like it, and its error."""

    label: int
    share: float
    error: float


def regions_of(scores: FloatArray, index: npt.NDArray[np.intp], mass: FloatArray) -> list[Region]:
    """Return the regions of each class: the rows that score highest for it, and all rows.

    Scores have one column for each class and must not depend on the labels of the same rows.
    """
    found = []
    for label in range(scores.shape[1]):
        order = np.argsort(-scores[:, label])
        weight = mass[order]
        reached = np.cumsum(weight)
        other = np.cumsum(weight * (index[order] != label))
        squares = np.cumsum(weight**2)
        for size in (*_SIZES, 1.0):
            end = min(int(np.searchsorted(reached, size * reached[-1])), len(order) - 1)
            # rows that score alike are in the region or out of it together
            value = scores[order[end], label]
            end = int(np.searchsorted(-scores[order, label], -value, side="right")) - 1
            rows = reached[end] ** 2 / max(squares[end], 1e-300)  # as many rows of equal mass
            share = other[end] / reached[end]
            smooth = (share * rows + 1) / (rows + 2)
            found.append(Region(label, float(share), float(np.sqrt(smooth * (1 - smooth) / rows))))
    return found


def rate_bounds(regions: list[Region], n_classes: int) -> npt.NDArray[np.float64]:
    """Return what the rate of wrong labels of each true class is at most, with 95 % confidence."""
    bounds = np.ones(n_classes)
    for region in regions:
        bound = region.share + _ONE_SIDED * region.error + _SLACK
        bounds[region.label] = min(bounds[region.label], bound)
    return bounds


def share_bounds(bounds: FloatArray, label_mass: FloatArray) -> npt.NDArray[np.float64]:
    r"""Return what the share of wrong rows among those *labelled* c is at most.

    Of class j a mass :math:`\pi_j` exists and :math:`\pi_j (1 - \rho_j) \le \ell_j` of it keeps
    its label, so that at most :math:`\pi_j \rho_j \le \ell_j \rho_j / (1 - \rho_j)` of it is
    labelled otherwise, all of it c at worst:

    .. math:: s_c \le \frac{1}{\ell_c} \sum_{j \ne c} \ell_j \frac{U_j}{1 - U_j}.

    With two classes the bound is attained: by :math:`\rho_j = U_j` and no error the other way.
    """
    leaving = label_mass * bounds / np.maximum(1 - bounds, 1e-12)
    arriving = leaving.sum() - leaving
    return np.asarray(np.clip(arriving / np.maximum(label_mass, 1e-300), 0.0, 1.0))


def excess(regions: list[Region], rates: FloatArray, errors: FloatArray) -> float:
    """Return by how many standard errors a rate exceeds what some region allows, at most."""
    return max(
        float((rates[r.label] - r.share) / np.hypot(errors[r.label], r.error)) for r in regions
    )


def tree_scores(
    problem: AverageLoss, mass: FloatArray, rng: np.random.Generator
) -> tuple[npt.NDArray[np.intp], FloatArray]:
    """Return some of the rows, and their scores by a tree grown on the other half of them.

    A small tree sees what a linear model cannot. It gets the features that are most correlated
    with the labels.
    """
    rows = np.flatnonzero(mass > 0)
    limit = _MORE_ROWS if problem.design.n_features <= _FEW_FEATURES else _ROWS
    rows = rng.permutation(rows)[:limit]
    features = _best_features(problem.take(rows))
    X = problem.design.X[rows][:, features]
    X = np.asarray(X.toarray() if problem.design.is_sparse else X, dtype=np.float32)
    index, weight = problem.index[rows], mass[rows]
    scores = np.zeros((len(rows), problem.n_classes))
    half = np.arange(len(rows)) % 2 == 0
    for part in (half, ~half):
        tree = DecisionTreeClassifier(
            max_depth=_DEPTH, min_samples_leaf=_LEAF, random_state=int(rng.integers(2**31))
        )
        tree.fit(X[part], index[part], sample_weight=weight[part], check_input=False)
        scores[np.ix_(~part, tree.classes_)] = tree.predict_proba(X[~part], check_input=False)
    return rows, scores


def _best_features(problem: AverageLoss) -> npt.NDArray[np.intp]:
    """Return the columns that are most correlated with one of the classes."""
    X, n, d = problem.design.X, problem.design.n_samples, problem.design.n_features
    if d <= _FEATURES:
        return np.arange(d)
    member = (problem.index[:, None] == np.arange(problem.n_classes)).astype(X.dtype)
    member -= member.mean(axis=0)
    together = np.abs(np.asarray(X.T @ member)) / n
    mean = np.asarray(X.mean(axis=0)).ravel()
    spread = np.sqrt(np.maximum(problem.design.sizes[:d] ** 2 - mean**2, 0.0))
    strength = together.max(axis=1) / np.where(spread > 1e-6, spread, np.inf)
    return np.sort(np.argsort(-strength, kind="stable")[:_FEATURES])
