"""Linear models of label sets: binary relevance, pairwise ranking, and what SVMs share with it."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.optimize import minimize

from sorr._checks import as_inverse_ridge, check_choice, check_flag, check_limits, check_verbose
from sorr._progress import print_reports
from sorr._typing import FloatArray
from sorr.estimators import (
    Labels,
    NotConvergedWarning,
    Rows,
    TopKLinear,
    logistic_scores,
)
from sorr.losses import LogSumExpPairwise, SigmoidPairwise
from sorr.objectives import RankedRangeObjective

_OUTPUTS = ("sigmoid", "linear")
_MEMORY = 10  # steps that L-BFGS remembers
_MIN_DECREASE = 1e-15  # relative to the objective; below it there is nothing to gain


class BinaryRelevance(TopKLinear):
    r"""A logistic regression of each label by itself; the k most likely labels are predicted.

    .. math:: \min_{w_j, b_j} \; \frac{1}{n} \sum_{i=1}^{n} \log(1 + e^{-y_{ij} f_{ij}})
        + \frac{\|w_j\|^2}{2 C}

    This is ``LogisticRegression(C=C / n_samples)`` for each column of the indicator. A label that
    all rows have, or none, has the same score everywhere: the log odds of its share, with half a
    row added on both sides, or zero without an intercept.

    Parameters
    ----------
    k : int, default=1
        How many labels to predict: fewer than there are. The fit does not depend on it.
    C : float, default=10.0
        The inverse strength of the ridge. The C of scikit-learn is this one divided by the number
        of rows, or by their total weight.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    tol : float, default=1e-6
        Stop when no entry of the gradient is larger.
    verbose : int, default=0
        Above 0, report progress on standard error every two seconds.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
    intercept_ : ndarray of shape (n_labels,)
    classes_ : ndarray of shape (n_labels,)
    n_labels_ : int
    n_features_in_, feature_names_in_
        As in scikit-learn.

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
        if not scores.notices:
            return []
        return [
            NotConvergedWarning(
                "Not converged: the logistic regression of a label reached its limit of steps; "
                "scale the columns of X, lower C, or raise tol."
            )
        ]


class IterativeLabelModel(TopKLinear):
    """A model of labels that is fitted in steps, and may start where the last fit ended."""

    fit_intercept: bool
    n_iter_: int

    def _warm_theta(self, labels: Labels) -> FloatArray | None:
        """Return the parameters of the last fit, if it had the same labels and features."""
        coef = getattr(self, "coef_", None)
        if coef is None or not np.array_equal(self.classes_, labels.classes):
            return None
        if coef.shape[1] != self.n_features_in_:
            return None
        return np.concatenate([coef.T, *([self.intercept_[None]] if self.fit_intercept else [])])

    def _keep_theta(self, labels: Labels, theta: FloatArray, *, centred: bool) -> None:
        """Keep coefficients and intercepts; centred if a constant in all scores changes nothing."""
        coef, intercept = theta, np.zeros(len(labels.classes))
        if self.fit_intercept:
            coef, intercept = theta[:-1], theta[-1]
        self._keep_labels(labels, coef, intercept - intercept.mean() if centred else intercept)

    def _not_converged(self) -> NotConvergedWarning:
        """Return the warning about a fit that needed more steps than it was given."""
        gap = getattr(self, "gap_", None)
        return NotConvergedWarning(
            f"Not converged{'' if gap is None else f' (gap {gap:.1g})'} in {self.n_iter_} steps; "
            "scale the columns of X, lower C, or raise tol or max_iter."
        )


class PairwiseRanking(IterativeLabelModel):
    r"""A linear model of labels with the pairwise loss LSEP.

    .. math:: \min_{W, b} \; \frac{1}{n} \sum_{i=1}^{n} \log \Big( 1 + \sum_{u \notin Y_i}
        \sum_{v \in Y_i} e^{o_u - o_v} \Big) + \frac{\|W\|^2}{2 C}, \qquad
        o = \frac{1}{1 + e^{-f}} \ \text{or} \ o = f

    where :math:`f = W x + b` are the scores. The intercept is not penalised.

    Parameters
    ----------
    k : int, default=1
        How many labels to predict: fewer than there are. The fit does not depend on it.
    outputs : {"sigmoid", "linear"}, default="sigmoid"
        What the loss is applied to. With sigmoids, as Hu et al. say they did, it is bounded and
        not convex. With the scores themselves, as in the paper on the loss, it is convex.
    C : float, default=100.0
        The inverse strength of the ridge. A sigmoid is at most a quarter as steep as its score, so
        with "linear" a sixteenth of C gives an equally strong ridge.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    tol : float, default=1e-6
        Stop when no entry of the gradient is larger.
    max_iter : int, default=10000
        The largest number of steps.
    warm_start : bool, default=False
        Whether to start at the parameters of the last fit, if it had the same labels.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
    intercept_ : ndarray of shape (n_labels,)
    classes_ : ndarray of shape (n_labels,)
    n_labels_ : int
    objective_ : float
        The objective at the solution.
    n_iter_ : int
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    L-BFGS starts from zero, where the sigmoid is steepest. On Emotions, Scene and Yeast other
    starts (the scores of a logistic regression, those of "linear", random ones) lead to the same
    minimum up to C = 100, and to one within 0.1 % of it at C = 1000.

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
        start = self._warm_theta(labels) if self.warm_start else None

        def value_and_gradient(flat: Any) -> tuple[float, Any]:
            value, gradient = objective.value_and_subgradient(flat.reshape(objective.shape))
            return value, gradient.ravel()

        minimum = minimize(
            value_and_gradient,
            np.zeros(objective.n_parameters) if start is None else start.ravel(),
            jac=True,
            method="L-BFGS-B",
            options={
                "maxcor": _MEMORY,
                "gtol": self.tol,
                "ftol": _MIN_DECREASE,
                "maxiter": self.max_iter,
                "maxfun": 20 * self.max_iter,
            },
        )
        self.objective_, self.n_iter_ = float(minimum.fun), max(int(minimum.nit), 1)
        self._keep_theta(labels, minimum.x.reshape(objective.shape), centred=is_linear)
        return [self._not_converged()] if minimum.nit >= self.max_iter else []
