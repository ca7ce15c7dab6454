"""Logistic regression, scikit-learn's, of each label by itself."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.optimize import minimize

from sorr._checks import as_inverse_ridge, check_choice, check_flag, check_limits, check_verbose
from sorr._typing import FloatArray
from sorr.estimators import (
    Labels,
    NotConvergedWarning,
    Rows,
    TopKLinear,
    logistic_scores,
    print_reports,
)
from sorr.losses import LogSumExpPairwise, SigmoidPairwise
from sorr.objectives import RankedRangeObjective

__all__ = ["BinaryRelevance", "PairwiseRanking", "not_converged", "warm_theta"]

_UNFINISHED = (
    "Not converged: the logistic regression of a label reached its limit of steps; scale the "
    "columns of X, lower C, or raise tol."
)


class BinaryRelevance(TopKLinear):
    r"""A logistic regression of each label by itself; the k most likely labels are predicted.

    .. math:: \min_{w_j, b_j} \; \frac{1}{n} \sum_{i=1}^{n} \log(1 + e^{-y_{ij} f_{ij}})
        + \frac{\|w_j\|^2}{2 C}

    This is ``LogisticRegression(C=C / n_samples)`` of each column of the indicator. A label that
    all rows have, or none, has the same score everywhere: the log odds of its share with half a
    row added on both sides, or zero without an intercept.

    Parameters
    ----------
    k : int, default=1
        How many labels to predict; fewer than there are. What is learned does not depend on it.
    C : float, default=10.0
        The inverse strength of the ridge; scikit-learn's is ``C / n_samples``, or C by the total
        weight.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    tol : float, default=1e-6
        The largest entry of a gradient at which to stop.
    verbose : int, default=0
        Whether to report progress to standard error, every two seconds.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
    intercept_ : ndarray of shape (n_labels,)
    classes_ : ndarray of shape (n_labels,)
    n_labels_ : int
    n_features_in_, feature_names_in_
        As in all of scikit-learn.

    See Also
    --------
    PairwiseRanking : All labels together.

    Examples
    --------
    >>> from sklearn.preprocessing import MultiLabelBinarizer
    >>> X = [[2.0, 0.1], [1.5, 0.9], [0.2, 1.8], [0.1, 1.1], [1.1, 1.2]]
    >>> sets = [{"sea", "sun"}, {"sun"}, {"snow", "wood"}, {"wood"}, {"sun", "wood"}]
    >>> binarizer = MultiLabelBinarizer()
    >>> y = binarizer.fit_transform(sets)
    >>> model = BinaryRelevance(k=2).fit(X, y)
    >>> binarizer.classes_[model.predict_topk([[1.9, 0.3]])]
    array([['sun', 'sea']], dtype=object)
    """

    def __init__(
        self,
        k: int = 1,
        *,
        C: float = 10.0,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        verbose: int = 0,
    ) -> None:
        self.k = k
        self.C = C
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.verbose = verbose

    def _check_parameters(self) -> None:
        as_inverse_ridge(self.C)
        check_limits(self.tol, 1)
        check_flag("fit_intercept", self.fit_intercept)
        check_verbose(self.verbose)

    def _learn_labels(self, rows: Rows, labels: Labels) -> list[Warning]:
        scores = logistic_scores(
            rows.X,
            rows.y,
            rows.weight,
            C=as_inverse_ridge(self.C),
            fit_intercept=self.fit_intercept,
            tol=self.tol,
            progress=print_reports(type(self).__name__, self.verbose),
        )
        self._keep_labels(labels, scores.coef, scores.intercept)
        return [NotConvergedWarning(_UNFINISHED)] if scores.notices else []


# -- Pairwise ranking of labels by a smooth count of the pairs in the wrong order ------------------


_OUTPUTS = ("sigmoid", "linear")
_MEMORY = 10  # steps that are remembered
_LAST_DIGIT = 1e-15  # decrease, relative to the objective, below which there is nothing to gain


class PairwiseRanking(TopKLinear):
    r"""A linear model of labels by the pairwise loss LSEP.

    .. math:: \min_{W, b} \; \frac{1}{n} \sum_{i=1}^{n} \log \Big( 1 + \sum_{u \notin Y_i}
        \sum_{v \in Y_i} e^{o_u - o_v} \Big) + \frac{\|W\|^2}{2 C}, \qquad
        o = \frac{1}{1 + e^{-f}} \ \text{or} \ o = f

    where :math:`f = W x + b` are the scores. The intercept is not penalised.

    Parameters
    ----------
    k : int, default=1
        How many labels to predict; fewer than there are. What is learned does not depend on it.
    outputs : {"sigmoid", "linear"}, default="sigmoid"
        What the loss is applied to. With sigmoids, as Hu et al. say they did, it is bounded and
        not convex; with the scores themselves, as in the paper on the loss, it is convex.
    C : float, default=100.0
        The inverse strength of the ridge. A sigmoid is at most a quarter as steep as its score, so
        that with "linear" a sixteenth of C makes for a ridge as strong.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    tol : float, default=1e-6
        The largest entry of the gradient at which to stop.
    max_iter : int, default=10000
        How many steps to take at most.
    warm_start : bool, default=False
        Whether to start at the parameters of the last fit, if it had the same labels.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
    intercept_ : ndarray of shape (n_labels,)
    classes_ : ndarray of shape (n_labels,)
    n_labels_ : int
    objective_ : float
        What was minimised, at the solution.
    n_iter_ : int
    n_features_in_, feature_names_in_
        As in all of scikit-learn.

    Notes
    -----
    The minimum is found by L-BFGS from zero, where all outputs are in the steepest part of the
    sigmoid. On Emotions, Scene and Yeast the scores of a logistic regression, those of "linear"
    and random ones lead to the same minimum from there up to C = 100, and to one within 0.1 % at
    C = 1000.

    References
    ----------
    Y. Li, Y. Song, J. Luo, "Improving pairwise ranking for multi-label image classification",
    CVPR 2017.

    S. Hu, Y. Ying, X. Wang, S. Lyu, "Learning by minimizing the sum of ranked range", NeurIPS
    2020, section 4.2.

    Examples
    --------
    >>> from sklearn.preprocessing import MultiLabelBinarizer
    >>> X = [[2.0, 0.1], [1.5, 0.9], [0.2, 1.8], [0.1, 1.1], [1.1, 1.2]]
    >>> sets = [{"sea", "sun"}, {"sun"}, {"snow", "wood"}, {"wood"}, {"sun", "wood"}]
    >>> binarizer = MultiLabelBinarizer()
    >>> y = binarizer.fit_transform(sets)
    >>> model = PairwiseRanking().fit(X, y)
    >>> binarizer.classes_[model.predict_topk([[1.9, 0.3]])]
    array([['sun']], dtype=object)
    """

    def __init__(
        self,
        k: int = 1,
        *,
        outputs: Literal["sigmoid", "linear"] = "sigmoid",
        C: float = 100.0,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 10_000,
        warm_start: bool = False,
    ) -> None:
        self.k = k
        self.outputs = outputs
        self.C = C
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start

    def _check_parameters(self) -> None:
        check_choice("outputs", self.outputs, _OUTPUTS)
        check_limits(self.tol, self.max_iter)
        check_flag("warm_start", self.warm_start)

    def _learn_labels(self, rows: Rows, labels: Labels) -> list[Warning]:
        is_linear = self.outputs == "linear"
        objective = RankedRangeObjective(
            rows.X,
            labels.indicator,
            LogSumExpPairwise() if is_linear else SigmoidPairwise(),
            C=self.C,
            sample_weight=rows.weight,
            fit_intercept=self.fit_intercept,
        )
        start = warm_theta(self, labels) if self.warm_start else None

        def value_and_gradient(flat: Any) -> tuple[float, Any]:
            value, gradient = objective.value_and_subgradient(flat.reshape(objective.shape))
            return value, gradient.ravel()

        found = minimize(
            value_and_gradient,
            np.zeros(objective.n_parameters) if start is None else start.ravel(),
            jac=True,
            method="L-BFGS-B",
            options={
                "maxcor": _MEMORY,
                "gtol": self.tol,
                "ftol": _LAST_DIGIT,
                "maxiter": self.max_iter,
                "maxfun": 20 * self.max_iter,
            },
        )
        theta = found.x.reshape(objective.shape)
        self.objective_, self.n_iter_ = float(found.fun), max(int(found.nit), 1)
        d = rows.X.shape[1]
        intercept = theta[d] if self.fit_intercept else np.zeros(len(labels.classes))
        self._keep_labels(
            labels, theta[:d], intercept - intercept.mean() if is_linear else intercept
        )
        return not_converged(self, found.nit >= self.max_iter)


# -- How a fit begins that goes on from the last one, and what is said of one that did not end -----


def warm_theta(estimator: Any, labels: Labels) -> FloatArray | None:
    """Return the parameters of the last fit, if it was one of the same labels and features."""
    coef = getattr(estimator, "coef_", None)
    if coef is None or not np.array_equal(estimator.classes_, labels.classes):
        return None
    if coef.shape[1] != estimator.n_features_in_:
        return None
    parts = [coef.T, *([estimator.intercept_[None]] if estimator.fit_intercept else [])]
    return np.concatenate(parts)


def not_converged(estimator: Any, is_unfinished: bool) -> list[Warning]:
    """Return a warning if the last fit took all the steps it was given, and needed more."""
    if not is_unfinished:
        return []
    gap = getattr(estimator, "gap_", None)
    return [
        NotConvergedWarning(
            f"Not converged{'' if gap is None else f' (gap {gap:.1g})'} in {estimator.n_iter_} "
            "steps; scale the columns of X, lower C, or raise tol or max_iter."
        )
    ]
