"""Why a label is suspect: the values that argue against it, and the most similar rows.

A value argues against a label as far as the model changes its mind when the value is replaced by a
usual one of the rows with that label. Similar rows are near in the columns that the model goes by.
"""

from __future__ import annotations

import warnings
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
from sklearn.utils.parallel import _get_threadpool_controller

from sorr._typing import FloatArray, IntArray
from sorr.auditing.fit import Fitted, take_rows
from sorr.auditing.phrases import Facts, Wording, word_briefly
from sorr.auditing.usual import Named as Named
from sorr.auditing.usual import RawTable, dense
from sorr.share import TargetJudgement, Tier, probabilities_of

MOST_EXPLAINED = 1_000  # rows of a call with all reasons: seconds; others have a short sentence
_MOST_NAMED = 3  # columns: more are no reason that a person takes in at once
_CANDIDATES = 5  # columns that are tried together, in 25 sets of up to three
_ENOUGH = 0.8  # of the change that the best set makes: a smaller set will do
_COST = 0.05  # of the share of equal rows with the suggested label, that one more column is worth
_LEAST_CHANGE = 0.1  # of the log odds, or typical errors: a smaller one may be the model's whim
_MOST_TRIED = 24  # columns, those that the model goes by: each costs a prediction for each row
_TRIALS = 6_000  # predictions that tell by which columns the model goes
_DIGITS = 6  # of a change: the last ones depend on how many rows are predicted at once
_UNSEEN_ROWS = 1_000  # that a model without suspects learns from: about a second
_SMALLEST = 1e-12  # probability that counts; zeros of forests are larger, see `smallest`
_FIRST = 200  # rows whose outputs tell how small probabilities can be
_BLOCK = 1 << 22  # entries that are computed at once
SIMILAR = 10  # rows that are compared with a suspect
_REFERENCES = 4_000_000  # entries of rows among which similar ones are looked for: a second
_FEWEST_REFERENCES = 20_000  # rows, however wide


class Reason(NamedTuple):
    """Why a label is suspect."""

    sentence: str
    named: tuple[Named, ...]
    """The values that argue most, at most three. Replaced together, they change the odds."""
    similar: tuple[int, ...]
    """The positions of the ten most similar other rows, the nearest first."""


def explain(fitted: Fitted, rows: IntArray) -> list[Reason]:
    """Return a reason for each of some rows. Beyond the first thousand, it is a short sentence.

    The reason of a row does not depend on the other rows that are asked for.

    Parameters
    ----------
    fitted : Fitted
        If it has no model, because probabilities were given, reasons come from similar rows only.
    rows : ndarray of int
        Positions among the rows with a label.

    Returns
    -------
    list of Reason
    """
    return Explainer(fitted).explain(rows)


class Explainer:
    """Reasons for rows. What they have in common is computed once.

    Parameters
    ----------
    fitted : Fitted
    """

    def __init__(self, fitted: Fitted) -> None:
        self.fitted = fitted
        self.table = RawTable(fitted)
        self.words = Wording(self.table)
        self._odds = None if fitted.model is None else _make_odds(self.table, fitted.model)

    def explain(self, rows: IntArray) -> list[Reason]:
        """Return a reason for each row, as `explain` does."""
        rows = np.asarray(rows, dtype=np.intp)
        first, others = rows[:MOST_EXPLAINED], rows[MOST_EXPLAINED:].tolist()
        found = []
        if len(first):
            named, similar = self.named(first), self.neighbours(first)
            for row, values, near in zip(first.tolist(), named, similar, strict=True):
                sentence = self.words.explain(Facts(row, values, near, self.compared))
                found.append(Reason(sentence, values or (), tuple(near.tolist())))
        return found + [Reason(word_briefly(self.fitted, row), (), ()) for row in others]

    # Values that argue against the label

    @cached_property
    def _importance(self) -> FloatArray:
        """How much each column matters to the model. If nothing is known, columns count alike."""
        found = np.ones(len(self.table.names)) if self._odds is None else self._odds.importance
        return found if found.any() else np.ones(len(found))

    @cached_property
    def _odds_of_unseen(self) -> _Odds | None:
        """The same for a model that has not seen any suspect.

        The model has learned from rows that are only worth a look. If it is a forest, it knows
        their labels by heart, whatever their values are.
        """
        fitted = self.fitted
        if fitted.is_linear or isinstance(fitted.model, BaseHistGradientBoosting):
            return self._odds
        is_clear = ~fitted.dropped & (fitted.judgement.tier_ == Tier.NOTHING)
        rows = [kept[is_clear[kept]] if is_clear[kept].any() else kept for kept in self.table.kept]
        chosen = take_rows(fitted.class_of_row, np.sort(np.concatenate(rows)), _UNSEEN_ROWS, 0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = clone(fitted.model).fit(fitted.X[chosen], fitted.rows.y[chosen])
        return _make_odds(self.table, model)

    def named(self, rows: IntArray) -> list[tuple[Named, ...] | None]:
        """Return the values that argue most against the label of each row."""
        found: list[tuple[Named, ...] | None] = [None] * len(rows)
        if self._odds is None:
            return found
        tried = np.sort(np.argsort(-self._importance, kind="stable")[:_MOST_TRIED])
        is_learned = ~self.fitted.dropped[rows] & (self.fitted.judgement.tier_[rows] > Tier.NOTHING)
        for is_chosen in (~is_learned, is_learned):
            places = np.flatnonzero(is_chosen)
            if not len(places):
                continue
            odds = self._odds_of_unseen if is_learned[places[0]] else self._odds
            assert odds is not None
            for place, chosen in zip(places, odds.choose(rows[places], tried), strict=True):
                row = int(rows[place])
                found[place] = tuple(self.table.describe(row, *it) for it in chosen)
        return found

    # Similar rows

    @cached_property
    def references(self) -> IntArray:
        """The rows among which similar ones are looked for, in random order.

        A file may be sorted: of rows that are equally near, the first are not better.
        """
        n, width = self.fitted.X.shape
        limit = max(_FEWEST_REFERENCES, _REFERENCES // width // 10_000 * 10_000)  # a round number
        rows = take_rows(self.fitted.class_of_row, np.arange(n), limit, 0)
        return np.random.default_rng(0).permutation(rows)

    @property
    def compared(self) -> int | None:
        """Among how many rows similar ones are looked for. None if among all."""
        n = len(self.references)
        return n if n < len(self.fitted.rows) else None

    @cached_property
    def _search(self) -> tuple[Any, FloatArray]:
        """Nearest neighbours among the references, and the weights of prepared columns.

        A typical difference of two rows in a column counts as much as the model typically changes
        its mind for it. Logarithms of large values: a value far out is not far from its like.
        """
        from sklearn.neighbors import NearestNeighbors

        points = _flatten(self.fitted.X[self.references])
        spread = _variances(points)
        weights = np.zeros(len(spread))
        for importance, members in zip(self._importance, self.table.members, strict=True):
            total = float(spread[members].sum())
            weights[members] = importance / np.sqrt(total) if total > 0 else 0.0
        return NearestNeighbors(algorithm="brute").fit(_weigh(points, weights)), weights

    def neighbours(self, rows: IntArray) -> list[IntArray]:
        """Return the most similar other rows of each row, the nearest first."""
        search, weights = self._search
        k = min(SIMILAR, len(self.references) - 1)
        # With one thread, equal distances are ordered in the same way on all machines.
        with _get_threadpool_controller().limit(limits=1, user_api="openmp"):
            points = _weigh(_flatten(self.fitted.X[rows]), weights)
            places = search.kneighbors(points, k + 1, return_distance=False)
        near = self.references[places]
        return [its[its != row][:k] for its, row in zip(near, rows, strict=True)]


def _flatten(part: Any) -> Any:
    """Return a copy of rows in which large values are logarithms."""
    if hasattr(part, "arcsinh"):
        return part.arcsinh()
    return np.arcsinh(part, out=np.asarray(part, dtype=np.float64))


def _variances(points: Any) -> npt.NDArray[np.float64]:
    if hasattr(points, "multiply"):
        squares = np.asarray(points.multiply(points).mean(axis=0)).ravel()
    else:
        squares = np.einsum("ij,ij->j", points, points) / len(points)  # without a copy of them
    return np.asarray(squares - np.square(np.asarray(points.mean(axis=0)).ravel()))


def _weigh(points: Any, weights: FloatArray) -> Any:
    """Return rows with weighted columns, in place of those given."""
    if hasattr(points, "multiply"):
        return points.multiply(weights).tocsr()
    return np.multiply(points, weights, out=points)


# -- What the model says when values are replaced --------------------------------------------------


class _Odds:
    """How much a model argues against labels, with the values of rows or with usual ones.

    For classes these are the log odds of the suggestion against the label; for numbers the error
    of the prediction, in typical ones.
    """

    def __init__(self, table: RawTable, model: Any) -> None:
        self.table, self.fitted, self.model = table, table.fitted, model
        self.column_of = table.column_of

    @cached_property
    def smallest(self) -> float:
        """What stands for a probability of zero: half of the smallest that the model gives.

        Forests count trees. Where none votes for a label, its log odds are not without bounds.
        """
        n = self.fitted.X.shape[0]
        X = dense(self.fitted.X[np.arange(0, n, -(-n // _FIRST))])
        p = probabilities_of(self.model, X, self.model.classes_)
        return max(0.5 * float(p[p > 0].min()), _SMALLEST) if (p <= 0).any() else _SMALLEST

    @cached_property
    def importance(self) -> FloatArray:
        """How much it changes on average when a value becomes that of another row."""
        fitted, n_columns = self.fitted, len(self.table.names)
        n = int(np.clip(_TRIALS // n_columns, 40, 200))
        rng = np.random.default_rng(0)
        kept = [rng.permutation(rows) for rows in self.table.kept if len(rows)]
        turns = max(len(rows) for rows in kept)
        order = [rows[i] for i in range(min(turns, n)) for rows in kept if i < len(rows)]
        rows = np.array(order[:n], dtype=np.intp)
        others = np.concatenate(kept)[rng.integers(sum(map(len, kept)), size=len(rows))]
        given, suggested = self.sides(rows)
        before = self.argue(dense(fitted.X[rows]), rows, given, suggested)
        sets = np.repeat(np.arange(n_columns)[None, :, None], len(rows), axis=0)
        after = self._replaced(rows, sets, dense(fitted.X[others]))
        return np.asarray(np.abs(after - before[:, None]).mean(axis=0))

    def sides(self, rows: IntArray) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the given and the suggested label of rows."""
        return self.fitted.rows.y[rows], self.fitted.judgement.suggested_[rows]

    def argue(
        self,
        X: npt.NDArray[np.float64],
        rows: IntArray,
        given: npt.NDArray[Any],
        suggested: npt.NDArray[Any],
    ) -> FloatArray:
        """Return how much the model argues against labels, for prepared rows."""
        model, judgement = self.model, self.fitted.judgement
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if isinstance(judgement, TargetJudgement):
                off = np.abs(np.asarray(model.predict(X)).ravel() - given)
                return np.asarray(off / typical_errors(judgement)[rows])
            p = probabilities_of(model, X, model.classes_)
        L, place = np.log(np.maximum(p, self.smallest)), np.arange(len(X))
        to, at = (np.searchsorted(model.classes_, it) for it in (suggested, given))
        return np.asarray(L[place, to] - L[place, at])

    def _replaced(
        self, rows: IntArray, sets: IntArray, others: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """Return how much the model argues when the columns of each set have other values.

        `sets` has shape (n_rows, n_sets, n_columns), filled up with -1.
        """
        given, suggested = self.sides(rows)
        n_sets = sets.shape[1]
        found = np.empty(sets.shape[:2])
        step = max(1, _BLOCK // (n_sets * len(self.column_of)))
        for start in range(0, len(rows), step):
            block = slice(start, start + step)
            is_replaced = np.zeros((len(rows[block]), n_sets, len(self.column_of)), dtype=bool)
            for place in range(sets.shape[2]):
                is_replaced |= sets[block, :, place, None] == self.column_of
            own = dense(self.fitted.X[rows[block]])
            X = np.where(is_replaced, others[block, None], own[:, None]).reshape(-1, own.shape[1])
            each = np.repeat(np.arange(len(rows))[block], n_sets)
            argued = self.argue(X, rows[each], given[each], suggested[each])
            found[block] = argued.reshape(-1, n_sets)
        return found

    def choose(self, rows: IntArray, tried: IntArray) -> list[list[tuple[int, float]]]:
        """Return the columns to name for each row, and how much each changes alone.

        Of the columns that change most alone, all sets of up to three are replaced together, and
        the smallest set that changes nearly as much as the best is named.
        """
        strata = self.table.stratum[rows]
        usual_of = {it: self.table.usual_values(it, tried) for it in np.unique(strata).tolist()}
        usual = np.array([usual_of[it] for it in strata.tolist()])
        before = self.argue(dense(self.fitted.X[rows]), rows, *self.sides(rows))
        single = np.broadcast_to(tried[:, None], (len(rows), len(tried), 1))
        alone = before[:, None] - self._replaced(rows, single, usual)
        order = np.argsort(-alone, axis=1, kind="stable")[:, :_CANDIDATES]
        sizes = range(1, _MOST_NAMED + 1)
        sets = [it for size in sizes for it in combinations(range(order.shape[1]), size)]
        columns = np.full((len(rows), len(sets), _MOST_NAMED), -1, dtype=np.intp)
        for i, places in enumerate(sets):
            columns[:, i, : len(places)] = tried[order[:, places]]
        together = before[:, None] - self._replaced(rows, columns, usual)
        found = []
        for i, row in enumerate(rows.tolist()):
            enough = _enough(together[i], float(before[i]))
            best = self._best(
                [sets[it] for it in enough], together[i, enough], row, tried[order[i]]
            )
            chosen = order[i, list(best)].tolist()
            found.append([(int(tried[it]), round(float(alone[i, it]), _DIGITS)) for it in chosen])
        return found

    def _best(
        self, sets: list[tuple[int, ...]], changes: FloatArray, row: int, columns: IntArray
    ) -> tuple[int, ...]:
        """Return the set to name: the smallest, and of these the one that changes most.

        If that is a set of categories, others may be named that have the suggested label more
        clearly.
        """
        if not sets:
            return ()
        smallest = min(map(len, sets))
        order = sorted(range(len(sets)), key=lambda i: (len(sets[i]) > smallest, -changes[i]))
        best = sets[order[0]]
        names = {it: self.table.names[columns[it]] for it in range(len(columns))}
        if not self.fitted.classes or any(self.table.kinds[names[it]] != "category" for it in best):
            return best
        to = int(np.searchsorted(self.fitted.classes, self.fitted.judgement.suggested_[row]))

        def clarity(chosen: tuple[int, ...]) -> float:
            labels = self.table.labels_of_equal(row, [names[it] for it in chosen])
            return float((labels[to] + 1) / (labels.sum() + 2)) - _COST * len(chosen)

        clear = [it for it in sets if all(self.table.kinds[names[i]] == "category" for i in it)]
        return max([best, *clear], key=clarity)


def _enough(changes: npt.NDArray[np.float64], before: float) -> IntArray:
    """Return the sets that change nearly as much as the best.

    A change that makes the odds even is as good as any larger one.
    """
    most = min(float(changes.max()), before) if before > 0 else float(changes.max())
    return np.flatnonzero(changes >= max(_ENOUGH * most, _LEAST_CHANGE))


class _Terms(_Odds):
    """The same for a linear model, from its terms: what columns change adds up."""

    def argue(
        self,
        X: npt.NDArray[np.float64],
        rows: IntArray,
        given: npt.NDArray[Any],
        suggested: npt.NDArray[Any],
    ) -> FloatArray:
        """Return how much the model argues against labels, for prepared rows."""
        if not self.fitted.classes:
            return super().argue(X, rows, given, suggested)
        model, place = self.model, np.arange(X.shape[0])
        raw = np.asarray(model.decision_function(X))
        to, at = (np.searchsorted(model.classes_, it) for it in (suggested, given))
        if raw.ndim == 1:
            return np.asarray(raw * (to - at))
        return np.asarray(raw[place, to] - raw[place, at])

    def _replaced(
        self, rows: IntArray, sets: IntArray, others: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """Return how much the model argues when the columns of each set have other values."""
        terms = self._terms(rows, others)
        terms = np.column_stack([terms, np.zeros(len(rows))])  # for sets that are filled up
        place = np.arange(len(rows))[:, None]
        total = sum(terms[place, sets[:, :, i]] for i in range(sets.shape[2]))
        judgement = self.fitted.judgement
        if not isinstance(judgement, TargetJudgement):
            before = self.argue(self.fitted.X[rows], rows, *self.sides(rows))
            return np.asarray(before[:, None] - total)
        predicted = np.asarray(self.model.predict(self.fitted.X[rows]))
        off = np.abs((predicted - judgement.given_[rows])[:, None] - total)
        return np.asarray(off / typical_errors(judgement)[rows, None])

    def _terms(self, rows: IntArray, others: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return what each column adds, beyond what it would add with other values."""
        coef = np.atleast_2d(self.model.coef_)
        given, suggested = self.sides(rows)
        n_columns = len(self.table.names)
        member = self.column_of[:, None] == np.arange(n_columns)
        found = np.empty((len(rows), n_columns))
        step = max(1, _BLOCK // len(self.column_of))
        for start in range(0, len(rows), step):
            block = slice(start, start + step)
            directions = coef
            if self.fitted.classes:
                classes = self.model.classes_
                to, at = (np.searchsorted(classes, it[block]) for it in (suggested, given))
                directions = coef[to] - coef[at] if len(coef) > 1 else coef * (to - at)[:, None]
            own = dense(self.fitted.X[rows[block]])
            found[block] = ((own - others[block]) * directions) @ member
        return found


def _make_odds(table: RawTable, model: Any) -> _Odds:
    return _Terms(table, model) if table.fitted.is_linear else _Odds(table, model)


def typical_errors(judgement: TargetJudgement) -> FloatArray:
    """Return the typical error of each row, never zero."""
    smallest = 1e-9 * max(float(np.abs(judgement.given_).max()), 1e-300)
    return np.maximum(judgement.typical_, smallest)
