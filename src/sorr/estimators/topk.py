"""Linear models that score labels and predict the k best ones.

`TopKLinear` turns scores into predictions, for any way to learn them. `TopKMultilabelClassifier`
learns them by a ranked range of top-k losses. `logistic_scores` fits each label by itself.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import validate_data

from sorr._checks import as_inverse_ridge, as_label_count, check_choice
from sorr._progress import print_reports
from sorr._typing import BoolArray, FloatArray, IntArray, Report
from sorr.estimators.base import (
    LinearModel,
    NotConvergedWarning,
    Rows,
    check_length,
    prefix_errors,
    rollback_on_error,
    warn,
)
from sorr.estimators.classifier import RANKINGS
from sorr.estimators.label_sets import Kind, Labels, indicator_like, labels_of
from sorr.estimators.ranked_range import (
    RankedRangeLinear,
    Ranks,
    Task,
    named_minima,
    ranks_in_all,
    ranks_in_classes,
)
from sorr.losses import Loss, MultilabelHinge, TopKMultilabel, TopKSubset, is_top
from sorr.metrics import topk_multilabel_accuracy
from sorr.objectives import RankedRangeObjective

_LOSSES = ("tkml", "subset", "subset+logistic", "multilabel_hinge")
_SMOOTHING_WIDTH = 2.0  # of the corners of the margin that logistic scores are added to
_MAX_CERTIFIED = 10_000  # rows times pairs of labels: up to here a certificate takes a second
_NOT_CONVERGED = (
    "Not converged: the logistic regression of a label reached its limit of steps; scale the "
    "columns of X, lower C_logistic, or raise tol."
)


class TopKLinear(ClassifierMixin, LinearModel):
    """A linear score for each label. The k labels with the best scores are predicted.

    Targets are an indicator, or one class for each row: see `labels_of`. A subclass has a
    parameter `k`, and a method `_learn_labels` that ends with `_keep_labels`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
    intercept_ : ndarray of shape (n_labels,)
    classes_ : ndarray of shape (n_labels,)
    n_labels_ : int
    """

    _kind: Kind
    """The form of the target of the last fit."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        After any error, also after an interruption, the estimator is as it was before.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        y : array-like, frame or sparse matrix
            The labels of each row: an indicator of shape (n_samples, n_labels), or one class for
            each row. `MultiLabelBinarizer` of scikit-learn makes an indicator from label sets.
        sample_weight : array-like of shape (n_samples,), optional
            The mass of each row. A row of weight two counts as two copies.

        Returns
        -------
        self
        """
        with rollback_on_error(self):
            self._check_parameters()
            rows, labels = self._label_rows(X, y, sample_weight)
            warn(self._learn_labels(rows, labels))
        return self

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse parameters that cannot be used, before the data is read."""

    @abstractmethod
    def _learn_labels(self, rows: Rows, labels: Labels) -> list[Warning]:
        """Learn the scores, store them, and return warnings about them."""

    def _label_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, Labels]:
        """Return the rows of positive weight, with the indicator as `y`, and their labels."""
        if y is None:
            validate_data(self, X, y)  # raises scikit-learn's error about a missing y
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        labels = labels_of(y)
        check_length(labels.indicator, X.shape[0])
        rows = Rows.with_mass(X, labels.indicator, sample_weight)
        labels = labels.take(rows.places)
        as_label_count(self.k, len(labels.classes))
        return rows._replace(y=labels.indicator), labels

    def _keep_labels(self, labels: Labels, coef: Any, intercept: Any) -> None:
        """Store a solution: coefficients of shape (n_features, n_labels), and intercepts."""
        self._kind, self.classes_ = labels.kind, labels.classes
        self.n_labels_ = len(labels.classes)
        self.coef_ = np.ascontiguousarray(np.transpose(coef), dtype=np.float64)
        self.intercept_ = np.array(np.broadcast_to(intercept, self.n_labels_), dtype=np.float64)

    def _stored_coef(self) -> FloatArray:
        return np.asarray(self.coef_, dtype=np.float64).T

    def decision_function(self, X: Any) -> FloatArray:
        """Return the scores of the labels.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_labels) or (n_samples,)
            For an indicator, the scores minus the middle between the k-th and the next score of
            the row: positive for the predicted labels, unless these two are tied. For one class
            in each row, the scores as they are; with two classes, the second score minus the
            first.
        """
        raw = self._raw_prediction(X)
        if self._kind != "multiclass":
            k = as_label_count(self.k, self.n_labels_)
            cut = self.n_labels_ - k
            ordered = np.partition(raw, [cut - 1, cut], axis=1)
            return np.asarray(raw - (ordered[:, cut - 1] / 2 + ordered[:, cut] / 2)[:, None])
        return np.asarray(raw[:, 1] - raw[:, 0]) if self.n_labels_ == 2 else raw

    def predict(self, X: Any) -> Any:
        """Return the k labels with the best scores for each row, or the best class.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray or sparse array of shape (n_samples, n_labels), or ndarray of shape (n_samples,)
            An indicator of k labels, sparse if that of the fit was. The class with the best score,
            if the fit was given one class for each row. Of tied labels the first is predicted.
        """
        raw = self._raw_prediction(X)
        if self._kind == "multiclass":
            return np.asarray(self.classes_[raw.argmax(axis=1)])
        indicator = is_top(raw, as_label_count(self.k, self.n_labels_)).astype(int)
        return sparse.csr_array(indicator) if self._kind == "sparse" else indicator

    def predict_topk(self, X: Any) -> npt.NDArray[Any]:
        """Return the names of the k labels with the best scores for each row.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, k)
            The best first. Of tied labels the one that comes first in ``classes_``.
        """
        best = np.argsort(-self._raw_prediction(X), axis=1, kind="stable")
        return np.asarray(self.classes_[best[:, : as_label_count(self.k, self.n_labels_)]])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the top-k multi-label accuracy.

        It is the share of rows whose k best labels are all true, or contain all true labels. With
        one class for each row it is the top-k accuracy. See
        `sorr.metrics.topk_multilabel_accuracy`.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        y : array-like, frame or sparse matrix
            Targets as in `fit`, without new labels.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        raw = self._raw_prediction(X)
        truth = indicator_like(y, self.classes_, self._kind)
        check_length(truth, len(raw))
        return float(topk_multilabel_accuracy(truth, raw, k=self.k, sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


# -- The classifier --------------------------------------------------------------------------------


class TopKMultilabelClassifier(TopKLinear, RankedRangeLinear):
    r"""A linear classifier whose k best labels should be true, or contain all true labels.

    .. math:: \min_{W, b} \; \frac{1}{k' - m'} \sum_{i=m'+1}^{k'} s_{[i]}(W, b)
        + \frac{\|W\|^2}{2 C}

    :math:`s_{[1]} \ge s_{[2]} \ge \dots` are the sorted losses of the rows; m' and k' are
    `m_samples` and `k_samples`. By default all rows count, and this is the mean. The loss of a row
    ranks the scores :math:`f = W x + b` of its labels. Y are the true labels, F the others:

    - "tkml": :math:`[1 + f_{[k+1]} - \min_Y f]_+`, the top-k multi-label loss of the paper;
    - "subset": :math:`[1 + f^F_{[k-r+1]} - f^Y_{[r]}]_+` with r = min(k, \|Y\|), a margin for
      `score`;
    - "multilabel_hinge": :math:`[1 + \max_F f - \min_Y f]_+`, which is convex and has no k;
    - "subset+logistic": the sum of two scores. One is "subset" with rounded corners, at a
      temperature of one half. The other is a logistic regression of each label by itself. Each
      is divided by its standard deviation over all training rows and labels. Often the best; see
      the benchmarks.

    A row without labels, or with all of them, is always right and costs nothing, except that
    "tkml" is at least one where more than k labels are true. A label that no row has still gets a
    score.

    Parameters
    ----------
    k : int, default=1
        Number of labels to predict, fewer than there are.
    loss : {"tkml", "subset", "subset+logistic", "multilabel_hinge"}, default="tkml"
        The loss of a row.
    C : float, default=10.0
        The inverse strength of the ridge, as in the paper. With standardised features, 3 to 10 was
        best on Emotions, Scene and Yeast together. For "tkml" the best is 3 to 30, by data set.
    C_logistic : float or None, default=None
        The same for the logistic part of "subset+logistic". None takes C.
    m_samples : int, float or mapping, default=0
        How many rows to drop, those with the largest losses: a count, or a fraction strictly
        between 0 and 1. Within classes, a fraction of each class, or a mapping from class to count
        or fraction.
    k_samples : int, float, mapping or None, default=None
        The last rank of the rows to keep, in the same units. None keeps all rows with smaller
        losses.
    ranking : {"pooled", "within_class"}, default="pooled"
        Whether a row is ranked among all rows or among the rows of its class. The latter needs
        targets with one class for each row; then losses are averaged in each class, and classes
        count by their number of rows.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    solver : {"trim", "dca"}, default="trim"
        The solver; see `sorr.solvers`. "dca" is the paper's algorithm, with deterministic inner
        steps; the notes show its other settings.
    certify : bool or "auto", default="auto"
        Whether `trim` continues to a certified fixed point, which takes many times longer. "auto"
        does so for small problems: up to 10,000 rows times pairs of labels.
    tol : float, default=1e-6
        The certified gap to reach, relative to the objective, and the gradient at which a logistic
        regression stops.
    max_iter : int, default=50
        Maximum number of trimming steps, or of outer steps of "dca".
    warm_start : bool, default=False
        Whether to start only at the parameters of the last fit, also of one with another k or C,
        if the labels are the same. Go from large to small C: coefficients that a strong ridge kept
        small lead to poor minima.
    random_state : int, RandomState, Generator or None, default=None
        Seed for samples of the rows, where there are many. The same seed gives the same result.
        Losses that are not convex have a single starting point, a short fit of a convex loss.
    verbose : int, default=0
        1 prints progress to standard error every two seconds, 2 prints every step.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
    intercept_ : ndarray of shape (n_labels,)
        Their mean is zero, since a constant added to all scores changes nothing.
    classes_ : ndarray of shape (n_labels,)
        The labels: the columns of an indicator, or the classes that occur, sorted.
    n_labels_ : int
    n_features_in_, feature_names_in_
        As in scikit-learn.
    objective_, gap_, status_, trace_, n_iter_, minima_
        The objective and how it was reached; see `RankedRangeClassifier`. For "subset+logistic",
        these and all attributes below belong to the "subset" part.
    m_, k_ : ndarray of shape (1,) or (n_classes,)
        `m_samples` and `k_samples` in rows, or mass: of all rows, or of each class.
    thresholds_ : ndarray of shape (1, 2) or (n_classes, 2)
        The losses at these ranks. Infinite where m is 0.
    losses_ : ndarray of shape (n_samples,)
        The loss of each row. NaN for rows of weight zero.
    row_weights_ : ndarray of shape (n_samples,)
        How much each row counts in the objective. They sum to one.
    outlier_mask_ : ndarray of bool of shape (n_samples,)
        The dropped rows, each with all of its labels.

    See Also
    --------
    RankedRangeClassifier : One class for each row, and losses that do not rank labels.
    sorr.metrics.topk_multilabel_accuracy : The value of `score`.

    Notes
    -----
    `sorr.solvers.dca` has the other settings of the paper's Algorithm 1 and takes the same
    objective. This example takes subgradient steps on all rows.

    >>> import numpy as np
    >>> from sorr import losses, objectives, solvers
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 4))
    >>> Y = X @ rng.normal(size=(4, 5)) > 0.5
    >>> loss = losses.TopKMultilabel(k=2)
    >>> objective = objectives.RankedRangeObjective(X, Y, loss, C=1e4)
    >>> options = dict(batch_size=100, inner_steps=100, outer_steps=5, step_size=0.1)
    >>> solvers.dca(objective, **options).coef.shape
    (4, 5)

    References
    ----------
    S. Hu, Y. Ying, X. Wang, S. Lyu, "Learning by minimizing the sum of ranked range", NeurIPS
    2020, section 4.

    S. Hu, Y. Ying, X. Wang, S. Lyu, "Sum of ranked range loss for supervised learning", JMLR 2022,
    on the combination of both.

    Examples
    --------
    >>> from sklearn.preprocessing import MultiLabelBinarizer
    >>> X = [[2.0, 0.1], [1.5, 0.9], [0.2, 1.8], [0.1, 1.1], [1.1, 1.2]]
    >>> sets = [{"sea", "sun"}, {"sun"}, {"snow", "wood"}, {"wood"}, {"sun", "wood"}]
    >>> binarizer = MultiLabelBinarizer()
    >>> y = binarizer.fit_transform(sets)
    >>> model = TopKMultilabelClassifier(k=2, loss="subset", random_state=0).fit(X, y)
    >>> model.score(X, y)
    1.0
    >>> sorted(binarizer.classes_[model.predict_topk([[0.0, 2.0]])[0]])
    ['snow', 'wood']
    """

    n_starts: ClassVar[Literal["auto"]] = "auto"
    _theta: Any = None
    """The solution of the last fit, where the next one may start."""

    def __init__(
        self,
        k: int = 1,
        *,
        loss: Literal["tkml", "subset", "subset+logistic", "multilabel_hinge"] = "tkml",
        C: float = 10.0,
        C_logistic: float | None = None,
        m_samples: float | int | Mapping[Any, int | float] = 0,
        k_samples: float | int | Mapping[Any, int | float] | None = None,
        ranking: Literal["pooled", "within_class"] = "pooled",
        fit_intercept: bool = True,
        solver: Literal["trim", "dca"] = "trim",
        certify: bool | Literal["auto"] = "auto",
        tol: float = 1e-6,
        max_iter: int = 50,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.k = k
        self.loss = loss
        self.C = C
        self.C_logistic = C_logistic
        self.m_samples = m_samples
        self.k_samples = k_samples
        self.ranking = ranking
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.certify = certify
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_choice("loss", self.loss, _LOSSES)
        check_choice("ranking", self.ranking, RANKINGS)

    def _learn_labels(self, rows: Rows, labels: Labels) -> list[Warning]:
        if not np.array_equal(getattr(self, "classes_", ()), labels.classes):
            self._theta = None  # a fit cannot start from the scores of other labels
        C_logistic = as_inverse_ridge(self.C)
        if self.C_logistic is not None:
            C_logistic = as_inverse_ridge(self.C_logistic, "C_logistic")
        names = labels.classes.tolist()
        groups = self._groups(labels)
        with prefix_errors("m_samples and k_samples, here m and k"):
            ranks = self._ranks(rows, groups, names)
        loss = self._loss_of(len(names))
        solution, notices = self._learn(Task(rows, loss, labels.indicator, ranks, groups))
        if groups is not None:
            self.minima_ = named_minima(solution.minima, names)
        self._loss, self._theta = loss, solution.theta
        scores = LabelScores(solution.coef, solution.intercept)
        if self.loss == "subset+logistic":
            mask = self.outlier_mask_ if rows.places is None else self.outlier_mask_[rows.places]
            logistic = logistic_scores(
                rows.X[~mask],
                rows.y[~mask],
                None if rows.weight is None else rows.weight[~mask],
                C=C_logistic,
                fit_intercept=self.fit_intercept,
                tol=self.tol,
                progress=print_reports(type(self).__name__, self.verbose),
            )
            notices += logistic.notices
            scores = add_standardised([scores, logistic], rows.X, rows.weight)
        self._keep_labels(labels, scores.coef, scores.intercept - scores.intercept.mean())
        return notices

    def _ranks(self, rows: Rows, groups: IntArray | None, names: list[Any]) -> Ranks:
        """Return m_samples and k_samples in mass, among all rows or in each class."""
        if groups is None:
            masses = np.bincount(np.zeros(len(rows.y), np.intp), rows.weight, 1)
            return ranks_in_all(self.m_samples, self.k_samples, rows.round_masses(masses))
        masses = rows.round_masses(np.bincount(groups, rows.weight, len(names)))
        return ranks_in_classes(self.m_samples, self.k_samples, masses, names)

    def _loss_of(self, n_labels: int) -> Loss:
        k = as_label_count(self.k, n_labels)
        if self.loss == "multilabel_hinge":
            return MultilabelHinge()
        loss = TopKMultilabel(k) if self.loss == "tkml" else TopKSubset(k)
        is_smooth = self.loss == "subset+logistic" and self.solver == "trim"
        return loss.smoothed(_SMOOTHING_WIDTH) if is_smooth else loss

    def _groups(self, labels: Labels) -> IntArray | None:
        """Return the class of each row if rows are ranked in their classes."""
        if self.ranking == "pooled":
            return None
        if labels.kind != "multiclass":
            raise ValueError(
                "ranking='within_class' is given, and y is an indicator; needed one class for "
                "each row, or ranking='pooled'"
            )
        return labels.index

    def _certifies(self, objective: RankedRangeObjective) -> bool:
        if isinstance(self.certify, str):
            if self.certify != "auto":
                raise ValueError(
                    f"certify={self.certify!r} is not known; needed True, False or 'auto'"
                )
            return objective.n_samples * objective.shape[1] ** 2 <= _MAX_CERTIFIED
        return super()._certifies(objective)

    def _warm(self, shape: tuple[int, ...]) -> FloatArray | None:
        last = self._theta
        if super()._warm(shape) is None or last is None:
            return None
        theta = np.zeros(shape)  # only one of the two fits may have an intercept
        n_shared = min(len(theta), len(last))
        theta[:n_shared] = last[:n_shared]
        return theta

    def _losses(self, X: Any, y: Any) -> tuple[FloatArray, IntArray]:
        X = self._features(X)
        truth = indicator_like(y, self.classes_, self._kind)
        check_length(truth, X.shape[0])
        d = self.n_features_in_
        raw = X @ self._theta[:d] + (self._theta[d] if len(self._theta) > d else 0.0)
        return np.asarray(self._loss.value(truth, np.asarray(raw))), truth.argmax(axis=1)


# -- Logistic regression of each label by itself ---------------------------------------------------


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
    indicator: BoolArray,
    weight: FloatArray | None = None,
    *,
    C: float,
    fit_intercept: bool = True,
    tol: float = 1e-6,
    max_iter: int = 1000,
    progress: Report | None = None,
) -> LabelScores:
    r"""Fit scikit-learn's logistic regression to each label. Its log odds are the scores.

    .. math:: \frac{1}{n} \sum_i \log(1 + e^{-y_{ij} s_{ij}}) + \frac{\|w_j\|^2}{2C}

    A label that all rows have, or none, gets the same score everywhere: the log odds of its share
    with half a row added on both sides (zero without an intercept).

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
    progress : callable, optional
        Called after each label, with the number of labels done, of all labels, and a text.
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
            progress(j + 1, n_labels, "logistic scores of labels")
    notices = () if is_converged else (NotConvergedWarning(_NOT_CONVERGED),)
    return LabelScores(coef, intercept, notices)


def add_standardised(
    parts: Sequence[LabelScores], X: Any, weight: FloatArray | None = None
) -> LabelScores:
    """Return the sum of scores, each divided by its standard deviation over rows and labels.

    Scores that are the same everywhere add nothing.
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
