"""A softmax over the label sets that were seen, and the decision for the top-k accuracy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import softmax

from sorr._typing import FloatArray
from sorr.estimators.base import check_flag, check_verbose
from sorr.estimators.label_sets import Labels
from sorr.estimators.linear import Rows
from sorr.estimators.notices import NotConvergedWarning
from sorr.estimators.progress import reporter
from sorr.estimators.set_decision import SetDecision
from sorr.estimators.set_objective import Found, SetSoftmax, distinct_sets
from sorr.estimators.topk import TopKLinear, as_label_count
from sorr.objectives.ranked_range import as_inverse_ridge
from sorr.solvers import Status
from sorr.solvers.base import check_limits

__all__ = ["LabelSetClassifier"]

_CHUNK = 2**20  # probabilities that are held at a time


class LabelSetClassifier(TopKLinear):
    r"""A softmax over label sets, which predicts the k labels that are most likely right.

    .. math:: P(Y | x) \propto \exp \Big( \sum_{j \in Y} w_j \cdot (x - \bar x) + b_Y \Big),
        \qquad \min_{W, b} \; -\frac{1}{n} \sum_i \log P(Y_i | x_i)
        + \frac{\|W\|^2}{2 C} + \frac{10^{-3}}{2} \|b\|^2

    Y runs over the distinct label sets of the training rows. Labels share their coefficients
    between the sets that hold them, and each set has an intercept of its own: that is what knows
    which labels occur together. Then

    .. math:: Z(x) = \arg\max_{|Z| = k} \; \sum_Y P(Y | x) \,
        \big[ Z \subseteq Y \text{ or } Y \subseteq Z \big]

    is predicted, for which `score` is largest if the model is right. These are not the k labels
    that are most probable one by one. With one class for each row this is softmax regression.

    Parameters
    ----------
    k : int, default=1
        How many labels to predict; fewer than there are. The model does not depend on it: it may
        be changed after the fit, without another one.
    C : float, default=10.0
        The inverse strength of the ridge, finite.
    tol : float, default=1e-6
        The certified gap to reach, relative to the objective.
    max_iter : int, default=1000
        How many quasi-Newton steps to take at most.
    warm_start : bool, default=False
        Whether to start at the parameters of the last fit: of another C too, if the labels are the
        same.
    verbose : int, default=0
        Whether to report progress to standard error, every two seconds; above 1, every step.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
    intercept_ : ndarray of shape (n_labels,)
        Of the labels: the mean :math:`\bar x` of the training rows has a score of zero.
    sets_ : ndarray of bool of shape (n_sets, n_labels)
        The distinct label sets of the training rows.
    set_intercept_ : ndarray of shape (n_sets,)
    classes_ : ndarray of shape (n_labels,)
        The labels: the columns of an indicator, or the classes or labels that occur, sorted.
    n_labels_ : int
    objective_ : float
        What was minimised, at the solution.
    gap_ : float
        By how much the objective could be lowered at most, relative to its value. It is as convex
        as its ridges, so that the gradient tells.
    status_ : sorr.solvers.Status
        How the solver ended; ``status_.sentence`` says it in words.
    n_iter_ : int
        The number of steps.
    n_features_in_, feature_names_in_
        As in all of scikit-learn.

    See Also
    --------
    TopKMultilabelClassifier : A score for each label; can leave out rows labelled wrongly.
    sorr.metrics.topk_multilabel_accuracy : What `score` returns.

    Notes
    -----
    Rows without labels, and rows with all of them, are sets like others. They are right whatever
    is predicted, and have no say in the decision. A set that was never seen has no probability; a
    label that was never seen has coefficients of zero.

    `decision_function` ranks the k labels that are predicted first, then the others, each among
    themselves by their probabilities. It depends on k, and its values are no probabilities; those
    of sets are in `predict_set_proba`.

    All sets of k labels are compared if there are few enough of them: their number times that of
    the sets in training may be 8 million, such as 2002 sets of 5 out of 14 labels, times 4000.
    Beyond that a few sets, such as the k most probable labels, are improved by exchanges of one
    label for another, which may miss the best.

    Targets are an indicator of shape (n_samples, n_labels), dense or sparse, or one class for each
    row. Weights are mass: a row of weight two is two copies of it.

    Examples
    --------
    >>> from sklearn.preprocessing import MultiLabelBinarizer
    >>> X = [[2.0, 0.1], [1.5, 0.9], [0.2, 1.8], [0.1, 1.1], [1.1, 1.2]]
    >>> sets = [{"sea", "sun"}, {"sun"}, {"snow", "wood"}, {"wood"}, {"sun", "wood"}]
    >>> binarizer = MultiLabelBinarizer()
    >>> y = binarizer.fit_transform(sets)
    >>> model = LabelSetClassifier(k=2, C=100.0).fit(X, y)
    >>> model.score(X, y)
    1.0
    >>> sorted(binarizer.classes_[model.predict_topk([[0.0, 2.0]])[0]])
    ['snow', 'wood']
    >>> [binarizer.classes_[labels].tolist() for labels in model.sets_]
    [['wood'], ['sun'], ['sun', 'wood'], ['snow', 'wood'], ['sea', 'sun']]
    """

    def __init__(
        self,
        k: int = 1,
        *,
        C: float = 10.0,
        tol: float = 1e-6,
        max_iter: int = 1000,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.k = k
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.verbose = verbose

    def _check_parameters(self) -> None:
        if not np.isfinite(as_inverse_ridge(self.C)):
            raise ValueError(
                f"C={self.C} is not finite; needed a number: without a ridge there is no minimum "
                "where sets of labels are told apart without error"
            )
        check_limits(self.tol, self.max_iter)
        check_flag("warm_start", self.warm_start)
        check_verbose(self.verbose)

    def _learn_labels(self, rows: Rows, labels: Labels) -> list[Warning]:
        sets, index = distinct_sets(labels.indicator)
        problem = SetSoftmax(rows.X, sets, index, rows.weight, float(self.C))
        reports = reporter(type(self).__name__, self.verbose)
        found = problem.minimise(
            *self._start(problem, labels, sets),
            tol=self.tol,
            max_iter=self.max_iter,
            report=None if reports is None else reports.say,
        )
        self._keep_labels(labels, found.coef, -(problem.mean @ found.coef))
        self.sets_, self.set_intercept_ = sets, found.offset
        return self._keep_found(found)

    def _start(
        self, problem: SetSoftmax, labels: Labels, sets: Any
    ) -> tuple[FloatArray, FloatArray]:
        """Return where to begin: at zero, or where the last fit ended."""
        coef, offset = np.zeros(problem.shape), np.zeros(len(sets))
        if not (self.warm_start and hasattr(self, "coef_")):
            return coef, offset
        is_same = self.coef_.T.shape == coef.shape
        if not (is_same and np.array_equal(self.classes_, labels.classes)):
            return coef, offset
        known = {row.tobytes(): b for row, b in zip(self.sets_, self.set_intercept_, strict=True)}
        offset[:] = [known.get(row.tobytes(), 0.0) for row in sets]
        return self.coef_.T, offset

    def _keep_found(self, found: Found) -> list[Warning]:
        self.objective_, self.gap_, self.status_ = found.objective, found.gap, found.status
        self.n_iter_ = max(1, found.n_iter)
        if found.status is Status.OPTIMAL:
            return []
        return [
            NotConvergedWarning(f"Not converged (gap {found.gap:.1g}): {found.status.sentence}.")
        ]

    def predict_set_proba(self, X: Any) -> FloatArray:
        """Return the probability of each label set.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_sets)
            In the order of ``sets_``.
        """
        return np.concatenate(list(self._probabilities(super()._raw_prediction(X))))

    def _probabilities(self, scores: FloatArray) -> Iterator[FloatArray]:
        """Yield the probabilities of sets, for some rows at a time, from the scores of labels."""
        members, size = self.sets_.T.astype(np.float64), max(1, _CHUNK // len(self.sets_))
        for begin in range(0, len(scores), size):
            logits = scores[begin : begin + size] @ members + self.set_intercept_
            yield np.asarray(softmax(logits, axis=1))

    def _raw_prediction(self, X: Any) -> FloatArray:
        """Return scores of which the k best are the labels that are decided for."""
        scores = super()._raw_prediction(X)
        if self._kind == "multiclass":  # each set is a class, and the most probable are the best
            return scores + self.set_intercept_ @ self.sets_
        decide = SetDecision(self.sets_, as_label_count(self.k, self.n_labels_))
        parts = [decide(part) + part @ decide.members / 2 for part in self._probabilities(scores)]
        return np.concatenate(parts)
