"""A softmax over the label sets that were seen, and the decision for the top-k accuracy."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import linalg, optimize, sparse
from scipy.special import softmax

from sorr._checks import (
    as_inverse_ridge,
    as_label_count,
    check_flag,
    check_limits,
    check_verbose,
)
from sorr._typing import BoolArray, FloatArray
from sorr.estimators.base import NotConvergedWarning, Rows, print_steps
from sorr.estimators.label_sets import Labels
from sorr.estimators.topk import TopKLinear
from sorr.losses import is_top
from sorr.solvers import Progress, Status, Step

__all__ = ["Found", "LabelSetClassifier", "SetDecision", "SetSoftmax", "chance", "distinct_sets"]

_HELD_PROBABILITIES = 2**20  # probabilities that are held at a time


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
        found = problem.minimise(
            *self._start(problem, labels, sets),
            tol=self.tol,
            max_iter=self.max_iter,
            progress=print_steps(type(self).__name__, self.verbose),
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
        members, size = (
            self.sets_.T.astype(np.float64),
            max(1, _HELD_PROBABILITIES // len(self.sets_)),
        )
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


# -- The softmax over label sets: its loss on the training rows, and the minimum of it -------------


RIDGE_OF_SETS = 1e-3  # of the intercepts of sets: finite for a set that is seen once
_CACHED_PROBABILITIES = 2**18  # probabilities at a time: they stay in the cache
_MOST_FEATURES = 1000  # whose correlations are worth a decomposition
_SMALLEST = 2.0**-52  # objective that a gap is relative to
_PASSES_PER_GRADIENT = 2  # one to predict, one for the slopes
_MEMORY = 20  # steps that the quasi-Newton method remembers


class Found(NamedTuple):
    """The parameters that were found, and what is known about them."""

    coef: FloatArray
    """Of shape (n_features, n_labels)."""
    offset: FloatArray
    """The intercept of each set."""
    objective: float
    gap: float
    """By how much the objective could be lowered at most, relative to its value."""
    n_iter: int
    status: Status


class SetSoftmax:
    r"""The mean loss of a softmax over label sets, plus ridges.

    .. math:: \sum_i p_i \Big( \log \sum_Y e^{f_Y(x_i)} - f_{Y_i}(x_i) \Big)
        + \frac{\|W\|^2}{2C} + \frac{r}{2} \|b\|^2, \qquad
        f_Y(x) = \sum_{j \in Y} w_j \cdot (x - \bar x) + b_Y

    It is convex, and curved by 1 / C and r at least, so that the gradient bounds the distance to
    the minimum from above: see `gap`.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    sets : ndarray of bool of shape (n_sets, n_labels)
    index : ndarray of shape (n_samples,)
        Which of the sets each row has.
    weight : ndarray of shape (n_samples,) or None
        The mass of each row.
    C : float
    """

    def __init__(
        self,
        X: Any,
        sets: npt.NDArray[np.bool_],
        index: npt.NDArray[np.intp],
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
        """Of the coefficients: (n_features, n_labels)."""
        return self.X.shape[1], self.sets.shape[1]

    def value_and_gradient(
        self, coef: FloatArray, offset: FloatArray
    ) -> tuple[float, FloatArray, FloatArray]:
        """Return the objective, and its gradient by the coefficients and by the intercepts."""
        scores = self.X @ coef
        if self.is_sparse:
            scores -= self.mean @ coef
        value = (coef * coef).sum() / (2 * self.C) + RIDGE_OF_SETS / 2 * (offset @ offset)
        by_offset = RIDGE_OF_SETS * offset - self.shares
        residual = np.empty_like(scores)  # how probable a label is, less whether it is there
        size = max(1, _CACHED_PROBABILITIES // len(self.sets))
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
        """Return a bound of how far the objective is above its minimum, relative to its value.

        A single set has a loss of zero, and a gradient that is rounding.
        """
        square = self.C * (by_coef * by_coef).sum() + (by_offset @ by_offset) / RIDGE_OF_SETS
        return float(square / 2 / max(value, _SMALLEST))

    def minimise(
        self,
        coef: FloatArray,
        offset: FloatArray,
        *,
        tol: float,
        max_iter: int,
        progress: Progress | None = None,
    ) -> Found:
        """Return the minimum to a gap of `tol`, by quasi-Newton steps from given parameters."""
        frame = self._frame()
        last: dict[str, Any] = {}

        def evaluate(theta: FloatArray) -> tuple[float, FloatArray]:
            coef, offset = frame.back(theta)
            value, *slopes = self.value_and_gradient(coef, offset)
            gap = self.gap(value, *slopes)
            passes = last.get("passes", 0) + _PASSES_PER_GRADIENT
            last.update(theta=theta.copy(), found=(coef, offset, value, gap), passes=passes)
            return value, frame.slope(*slopes)

        def stop(intermediate_result: Any) -> None:
            if not np.array_equal(intermediate_result.x, last["theta"]):
                return
            *_, value, gap = last["found"]
            if progress is not None:
                progress(Step(0, f"gap {gap:.1g}", value, last["passes"]))
            if gap <= tol:
                raise StopIteration

        start = frame.forth(coef, offset)
        evaluate(start)
        n_iter = 0
        if last["found"][-1] > tol:  # else the start is the solution
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
        coef, offset, value, gap = last["found"]
        status = Status.OPTIMAL if gap <= tol else Status.UNCERTIFIED
        return Found(coef, offset, value, gap, n_iter, status)

    def _frame(self) -> Frame:
        """Return coordinates in which the objective is curved alike in all directions."""
        d = self.X.shape[1]
        present = self.shares @ self.sets
        spread = present * (1 - present)  # of the labels: their curvature where all are alike
        bends, axes = self._variances(), None
        if d <= _MOST_FEATURES:
            bends, axes = linalg.eigh(self._covariance())
        of_coef = 1 / np.sqrt(np.outer(np.maximum(bends, 0), spread) + 1 / self.C)
        of_offset = 1 / np.sqrt(self.shares * (1 - self.shares) + RIDGE_OF_SETS)
        return Frame(axes, of_coef, of_offset)

    def _variances(self) -> FloatArray:
        if self.is_sparse:
            return np.asarray(self.mass @ self.X.multiply(self.X)) - self.mean**2
        return np.asarray(self.mass @ (self.X * self.X))

    def _covariance(self) -> FloatArray:
        if self.is_sparse:
            product = self.X.T @ self.X.multiply(self.mass[:, None])
            return np.asarray(product.toarray()) - np.outer(self.mean, self.mean)
        return np.asarray(self.X.T @ (self.X * self.mass[:, None]))


class Frame(NamedTuple):
    """Coordinates of the parameters: the axes of the features, and lengths along them."""

    axes: FloatArray | None
    """None if they are the features themselves."""
    of_coef: FloatArray
    of_offset: FloatArray

    def back(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the coefficients and intercepts at these coordinates."""
        size = self.of_coef.size
        coef = self.of_coef * theta[:size].reshape(self.of_coef.shape)
        return coef if self.axes is None else self.axes @ coef, self.of_offset * theta[size:]

    def forth(self, coef: FloatArray, offset: FloatArray) -> FloatArray:
        """Return the coordinates of parameters."""
        along = coef if self.axes is None else self.axes.T @ coef
        return np.concatenate([(along / self.of_coef).ravel(), offset / self.of_offset])

    def slope(self, by_coef: FloatArray, by_offset: FloatArray) -> FloatArray:
        """Return the gradient by the coordinates."""
        along = by_coef if self.axes is None else self.axes.T @ by_coef
        return np.concatenate([(along * self.of_coef).ravel(), by_offset * self.of_offset])


def distinct_sets(
    indicator: npt.NDArray[np.bool_],
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.intp]]:
    """Return the distinct rows of an indicator, and which of them each row is."""
    packed = np.packbits(indicator, axis=1)  # eight labels in a byte: fewer to compare
    _, first, index = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    return indicator[first], np.reshape(index, -1)


# -- Which k labels to predict, given the probabilities of label sets ------------------------------


_MOST_PAIRS = 2**23  # of sets to predict and sets that are true: 64 MB
_CHUNK = 2**20  # chances that are held at a time
_SETS_TO_START_FROM = 3  # where not all sets of k labels are compared
_TIE = 1e-10  # chances that differ by less are the same, but for rounding


class SetDecision:
    r"""The k labels that are most likely to be right.

    .. math:: Z(x) = \arg\max_{|Z| = k} \; \sum_Y P(Y | x) \,
        \big[ Z \subseteq Y \text{ or } Y \subseteq Z \big]

    Ties go to the labels that are more probable, one by one, and then to those that come first.
    All sets of k labels are compared as long as there are few enough of them; `is_exact` tells.
    Beyond that a few sets are improved by exchanges of one label for another, while that helps:
    the k most probable labels, the set that grows by the label which is best at each size, and the
    three most probable sets, cut or filled up to k labels. The best of them may not be the best of
    all.

    Parameters
    ----------
    sets : ndarray of bool of shape (n_sets, n_labels)
        Those that may be true.
    k : int
        Fewer than there are labels.
    """

    def __init__(self, sets: BoolArray, k: int) -> None:
        self.sets, self.k = sets, k
        n_sets, n_labels = sets.shape
        self.is_exact = comb(n_labels, k) * max(n_sets, n_labels) <= _MOST_PAIRS
        self.members = sets.astype(np.float64)
        if not self.is_exact:
            return
        choices = np.array(list(combinations(range(n_labels), k)))
        self.candidates = np.zeros((len(choices), n_labels))
        np.put_along_axis(self.candidates, choices, 1.0, axis=1)
        found, most = self.candidates @ self.members.T, np.minimum(self.members.sum(axis=1), k)
        self.is_right = np.equal(found, most, out=found, casting="unsafe")

    def __call__(self, probability: FloatArray) -> BoolArray:
        """Return the labels to predict, given the probability of each set in each row.

        Parameters
        ----------
        probability : ndarray of shape (n_samples, n_sets)

        Returns
        -------
        ndarray of bool of shape (n_samples, n_labels)
        """
        n = len(probability)
        size = max(1, _CHUNK // len(self.candidates if self.is_exact else self.sets))
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
        best, most = None, np.zeros(len(probability))
        for start in search.starts():
            end = search.exchanged(start)
            chances = chance(probability, self.sets, end)
            is_better = chances > most + _TIE
            best = end if best is None else np.where(is_better[:, None], end, best)
            most = np.maximum(chances, most)
        return np.asarray(best)


def chance(probability: FloatArray, sets: BoolArray, chosen: BoolArray) -> FloatArray:
    """Return how likely the chosen labels of each row are to be right."""
    found = chosen.astype(np.float64) @ sets.T
    most = np.minimum(sets.sum(axis=1), chosen.sum(axis=1)[:, None])
    return np.asarray((probability * (found == most)).sum(axis=1))


class _Search:
    """Good sets of k labels for some rows, when all of them are too many to compare."""

    def __init__(self, probability: FloatArray, sets: BoolArray, k: int) -> None:
        self.probability, self.sets, self.k = probability, sets, k
        self.members = sets.astype(np.float64)
        self.sizes = self.members.sum(axis=1)
        self.marginal = probability @ self.members

    def starts(self) -> Iterator[BoolArray]:
        """Yield sets to begin with."""
        yield is_top(self.marginal, self.k)
        yield self._grown()
        order = np.argsort(-self.probability, axis=1, kind="stable")[:, :_SETS_TO_START_FROM]
        for place in order.T:
            yield is_top(self.members[place] + self.marginal / 2, self.k)

    def _grown(self) -> BoolArray:
        chosen = np.zeros(self.marginal.shape, dtype=bool)
        for _ in range(self.k):
            label, _ = self._best_addition(chosen, slice(None))
            chosen[np.arange(len(chosen)), label] = True
        return chosen

    def exchanged(self, chosen: BoolArray) -> BoolArray:
        """Exchange the one label that helps most, for as long as one does."""
        chosen = chosen.copy()
        best = chance(self.probability, self.sets, chosen)
        rows = np.arange(len(chosen))  # those that are not done
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
        self, chosen: BoolArray, rows: npt.NDArray[np.intp] | slice
    ) -> tuple[npt.NDArray[np.intp], FloatArray]:
        """Return the label to add to each of these rows, and how likely the set is right then."""
        size, probability = int(chosen[0].sum()) + 1, self.probability[rows]
        found, most = chosen @ self.members.T, np.minimum(self.sizes, size)
        is_right = probability * (found == most)  # whatever label is added: none is missing
        is_near = probability * (found == most - 1)  # if one is added that the set holds
        chances = is_right.sum(axis=1, keepdims=True) + is_near @ self.members
        chances[chosen] = -np.inf
        is_tied = chances >= chances.max(axis=1, keepdims=True) - _TIE
        label = np.where(is_tied, self.marginal[rows], -np.inf).argmax(axis=1)
        return label, chances[np.arange(len(chosen)), label]
