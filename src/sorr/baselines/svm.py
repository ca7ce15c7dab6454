"""Support vector machines over labels: Crammer and Singer's, and that of the top k."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from sorr._checks import check_flag, check_limits, check_verbose
from sorr._typing import FloatArray
from sorr.baselines.label_models import IterativeLabelModel
from sorr.estimators import Labels, Rows, print_steps
from sorr.losses import Loss, MultilabelHinge, RoundedMultilabelHinge, RoundedTopKSVM, TopKSVM
from sorr.objectives import Point, RankedRangeObjective, solve_symmetric
from sorr.solvers import Memory, Progress, Step, descend, take_newton_steps

_TOL = 1e-3  # the default tolerance
_LARGE_TOL = 1e-2  # the same where X holds many numbers
_MANY_NUMBERS = 10_000_000
_MAX_NEWTON_PARAMETERS = 200  # up to which the cost of Newton steps is small
_MAX_NEWTON_ROWS = 5000
_FIRST_WIDTH = 1.0  # of rounded corners: the margin
_WARM_WIDTH = 0.1  # the same for a start near the minimum
_NEXT_WIDTH = 0.5  # relative to the last one; the width shrinks less if that is enough
_AIM = 0.9  # share of the tolerance that the next width aims at
_MIN_WIDTH = 1e-9  # of corners that are sharp in floating-point numbers
_PRECISE_TOL = 1e-4  # below it, predictions in float32 are not enough
_MIN_DECREASE = 1e-15  # that a Newton step must promise, relative to the objective
_INTERCEPT_CURVATURE = 1e-8  # of an intercept that has none, relative to that of a corner


class _LabelSVM(IterativeLabelModel):
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
        """Return the loss, and a function from a width to the loss with rounded corners."""

    def _check_parameters(self) -> None:
        check_limits(_TOL if self.tol is None else self.tol, self.max_iter)
        check_flag("warm_start", self.warm_start)
        check_verbose(self.verbose)

    def _learn_labels(self, rows: Rows, labels: Labels) -> list[Warning]:
        loss, rounded = self._losses_of(int(self.k))
        tol = self.tol
        if tol is None:
            tol = _TOL if rows.X.size < _MANY_NUMBERS else _LARGE_TOL
        objective = RankedRangeObjective(
            rows.X,
            labels.indicator,
            loss,
            C=self.C,
            sample_weight=rows.weight,
            fit_intercept=self.fit_intercept,
        )
        minimum = _minimise_rounded(
            objective,
            rounded,
            self._warm_theta(labels) if self.warm_start else None,
            tol=tol,
            max_iter=self.max_iter,
            progress=print_steps(type(self).__name__, self.verbose),
        )
        self.objective_, self.gap_, self.n_iter_ = minimum.value, minimum.hidden, minimum.n_iter
        self._keep_theta(labels, minimum.theta, centred=True)
        return [self._not_converged()] if minimum.hidden > tol else []


class TopKSVMClassifier(_LabelSVM):
    r"""The top-k multi-class SVM: the true label should be among the k best.

    .. math:: \min_{W, b} \; \frac{1}{n} \sum_{i=1}^{n} \Big[ \frac{1}{k} \sum_{j=1}^{k}
        s^i_{[j]} \Big]_+ + \frac{\|W\|^2}{2 C}, \qquad
        s^i_j = \mathbf{1}[j \ne y_i] + f_j - f_{y_i}

    The loss is the mean of the k largest violations of the margin, over all classes; the authors
    call it alpha. For sets of labels it is `sorr.losses.TopKSVM`. The intercept is not penalised.

    Parameters
    ----------
    k : int, default=1
        How many labels to predict, and to average over: fewer than there are.
    C : float, default=10.0
        The inverse strength of the ridge.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    tol : float or None, default=None
        The share of the objective that rounded corners may hide: about how far above its minimum
        the objective may be. None is 1e-3, or 1e-2 if X holds ten million numbers or more; then a
        fit to the 60,000 images of MNIST takes about as long as a softmax regression.
    max_iter : int, default=10000
        The largest number of steps.
    warm_start : bool, default=False
        Whether to start at the parameters of the last fit, if it had the same labels.
    verbose : int, default=0
        Above 0, report progress on standard error every two seconds; above 1, after every step.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
    intercept_ : ndarray of shape (n_labels,)
        Their mean is zero: a constant added to all scores changes nothing.
    classes_ : ndarray of shape (n_labels,)
    n_labels_ : int
    objective_ : float
        The objective at the solution.
    gap_ : float
        The share of the objective that rounded corners hide: about how far above its minimum it
        is. It is not certified.
    n_iter_ : int
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    MulticlassSVM : The same as k = 1 for one label a row, however many labels are predicted.
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

    With one class for each row it is their multi-class SVM, otherwise their ranking of categories
    (2003). The intercept is not penalised.

    Parameters
    ----------
    k : int, default=1
        How many labels to predict: fewer than there are. The fit does not depend on it.
    C : float, default=10.0
        The inverse strength of the ridge.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    tol : float or None, default=None
        The share of the objective that rounded corners may hide: about how far above its minimum
        the objective may be. None is 1e-3, or 1e-2 if X holds ten million numbers or more; then a
        fit to the 60,000 images of MNIST takes about as long as a softmax regression.
    max_iter : int, default=10000
        The largest number of steps.
    warm_start : bool, default=False
        Whether to start at the parameters of the last fit, if it had the same labels.
    verbose : int, default=0
        Above 0, report progress on standard error every two seconds; above 1, after every step.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
    intercept_ : ndarray of shape (n_labels,)
        Their mean is zero: a constant added to all scores changes nothing.
    classes_ : ndarray of shape (n_labels,)
    n_labels_ : int
    objective_ : float
        The objective at the solution.
    gap_ : float
        The share of the objective that rounded corners hide: about how far above its minimum it
        is. It is not certified.
    n_iter_ : int
    n_features_in_, feature_names_in_
        As in scikit-learn.

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


# -- The minimum of a hinge over labels: its corners are rounded, less and less --------------------


class _RoundedMinimum(NamedTuple):
    """A point, its objective, the share that rounded corners hide, and the number of steps."""

    theta: FloatArray
    value: float
    hidden: float
    n_iter: int


def _minimise_rounded(
    objective: RankedRangeObjective,
    rounded: Callable[[float], Loss],
    start: FloatArray | None = None,
    *,
    tol: float,
    max_iter: int,
    progress: Progress | None = None,
) -> _RoundedMinimum:
    """Minimise the mean of a hinge by steps on neighbours with rounded corners.

    A neighbour lies below the objective, and so does its minimum. The difference at that minimum
    is what the rounded corners hide; they get sharper until it is at most `tol`, relative to the
    objective. With few parameters the steps are Newton's and reach the minimum of the last
    neighbour; with many they are quasi-Newton steps, which end when they promise less than `tol`
    times the width. `start` is a point near the minimum, such as that for another C.
    """
    point = objective.at(np.zeros(objective.shape) if start is None else start)
    best, before = point, objective.design.passes
    is_small = (
        objective.n_parameters <= _MAX_NEWTON_PARAMETERS and objective.n_samples <= _MAX_NEWTON_ROWS
    )
    if objective.groups.weight is not None:  # the sizes of columns scale the first steps
        design = objective.design.with_sizes_by_mass(objective.groups.weight)
        objective = objective.replace(design=design)
    width = _FIRST_WIDTH if start is None else _WARM_WIDTH
    memory, n_iter = Memory(), 0

    def record(reached: Point) -> None:
        nonlocal n_iter
        n_iter += 1
        if progress is not None:
            progress(Step(0, "fast", reached.value, objective.design.passes - before))

    while True:
        smooth = objective.replace(loss=rounded(width))
        start_point, steps_left = smooth.at(point.theta, point.raw), max_iter - n_iter
        if is_small:
            neighbour = take_newton_steps(
                smooth,
                start_point,
                partial(_newton_metric, smooth, width),
                tol=_MIN_DECREASE,
                max_iter=steps_left,
                record=record,
            )
        else:
            neighbour = descend(
                smooth,
                start_point,
                tol=tol * width,
                max_iter=steps_left,
                record=record,
                memory=memory,
                precise=tol < _PRECISE_TOL,
            )
        point = objective.at(neighbour.theta, neighbour.raw)
        best = min(best, point, key=lambda p: p.value)
        hidden = (point.value - neighbour.value) / point.value if point.value > 0 else 0.0
        if hidden <= tol or n_iter >= max_iter or width <= _MIN_WIDTH:
            return _RoundedMinimum(best.theta, best.value, hidden, max(n_iter, 1))
        width *= max(_NEXT_WIDTH, _AIM * tol / hidden)


def _newton_metric(
    objective: RankedRangeObjective, width: float, point: Point
) -> Callable[[FloatArray], FloatArray]:
    """Return the inverse of the Hessian of a neighbour with corners of that width."""
    extra = np.zeros(objective.shape)
    extra[objective.design.n_features :] = _INTERCEPT_CURVATURE / width
    hessian = objective.hessian(point)
    hessian[np.diag_indices_from(hessian)] += extra.ravel()
    return solve_symmetric(hessian)
