"""What a colleague would say about a suspect row, in one to three short sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sorr._typing import IntArray
from sorr.auditing.fit import Fitted
from sorr.auditing.preparation import MISSING
from sorr.auditing.table import quote, quote_bare
from sorr.auditing.table.values import spell
from sorr.auditing.usual import Named, RawTable, as_date, as_day
from sorr.share import Judgement, TargetJudgement

_MAX_CLAUSES = 2  # of a sentence
_FAR = 2.0  # widths of the usual range from it
_FEW = 0.2  # of the rows with a label: so few have a value that is called rare
_MORE_OFTEN = 1.5  # times as often with the suggested label as with the given one
_MOST = 0.7  # of the rows with a label: if a number is above so many, that is said
_ENOUGH_EQUAL = 5  # rows with the same categories, of which the labels are counted
_EXACT = 1e6  # typical errors: with larger ones, most rows fit exactly
_LARGE = 1e12  # numbers from which on only their size is written
_YEARS = (1500, 2100)  # whole numbers that are written without a comma
_WORD = re.compile(r"[\w.+-]+")
_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_SHOWN = 60  # letters of a label


class Facts(NamedTuple):
    """What a sentence is made of."""

    row: int
    named: tuple[Named, ...] | None
    """The values that argue against the label. None if nobody knows the model."""
    similar: IntArray
    compared: int | None
    """Among how many rows similar ones were looked for. None if among all."""


class Wording:
    """What a colleague would say about rows.

    Parameters
    ----------
    table : RawTable
    """

    def __init__(self, table: RawTable) -> None:
        self.table, self.fitted = table, table.fitted

    def explain(self, facts: Facts) -> str:
        """Return one to three short sentences about a row."""
        judgement = self.fitted.judgement
        values = _Clauses(self.table, facts).joined() if facts.named else ""
        if isinstance(judgement, TargetJudgement):
            number = word_number(judgement, facts.row)
            sentences = [number, values, self._similar_numbers(facts)]
            return " ".join(f"{it}." for it in sentences if it)
        similar = self._similar_labels(facts)
        if values:
            return " ".join(f"{it}." for it in (values, similar) if it)
        plain = similar.removeprefix("But ")
        is_known = judgement.suggested_[facts.row] == self.fitted.rows.y[facts.row]
        if facts.named is None or is_known:
            return f"{_capital(plain)}." if plain else ""
        if plain != similar:
            return f"No single value explains it, and {plain}."
        return f"No single value explains it{'; ' * bool(plain)}{plain[:1].lower()}{plain[1:]}."

    def _similar_labels(self, facts: Facts) -> str:
        """Return how many of the similar rows have the suggested label.

        Those that are suspects themselves are not counted, but mentioned.
        """
        n = len(facts.similar)
        if not n:
            return ""
        labels = self.fitted.rows.y[facts.similar]
        is_suspect = self.fitted.dropped[facts.similar]
        given = self.fitted.rows.y[facts.row]
        suggested = self.fitted.judgement.suggested_[facts.row]
        to = int(((labels == suggested) & ~is_suspect).sum())
        at = int(((labels == given) & ~is_suspect).sum())
        suspects = int(is_suspect.sum())
        rows = f"{n} most similar rows{_among(facts.compared)}"
        name = as_label(suggested)
        if to == n:
            return f"All {_COUNTS[n]} most similar rows{_among(facts.compared)} are labelled {name}"
        more = ""
        if suspects:
            opening = f"the other {suspects}" if to + suspects == n else f"{suspects}"
            opening = opening.replace("other 1", "other")
            more = f", {opening} {'are suspects' if suspects > 1 else 'is a suspect'} too"
        if to > at or suggested == given:
            return f"{to} of the {rows} {_are(to)} labelled {name}{more}"
        look = "look closely" if self.fitted.dropped[facts.row] else "a close call"
        if to == 0:
            none = f"But none of the {rows} is labelled {name}"
            return f"{none}{more}: {look}"
        return f"But only {to} of the {rows} {_are(to)} labelled {name}{more}: {look}"

    def _similar_numbers(self, facts: Facts) -> str:
        """Return between which the numbers of similar rows are, without those of suspects."""
        is_suspect = self.fitted.dropped[facts.similar]
        y = self.fitted.rows.y[facts.similar[~is_suspect]]
        if not len(y):
            return ""
        n, suspects = len(facts.similar), int(is_suspect.sum())
        between = _range(*spell_numbers([float(y.min()), float(y.max())]))
        text = f"The {_COUNTS[n]} most similar rows{_among(facts.compared)} have {between}"
        noun = "suspect" if suspects == 1 else "suspects"
        return f"{text}, apart from {_COUNTS[suspects]} {noun}" if suspects else text


def word_number(judgement: TargetJudgement, row: int) -> str:
    """Return what is recorded, what is expected, and how far apart they are."""
    given, expected = float(judgement.given_[row]), float(judgement.suggested_[row])
    error = abs(float(judgement.error_[row]))
    recorded, about = spell_numbers([given, expected])
    side = "high" if given > expected else "low"
    if error > _EXACT:
        size = f"too {side}, while most rows fit exactly"
    elif error < 1.5:
        size = f"too {side} by a typical error at most"
    else:
        size = f"{spell_number(round(error))} times the typical error too {side}"
    return f"{recorded} is recorded, about {about} is expected: {size}"


def word_briefly(fitted: Fitted, row: int) -> str:
    """Return a sentence from the outputs of the model alone."""
    judgement = fitted.judgement
    if not isinstance(judgement, Judgement):
        return f"{word_number(judgement, row)}."
    names = " and ".join(name for name, _ in judgement.models_)
    verb = "gives" if len(judgement.models_) == 1 else "give"
    own, other = judgement.given_probability_[row], judgement.suggested_probability_[row]
    given, suggested = as_label(fitted.rows.y[row]), as_label(judgement.suggested_[row])
    return f"{_capital(names)} {verb} {given} {_percent(own)} and {suggested} {_percent(other)}."


class _Clauses:
    """What is to be said about the values of a row: numbers, then categories, then the rest."""

    def __init__(self, table: RawTable, facts: Facts) -> None:
        self.table, self.row, self.named = table, facts.row, facts.named or ()
        self.stratum = int(table.stratum[facts.row])
        judgement = table.fitted.judgement
        self.suggested = None
        if isinstance(judgement, Judgement):
            self.suggested = judgement.suggested_[facts.row]
            self.rows = f"rows labelled {as_label(table.fitted.rows.y[facts.row])}"
        else:
            y = table.fitted.rows.y[table.kept[self.stratum]]
            low, high = spell_numbers([float(y.min()), float(y.max())])
            target = quote_bare(table.fitted.rows.roles.target)
            given, between = table.fitted.rows.y[facts.row], _range(low, high)
            end = "lowest" if given < y.min() else "highest" if given > y.max() else ""
            self.rows = f"rows with {target} {between}"
            if end:
                self.rows = f"rows with the {end} {target} ({between})"

    def joined(self) -> str:
        """Return all clauses as a sentence without its full stop."""
        if equal := self._equal_rows():
            return equal
        clauses: list[str] = []
        rest = list(self.named)
        for side in ("above", "below"):
            for kind in ("number", "date"):
                those = [it for it in rest if self._side(it) == side and self._kind(it) == kind]
                rest = [it for it in rest if it not in those]
                if those:
                    clauses.append(self._outside(those, side, kind, self._rows(clauses)))
        for it in list(rest):
            if clause := self._compared(it, self._rows(clauses)):
                clauses.append(clause)
                rest.remove(it)
        if rest and self.suggested is not None:
            clauses.append(self._rest(rest))
        text = ", and ".join(clauses[:_MAX_CLAUSES])
        return _capital(text)

    def _kind(self, it: Named) -> str:
        return self.table.kinds[it.column]

    def _rows(self, clauses: list[str]) -> str:
        """Return what the rows with the label are called: in full only once."""
        return "these rows" if any(self.rows in it for it in clauses) else self.rows

    def _equal_rows(self) -> str:
        """Return how many rows with the same categories have the suggested label, if most have."""
        if self.suggested is None or any(self._kind(it) != "category" for it in self.named):
            return ""
        names = [it.column for it in self.named]
        counts = self.table.labels_of_equal(self.row, names)
        total = int(counts.sum())
        label = int(np.searchsorted(self.table.fitted.classes, self.suggested))
        to, usual = int(counts[label]), float(self.table.shares[label])
        if total < _ENOUGH_EQUAL or to <= max(0.5, usual) * total:
            return ""
        values = [
            f"{quote_bare(it.column)} = {it.value}"
            if it.value is not None
            else f"{quote_bare(it.column)} missing"
            for it in self.named
        ]
        which = f"other rows with {_listed(values)} are labelled {as_label(self.suggested)}"
        return f"All {total:,} {which}" if to == total else f"{to:,} of the {total:,} {which}"

    # Numbers and dates outside of the usual range

    def _side(self, it: Named) -> str:
        """Return on which side of the usual range a number is, if it is outside."""
        if (
            not self.table.is_numeric(it.column)
            or it.value is None
            or self.table.has_flags(it.column)
        ):
            return ""
        usual = self.table.usual_range(it.column, self.stratum)
        if usual is None:
            return ""
        value = float(self.table.numbers(it.column)[self.row])
        return "above" if value > usual[1] else "below" if value < usual[0] else ""

    def _outside(self, those: list[Named], side: str, kind: str, rows: str) -> str:
        is_far = all(self._is_far(it) for it in those)
        words = {"above": "later than", "below": "earlier than"} if kind == "date" else {}
        where = words.get(side, side)
        if is_far:
            where = f"{'much' if kind == 'date' else 'far'} {where}"
        every = f"every other row{rows.removeprefix('rows')}"
        if len(those) == 1:
            value, between = self._spelled(those[0])
            opening = f"its {quote_bare(those[0].column)} ({value}) is {where}"
            if self._is_beyond_all(those[0], side) and rows.startswith("rows labelled"):
                return f"{opening} that of {every} (usually {between})"
            return f"{opening} the usual {between} of {rows}"
        phrases, usually = [], "usually "
        for it in those:
            value, between = self._spelled(it)
            phrases.append(f"{quote_bare(it.column)} ({value}; {usually}{between})")
            usually = ""
        opening = f"its {_listed(phrases)} are {where}"
        if all(self._is_beyond_all(it, side) for it in those) and rows.startswith("rows labelled"):
            return f"{opening} those of {every}"
        return f"{opening} what is usual for {rows}"

    def _spelled(self, it: Named) -> tuple[str, str]:
        """Return a value and the usual range, so that they can be told apart."""
        numbers, usual = (
            self.table.numbers(it.column),
            self.table.usual_range(it.column, self.stratum),
        )
        value, low, high = float(numbers[self.row]), *(usual or (np.nan, np.nan))
        if self._kind(it) == "date":
            return as_date(value), _range(as_day(low), as_day(high))
        first, last = self.table.scale(it.column)
        are_years = first >= _YEARS[0] and last <= _YEARS[1]
        if are_years and value % 1 == low % 1 == high % 1 == 0:
            return f"{value:.0f}", _range(f"{low:.0f}", f"{high:.0f}")
        texts = spell_numbers([value, low, high])
        return texts[0], _range(*texts[1:])

    def _is_far(self, it: Named) -> bool:
        low, high = self.table.usual_range(it.column, self.stratum) or (0.0, 0.0)
        value = float(self.table.numbers(it.column)[self.row])
        return max(value - high, low - value) > _FAR * (high - low) > 0

    def _is_beyond_all(self, it: Named, side: str) -> bool:
        below, equal, total = self._places(it)
        return equal == 0 and (below == total if side == "above" else below == 0)

    def _places(self, it: Named) -> tuple[int, int, int]:
        """Return how many other kept rows with the label are below, are equal, and are there."""
        values = self.table.sorted_kept(it.column, self.stratum)
        value = float(self.table.numbers(it.column)[self.row])
        below, until = (int(np.searchsorted(values, value, side=it)) for it in ("left", "right"))
        own = int(not self.table.fitted.dropped[self.row])
        return below, until - below - own, len(values) - own

    # Categories, missing values, and numbers within the usual range

    def _compared(self, it: Named, rows: str) -> str:
        """Return how rare a category is, or how many numbers are smaller, if that says much."""
        name, kind = quote_bare(it.column), self._kind(it)
        if (
            it.value is not None
            and self.table.is_numeric(it.column)
            and not self.table.has_flags(it.column)
        ):
            below, equal, total = self._places(it)
            less, more = ("earlier", "later") if kind == "date" else ("lower", "higher")
            for word, count in ((more, below), (less, total - below - equal)):
                if total and count > _MOST * total:
                    many = _percent(count / total)
                    return f"its {name} ({_as_text(it, kind)}) is {word} than in {many} of {rows}"
        opening = f"its {name} is {'missing' if it.value is None else _as_text(it, kind)}"
        if it.value is not None and kind != "category" and not self.table.has_flags(it.column):
            opening = f"its {name} is given ({_as_text(it, kind)})"
        share, other = self._share(it, self.stratum), None
        if self.suggested is not None:
            to = int(np.searchsorted(self.table.fitted.classes, self.suggested))
            other = self._share(it, to)
            if other <= _MORE_OFTEN * share:
                return ""  # rare everywhere
        if share == 0 and rows == "these rows":
            return f"{opening}, as in none of these rows"
        if share == 0:
            return f"{opening}, as in no other row{rows.removeprefix('rows')}"
        if share < _FEW:
            return f"{opening}, as in only {_percent(share)} of {rows}"
        if other is None:
            return ""
        return (
            f"{opening}, as in {_percent(share)} of {rows} but {_percent(other)} of those "
            f"labelled {as_label(self.suggested)}"
        )

    def _share(self, it: Named, stratum: int) -> float:
        """Return the share of other kept rows of a stratum that have the same value."""
        if it.value is None or not self.table.has_flags(it.column):
            return self.table.share(it.column, self.row, stratum)
        values = self.table.sorted_kept(it.column, stratum)
        below, until = (np.searchsorted(values, it.value, side=end) for end in ("left", "right"))
        is_own = stratum == self.stratum and not self.table.fitted.dropped[self.row]
        total = len(self.table.kept[stratum]) - is_own
        return float((until - below - is_own) / total) if total > 0 else 0.0

    def _rest(self, those: list[Named]) -> str:
        phrases = [
            f"{quote_bare(it.column)} ({MISSING[1:-1]})"
            if it.value is None
            else f"{quote_bare(it.column)} ({_as_text(it, self._kind(it))})"
            for it in those
        ]
        verb = "point" if len(those) > 1 else "points"
        return f"its {_listed(phrases)} {verb} to {as_label(self.suggested)}"


# -- Words and numbers -----------------------------------------------------------------------------


def as_label(label: Any) -> str:
    """Return a label as it is in a sentence: in quotes, unless it is a word or a number."""
    text = spell(label)
    return text if _WORD.fullmatch(text) and len(text) <= _SHOWN else quote(text)


def _as_text(it: Named, kind: str) -> str:
    if kind == "number":
        return spell_number(it.value)
    return f'"{it.value}"' if kind == "text" else str(it.value)


def _listed(phrases: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(phrases[:-1]), *phrases[-1:]]))


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _range(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _among(compared: int | None) -> str:
    return "" if compared is None else f" of {compared:,} compared"


def _percent(share: float) -> str:
    """Return a share in percent, never as nothing or all if it is not."""
    if 0 < share < 0.001:
        return "less than 0.1 %"
    if 0.99 < share < 1:
        return f"{min(99.9, 100 * share):.1f} %"
    return f"{100 * share:.1f} %" if 0 < share < 0.01 else f"{100 * share:.0f} %"


def spell_number(value: float, digits: int = 3) -> str:
    """Return a number as people write it.

    Examples
    --------
    >>> spell_number(1926.3), spell_number(0.77123), spell_number(116.0), spell_number(2e-5)
    ('1,926', '0.771', '116', '0.00002')
    """
    if not np.isfinite(value):
        return str(value)
    if abs(value) >= _LARGE:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        return f"{float(mantissa):g} x 10^{int(exponent)}"
    if float(value).is_integer() or abs(value) >= 10**digits:
        return f"{value:,.0f}" if float(value).is_integer() or digits <= 6 else f"{value:,.3f}"
    if 0 < abs(value) < 1e-9:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        return f"{float(mantissa):g} x 10^{int(exponent)}"
    return np.format_float_positional(value, digits, fractional=False, trim="-")


def spell_numbers(values: Sequence[float]) -> list[str]:
    """Return numbers with as many digits as tell different ones apart.

    Examples
    --------
    >>> spell_numbers([0.77123, 0.77091, 0.5])
    ['0.7712', '0.7709', '0.5']
    """
    different = len(set(values))
    for digits in range(3, 9):
        texts = [spell_number(value, digits) for value in values]
        if len(set(texts)) == different:
            break
    return texts
