"""A softmax over the label sets of the training rows, and the best k labels to predict from it.

First the classifier, then its objective and how it is minimised, then the decision for k labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, optimize, sparse
from scipy.special import softmax

from sorr._checks import (
    as_inverse_ridge,
    as_label_count,
    check_flag,
    check_limits,
    check_verbose,
)
from sorr._typing import BoolArray, FloatArray, IntArray
from sorr.estimators.base import NotConvergedWarning, Rows, print_steps
from sorr.estimators.label_sets import Labels
from sorr.estimators.topk import TopKLinear
from sorr.losses import is_top
from sorr.solvers import Progress, Status, Step

_SET_RIDGE = 1e-3  # on the intercepts of sets, so that they stay finite for a set seen once
_MAX_CORRELATED_FEATURES = 1000  # up to here the covariance of the features is decomposed
_MIN_OBJECTIVE = 2.0**-52  # a gap is relative to no less
_MEMORY = 20  # steps that the quasi-Newton method remembers
_PASSES_PER_GRADIENT = 2  # one to predict, one for the slopes
_MAX_PROBABILITIES = 2**20  # probabilities of sets in memory at a time, in a prediction
_MAX_CACHED_PROBABILITIES = 2**18  # the same in a fit, where they should stay in the cache
_MAX_CANDIDATE_PAIRS = 2**23  # pairs of a set to predict and a set that may be true: 64 MB
_MAX_CHANCES = 2**20  # chances of sets in memory at a time
_N_STARTING_SETS = 3  # probable sets to start from, where not all sets of k labels are compared
_TIE = 1e-10  # chances that differ by less are equal up to rounding


class LabelSetClassifier(TopKLinear):
    r"""A softmax over label sets that predicts the k labels which are most likely right.

    .. math:: P(Y | x) \propto \exp \Big( \sum_{j \in Y} w_j \cdot (x - \bar x) + b_Y \Big),
        \qquad \min_{W, b} \; -\frac{1}{n} \sum_i \log P(Y_i | x_i)
        + \frac{\|W\|^2}{2 C} + \frac{10^{-3}}{2} \|b\|^2

    Y runs over the distinct label sets of the training rows. The coefficients of a label are the
    same in all sets that hold it. Each set has its own intercept, which says how often its labels
    occur together. The prediction is

    .. math:: Z(x) = \arg\max_{|Z| = k} \; \sum_Y P(Y | x) \,
        \big[ Z \subseteq Y \text{ or } Y \subseteq Z \big]

    It maximises `score` if the model is right. These are not the k labels that are most probable
    one by one. With one class for each row this is softmax regression.

    Parameters
    ----------
    k : int, default=1
        Number of labels to predict, fewer than there are. The model does not depend on it, so it
        may change after the fit.
    C : float, default=10.0
        The inverse strength of the ridge. It is finite.
    tol : float, default=1e-6
        The certified gap to reach, relative to the objective.
    max_iter : int, default=1000
        Maximum number of quasi-Newton steps.
    warm_start : bool, default=False
        Whether to start at the parameters of the last fit, also of one with another C, if the
        labels are the same.
    verbose : int, default=0
        1 prints progress to standard error every two seconds, 2 prints every step.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
    intercept_ : ndarray of shape (n_labels,)
        At the mean :math:`\bar x` of the training rows the scores are zero.
    sets_ : ndarray of bool of shape (n_sets, n_labels)
        The distinct label sets of the training rows.
    set_intercept_ : ndarray of shape (n_sets,)
    classes_ : ndarray of shape (n_labels,)
        The labels: the columns of an indicator, or the classes or labels that occur, sorted.
    n_labels_ : int
    objective_ : float
        The objective at the solution.
    gap_ : float
        An upper bound on how much lower the objective could be, relative to its value. The ridges
        make it convex enough to compute this from the gradient.
    status_ : sorr.solvers.Status
        How the solver ended. ``status_.sentence`` says it in words.
    n_iter_ : int
        Number of steps.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    TopKMultilabelClassifier : A score for each label; can drop rows with wrong labels.
    sorr.metrics.topk_multilabel_accuracy : The value of `score`.

    Notes
    -----
    Rows without labels and rows with all labels are sets like others. Every prediction is right
    for them, so they do not change the decision. A set that is not in the training rows has
    probability zero. A label that no training row has gets coefficients of zero.

    `decision_function` ranks the k predicted labels first, then the others, both by probability.
    It depends on k, and its values are not probabilities. `predict_set_proba` has those of sets.

    All sets of k labels are compared if their number times that of the training sets is at most 8
    million, such as 2,002 sets of 5 out of 14 labels, times 4,000. Beyond that a few sets, such as
    the k most probable labels, are improved by exchanging one label for another. That may miss the
    best set.

    Targets are an indicator of shape (n_samples, n_labels), dense or sparse, or one class for each
    row. Weights are mass: a row of weight two counts as two copies.

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
                "if label sets are predicted without error"
            )
        check_limits(self.tol, self.max_iter)
        check_flag("warm_start", self.warm_start)
        check_verbose(self.verbose)

    def _learn_labels(self, rows: Rows, labels: Labels) -> list[Warning]:
        sets, index = distinct_sets(labels.indicator)
        problem = SetSoftmax(rows.X, sets, index, rows.weight, float(self.C))
        minimum = problem.minimise(
            *self._start(problem, labels, sets),
            tol=self.tol,
            max_iter=self.max_iter,
            progress=print_steps(type(self).__name__, self.verbose),
        )
        self._keep_labels(labels, minimum.coef, -(problem.mean @ minimum.coef))
        self.sets_, self.set_intercept_ = sets, minimum.offset
        self.objective_, self.gap_, self.status_ = minimum.objective, minimum.gap, minimum.status
        self.n_iter_ = max(1, minimum.n_iter)
        if minimum.status is Status.OPTIMAL:
            return []
        text = f"Not converged (gap {minimum.gap:.1g}): {minimum.status.sentence}."
        return [NotConvergedWarning(text)]

    def _start(
        self, problem: SetSoftmax, labels: Labels, sets: Any
    ) -> tuple[FloatArray, FloatArray]:
        """Return the parameters to start at: zero, or those of the last fit."""
        coef, offset = np.zeros(problem.shape), np.zeros(len(sets))
        if not (self.warm_start and hasattr(self, "coef_")):
            return coef, offset
        is_same = self.coef_.T.shape == coef.shape
        if not (is_same and np.array_equal(self.classes_, labels.classes)):
            return coef, offset
        known = {row.tobytes(): b for row, b in zip(self.sets_, self.set_intercept_, strict=True)}
        offset[:] = [known.get(row.tobytes(), 0.0) for row in sets]
        return self.coef_.T, offset

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
        members = self.sets_.T.astype(np.float64)
        size = max(1, _MAX_PROBABILITIES // len(self.sets_))
        for begin in range(0, len(scores), size):
            logits = scores[begin : begin + size] @ members + self.set_intercept_
            yield np.asarray(softmax(logits, axis=1))

    def _raw_prediction(self, X: Any) -> FloatArray:
        """Return scores whose k best labels are those to predict."""
        scores = super()._raw_prediction(X)
        if self._kind == "multiclass":  # each set is a class, and the most probable ones are best
            return scores + self.set_intercept_ @ self.sets_
        decide = SetDecision(self.sets_, as_label_count(self.k, self.n_labels_))
        parts = [decide(part) + part @ decide.members / 2 for part in self._probabilities(scores)]
        return np.concatenate(parts)


# -- The loss of the softmax, and its minimum ------------------------------------------------------


class SetMinimum(NamedTuple):
    """The parameters at the minimum, and what is known about them."""

    coef: FloatArray
    """Of shape (n_features, n_labels)."""
    offset: FloatArray
    """The intercept of each set."""
    objective: float
    gap: float
    """An upper bound on how much lower the objective could be, relative to its value."""
    n_iter: int
    status: Status


class SetSoftmax:
    """The objective of `LabelSetClassifier`: the mean loss of a softmax over sets, and ridges.

    Row i has the set ``sets[index[i]]`` and the mass ``weight[i]``. The objective is convex with a
    curvature of at least 1 / C for the coefficients and `_SET_RIDGE` for the intercepts of sets, so
    the gradient gives an upper bound on the distance to the minimum; see `gap`.
    """

    def __init__(
        self,
        X: Any,
        sets: BoolArray,
        index: IntArray,
        weight: FloatArray | None,
        C: float,
    ) -> None:
        n = X.shape[0]
        self.C, self.index, self.sets = C, index, sets.astype(np.float64)
        self.mass = np.full(n, 1 / n) if weight is None else weight / weight.sum()
        X = X.astype(np.float64)
        self.mean: FloatArray = np.asarray(self.mass @ X)
        self.is_sparse = sparse.issparse(X)
        self.X = X if self.is_sparse else X - self.mean
        self.shares = np.bincount(index, self.mass, len(sets))  # of each set
        self.target = self.sets[index]

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the coefficients, (n_features, n_labels)."""
        return self.X.shape[1], self.sets.shape[1]

    def value_and_gradient(
        self, coef: FloatArray, offset: FloatArray
    ) -> tuple[float, FloatArray, FloatArray]:
        """Return the objective, and its gradient by the coefficients and by the intercepts."""
        scores = self.X @ coef
        if self.is_sparse:
            scores -= self.mean @ coef
        value = (coef * coef).sum() / (2 * self.C) + _SET_RIDGE / 2 * (offset @ offset)
        by_offset = _SET_RIDGE * offset - self.shares
        residual = np.empty_like(scores)  # the probability of a label, minus 1 if it is true
        size = max(1, _MAX_CACHED_PROBABILITIES // len(self.sets))
        for begin in range(0, len(scores), size):
            rows = slice(begin, begin + size)
            mass, own = self.mass[rows], self.index[rows, None]
            logits = scores[rows] @ self.sets.T + offset
            logits -= logits.max(axis=1, keepdims=True)
            own_logits = np.take_along_axis(logits, own, axis=1)[:, 0]
            probability = np.exp(logits, out=logits)
            total = probability.sum(axis=1)
            value += mass @ (np.log(total) - own_logits)
            probability *= (mass / total)[:, None]
            by_offset += probability.sum(axis=0)
            residual[rows] = probability @ self.sets - mass[:, None] * self.target[rows]
        by_coef = self.X.T @ residual + coef / self.C
        if self.is_sparse:
            by_coef -= np.outer(self.mean, residual.sum(axis=0))
        return float(value), np.asarray(by_coef), by_offset

    def gap(self, value: float, by_coef: FloatArray, by_offset: FloatArray) -> float:
        """Return an upper bound on the relative distance of the objective to its minimum.

        A single set has a loss of zero, and a gradient of rounding errors.
        """
        square = self.C * (by_coef * by_coef).sum() + (by_offset @ by_offset) / _SET_RIDGE
        return float(square / 2 / max(value, _MIN_OBJECTIVE))

    def minimise(
        self,
        coef: FloatArray,
        offset: FloatArray,
        *,
        tol: float,
        max_iter: int,
        progress: Progress | None = None,
    ) -> SetMinimum:
        """Return the minimum to a gap of `tol`, by quasi-Newton steps from given parameters."""
        coordinates = self._coordinates()
        last: dict[str, Any] = {}

        def evaluate(theta: FloatArray) -> tuple[float, FloatArray]:
            coef, offset = coordinates.to_parameters(theta)
            value, *slopes = self.value_and_gradient(coef, offset)
            gap = self.gap(value, *slopes)
            passes = last.get("passes", 0) + _PASSES_PER_GRADIENT
            last.update(theta=theta.copy(), result=(coef, offset, value, gap), passes=passes)
            return value, coordinates.gradient(*slopes)

        def stop(intermediate_result: Any) -> None:
            if not np.array_equal(intermediate_result.x, last["theta"]):
                return
            *_, value, gap = last["result"]
            if progress is not None:
                progress(Step(0, f"gap {gap:.1g}", value, last["passes"]))
            if gap <= tol:
                raise StopIteration

        start = coordinates.from_parameters(coef, offset)
        evaluate(start)
        n_iter = 0
        if last["result"][-1] > tol:  # else the start is the solution
            limits: Any = {"maxiter": max_iter, "maxfun": 10 * max_iter, "ftol": 0.0, "gtol": 0.0}
            result: Any = optimize.minimize(
                evaluate,
                start,
                jac=True,
                method="L-BFGS-B",
                callback=stop,
                options=limits | {"maxcor": _MEMORY},
            )
            n_iter = int(result.nit)
            if not np.array_equal(result.x, last["theta"]):
                evaluate(result.x)
        coef, offset, value, gap = last["result"]
        status = Status.OPTIMAL if gap <= tol else Status.UNCERTIFIED
        return SetMinimum(coef, offset, value, gap, n_iter, status)

    def _coordinates(self) -> Coordinates:
        """Return coordinates in which the curvature is similar in all directions."""
        d = self.X.shape[1]
        present = self.shares @ self.sets
        spread = present * (1 - present)  # of each label: its curvature at coefficients of zero
        variances, axes = self._variances(), None
        if d <= _MAX_CORRELATED_FEATURES:
            variances, axes = linalg.eigh(self._covariance())
        of_coef = 1 / np.sqrt(np.outer(np.maximum(variances, 0), spread) + 1 / self.C)
        of_offset = 1 / np.sqrt(self.shares * (1 - self.shares) + _SET_RIDGE)
        return Coordinates(axes, of_coef, of_offset)

    def _variances(self) -> FloatArray:
        if self.is_sparse:
            return np.asarray(self.mass @ self.X.multiply(self.X)) - self.mean**2
        return np.asarray(self.mass @ (self.X * self.X))

    def _covariance(self) -> FloatArray:
        if self.is_sparse:
            product = self.X.T @ self.X.multiply(self.mass[:, None])
            return np.asarray(product.toarray()) - np.outer(self.mean, self.mean)
        return np.asarray(self.X.T @ (self.X * self.mass[:, None]))


class Coordinates(NamedTuple):
    """Coordinates for the parameters: axes in the space of the features, and units along them."""

    axes: FloatArray | None
    """None for the features themselves."""
    of_coef: FloatArray
    of_offset: FloatArray

    def to_parameters(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the coefficients and intercepts at these coordinates."""
        size = self.of_coef.size
        coef = self.of_coef * theta[:size].reshape(self.of_coef.shape)
        return coef if self.axes is None else self.axes @ coef, self.of_offset * theta[size:]

    def from_parameters(self, coef: FloatArray, offset: FloatArray) -> FloatArray:
        """Return the coordinates of parameters."""
        along = coef if self.axes is None else self.axes.T @ coef
        return np.concatenate([(along / self.of_coef).ravel(), offset / self.of_offset])

    def gradient(self, by_coef: FloatArray, by_offset: FloatArray) -> FloatArray:
        """Return the gradient in these coordinates."""
        along = by_coef if self.axes is None else self.axes.T @ by_coef
        return np.concatenate([(along * self.of_coef).ravel(), by_offset * self.of_offset])


def distinct_sets(
    indicator: BoolArray,
) -> tuple[BoolArray, IntArray]:
    """Return the distinct rows of an indicator, and which of them each row is."""
    packed = np.packbits(indicator, axis=1)  # eight labels in a byte, so fewer to compare
    _, first, index = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    return indicator[first], np.reshape(index, -1)


# -- The k labels to predict, given the probabilities of label sets --------------------------------


class SetDecision:
    """The k labels that are most likely to be right, as `LabelSetClassifier` defines them.

    Ties go to the labels that are more probable one by one, and then to those that come first. All
    sets of k labels are compared if there are few enough of them; then `is_exact` is true. Else a
    few sets are improved by exchanging one label for another as long as that helps: the k most
    probable labels, the set that grows by the best label at each size, and the three most probable
    sets, cut or filled to k labels. The best of these may not be the best of all.
    """

    def __init__(self, sets: BoolArray, k: int) -> None:
        self.sets, self.k = sets, k
        n_sets, n_labels = sets.shape
        self.is_exact = comb(n_labels, k) * max(n_sets, n_labels) <= _MAX_CANDIDATE_PAIRS
        self.members = sets.astype(np.float64)
        if not self.is_exact:
            return
        choices = np.array(list(combinations(range(n_labels), k)))
        self.candidates = np.zeros((len(choices), n_labels))
        np.put_along_axis(self.candidates, choices, 1.0, axis=1)
        shared, needed = self.candidates @ self.members.T, np.minimum(self.members.sum(axis=1), k)
        self.is_right = np.equal(shared, needed, out=shared, casting="unsafe")

    def __call__(self, probability: FloatArray) -> BoolArray:
        """Return the indicator of the labels to predict, from the probabilities of sets."""
        n = len(probability)
        size = max(1, _MAX_CHANCES // len(self.candidates if self.is_exact else self.sets))
        chosen = np.empty((n, self.sets.shape[1]), dtype=bool)
        for begin in range(0, n, size):
            rows = slice(begin, begin + size)
            choose = self._by_enumeration if self.is_exact else self._by_exchange
            chosen[rows] = choose(probability[rows])
        return chosen

    def _by_enumeration(self, probability: FloatArray) -> BoolArray:
        chances = probability @ self.is_right.T
        is_best = chances >= chances.max(axis=1, keepdims=True) - _TIE
        tied = np.flatnonzero(np.count_nonzero(is_best, axis=1) > 1)
        sums = (probability[tied] @ self.members) @ self.candidates.T
        sums[~is_best[tied]] = -np.inf
        is_best[tied] = sums >= sums.max(axis=1, keepdims=True) - _TIE
        return np.asarray(self.candidates[is_best.argmax(axis=1)] > 0)

    def _by_exchange(self, probability: FloatArray) -> BoolArray:
        search = _Search(probability, self.sets, self.k)
        best, highest = None, np.zeros(len(probability))
        for start in search.starts():
            end = search.exchange_labels(start)
            chances = chance(probability, self.sets, end)
            is_better = chances > highest + _TIE
            best = end if best is None else np.where(is_better[:, None], end, best)
            highest = np.maximum(chances, highest)
        return np.asarray(best)


def chance(probability: FloatArray, sets: BoolArray, chosen: BoolArray) -> FloatArray:
    """Return the probability that the chosen labels of each row are right."""
    shared = chosen.astype(np.float64) @ sets.T
    needed = np.minimum(sets.sum(axis=1), chosen.sum(axis=1)[:, None])
    return np.asarray((probability * (shared == needed)).sum(axis=1))


class _Search:
    """Good sets of k labels, where there are too many sets to compare all."""

    def __init__(self, probability: FloatArray, sets: BoolArray, k: int) -> None:
        self.probability, self.sets, self.k = probability, sets, k
        self.members = sets.astype(np.float64)
        self.sizes = self.members.sum(axis=1)
        self.marginal = probability @ self.members

    def starts(self) -> Iterator[BoolArray]:
        """Yield sets to start from."""
        yield is_top(self.marginal, self.k)
        yield self._grown()
        order = np.argsort(-self.probability, axis=1, kind="stable")[:, :_N_STARTING_SETS]
        for place in order.T:
            yield is_top(self.members[place] + self.marginal / 2, self.k)

    def _grown(self) -> BoolArray:
        chosen = np.zeros(self.marginal.shape, dtype=bool)
        for _ in range(self.k):
            label, _ = self._best_addition(chosen, slice(None))
            chosen[np.arange(len(chosen)), label] = True
        return chosen

    def exchange_labels(self, chosen: BoolArray) -> BoolArray:
        """Exchange the label that helps most, as long as one helps."""
        chosen = chosen.copy()
        best = chance(self.probability, self.sets, chosen)
        rows = np.arange(len(chosen))  # not done yet
        for _ in range(10 * self.k):
            columns = np.nonzero(chosen[rows])[1].reshape(-1, self.k)
            trials = []
            for column in columns.T:
                without = chosen[rows]
                without[np.arange(len(rows)), column] = False
                trials.append(self._best_addition(without, rows))
            chances = np.array([trial[1] for trial in trials])
            out = chances.argmax(axis=0)
            gains = np.flatnonzero(chances.max(axis=0) > best[rows] + _TIE)
            rows, out = rows[gains], out[gains]
            if not len(rows):
                break
            chosen[rows, columns[gains, out]] = False
            chosen[rows, np.array([trial[0] for trial in trials])[out, gains]] = True
            best[rows] = chances[out, gains]
        return chosen

    def _best_addition(
        self, chosen: BoolArray, rows: IntArray | slice
    ) -> tuple[IntArray, FloatArray]:
        """Return the label to add to each row, and the probability that the set is right then."""
        size, probability = int(chosen[0].sum()) + 1, self.probability[rows]
        shared, needed = chosen @ self.members.T, np.minimum(self.sizes, size)
        is_right = probability * (shared == needed)  # with any further label
        is_near = probability * (shared == needed - 1)  # with a further label of the true set
        chances = is_right.sum(axis=1, keepdims=True) + is_near @ self.members
        chances[chosen] = -np.inf
        is_tied = chances >= chances.max(axis=1, keepdims=True) - _TIE
        label = np.where(is_tied, self.marginal[rows], -np.inf).argmax(axis=1)
        return label, chances[np.arange(len(chosen)), label]
