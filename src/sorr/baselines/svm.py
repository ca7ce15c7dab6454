"""Support vector machines over labels: Crammer and Singer's, and that of the top k."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import numpy as np

from sorr.baselines.rounding import minimise_rounded
from sorr.baselines.steps import not_converged, warm_theta
from sorr.estimators.base import check_flag, check_verbose
from sorr.estimators.label_sets import Labels
from sorr.estimators.linear import Rows
from sorr.estimators.progress import reporter
from sorr.estimators.topk import TopKLinear
from sorr.losses import Loss, MultilabelHinge, TopKSVM
from sorr.losses.rounded import RoundedMultilabelHinge, RoundedTopKSVM
from sorr.objectives import RankedRangeObjective
from sorr.solvers.base import check_limits

__all__ = ["MulticlassSVM", "TopKSVMClassifier"]

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
            progress=reporter(type(self).__name__, self.verbose),
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
