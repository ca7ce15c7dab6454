"""What the script of the page reads: the rows, the cards, what is known, and the original text."""

from __future__ import annotations

import base64
import csv
import gzip
import hashlib
import io
import json
import re
import shlex
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._csv import escape_formula
from sorr._typing import FloatArray, IntArray
from sorr.auditing.decisions import COLUMNS, decisions_csv
from sorr.auditing.original import original_of
from sorr.auditing.page.figures import Dot
from sorr.auditing.page.words import UNSEEN, brief, count, label, number, percent, seen, short
from sorr.auditing.reasons import Named, Reason
from sorr.auditing.report import AuditReport
from sorr.auditing.table import Table
from sorr.auditing.table.scan import long_fields
from sorr.auditing.table.values import is_number, spell
from sorr.share import Tier

_MAX_CARDS = 1000  # nobody decides more in a sitting, and a second round knows better
_MAX_ROWS = 2000  # tables up to here are embedded whole
_MAX_CELLS = 60_000  # values that are embedded, about half a megabyte
_MAX_COLUMNS = 40  # values of a row that are shown
_MAX_OF_FINDING = 200  # rows of a finding, in a table that is not embedded whole
_MAX_SIMILAR = 10  # rows beside a card
_MAX_CELL, _MAX_LABEL, _MAX_REASON = 80, 40, 600  # characters
_REPEATED = re.compile(r" \([^()]*\d to [^()]*\)")  # ranges in a sentence, which the bars say too
_PROBES = ("12", "0.5")  # numbers that show how others are to be written
_PACKINGS = (".gz", ".bz2", ".xz", ".zst", ".zip")
_RECODED = ("The file is not UTF-8", "The file was decoded as")  # notes on the encoding
_PLAIN_NAME = re.compile(r"[\w.@%+=:,/-]+", re.ASCII)
_ESCAPES = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


class Label(NamedTuple):
    """A class: as the page shows it, as the table has it, and as a decisions file has it."""

    shown: str
    plain: str
    safe: str


class Mark(NamedTuple):
    """A value that matters, beside what is usual for the given label."""

    column: str
    value: str
    usual: str
    bar: tuple[int, int, int] | None
    """In percent of the range of all rows: the value, and both ends of the usual range."""


class SimilarRow(NamedTuple):
    """A row beside a card: its number, its label, and its values in the columns that matter."""

    row: int
    label: int | str
    values: list[str]


class Card(NamedTuple):
    """A suspect."""

    at: int
    """Its index among the embedded rows."""
    cells: list[str]
    """What a decisions file says of it, before the decision."""
    pill: str
    reason: str
    marks: list[Mark]
    similar: list[SimilarRow]


class Line(NamedTuple):
    """A row of the table of all rows."""

    row: int
    line: int | None
    id: str
    given: int | str
    suggested: int | str | None
    tier: int
    findings: list[int]
    values: list[str]


class Known(NamedTuple):
    """A decision of the last round."""

    word: str
    label: str
    cells: list[str]


class Copy(NamedTuple):
    """The original text, and where its cells are: what a corrected copy is made of."""

    packed: str
    places: dict[int, list[int]]
    written: dict[str, str]
    """How each label of a decisions file is written in a cell."""


class Workbench(NamedTuple):
    """All that the script reads, and what the page says about it."""

    data: str
    original: str
    cards: list[Card]
    rows: list[Line]
    labels: list[Label]
    shortage: str
    """What is not embedded, in words."""
    n_known: int
    """The number of decisions of the last round."""


def workbench(report: AuditReport, dots: Sequence[Dot]) -> Workbench:
    """Return what the script of the page reads. The dots are the rows of the map."""
    drawn = np.array([it.position for it in dots], dtype=np.intp)
    suspects = np.asarray(report.order[:_MAX_CARDS], dtype=np.intp)
    reasons = report.explain(suspects)
    labels = _labels(report)
    chosen = _chosen(report, suspects, drawn)
    described = report.describe(suspects)
    cells = _cells_of(described)
    values = _Values(report, chosen, [it.similar for it in reasons])
    suggested = dict(zip(suspects.tolist(), described["suggested"].tolist(), strict=True))
    rows = _lines(report, chosen, suggested, labels, values)
    place = {int(position): i for i, position in enumerate(chosen.tolist())}
    cards = [
        _card(report, int(position), place[int(position)], cells[i], reasons[i], values)
        for i, position in enumerate(suspects.tolist())
    ]
    known = _known(report)
    copy = _copy(report, chosen, known, cards, labels)
    target = report.rows.roles.target
    shares, tier_of_suspect = report.expected_shares, report.ranking.tier[report.order]
    tiers = {
        int(tier): {
            "name": tier.label,
            "share": shares[int(tier)],
            "rows": int((tier_of_suspect == tier).sum()),  # also those without a card
        }
        for tier in sorted(Tier)[:0:-1]
        if report.tiers[int(tier)]
    }
    data = {
        "table": report.fingerprint,
        "round": _round(known),
        "rowsInTable": int(report.table.n_rows),
        "header": list(COLUMNS),
        "noun": report.fitted.judgement.noun,
        "target": short(target, 60),
        "isNumber": not report.fitted.classes,
        "labels": [it._asdict() for it in labels],
        "columns": values.heads,
        "findings": [short(it.name, 60) for it in report.findings],
        "tiers": tiers,
        "cards": [it._asdict() | {"marks": [m._asdict() for m in it.marks]} for it in cards],
        "rows": rows,
        "known": {row: it._asdict() for row, it in known.items()},
        "copy": None if copy is None else {"places": copy.places, "written": copy.written},
        "name": _corrected_name(report.table),
        "dots": [[place[it.position], it.x, it.y] for it in dots],
    }
    return Workbench(
        inert(data),
        "" if copy is None else copy.packed,
        cards,
        rows,
        labels,
        _shortage(report, len(suspects), len(chosen), values),
        len(known),
    )


def inert(data: Any) -> str:
    """Return data as JSON that cannot end a script element, nor turn the direction of a text."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return text.translate(_ESCAPES)


# -- Labels, as shown and as written ---------------------------------------------------------------


def _labels(report: AuditReport) -> list[Label]:
    """Return the classes, then those that are too rare to be judged. Empty for numbers."""
    classes = list(report.fitted.classes)
    if not classes:
        return []
    rare = [it for it in np.unique(report.rows.rare.y).tolist() if it not in classes]
    known = [*classes, *rare]
    plain = list(map(spell, known))
    safe = [cells[COLUMNS.index("given")] for cells in _cells_of({"row": known, "given": known})]
    shown = [seen(it) if len(it) <= _MAX_LABEL else f"{seen(it[:_MAX_LABEL])}…" for it in plain]
    if len(set(shown)) < len(shown):
        shown = [f"{it} ({i})" for i, it in enumerate(shown, start=1)]
    return [Label(*it) for it in zip(shown, plain, safe, strict=True)]


def _cells_of(columns: Any) -> list[list[str]]:
    """Return what a decisions file says of rows before the decision, by its own writer."""
    with long_fields():
        lines = list(csv.reader(io.StringIO(decisions_csv(columns))))
    return [cells[: COLUMNS.index("decision")] for cells in lines[1:]]


# -- Rows and cards --------------------------------------------------------------------------------


def _chosen(report: AuditReport, suspects: IntArray, drawn: IntArray) -> IntArray:
    """Return the rows that are embedded, in the order of the table."""
    if len(report.rows) <= _MAX_ROWS:
        return np.arange(len(report.rows), dtype=np.intp)
    found = [it.rows[:_MAX_OF_FINDING] for it in report.findings]
    return np.unique(np.concatenate([suspects, drawn, *found]).astype(np.intp))


class _Values:
    """Values of rows as short texts: of the columns that are shown, and of those that matter."""

    def __init__(
        self, report: AuditReport, chosen: IntArray, similar: Sequence[Sequence[int]]
    ) -> None:
        frame = report.rows.frame
        beside = np.array([i for rows in similar for i in rows[:_MAX_SIMILAR]], dtype=np.intp)
        self._rows = np.unique(np.concatenate([chosen, beside]))
        self._frame = frame.iloc[self._rows]
        most = max(1, min(_MAX_COLUMNS, _MAX_CELLS // max(len(chosen), 1)))
        self.names = [str(it) for it in frame.columns[:most]]
        self.heads = [short(name, _MAX_CELL) for name in self.names]
        self.more = frame.shape[1] - len(self.names)
        self._texts: dict[tuple[str, int], str] = {}
        self._columns: dict[str, npt.NDArray[Any]] = {}

    def of(self, column: str, position: int) -> str:
        """Return a value as text."""
        if column not in self._columns:
            self._columns[column] = self._frame[column].to_numpy(dtype=object)
        at = int(np.searchsorted(self._rows, position))
        key = (column, at)
        if key not in self._texts:
            self._texts[key] = _shown(self._columns[column][at])
        return self._texts[key]


def _shown(value: Any) -> str:
    return number(float(value)) if isinstance(value, float) else short(value, _MAX_CELL)


def _lines(
    report: AuditReport,
    chosen: IntArray,
    suggested: dict[int, Any],
    labels: list[Label],
    values: _Values,
) -> list[Line]:
    """Return the rows of the table. Suspects have a suggestion and a tier."""
    rows = report.rows
    given, tiers = _as_written(report, chosen, labels), report.ranking.tier[chosen].tolist()
    found: list[list[int]] = [[] for _ in chosen]
    for i, finding in enumerate(report.findings):
        for at in np.flatnonzero(np.isin(chosen, finding.rows)).tolist():
            found[at].append(i)
    return [
        Line(
            int(rows.numbers[position]),
            None if rows.lines is None else int(rows.lines[position]),
            "" if rows.ids is None else short(rows.ids[position], 60),
            given[i],
            _as_label(suggested[position], labels) if position in suggested else None,
            int(tiers[i]) if position in suggested else 0,
            found[i],
            [values.of(name, position) for name in values.names],
        )
        for i, position in enumerate(chosen.tolist())
    ]


def _given(report: AuditReport, positions: IntArray) -> list[int | str]:
    """Return the labels of rows: an index, or a number as text."""
    if report.fitted.classes:
        return [int(it) for it in report.fitted.class_of_row[positions]]
    return [_target_number(float(it)) for it in report.rows.y[positions]]


def _as_written(report: AuditReport, positions: IntArray, labels: list[Label]) -> list[int | str]:
    """Return the labels of rows as the table has them, also of those that were decided since."""
    found = _given(report, positions)
    if report.decisions is None:
        return found
    before = {it.row: it.given for it in report.decisions.decided if it.given.strip()}
    for i, row in enumerate(report.rows.numbers[positions].tolist()):
        if (text := before.get(row)) is None:
            continue
        if labels:
            same = [j for j, it in enumerate(labels) if text.strip() in (it.plain.strip(), it.safe)]
            found[i] = same[0] if same else found[i]
        elif is_number(text):
            found[i] = _target_number(float(text))
    return found


def _as_label(value: Any, labels: list[Label]) -> int | str:
    if not labels:
        return _target_number(float(value))
    plain = spell(value)
    return next(i for i, it in enumerate(labels) if it.plain == plain)


def _target_number(value: float) -> str:
    """Return a number of the target: all from 1,000 on have commas, as they stand side by side."""
    text = number(value)
    sign = text[: -len(text.lstrip("\N{MINUS SIGN}"))]
    size = text.removeprefix(sign)
    return f"{sign}{int(size):,}" if size.isdecimal() else text


def _card(
    report: AuditReport,
    position: int,
    at: int,
    cells: list[str],
    reason: Reason,
    values: _Values,
) -> Card:
    near = np.asarray(reason.similar[:_MAX_SIMILAR], dtype=np.intp)
    names = [it.column for it in reason.named]
    return Card(
        at,
        cells,
        _pill(int(report.ranking.tier[position]), float(report.ranking.probability[position])),
        short(_REPEATED.sub("", reason.sentence) if reason.named else reason.sentence, _MAX_REASON),
        [_mark(it) for it in reason.named],
        [
            SimilarRow(int(report.rows.numbers[i]), given, [values.of(it, int(i)) for it in names])
            for i, given in zip(near.tolist(), _given(report, near), strict=True)
        ],
    )


def _pill(tier: int, probability: float) -> str:
    """Return the probability in words. Below a half it is far too low, so that a tier is told."""
    if tier < Tier.PROBABLY_WRONG or probability != probability:
        return Tier(tier).label if tier else "dropped"
    if probability > 0.99:
        return "over 99\N{NO-BREAK SPACE}% wrong"
    return f"{100 * probability:.0f}\N{NO-BREAK SPACE}% wrong"


def _mark(named: Named) -> Mark:
    """Return a value beside what is usual, as texts, and as places on a bar."""
    column = short(named.column, 48)
    value = brief(named.value) if _is_finite(named.value) else short(named.value, 40)
    if named.usual is None:
        usual = f"usual {short(named.common, 40)}" if named.common else ""
        if named.share is not None and named.share < 0.5:
            rare = percent(named.share) if named.share else "none"
            usual = f"{usual} ({rare} of these rows have {value})" if usual else ""
        return Mark(column, value, usual, None)
    low, high = map(brief, named.usual)
    between = "\N{EN DASH}" if named.usual[0] >= 0 else " to "
    usual = f"usual {low}{between}{high}" if low != high else f"usual {low}"
    return Mark(column, value, usual, _bar(named))


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and np.isfinite(value)


def _bar(named: Named) -> tuple[int, int, int] | None:
    """Return places in percent: of the value, and of both ends of the usual range."""
    if named.scale is None or named.usual is None or not isinstance(named.value, int | float):
        return None
    points: FloatArray = np.array([named.value, *named.usual, *named.scale], dtype=np.float64)
    low, high = float(points.min()), float(points.max())
    if not (np.isfinite(points).all() and high > low):
        return None
    at = np.rint(100 * (points[:3] - low) / (high - low)).astype(int).tolist()
    return (at[0], at[1], at[2])


def _shortage(report: AuditReport, n_cards: int, n_rows: int, values: _Values) -> str:
    """Return what is not embedded, in words."""
    parts = []
    if n_cards < len(report.order):
        parts.append(
            f"The page has cards for the {count(n_cards)} most suspect of "
            f"{count(len(report.order))} rows; suspects.csv has all."
        )
    if n_rows < len(report.rows):
        parts.append(
            f"Of {count(len(report.rows))} rows, the table has {count(n_rows)}: the suspects, rows "
            "with a finding, and those of the map."
        )
    if values.more:
        parts.append(
            f"The first {len(values.names)} columns are shown; {count(values.more)} more are not."
        )
    return " ".join(parts)


# -- What is known from the last round, and the corrected copy -------------------------------------


def _known(report: AuditReport) -> dict[int, Known]:
    """Return the decisions of the last round, by the number of their row."""
    if report.decisions is None:
        return {}
    decided = report.decisions.decided
    order = np.argsort(report.rows.numbers, kind="stable")
    numbers = report.rows.numbers[order]
    at = np.searchsorted(numbers, [it.row for it in decided])
    there = [
        i < len(numbers) and int(numbers[i]) == it.row for i, it in zip(at, decided, strict=True)
    ]
    positions = order[at[np.array(there, dtype=bool)]] if any(there) else np.empty(0, dtype=np.intp)
    cells = iter(_cells_of(report.describe(positions)))
    found = {}
    for it, is_there in zip(decided, there, strict=True):
        if is_there:
            own = next(cells)
            # The audit has learned the new label of a row by now; the file has the old one.
            own[COLUMNS.index("given")] = escape_formula(it.given)
        else:  # a row without a label, or of a class that is too small to be judged
            own = _cells_of({"row": [it.row], "id": [it.id], "given": [it.given]})[0]
        found[it.row] = Known(it.word, escape_formula(it.label), own)
    return found


def _round(known: dict[int, Known]) -> str:
    """Return what tells the storage of this round from that of others: nothing in a first one."""
    if not known:
        return ""
    decided = [(row, it.word, it.label) for row, it in sorted(known.items())]
    digest = hashlib.blake2b(json.dumps(decided).encode(), digest_size=4)
    return f"-{digest.hexdigest()}"


def _has_twins(labels: list[Label]) -> bool:
    """Tell whether labels are written alike in a decisions file, such as `=a` and `'=a`."""
    return len({it.safe for it in labels}) < len(labels)


def _copy(
    report: AuditReport,
    chosen: IntArray,
    known: dict[int, Known],
    cards: list[Card],
    labels: list[Label],
) -> Copy | None:
    """Return what a corrected copy is made of. None if it is too large, or has ambiguous labels."""
    if _has_twins(labels):
        return None
    numbers = np.unique(np.concatenate([report.rows.numbers[chosen], [*known]]).astype(np.int64))
    texts = {it.safe: it.plain for it in labels}
    if not labels:
        own = [card.cells[COLUMNS.index("suggested")] for card in cards]
        own += [it.label for it in known.values() if it.label]
        texts = {it: it for it in (*_PROBES, *own)}
    found = original_of(report.table, numbers, report.rows.roles.target, list(texts.values()))
    if found is None:
        return None
    packed = gzip.compress(found.data, compresslevel=6, mtime=0)
    return Copy(
        base64.b64encode(packed).decode("ascii"),
        dict(zip(numbers.tolist(), found.places.tolist(), strict=True)),
        {text: found.labels[plain].decode() for text, plain in texts.items()},
    )


class Command(NamedTuple):
    """How to correct the file in a terminal, and why one may want to."""

    text: str
    why: str
    """Why the copy of the page will not do, or what it does not keep. Empty if it keeps all."""


def command(report: AuditReport, has_copy: bool) -> Command:
    """Return how to correct the file in a terminal."""
    table, name = report.table, seen(PurePath(report.table.name).name)
    if _is_frame(table):
        text = 'sorr.apply_decisions(frame, "decisions.csv")'
        return Command(text, "The copy made here is CSV. In Python, this corrects your frame:")
    out = _quoted(_corrected_name(table, whole=True))
    text = f"sorr apply {_quoted(name)} decisions.csv --out {out}"
    if table.sheet is not None:
        text += f" --sheet {_quoted(seen(table.sheet))}"
    if not has_copy and _has_twins(_labels(report)):
        why = (
            "Some labels of this table look alike in decisions.csv, so the page cannot correct it. "
            "Download the decisions, then run:"
        )
    elif not has_copy:
        why = (
            "This table is too large to be corrected in the page. Download the decisions, then run:"
        )
    elif table.separator is None:
        why = "The copy made here is CSV. This command writes the file in its own format:"
    elif any(it.startswith(_RECODED) for it in table.notes):
        why = "The file is not UTF-8, but the copy made here is. This command keeps the encoding:"
    else:
        why = ""
    return Command(text, why)


def _is_frame(table: Table) -> bool:
    """Tell whether a table was given in Python, and not read from a file."""
    return table.separator is None and "-v" in table.fingerprint


def _quoted(name: str) -> str:
    """Return a name as a shell reads it."""
    name = f"./{name}" if name.startswith("-") else name
    return name if _PLAIN_NAME.fullmatch(name) else shlex.quote(name)


def _corrected_name(table: Table, *, whole: bool = False) -> str:
    """Return the name of the corrected file: never a path, and without control characters.

    The copy of the page is neither packed nor a workbook; `whole` is the name of one that is.
    """
    if _is_frame(table):
        return "table-corrected.csv"
    name = re.sub(r'[\\/:*?"<>|]', "_", re.split(r"[\\/]", seen(table.name))[-1])
    path = PurePath(name)
    packing = path.suffix if path.suffix.lower() in _PACKINGS else ""
    inner = PurePath(name.removesuffix(packing))
    suffix = inner.suffix if inner.suffix and (whole or table.separator is not None) else ".csv"
    return f"{inner.stem or 'table'}-corrected{suffix}{packing if whole else ''}"


def shown_label(value: int | str | None, labels: list[Label]) -> str:
    """Return a label as the page shows it."""
    return labels[value].shown if isinstance(value, int) else label(value)
