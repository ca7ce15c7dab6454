"""What is wrong with a table besides its labels: findings, each with rows and a way to act.

A finder is a class with a method `find`; `FINDERS` lists them. To add one, write a class and add
it to that list.

Three ideas keep clean tables quiet. Equal rows are copies only if coincidence does not explain
them: where rows agree by chance, leaving out a column brings many more that agree. Near copies are
pairs whose distance is far smaller than chance allows in a cloud of that dimension. A row is far
from all others only if its distance is beyond what the tail of all distances leads to expect.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sorr._typing import BoolArray, FloatArray, IntArray
from sorr.auditing.columns import REPEATED_KEYS
from sorr.auditing.leaks import Leak
from sorr.auditing.likeness import (
    MAX_COUNTS,
    MAX_LOOKED_AT,
    NEIGHBOURS,
    Agreement,
    Cloud,
    distinct_rows,
)
from sorr.auditing.table import quote
from sorr.auditing.table.values import listed

if TYPE_CHECKING:
    from pandas import DataFrame

    from sorr.auditing.fit import Fitted

Severity = Literal["problem", "warning", "note"]

_SEVERITIES = ("problem", "warning", "note")
_NO_ROWS = np.empty(0, dtype=np.intp)
_MAX_RATIO = 0.1  # of that distance: a near copy is never further away
_CHANCE = 0.1  # pairs that close which chance may bring into a whole table
_MIN_FAR_ROWS = 30  # rows, from which a tail of distances can be seen
_BODY, _TAIL = 0.5, 0.9  # quantiles where the fall of distances is measured; outliers are beyond
_FAR_CHANCE = 0.02  # rows beyond the expected fall, in a whole table
_VERY_FAR = 10  # times the usual distance: no heavy tail, but perhaps a slip
_LEAST_FAR = 3.0  # spreads from its nearest rows; the rim of a cloud of few columns is closer
_MOST_FAR = 0.05  # of the rows; more are a group of their own, and no outliers
_DRIFT_P_VALUE = 0.01  # that any share changes by chance
_DRIFT_SIZE = 0.1  # distance of two distributions over the file, below which order hardly matters
_SORTED = 0.02  # of the changes of label in a random order: fewer are those of a sorted file
_SORTED_CORRELATION = 0.99  # of a number and its place in a sorted file
_MIN_CLASS = 20  # rows of a class, to say something about its share or its missing values
_MANY_MISSING = 0.5  # of the values of a column
_MISSING_GAP = 0.2  # between the missing shares of a class and of the others
_MISSING_P_VALUE = 0.001  # that they differ by chance, over all columns


@dataclass(frozen=True, eq=False)
class Finding:
    """Something that a person should know about a table.

    Attributes
    ----------
    name : str
        A short title.
    severity : {"problem", "warning", "note"}
        Act on a problem, look at a warning, know of a note.
    sentence : str
        What was found.
    action : str
        How to act.
    rows : ndarray of int
        Positions of rows, the most striking first.
    columns : tuple of str
    """

    name: str
    severity: Severity
    sentence: str
    action: str
    rows: IntArray = field(default_factory=lambda: _NO_ROWS, repr=False)
    columns: tuple[str, ...] = ()


class Finder(Protocol):
    """Looks for one kind of trouble."""

    def find(self, fitted: Fitted) -> Iterable[Finding]:
        """Yield what was found; nothing, usually."""
        ...


def find_all(fitted: Fitted) -> list[Finding]:
    """Return what all finders find, problems first."""
    found = [finding for finder in FINDERS for finding in finder.find(fitted)]
    return sorted(found, key=lambda finding: _SEVERITIES.index(finding.severity))


class Spellings:
    """Spellings of one label that differ by case, spaces or punctuation."""

    def find(self, fitted: Fitted) -> Iterable[Finding]:
        """Yield one finding for all labels."""
        written = fitted.rows.written
        if written is None:
            return
        labels, written = fitted.rows.y.astype(str), np.asarray(written).astype(str)
        others, phrases = [], []
        for label in np.unique(labels):
            rows = np.flatnonzero(labels == label)
            spellings, place, counts = np.unique(
                written[rows], return_inverse=True, return_counts=True
            )
            if len(spellings) == 1:
                continue
            order = np.argsort(-counts, kind="stable")
            also = [f"{quote(spellings[i])} ({_count(int(counts[i]))})" for i in order[1:]]
            phrases.append(f"{quote(spellings[order[0]])} is also written {_shorten(also)}")
            others.append(rows[place != order[0]])
        if not phrases:
            return
        rows = np.sort(np.concatenate(others))
        yield Finding(
            "Spellings of one label",
            "problem",
            f"{_shorten(phrases, '; ')}. The audit takes them for one label.",
            f"Write the label of {_these(len(rows))} in the most frequent spelling, or rename the "
            "labels if they mean different things.",
            rows,
            (fitted.rows.roles.target,),
        )


# -- Copies ----------------------------------------------------------------------------------------


class Copies:
    """Rows with equal values: with different labels, and with the same."""

    def find(self, fitted: Fitted) -> Iterable[Finding]:
        """Yield copies with different labels, and exact copies."""
        rows = fitted.rows
        if len(rows.frame.columns) < 2:  # one value that agrees is no copy
            return
        agreement = Agreement(rows.frame)
        found = agreement.judge(tries=max(8, MAX_COUNTS // len(rows.y)))
        if not found.are_copies.any():
            return
        label = np.unique(rows.y, return_inverse=True)[1]
        both = np.unique(np.column_stack([found.group, label]), axis=0, return_inverse=True)[1]
        alike = np.bincount(both.ravel())[both.ravel()]  # rows that agree in the label as well
        differ = np.flatnonzero(found.are_copies & (alike < found.size))
        is_class = rows.task == "classification"
        noun = "labels" if is_class else "targets"
        if len(differ):
            differ = differ[np.lexsort((alike[differ], found.group[differ]))]
            yield Finding(
                f"Copies with different {noun}",
                "problem" if is_class else "warning",
                f"{_rows_are(len(differ))} equal to other rows in all columns, but not in "
                f"{quote(rows.roles.target)} ({_groups(found.group[differ])}).",
                f"Find out which of the {noun} is right; correct or remove the other rows. If all "
                "are right, a column is missing that tells these rows apart.",
                differ,
                (rows.roles.target,),
            )
        same = np.flatnonzero(found.are_copies & (alike > 1))
        if len(same):
            n_more = len(same) - len(np.unique(both.ravel()[same]))
            order = np.lexsort((same, found.group[same], -alike[same]))
            yield Finding(
                "Exact copies",
                "warning",
                f"{_count(n_more)} {'repeats' if n_more == 1 else 'repeat'} another row exactly, "
                f"{quote(rows.roles.target)} included ({_groups(both.ravel()[same])}).",
                "Keep one row of each group, unless the same case was really seen again. Never "
                "have copies of a row in both training and test data.",
                same[order],
            )


class NearCopies:
    """Rows that differ from another row in one column only, or by tiny amounts."""

    def find(self, fitted: Fitted) -> Iterable[Finding]:
        """Yield one finding for all near copies."""
        pairs = {*self._edited(fitted.rows.frame), *self._shifted(fitted)}
        if not pairs:
            return
        ordered = sorted(pairs)
        rows = np.array(list(dict.fromkeys(row for pair in ordered for row in pair)), np.intp)
        labels = fitted.rows.y
        n_other = sum(bool(labels[a] != labels[b]) for a, b in ordered)
        differ = ""
        if n_other and fitted.rows.task == "classification":
            differ = f" In {_count(n_other, 'pair')} the labels differ."
        yield Finding(
            "Near copies",
            "note",
            f"{_rows_are(len(rows))} almost equal to another row: all columns agree but one, or "
            f"all numbers differ by far less than those of other rows.{differ}",
            "Look whether they are the same case, entered twice or corrected once. Keep one of "
            "them, and never have both in training and test data.",
            rows,
        )

    def _edited(self, frame: DataFrame) -> Iterable[tuple[int, int]]:
        """Yield pairs of rows that agree in all columns but one."""
        n_columns = len(frame.columns)
        if n_columns < 3:
            return
        agreement, n = Agreement(frame), len(frame)
        whole, size = agreement.group()
        tries = max(4, MAX_COUNTS // (n * n_columns))
        for column in range(0, n_columns, -(-n_columns * n // MAX_COUNTS)):
            if not (agreement.group(column)[1] > size).any():
                continue
            found = agreement.judge(column, tries=tries)
            rows = np.flatnonzero(found.are_copies & (found.size > size))
            rows = rows[np.lexsort((whole[rows], found.group[rows]))]
            a, b = rows[:-1], rows[1:]
            is_pair = (found.group[a] == found.group[b]) & (whole[a] != whole[b])
            yield from zip(*_as_pairs(a[is_pair], b[is_pair]), strict=True)

    def _shifted(self, fitted: Fitted) -> Iterable[tuple[int, int]]:
        """Yield pairs of rows that are far closer than chance allows.

        Within a ball that holds k neighbours of a row, the nearest one is within the share t of
        the radius with a chance of about k t^d, where d is the dimension of the cloud of rows.
        """
        rows = distinct_rows(fitted.rows.frame)
        if len(rows) <= NEIGHBOURS:
            return
        cloud = Cloud(fitted.X, rows)
        if cloud.dimension <= 0:
            return
        pairs = cloud.close_pairs()
        n, n_seen = len(rows), len(cloud.seen)
        chance = _CHANCE * n_seen / (n * n * NEIGHBOURS)
        ratio = min(_MAX_RATIO, chance ** (1 / cloud.dimension))
        is_near = (pairs.usual > 0) & (pairs.distance <= ratio * pairs.usual)
        yield from zip(*_as_pairs(pairs.a[is_near], pairs.b[is_near]), strict=True)


def _as_pairs(a: IntArray, b: IntArray) -> tuple[list[int], list[int]]:
    return np.minimum(a, b).tolist(), np.maximum(a, b).tolist()


class FarRows:
    """Rows far from all others."""

    neighbour = 5
    """Rows are far if even this neighbour is: so a few odd rows do not hide each other."""

    def find(self, fitted: Fitted) -> Iterable[Finding]:
        """Yield one finding for all such rows.

        The largest distances of a table are taken to fall off exponentially, as between its
        median and their quantile at 90 %: outliers are fewer than the rest.
        """
        rows = np.arange(len(fitted.rows.y))
        if len(rows) < _MIN_FAR_ROWS:
            return
        cloud = Cloud(fitted.X, rows)
        usual = cloud.distances(cloud.seen, self.neighbour)
        if len(cloud.seen) == len(rows):
            distance = usual
        else:
            size = np.asarray(
                abs(fitted.X).max(axis=1).todense()
                if hasattr(fitted.X, "tocsr")
                else np.abs(fitted.X).max(axis=1)
            )
            rows = np.sort(np.argsort(-size.ravel(), kind="stable")[:MAX_LOOKED_AT])
            distance = cloud.distances(rows, self.neighbour)
        body, tail = np.quantile(usual, [_BODY, _TAIL])
        if body <= 0:  # most rows are equal to others: distances say nothing
            return
        fall = (tail - body) / np.log((1 - _BODY) / (1 - _TAIL))
        limit = body + fall * np.log((1 - _BODY) * len(fitted.rows.y) / _FAR_CHANCE)
        is_far = distance > max(limit, 2 * tail, _LEAST_FAR)
        if not 0 < is_far.sum() <= _MOST_FAR * len(fitted.rows.y):
            return
        order = np.argsort(-distance[is_far], kind="stable")
        far, times = rows[is_far][order], distance[is_far][order] / np.median(usual)
        columns = self._columns(fitted, cloud, far)
        reach = " to ".join(dict.fromkeys([_times(times[-1]), _times(times[0])]))
        yield Finding(
            "Rows far from all others",
            "warning" if times[0] >= _VERY_FAR else "note",
            f"{_rows_are(len(far))} far from all others: {reach} times the usual distance to their "
            f"nearest rows, most by {listed(columns)}.",
            "Look for slips of the decimal point, wrong units and codes for missing values such as "
            "999. Correct them, or keep them if they are rare but real.",
            far,
            columns,
        )

    def _columns(self, fitted: Fitted, cloud: Cloud, rows: IntArray) -> tuple[str, ...]:
        """Return the columns that most often make these rows far."""
        rows = rows[:MAX_LOOKED_AT]
        near = cloud.neighbours(rows, self.neighbour)[1][:, -1]
        apart = (cloud.points(rows) - cloud.points(near)) ** 2
        names = [source.column for source in fitted.sources]
        order = np.argsort(-(apart / apart.sum(axis=1, keepdims=True)).sum(axis=0), kind="stable")
        return tuple(dict.fromkeys(names[j] for j in order[:3].tolist()))


def _times(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"


# -- Along the file --------------------------------------------------------------------------------


class Drift:
    """A label share, or a mean, that changes along the file."""

    def find(self, fitted: Fitted) -> Iterable[Finding]:
        """Yield a finding for a sorted file, or one for shares that change."""
        y, target = fitted.rows.y, fitted.rows.roles.target
        if fitted.rows.task == "regression":
            yield from self._of_numbers(y, fitted)
            return
        classes, index, counts = np.unique(y, return_inverse=True, return_counts=True)
        n_changes = int((index[1:] != index[:-1]).sum())
        n_random = len(y) * (1 - float(((counts / len(y)) ** 2).sum()))
        if n_changes <= len(classes) - 1 + _SORTED * n_random:
            yield _sorted_file(target, "label")
            return
        large = [place for place, count in enumerate(counts) if count >= _MIN_CLASS]
        found = [(_drift(index == place), place) for place in large]
        found = [it for it in found if it[0].is_there(max(1, len(classes) - 1))]
        if not found:
            return
        found.sort(key=lambda it: (-it[0].size, it[1]))
        if len(classes) == 2:
            found = found[:1]  # the other share says the same
        phrases = [
            f"the share of {quote(classes[place])} is "
            + _extremes((index == place).astype(np.float64), fitted.rows.numbers, "{:.0%}")
            for _, place in found
        ]
        yield _drifting(target, phrases)

    def _of_numbers(self, y: npt.NDArray[Any], fitted: Fitted) -> Iterable[Finding]:
        target, n = fitted.rows.roles.target, len(y)
        rank = np.argsort(np.argsort(y, kind="stable"), kind="stable")
        if n >= _MIN_CLASS and abs(_correlation(rank, np.arange(n))) >= _SORTED_CORRELATION:
            yield _sorted_file(target, "target")
        elif n >= 2 * _MIN_CLASS and _drift(rank, y > np.median(y)).is_there(1):
            mean = _extremes(y.astype(np.float64), fitted.rows.numbers, "{:,.4g}")
            yield _drifting(target, [f"the mean of {quote(target)} is {mean}"])


class _Change(NamedTuple):
    p_value: float
    size: float

    def is_there(self, n_tests: int) -> bool:
        return self.size >= _DRIFT_SIZE and self.p_value * n_tests <= _DRIFT_P_VALUE


def _drift(values: npt.NDArray[Any], is_high: BoolArray | None = None) -> _Change:
    """Return how much values change along the file: steadily, or by any other shape.

    The size is the distance of Kolmogorov and Smirnov between the places of rows that are high and
    of all others.
    """
    from scipy.special import kolmogorov, ndtr

    n, is_high = len(values), np.asarray(values if is_high is None else is_high, dtype=bool)
    share = is_high.mean()
    if not 0.0 < share < 1.0:
        return _Change(1.0, 0.0)
    trend = 2 * ndtr(-abs(_correlation(values, np.arange(n))) * np.sqrt(n - 1))
    centred = values - values.mean()
    shape = kolmogorov(np.abs(np.cumsum(centred)).max() / (centred.std() * np.sqrt(n)))
    size = np.abs(np.cumsum(is_high - share)).max() / (n * share * (1 - share))
    return _Change(2 * min(float(trend), float(shape)), float(size))


def _correlation(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> float:
    a, b = one - one.mean(), other - other.mean()
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def _extremes(values: FloatArray, numbers: IntArray, style: str) -> str:
    """Return the parts of a file where the mean is lowest and highest, in the order of the file."""
    parts = np.array_split(np.arange(len(values)), 10 if len(values) >= 500 else 5)
    means = [float(values[part].mean()) for part in parts]
    places = sorted([int(np.argmin(means)), int(np.argmax(means))])
    return " and ".join(
        f"{style.format(means[place]).replace('%', ' %')} in rows {numbers[parts[place][0]] + 1:,} "
        f"to {numbers[parts[place][-1]] + 1:,}"
        for place in places
    )


def _sorted_file(target: str, noun: str) -> Finding:
    return Finding(
        f"Sorted by {noun}",
        "note",
        f"The rows are sorted by {quote(target)}.",
        "Shuffle the rows before you split them or learn from them in their order.",
        columns=(target,),
    )


def _drifting(target: str, phrases: Sequence[str]) -> Finding:
    sentence = _shorten(phrases, "; ")
    return Finding(
        "Changes along the file",
        "warning",
        f"The order of the rows matters: {sentence}.",
        "Find out what the order stands for, such as time, place or person. Split training and "
        "test data along it, and judge late rows by what holds then.",
        columns=(target,),
    )


# -- Columns ---------------------------------------------------------------------------------------


class GivenAway:
    """Columns that give the target away."""

    def find(self, fitted: Fitted) -> Iterable[Finding]:
        """Yield a finding for recodings, and one for other columns."""
        leaks: Sequence[Leak] = fitted.rows.leaks
        target = quote(fitted.rows.roles.target)
        for is_recoding in (True, False):
            found = [leak for leak in leaks if leak.is_recoding == is_recoding]
            if not found:
                continue
            names, is_one = tuple(leak.column for leak in found), len(found) == 1
            rows = np.unique(np.concatenate([leak.rows for leak in found])).astype(np.intp)
            errors = _shorten([_error(leak.error) for leak in found])
            noun = "of the labels wrong"
            if fitted.rows.task == "regression":
                noun = "of the spread of the target as error"
            compared = (
                f"alone {'leaves' if is_one else 'leave'} {errors} {noun}; all other columns "
                f"together leave {_error(found[0].error_of_others)}"
            )
            subject = f"{listed(names)} {'says' if is_one else 'say'}"
            contradict = ""
            if len(rows):
                verb = "contradicts" if len(rows) == 1 else "contradict"
                contradict = f" {_count(len(rows))} {verb} {'it' if is_one else 'them'}."
            ending = f", so {'it is' if is_one else 'they are'} left out."
            if not set(names).isdisjoint(fitted.rows.frame.columns):  # by request, or alone
                ending = ", so that no label looks wrong."
            if is_recoding:
                yield Finding(
                    "Columns that recode the target",
                    "problem",
                    f"{subject} {target} in other words: {compared}.{contradict} A model would "
                    f"copy the label from {'it' if is_one else 'them'}{ending}",
                    "Remove such columns before you train a model: they are not known before the "
                    "label is.",
                    rows,
                    names,
                )
            else:
                yield Finding(
                    "Columns that give the target away",
                    "warning",
                    f"{subject} almost all about {target}: {compared}.{contradict}",
                    "Check that these values are known before the label is. If not, ignore the "
                    "columns. Rows that contradict them may have a wrong label.",
                    rows,
                    names,
                )


class Entities:
    """Keys that repeat: rows of one entity tell about each other."""

    def find(self, fitted: Fitted) -> Iterable[Finding]:
        """Yield a finding for each column of such keys, unless rows are held out by one."""
        if fitted.rows.fold_groups is not None:
            return
        for column in fitted.rows.columns:
            if column.reading == REPEATED_KEYS:
                yield Finding(
                    "Several rows of one entity",
                    "warning",
                    f"{quote(column.name)} holds keys that repeat. If they stand for entities, "
                    "such as patients, a row is judged by models that have seen other rows of its "
                    "entity.",
                    f"If so, name {quote(column.name)} as the column of entities (group folds), so "
                    "that their rows are held out together.",
                    columns=(column.name,),
                )


def _error(share: float) -> str:
    if 0 < share < 0.001:
        return "less than 0.1 %"
    return f"{share:.1%}".replace("%", " %") if share else "0 %"


class MissingValues:
    """Columns with many missing values, and missing values that depend on the target."""

    def find(self, fitted: Fitted) -> Iterable[Finding]:
        """Yield a finding for the columns, and one for each column that depends on the target."""
        frame, y = fitted.rows.frame, fitted.rows.y
        missing = {str(name): frame[name].isna().to_numpy() for name in frame.columns}
        missing = {name: is_missing for name, is_missing in missing.items() if is_missing.any()}
        many = {name: it.mean() for name, it in missing.items() if it.mean() > _MANY_MISSING}
        if many:
            names = sorted(many, key=lambda name: -many[name])
            shares = _shorten([f"{quote(name)} ({_percent(many[name])})" for name in names])
            yield Finding(
                "Columns with many missing values",
                "note",
                f"{_count(len(many), 'column')} {'is' if len(many) == 1 else 'are'} empty in more "
                f"than half of the rows: {shares}.",
                "Find out why they are empty. Ignore columns that will be empty in new rows too.",
                columns=tuple(names),
            )
        if fitted.rows.task == "classification":
            groups = {f"the rows with {quote(value)}": y == value for value in np.unique(y)}
        else:
            groups = {f"the rows with a high {quote(fitted.rows.roles.target)}": y > np.median(y)}
        groups = {
            name: it for name, it in groups.items() if _MIN_CLASS <= it.sum() <= len(y) - _MIN_CLASS
        }
        for name, is_missing in missing.items():
            yield from self._by_target(name, is_missing, groups, len(missing))

    def _by_target(
        self, name: str, is_missing: BoolArray, groups: dict[str, BoolArray], n_columns: int
    ) -> Iterable[Finding]:
        from scipy.stats import chi2_contingency

        gaps = {
            group: float(is_missing[member].mean() - is_missing[~member].mean())
            for group, member in groups.items()
        }
        if not gaps or is_missing.all():
            return
        group = max(gaps, key=lambda it: abs(gaps[it]))
        member = groups[group]
        table = [
            [int((is_missing[it] == value).sum()) for it in (member, ~member)]
            for value in (True, False)
        ]
        p_value = float(chi2_contingency(table).pvalue) * n_columns * len(groups)
        if abs(gaps[group]) < _MISSING_GAP or p_value > _MISSING_P_VALUE:
            return
        is_more = gaps[group] > 0
        yield Finding(
            "Missing values that depend on the target",
            "warning",
            f"{quote(name)} is missing in {_percent(is_missing[member].mean())} of {group}, "
            f"{'but' if is_more else 'and'} in {_percent(is_missing[~member].mean())} of the "
            "others.",
            "Find out whether it was filled in before the label was known. If not, ignore the "
            "column: it gives the target away.",
            np.flatnonzero(is_missing & (member if is_more else ~member)),
            (name,),
        )


# -- Words -----------------------------------------------------------------------------------------


def _count(n: int, noun: str = "row") -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _rows_are(n: int) -> str:
    return f"{_count(n)} {'is' if n == 1 else 'are'}"


def _these(n: int) -> str:
    return "this row" if n == 1 else f"these {n:,} rows"


def _groups(numbers: IntArray) -> str:
    return _count(len(np.unique(numbers)), "group")


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def _shorten(phrases: Sequence[str], joint: str = ", ", limit: int = 4) -> str:
    """Return the first phrases, and how many more there are."""
    more = len(phrases) - limit
    if more > 0:
        return f"{joint.join(phrases[:limit])} and {more} more"
    if joint == ", " and len(phrases) > 1:
        return f"{', '.join(phrases[:-1])} and {phrases[-1]}"
    return joint.join(phrases)


FINDERS: tuple[Finder, ...] = (
    Spellings(),
    Copies(),
    GivenAway(),
    Entities(),
    FarRows(),
    Drift(),
    MissingValues(),
    NearCopies(),
)
