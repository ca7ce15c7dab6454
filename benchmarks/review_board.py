"""Rows of the benchmark of a reviewer, as tables in Markdown, with targets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.labels_board import Number, by_table, header, line, mean, select
from benchmarks.regression_board import names_of
from benchmarks.rows import Row
from benchmarks.tables import DESIGN, REPORT

__all__ = [
    "DESIGNED",
    "MODELS",
    "ONE_ROUND",
    "OTHERS",
    "RANKINGS",
    "REPORTED",
    "TWICE",
    "TWO_ROUNDS",
    "board",
    "in_two_rounds",
    "name_order",
]

DESIGNED = DESIGN
OTHERS = ("emotions-y1", "scene-y1", "yeast-y1")  # for wine, which has 178 rows
REPORTED = (*(name for name in REPORT if name != "wine"), *OTHERS)
HALVES = {"report": REPORTED, "design": DESIGNED}
MODELS = {"auto": "our stack", "boosting": "boosting", "linear": "logistic regression"}
QUALITIES: dict[str, dict[str, Any]] = {
    "self-confidence": {"method": "self_confidence"},
    "margin": {"method": "normalized_margin"},
    "adjusted self-confidence": {"method": "self_confidence", "adjust_pred_probs": True},
    "adjusted margin": {"method": "normalized_margin", "adjust_pred_probs": True},
}
RANKINGS = {
    **QUALITIES,
    **{f"issues, {name}": {**how, "issues first": True} for name, how in QUALITIES.items()},
}
ONE_ROUND, TWO_ROUNDS = "sorr, one round", "sorr, two rounds"
OWN_MODELS = ("boosting", "linear")  # what cleanlab has without us
LENGTHS = (100, 200)
MORE = 15.0  # per cent, over cleanlab after 100 decisions
NAMES = {
    "sym10": "all classes, 10 %",
    "sym20": "all classes, 20 %",
    "one15": "one class, 15 %",
    "one30": "one class, 30 %",
}


def name_order(model: str, ranking: str) -> str:
    return f"cleanlab, {model}, {ranking}"


def in_two_rounds(name: str) -> str:
    return f"{name}, two rounds"


# The best of one round on the design tables: with any model, and with those that are not ours.
TWICE = tuple(name_order(model, "adjusted self-confidence") for model in ("auto", "boosting"))


# -- Numbers of a row ----------------------------------------------------------------------------


def found(decisions: int) -> Number:
    return lambda row: float(row["found"][str(decisions)])


def found_share(decisions: int) -> Number:
    return lambda row: 100 * row["found"][str(decisions)] / row["wrong"]


def format_mean(rows: Sequence[Row], number: Number) -> str:
    """Return the mean over tables, and its standard error."""
    values = np.array(list(by_table(rows, number).values()))
    if len(values) < 2:
        return f"{values.mean():.1f}" if len(values) else "-"
    return f"{values.mean():.1f} ± {values.std(ddof=1) / np.sqrt(len(values)):.1f}"


class Gain(NamedTuple):
    """By how much one order finds more than another, in per cent of what that one finds."""

    mean: float
    error: float
    ahead: int
    tables: int

    def __str__(self) -> str:
        return f"{self.mean:+.1f} ± {self.error:.1f} ({self.ahead} of {self.tables})"


def measure_gain(ours: Sequence[Row], theirs: Sequence[Row], decisions: int) -> Gain:
    mine, peer = (by_table(rows, found(decisions)) for rows in (ours, theirs))
    gaps = np.array([mine[data] - peer[data] for data in mine if data in peer])
    whole = float(np.mean([peer[data] for data in mine if data in peer]))
    error = gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else np.nan
    ahead = int((gaps > 0).sum())
    return Gain(100 * float(gaps.mean()) / whole, 100 * float(error) / whole, ahead, len(gaps))


# -- Cleanlab at its best ------------------------------------------------------------------------


class Peers(NamedTuple):
    """The orders of cleanlab that ours is compared with, all of one round."""

    best: str
    """With any of the models, ours among them: chosen on the design tables."""
    own: str
    """With a model that it has without us: chosen on the design tables."""
    best_in_hindsight: str
    """Chosen on the tables of the report."""
    own_in_hindsight: str


def choose_peers(rows: Sequence[Row]) -> Peers | None:
    design, told = ([row for row in rows if row["data"] in half] for half in (DESIGNED, REPORTED))
    chosen = [
        best_order(part, models)
        for part in (design or told, told or design)
        for models in (MODELS, OWN_MODELS)
    ]
    if None in chosen:
        return None
    return Peers(*map(str, chosen))


def best_order(rows: Sequence[Row], models: Iterable[str]) -> str | None:
    """Return the order of one round that finds most in 100 decisions, over all noises."""
    names = [name_order(model, ranking) for model in models for ranking in RANKINGS]
    means = {name: mean(part, found(100)) for name in names if (part := select(rows, method=name))}
    return max(means, key=lambda name: means[name]) if means else None


# -- Tables --------------------------------------------------------------------------------------


def board(rows: Iterable[Row]) -> Iterator[str]:
    rows = list(rows)
    peers = choose_peers(rows)
    if peers is None or not select(rows, method=TWO_ROUNDS):
        return
    halves = {
        half: part
        for half, names in HALVES.items()
        if (part := [row for row in rows if row["data"] in names])
    }
    yield from draw_goals(halves, peers)
    for decisions in LENGTHS:
        yield from draw_found(halves, peers, decisions)
    for half, part in halves.items():
        yield from draw_tables(half, part, peers)
    yield from draw_rankings(halves)


def draw_goals(halves: dict[str, list[Row]], peers: Peers) -> Iterator[str]:
    yield from header(
        "What was to be reached, on all noises: more wrong labels found, in per cent",
        *("tables", "decisions", "against", "goal", "more found (ahead on tables)", ""),
    )
    for half, part in halves.items():
        ours = select(part, method=TWO_ROUNDS)
        orders = dict.fromkeys(peers if half == "report" else peers[:2])
        for order in orders:
            gain = measure_gain(ours, select(part, method=order), 100)
            hindsight = ", the best in hindsight" * (order not in peers[:2])
            yield goal(half, 100, f"cleanlab: {short(order)}{hindsight}", MORE, gain)
        for decisions in LENGTHS:
            gain = measure_gain(ours, select(part, method=ONE_ROUND), decisions)
            yield goal(half, decisions, "our own order in one round", 0, gain)
    yield ""


def goal(half: str, decisions: int, against: str, least: float, gain: Gain) -> str:
    wanted = f"at least {least:g}" if least else "more than 0"
    is_met = gain.mean >= least if least else gain.mean > 0
    verdict = "reached" if is_met else f"**missed by {least - gain.mean:.1f}**"
    return line(half, decisions, against, wanted, gain, verdict)


def short(order: str) -> str:
    """Return an order of cleanlab without its own name."""
    model, ranking = order.removeprefix("cleanlab, ").split(", ", 1)
    return f"{MODELS[model]}, {ranking}"


def draw_found(halves: dict[str, list[Row]], peers: Peers, decisions: int) -> Iterator[str]:
    columns = {
        "sorr, one round": ONE_ROUND,
        "sorr, two rounds": TWO_ROUNDS,
        f"cleanlab, {short(peers.own)}": peers.own,
        "the same, two rounds": in_two_rounds(peers.own),
        f"cleanlab, {short(peers.best)}": peers.best,
        "the same, two rounds ": in_two_rounds(peers.best),
    }
    yield from header(
        f"Wrong labels found in {decisions} decisions, mean over tables ± standard error",
        *("tables", "wrong labels", "there are", *map(str.strip, columns)),
        "two rounds over one, %",
    )
    for half, part in halves.items():
        for noise in (*names_of(part, "noise"), None):
            some = part if noise is None else select(part, noise=noise)
            cells = [
                format_mean(select(some, method=name), found(decisions))
                for name in columns.values()
            ]
            ours = select(some, method=TWO_ROUNDS)
            yield line(
                half,
                "**all**" if noise is None else NAMES[noise],
                f"{mean(ours, lambda row: float(row['wrong'])):.0f}",
                *cells,
                measure_gain(ours, select(some, method=ONE_ROUND), decisions),
            )
        shares = [
            format_mean(select(part, method=name), found_share(decisions))
            for name in columns.values()
        ]
        yield line(half, "share of all wrong labels, %", "", *shares, "")
    yield ""


def draw_tables(half: str, rows: Sequence[Row], peers: Peers) -> Iterator[str]:
    orders = {
        "sorr, one round": ONE_ROUND,
        "sorr, two rounds": TWO_ROUNDS,
        f"cleanlab, {short(peers.own)}": peers.own,
        f"cleanlab, {short(peers.best)}": peers.best,
    }
    yield from header(
        f"Wrong labels found in 100 decisions by table, {half}: mean over noises and samples",
        *("table", "rows", "wrong labels", *orders),
    )
    for data in names_of(rows, "data"):
        part = select(rows, data=data)
        yield line(
            data,
            f"{part[0]['rows']:,}",
            f"{mean(part, lambda row: float(row['wrong'])):.0f}",
            *(f"{mean(select(part, method=name), found(100)):.1f}" for name in orders.values()),
        )
    yield ""


def draw_rankings(halves: dict[str, list[Row]]) -> Iterator[str]:
    yield from header(
        "Every order of cleanlab: wrong labels found in 100 (200) decisions, mean over tables and "
        "noises, one round",
        *("tables", "ranking", *MODELS.values()),
    )
    for half, part in halves.items():
        for ranking in RANKINGS:
            cells = []
            for model in MODELS:
                some = select(part, method=name_order(model, ranking))
                both = [f"{mean(some, found(n)):.1f}" for n in LENGTHS] if some else ["-", "-"]
                cells.append(f"{both[0]} ({both[1]})")
            yield line(half, ranking, *cells)
    yield ""
