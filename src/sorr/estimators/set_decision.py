"""Which k labels to predict, given the probabilities of label sets."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from sorr._typing import BoolArray, FloatArray
from sorr.losses.label_sets import is_top

__all__ = ["SetDecision", "chance"]

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
