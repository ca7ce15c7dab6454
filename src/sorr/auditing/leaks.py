"""Columns that give the target away, found before a model is fitted.

A column is asked alone: what does it say about the label of a row, by the labels of the *other*
rows with the same value, or of its neighbours in the order of the column? No row is asked about
itself, so that a column without repetitions says nothing. A number counts as told if it is met up
to a twentieth of all rows. So classes and numbers share one measure: the rows that a column gets
wrong.

A column gives the target away if it is almost never wrong while all other columns together are.
Columns that say the same of almost every row are looked at together: neither is a witness for the
other. If the target is easy anyway, a strong column is nothing special.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_SAMPLE = 10_000  # rows that columns are looked for on: one wrong row in a hundred is seen
_FOREST_ROWS = 3_000  # rows that the model of the other columns learns from, for speed
_TREES = 50  # of that model: enough for each row to be held out by several
_ALMOST = (
    0.2  # of the errors of a constant: a leak stays one if a tenth of balanced labels is wrong
)
_MOST_WRONG = 0.1  # of all rows, however many classes there are
_TIMES = 3  # as many rows that the others get wrong: less may be a column that is just good
_SAME = 0.03  # of the errors of a constant: two columns that differ in fewer say the same
_EXCEPTIONS = 0.005  # of the rows of a recoding; wrong labels are rarely fewer
_ROWS_OF_A_VALUE = 20  # on average, in a recoding; entities have fewer
_RUNS_OF_A_CLASS = 2  # intervals of a recoding that is a number
_NEAR = 0.05  # of all rows, between a number and what a column says of it
_FEW = 0.1  # of all rows: more contradictions are not worth a list
_MIN_ROWS = 5  # outside of the largest class; with fewer, agreement is no evidence
_LARGEST = 1e30  # trees count in single precision


@dataclass(frozen=True, eq=False)
class Leak:
    """A column that gives the target away.

    Attributes
    ----------
    column : str
    is_recoding : bool
        Whether it says the target with next to no exceptions. It would hide every wrong label.
    error : float
        The held-out error of this column alone: the share of wrong labels, or for numbers the root
        mean squared error of ranks relative to their standard deviation, which no tail dominates.
    error_of_others : float
        The same of a model of all columns that do not give the target away.
    rows : ndarray of int
        The rows that clearly contradict the column, if they are few: wrong labels, or exceptions.
    """

    column: str
    is_recoding: bool
    error: float
    error_of_others: float
    rows: IntArray = field(repr=False)


def find_leaks(frame: DataFrame, y: npt.NDArray[Any], task: str, *, seed: int = 0) -> list[Leak]:
    """Return the columns that give the target away.

    Parameters
    ----------
    frame : DataFrame
        The columns to learn from: numbers, dates or texts. Missing values are values.
    y : ndarray of shape (n_rows,)
        Labels, or numbers.
    task : {"classification", "regression"}
    seed : int, default=0
        Seed for everything random. The same seed gives the same result.

    Returns
    -------
    list of Leak
        The best first.
    """
    target = _Classes.of(y) if task == "classification" else _Numbers.of(y)
    rng = np.random.default_rng(seed)
    rows = target.sample(_SAMPLE, rng)
    part = target.take(rows)
    if part.constant_wrong < _MIN_ROWS:
        return []
    sampled, told = frame.iloc[rows], {}
    for name in frame.columns:
        found = _ask(sampled[name], part, rng)
        if found.wrong.sum() <= min(_ALMOST * part.constant_wrong, _MOST_WRONG * len(part)):
            told[name] = found
    left, leaks, is_easy = list(frame.columns), list[Leak](), False
    while told := {
        name: found for name, found in told.items() if not is_easy or found.is_one_to_one
    }:
        best = min(told, key=lambda name: int(told[name].wrong.sum()))
        group = {name: it for name, it in told.items() if _say_the_same(it, told[best], part)}
        rest = [name for name in left if name not in group]
        others = _ask_all(sampled[rest], part, rng)
        given_away = {
            name: found
            for name, found in group.items()
            if found.is_one_to_one or others.are_far_worse_than(found)
        }
        # No column is far better than others that keep this one.
        is_easy = is_easy or len(given_away) < len(group)
        left = [name for name in left if name not in given_away]
        told = {name: found for name, found in told.items() if name not in group}
        for name, found in given_away.items():
            contradicts = _ask(frame[name], target, rng).contradicts
            is_few = contradicts.mean() <= _FEW
            leaks.append(
                Leak(
                    str(name),
                    is_recoding=found.is_recoding,
                    error=part.error(found.says),
                    error_of_others=others.error,
                    rows=np.flatnonzero(contradicts) if is_few else np.empty(0, dtype=np.intp),
                )
            )
    return sorted(leaks, key=lambda leak: leak.error)


def _say_the_same(one: _Told, other: _Told, target: _Classes | _Numbers) -> bool:
    return target.count_differences(one.says, other.says) <= _SAME * target.constant_wrong


# -- Targets ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Classes:
    """Labels as the index of their class."""

    y: IntArray
    n_classes: int

    @classmethod
    def of(cls, y: npt.NDArray[Any]) -> _Classes:
        classes, index = np.unique(y, return_inverse=True)
        return cls(index, len(classes))

    def __len__(self) -> int:
        return len(self.y)

    @property
    def n_borders(self) -> int:
        """Rows that an interval for each class may get wrong: those beside a border."""
        return self.n_classes

    @property
    def constant(self) -> int:
        return int(np.bincount(self.y).argmax())

    @property
    def constant_wrong(self) -> int:
        return len(self.y) - int(np.bincount(self.y).max())

    def sample(self, limit: int, rng: np.random.Generator) -> IntArray:
        """Return at most so many rows, in order, as many of each class as it has a share."""
        if len(self) <= limit:
            return np.arange(len(self))
        order = np.lexsort((rng.random(len(self)), self.y))
        return np.sort(order[np.linspace(0, len(self) - 1, limit).astype(np.intp)])

    def take(self, rows: IntArray) -> _Classes:
        return _Classes(self.y[rows], self.n_classes)

    def is_wrong(self, says: npt.NDArray[Any]) -> BoolArray:
        return np.asarray(says != self.y)

    def count_differences(self, one: npt.NDArray[Any], other: npt.NDArray[Any]) -> int:
        return int((one != other).sum())

    def error(self, says: npt.NDArray[Any]) -> float:
        return float(self.is_wrong(says).mean())

    def by_value(self, codes: IntArray) -> _Told:
        """Return the commonest label of the other rows with the same value."""
        keys, own, counts = np.unique(
            codes * self.n_classes + self.y, return_inverse=True, return_counts=True
        )
        code_of_key = keys // self.n_classes
        order = np.lexsort((-counts, code_of_key))  # the commonest label of each value first
        starts = np.flatnonzero(np.diff(code_of_key[order], prepend=-1))
        label, most = keys[order][starts] % self.n_classes, counts[order][starts]
        after = np.minimum(starts + 1, len(order) - 1)
        is_second = (after > starts) & (code_of_key[order[after]] == code_of_key[order[starts]])
        second = np.where(is_second, counts[order[after]], 0)
        other = np.where(is_second, keys[order[after]] % self.n_classes, self.constant)
        is_first = label[codes] == self.y
        is_led = is_first & (most[codes] - 1 <= second[codes])  # a tie counts against the column
        says = np.where(is_led, other[codes], label[codes])
        says[(counts[own] == most[codes]) & (most[codes] == 1) & (second[codes] == 0)] = (
            self.constant
        )
        return _Told(
            says,
            self.is_wrong(says),
            counts[own] < most[codes],
            is_one_to_one=len(label) == len(np.unique(label)) == self.n_classes,
            is_simple=len(codes) >= _ROWS_OF_A_VALUE * len(label),
        )

    def by_order(self, order: IntArray, gaps: FloatArray) -> _Told:
        """Return the label of most of the four neighbours, the nearest counting most."""
        window = _Window.of(len(order))
        labels = self.y[order][window.rows]
        left, right = np.append(np.inf, gaps), np.append(gaps, np.inf)
        weights = np.where(window.distance == 1, 2.0, 1.0)
        weights[(window.offset == -1) & (left < right)[:, None]] += 0.5
        weights[(window.offset == 1) & (right < left)[:, None]] += 0.5
        weights[window.offset == 0] = 0.0
        votes = np.zeros(labels.shape)
        for place in range(labels.shape[1]):
            votes += weights[:, [place]] * (labels == labels[:, [place]])
        said = labels[np.arange(len(labels)), votes.argmax(axis=1)]
        own = self.y[order]
        is_alone = ((labels == own[:, None]).sum(axis=1) == 1) & (
            (labels == said[:, None]).sum(axis=1) == labels.shape[1] - 1
        )
        says, contradicts = np.empty_like(said), np.empty(len(said), dtype=bool)
        says[order], contradicts[order] = said, is_alone
        n_runs = 1 + int((said[1:] != said[:-1]).sum())
        is_simple = n_runs <= _RUNS_OF_A_CLASS * self.n_classes
        return _Told(says, self.is_wrong(says), contradicts, is_simple=is_simple)

    def by_forest(self, X: FloatArray, seed: int) -> npt.NDArray[Any]:
        from sklearn.ensemble import RandomForestClassifier

        forest = RandomForestClassifier(_TREES, oob_score=_no_score, random_state=seed)
        votes = forest.fit(X, self.y).oob_decision_function_
        return np.asarray(forest.classes_[np.nan_to_num(votes).argmax(axis=1)])


@dataclass(frozen=True, eq=False)
class _Numbers:
    """Numbers, which are told if they are met up to a few ranks: so no tail dominates."""

    y: npt.NDArray[np.float64]
    values: npt.NDArray[np.float64]
    """All different numbers, sorted."""
    ranks: npt.NDArray[np.float64]
    """The rank of each of them, from 0 to 1."""
    n_borders = 2
    """The ends: there, neighbours are on one side only."""

    @classmethod
    def of(cls, y: npt.NDArray[Any]) -> _Numbers:
        y = np.asarray(y, dtype=np.float64)
        values, counts = np.unique(y, return_counts=True)
        return cls(y, values, (np.cumsum(counts) - counts / 2) / len(y))

    def __len__(self) -> int:
        return len(self.y)

    @property
    def constant(self) -> float:
        return float(np.median(self.y))

    @property
    def constant_wrong(self) -> int:
        return int(self.is_wrong(np.full(len(self), self.constant)).sum())

    def rank(self, y: FloatArray) -> npt.NDArray[np.float64]:
        return np.interp(y, self.values, self.ranks)

    def sample(self, limit: int, rng: np.random.Generator) -> IntArray:
        """Return at most so many rows, in order."""
        n = len(self)
        return np.arange(n) if n <= limit else np.sort(rng.choice(n, limit, replace=False))

    def take(self, rows: IntArray) -> _Numbers:
        return _Numbers(self.y[rows], self.values, self.ranks)

    def is_wrong(self, says: npt.NDArray[Any]) -> BoolArray:
        return np.asarray(np.abs(self.rank(says) - self.rank(self.y)) > _NEAR)

    def count_differences(self, one: npt.NDArray[Any], other: npt.NDArray[Any]) -> int:
        return int((np.abs(self.rank(one) - self.rank(other)) > _NEAR).sum())

    def error(self, says: npt.NDArray[Any]) -> float:
        ranks = self.rank(self.y)
        return float(np.sqrt(np.mean((self.rank(says) - ranks) ** 2)) / ranks.std())

    def by_value(self, codes: IntArray) -> _Told:
        """Return the mean of the other rows with the same value."""
        counts, sums = np.bincount(codes), np.bincount(codes, self.y)
        rest = counts[codes] - 1
        with np.errstate(invalid="ignore"):
            says = np.where(rest > 0, (sums[codes] - self.y) / rest, self.constant)
        is_wrong = self.is_wrong(says)
        is_simple = len(codes) >= _ROWS_OF_A_VALUE * len(counts)
        return _Told(says, is_wrong, is_wrong & (rest > 1), is_simple=is_simple)

    def by_order(self, order: IntArray, gaps: FloatArray) -> _Told:
        """Return the median of the four neighbours: one wrong number does not change it much."""
        del gaps
        window = _Window.of(len(order))
        around = np.where(window.offset == 0, np.inf, self.y[order][window.rows])
        around.sort(axis=1)
        said = around[:, 1:3].mean(axis=1)
        ranks, own = self.rank(around[:, :-1]), self.rank(self.y[order])
        is_alone = (
            (ranks[:, -1] - ranks[:, 0] <= _NEAR)
            & (np.abs(self.rank(said) - own) > _NEAR)
            & ((own < ranks[:, 0]) | (own > ranks[:, -1]))
        )
        says, contradicts = np.empty_like(said), np.empty(len(said), dtype=bool)
        says[order], contradicts[order] = said, is_alone
        return _Told(says, self.is_wrong(says), contradicts)

    def by_forest(self, X: FloatArray, seed: int) -> npt.NDArray[Any]:
        from sklearn.ensemble import RandomForestRegressor

        forest = RandomForestRegressor(
            _TREES, max_features=1 / 3, oob_score=_no_score, random_state=seed
        )
        ranks = forest.fit(X, self.rank(self.y)).oob_prediction_
        return np.asarray(np.interp(ranks, self.ranks, self.values))


def _no_score(*_: Any) -> float:
    """Stand for the score of held-out rows, which nobody asks for."""
    return 0.0


class _Window(NamedTuple):
    """Each row among five that are next to each other in an order."""

    rows: IntArray
    offset: IntArray
    distance: IntArray

    @classmethod
    def of(cls, n: int) -> _Window:
        place = np.arange(n)[:, None]
        rows = np.clip(place - 2, 0, max(n - 5, 0)) + np.arange(min(n, 5))
        return cls(rows, rows - place, np.abs(rows - place))


# -- Columns ---------------------------------------------------------------------------------------


class _Told(NamedTuple):
    """What one column says about each row, by other rows."""

    says: npt.NDArray[Any]
    wrong: BoolArray
    contradicts: BoolArray
    """Rows of which the column clearly says something else. Rows beside a border are not."""
    is_one_to_one: bool = False
    """Whether it has one value for each class, with next to no exceptions."""
    is_simple: bool = True
    """Whether it has few values, or each class is one or two of its intervals. Otherwise it may
    tell entities apart, all rows of which have one label.
    """
    is_recoding: bool = False


class _ToldByAll(NamedTuple):
    """What a model of several columns says about some rows."""

    rows: IntArray
    wrong: BoolArray
    error: float

    def are_far_worse_than(self, told: _Told) -> bool:
        return bool(self.wrong.sum() >= _TIMES * (told.wrong[self.rows].sum() + 1))


def _ask(column: Series[Any], target: _Classes | _Numbers, rng: np.random.Generator) -> _Told:
    """Return what a column says: by its values, or by its order if that is better."""
    import pandas as pd

    n = len(target)
    codes, values = pd.factorize(column, use_na_sentinel=True)
    told = target.by_value(np.where(codes < 0, len(values), codes).astype(np.intp))
    numbers = _in_order(column)
    if numbers is not None and len(values) > 2 and n >= 5:
        order = np.lexsort((rng.random(n), numbers))  # missing ones last, equal ones at random
        ordered = numbers[order]
        gaps = np.where(np.isnan(ordered[1:]), np.inf, 0.0)
        gaps[np.isnan(ordered[:-1])] = 0.0
        is_there = ~np.isnan(ordered[1:])
        gaps[is_there] = np.diff(ordered)[is_there]
        by_order = target.by_order(order, gaps)
        more = target.n_borders if by_order.is_simple and not told.is_simple else -1
        if by_order.wrong.sum() <= told.wrong.sum() + more:
            told = by_order
    exact = told.contradicts.sum() <= _EXCEPTIONS * n
    is_simple = told.is_simple or told.is_one_to_one
    is_recoding = exact and is_simple and told.wrong.sum() <= _EXCEPTIONS * n + target.n_borders
    return told._replace(
        is_one_to_one=bool(exact and told.is_one_to_one), is_recoding=bool(is_recoding)
    )


def _ask_all(frame: DataFrame, target: _Classes | _Numbers, rng: np.random.Generator) -> _ToldByAll:
    """Return what a model of all these columns says, or the best of them alone if that is better.

    Trees split columns of many categories badly; asked alone, such a column is told in full.
    """
    rows = target.sample(_FOREST_ROWS, rng)
    part = target.take(rows)
    answers = [np.full(len(rows), part.constant, dtype=part.y.dtype)]
    sampled = frame.iloc[rows]
    answers += [_ask(sampled[name], part, rng).says for name in frame.columns]
    if len(frame.columns):
        X = np.column_stack([_as_numbers(sampled[name]) for name in frame.columns])
        answers.append(part.by_forest(X, int(rng.integers(1 << 31))))
    best = min(answers, key=lambda says: int(part.is_wrong(says).sum()))
    return _ToldByAll(rows, part.is_wrong(best), part.error(best))


def _as_numbers(column: Series[Any]) -> npt.NDArray[np.float64]:
    """Return a column as numbers for trees: texts by how common they are, missing ones lowest."""
    import pandas as pd

    values = _in_order(column)
    if values is None:
        codes, _ = pd.factorize(column)
        counts = np.bincount(codes + 1)
        place = np.empty(len(counts))
        place[np.argsort(counts, kind="stable")] = np.arange(len(counts))
        values = np.where(codes < 0, np.nan, place[codes + 1])
    values = np.clip(values, -_LARGEST, _LARGEST)
    return np.asarray(np.nan_to_num(values, nan=-_LARGEST))


def _in_order(column: Series[Any]) -> npt.NDArray[np.float64] | None:
    """Return numbers, or dates as numbers. Texts have no order."""
    from pandas.api.types import is_numeric_dtype

    if is_numeric_dtype(column):
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if column.dtype.kind != "M":
        return None
    dates = column.to_numpy(dtype="datetime64[ns]")
    return np.where(np.isnat(dates), np.nan, dates.astype(np.int64).astype(np.float64))
