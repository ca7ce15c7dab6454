"""Logistic regression, scikit-learn's, of each label by itself."""

from __future__ import annotations

from sorr.estimators.base import check_flag, check_verbose
from sorr.estimators.label_sets import Labels
from sorr.estimators.linear import Rows
from sorr.estimators.notices import NotConvergedWarning
from sorr.estimators.one_vs_rest import logistic_scores
from sorr.estimators.progress import reporter
from sorr.estimators.topk import TopKLinear
from sorr.objectives.ranked_range import as_inverse_ridge
from sorr.solvers.base import check_limits

__all__ = ["BinaryRelevance"]

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
            progress=reporter(type(self).__name__, self.verbose),
        )
        self._keep_labels(labels, scores.coef, scores.intercept)
        return [NotConvergedWarning(_UNFINISHED)] if scores.notices else []
