"""Support vector machines over labels: Crammer and Singer's, and that of the top k."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from typing import NamedTuple

import numpy as np

from sorr._checks import check_flag, check_limits, check_verbose
from sorr._typing import FloatArray
from sorr.baselines.label_models import not_converged, warm_theta
from sorr.estimators import Labels, Rows, TopKLinear, print_steps
from sorr.losses import Loss, MultilabelHinge, RoundedMultilabelHinge, RoundedTopKSVM, TopKSVM
from sorr.objectives import RankedRangeObjective
from sorr.solvers import MEMORY, Memory, Point, Progress, Step, descend, evaluate, solve_symmetric

__all__ = ["MulticlassSVM", "Rounded", "TopKSVMClassifier", "minimise_rounded"]

_FINE, _COARSE = 1e-3, 1e-2  # tolerances
_MANY = 10_000_000  # numbers in X from which on the coarse one will do


class _LabelSVM(TopKLinear):
    """A linear model that minimises the mean of a hinge over labels."""

    def __init__(
        self,
        k: int = 1,
        *,
        C: float = 10.0,
        fit_intercept: bool = True,
        tol: float | None = None,
        max_iter: int = 10_000,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.k = k
        self.C = C
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.verbose = verbose

    @abstractmethod
    def _losses_of(self, k: int) -> tuple[Loss, Callable[[float], Loss]]:
        """Return the loss, and what makes it round."""

    def _check_parameters(self) -> None:
        check_limits(_FINE if self.tol is None else self.tol, self.max_iter)
        check_flag("warm_start", self.warm_start)
        check_verbose(self.verbose)

    def _learn_labels(self, rows: Rows, labels: Labels) -> list[Warning]:
        loss, rounded = self._losses_of(int(self.k))
        tol = (_FINE if rows.X.size < _MANY else _COARSE) if self.tol is None else self.tol
        objective = RankedRangeObjective(
            rows.X,
            labels.indicator,
            loss,
            C=self.C,
            sample_weight=rows.weight,
            fit_intercept=self.fit_intercept,
        )
        found = minimise_rounded(
            objective,
            rounded,
            warm_theta(self, labels) if self.warm_start else None,
            tol=tol,
            max_iter=self.max_iter,
            progress=print_steps(type(self).__name__, self.verbose),
        )
        self.objective_, self.gap_, self.n_iter_ = found.value, found.hidden, found.n_iter
        d = rows.X.shape[1]
        intercept = found.theta[d] if self.fit_intercept else np.zeros(len(labels.classes))
        self._keep_labels(labels, found.theta[:d], intercept - intercept.mean())
        return not_converged(self, found.hidden > tol)


class TopKSVMClassifier(_LabelSVM):
    r"""The top-k multi-class SVM: the true label should be among the k best.

    .. math:: \min_{W, b} \; \frac{1}{n} \sum_{i=1}^{n} \Big[ \frac{1}{k} \sum_{j=1}^{k}
        s^i_{[j]} \Big]_+ + \frac{\|W\|^2}{2 C}, \qquad
        s^i_j = \mathbf{1}[j \ne y_i] + f_j - f_{y_i}

    The mean of the k largest violations of the margin, over all classes: the loss called alpha.
    For sets of labels it is `sorr.losses.TopKSVM`. The intercept is not penalised.

    Parameters
    ----------
    k : int, default=1
        How many labels to predict, and to average over; fewer than there are.
    C : float, default=10.0
        The inverse strength of the ridge.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    tol : float or None, default=None
        What rounded corners may hide of the objective, relatively, and about how far above its
        minimum it may be. None is 1e-3, or 1e-2 where X holds more than ten million numbers: on
        60,000 images of MNIST that takes about as long as a softmax regression.
    max_iter : int, default=10000
        How many steps to take at most.
    warm_start : bool, default=False
        Whether to start at the parameters of the last fit, if it had the same labels.
    verbose : int, default=0
        Whether to report progress to standard error, every two seconds; above 1, every step.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
    intercept_ : ndarray of shape (n_labels,)
        With a mean of zero: what is added to all scores changes nothing.
    classes_ : ndarray of shape (n_labels,)
    n_labels_ : int
    objective_ : float
        What was minimised, at the solution.
    gap_ : float
        What rounded corners hide of it, relatively: about how far above its minimum it is, which
        is not certified.
    n_iter_ : int
    n_features_in_, feature_names_in_
        As in all of scikit-learn.

    See Also
    --------
    MulticlassSVM : The same for k = 1 and one label each, whatever the k that is predicted.
    sorr.TopKMultilabelClassifier : The (k+1)-th score against the lowest true one.

    References
    ----------
    M. Lapin, M. Hein, B. Schiele, "Top-k multiclass SVM", NIPS 2015.

    Examples
    --------
    >>> X, y = [[2.0, 0.1], [1.5, 0.9], [0.2, 1.8], [0.1, 1.1], [-1.1, -1.2]], [0, 0, 1, 1, 2]
    >>> TopKSVMClassifier(k=2).fit(X, y).predict_topk([[1.0, 1.0]])
    array([[0, 1]])
    """

    def _losses_of(self, k: int) -> tuple[Loss, Callable[[float], Loss]]:
        return TopKSVM(k), lambda width: RoundedTopKSVM(k, width)


class MulticlassSVM(_LabelSVM):
    r"""The SVM of Crammer and Singer: true labels should score above all others, by a margin.

    .. math:: \min_{W, b} \; \frac{1}{n} \sum_{i=1}^{n} \big[ 1 + \max_{u \notin Y_i} f_u
        - \min_{v \in Y_i} f_v \big]_+ + \frac{\|W\|^2}{2 C}

    With one class for each row it is their multi-class SVM, else the ranking of categories of 2003.
    The intercept is not penalised.

    Parameters
    ----------
    k : int, default=1
        How many labels to predict; fewer than there are. What is learned does not depend on it.
    C : float, default=10.0
        The inverse strength of the ridge.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    tol : float or None, default=None
        What rounded corners may hide of the objective, relatively, and about how far above its
        minimum it may be. None is 1e-3, or 1e-2 where X holds more than ten million numbers: on
        60,000 images of MNIST that takes about as long as a softmax regression.
    max_iter : int, default=10000
        How many steps to take at most.
    warm_start : bool, default=False
        Whether to start at the parameters of the last fit, if it had the same labels.
    verbose : int, default=0
        Whether to report progress to standard error, every two seconds; above 1, every step.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
    intercept_ : ndarray of shape (n_labels,)
        With a mean of zero: what is added to all scores changes nothing.
    classes_ : ndarray of shape (n_labels,)
    n_labels_ : int
    objective_ : float
        What was minimised, at the solution.
    gap_ : float
        What rounded corners hide of it, relatively: about how far above its minimum it is, which
        is not certified.
    n_iter_ : int
    n_features_in_, feature_names_in_
        As in all of scikit-learn.

    See Also
    --------
    sorr.TopKMultilabelClassifier : ``loss="multilabel_hinge"`` is the same, to a certified gap.

    References
    ----------
    K. Crammer, Y. Singer, "On the algorithmic implementation of multiclass kernel-based vector
    machines", JMLR 2001.

    K. Crammer, Y. Singer, "A family of additive online algorithms for category ranking", JMLR
    2003.

    Examples
    --------
    >>> X = [[2.0, 0.1], [1.5, 0.9], [0.2, 1.8], [0.1, 1.1], [-1.1, -1.2]]
    >>> MulticlassSVM().fit(X, ["sun", "sun", "wood", "wood", "snow"]).predict([[1.0, 0.2]])
    array(['sun'], dtype='<U4')
    """

    def _losses_of(self, k: int) -> tuple[Loss, Callable[[float], Loss]]:
        del k
        return MultilabelHinge(), RoundedMultilabelHinge


# -- Convex hinges over labels: their corners are rounded, less and less ---------------------------


_SMALL = 200  # parameters up to which Newton steps are hardly noticed
_SHORT = 5000  # rows up to which they are
_FIRST = 1.0  # width of corners: the margin
_WARM = 0.1  # the same from a point that is nearly there
_NARROWER = 0.5  # how much less round the next corners are, unless less than that will do
_WITHIN = 0.9  # share of the tolerance that is aimed at
_SHARPEST = 1e-9  # width of corners that are none to floating-point numbers
_ROUGH = 1e-4  # tolerance down to which predictions in float32 will do
_DONE = 1e-15  # decrease promised by a Newton step that is not worth it, relative to the objective
_ARMIJO = 1e-4
_FREE = 1e-8  # curvature of an intercept that has none, relative to that of a corner


class Rounded(NamedTuple):
    """A point, what rounded corners hide there, relative to the objective, and the steps to it."""

    theta: FloatArray
    value: float
    hidden: float
    n_iter: int


def minimise_rounded(
    objective: RankedRangeObjective,
    rounded: Callable[[float], Loss],
    start: FloatArray | None = None,
    *,
    tol: float,
    max_iter: int,
    progress: Progress | None = None,
) -> Rounded:
    r"""Minimise the mean of a hinge by steps on neighbours with rounded corners.

    A neighbour lies below, and so does its minimum. The difference at that minimum is what its
    round corners hide; they get sharper until it is small. Of few parameters the steps are
    Newton's, and lead to the minimum of the last neighbour itself; of many, quasi-Newton.

    Parameters
    ----------
    objective : RankedRangeObjective
        With m = 0, and a loss over label sets with a margin of one.
    rounded : callable
        From a width to the loss with corners rounded that much, nowhere above the loss.
    start : ndarray, optional
        A point near the minimum, such as that for another C; by default zero, which need not be.
    tol : float
        What corners may hide, relative to the objective. Steps for a width end when they promise
        less than that, times the width.
    max_iter : int
        How many steps to take at most.
    progress : callable, optional
        Called with each `Step`.
    """
    point = evaluate(objective, np.zeros(objective.shape) if start is None else start)
    best, before = point, objective.design.passes
    is_small = objective.n_parameters <= _SMALL and objective.n_samples <= _SHORT
    _weigh_columns(objective)
    width, memory, n_iter = _FIRST if start is None else _WARM, Memory(MEMORY), 0

    def record(there: Point) -> None:
        nonlocal n_iter
        n_iter += 1
        if progress is not None:
            progress(Step(0, "fast", there.value, objective.design.passes - before))

    while True:
        smooth = copy(objective)
        smooth.loss = rounded(width)
        here, left = evaluate(smooth, point.theta, point.raw), max_iter - n_iter
        if is_small:
            there = _newton(smooth, here, width, left, record)
        else:
            there = descend(
                smooth,
                here,
                tol=tol * width,
                max_iter=left,
                record=record,
                memory=memory,
                precise=tol < _ROUGH,
            )
        point = evaluate(objective, there.theta, there.raw)
        best = min(best, point, key=lambda p: p.value)
        hidden = (point.value - there.value) / point.value if point.value > 0 else 0.0
        if hidden <= tol or n_iter >= max_iter or width <= _SHARPEST:
            return Rounded(best.theta, best.value, hidden, max(n_iter, 1))
        width *= max(_NARROWER, _WITHIN * tol / hidden)


def _newton(
    objective: RankedRangeObjective,
    point: Point,
    width: float,
    max_iter: int,
    record: Callable[[Point], None],
) -> Point:
    """Return the minimum of a neighbour."""
    free = np.zeros(objective.shape)
    free[objective.design.n_features :] = _FREE / width
    for _ in range(max_iter):
        gradient = objective.subgradient_at(point.raw, point.theta, point.shares)
        hessian = objective.curvature_at(point.raw, point.shares)
        hessian[np.diag_indices_from(hessian)] += free.ravel()
        step = -solve_symmetric(hessian)(gradient.ravel()).reshape(objective.shape)
        slope = float(np.vdot(gradient, step))
        if not slope < -_DONE * point.value:
            break
        moved = _backtrack(objective, point, step, slope)
        if moved is None:
            break
        point = moved
        record(point)
    return point


def _backtrack(
    objective: RankedRangeObjective, point: Point, step: FloatArray, slope: float
) -> Point | None:
    """Return a lower point along a step, if there is one that rounding leaves."""
    draw, t = objective.raw_prediction(step), 1.0
    while t > 1e-10:
        moved = evaluate(objective, point.theta + t * step, point.raw + t * draw)
        if moved.value <= point.value + _ARMIJO * t * slope:
            return moved
        curve = moved.value - point.value - t * slope
        t *= min(max(-slope * t / (2 * curve), 0.1), 0.7)
    return None


def _weigh_columns(objective: RankedRangeObjective) -> None:
    """Let a row of weight two be two rows to the size of a column, which scales the first steps."""
    if objective.groups.weight is None:
        return
    design, mass = objective.design, objective.groups.masses
    X = design.X
    squares = X.multiply(X).T @ mass if design.is_sparse else np.einsum("i,ij,ij->j", mass, X, X)
    sizes = np.sqrt(squares / mass.sum())
    ones = np.ones(int(design.intercept))
    design.sizes = np.append(np.where(sizes > 0, sizes, 1.0), ones)
