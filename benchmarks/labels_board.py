"""Rows of the benchmark of labels, as tables in Markdown, with targets where there are any."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import wrap

import numpy as np

from benchmarks.rows import Row
from benchmarks.tables import DESIGN, REPORT

__all__ = ["board"]

HALVES = {"design": DESIGN, "report": REPORT}
RANKINGS = ("self", "margin", "adjusted")
MODELS = ("auto", "forest", "boosting", "linear")
NOISES = {"sym15": "symmetric 15 %", "one30": "one class 30 %"}
RULES = ("drop", "count", "weight")
SIZES = {"mnist": "MNIST", "20news": "20 Newsgroups"}
PEERS = {
    **{
        f"wrapper, {name}{defaults}": (f'TrimmedClassifier("auto"), {name}, 3,000 rows', peer, 0.5)
        for name in ("magic", "satimage")
        for defaults, peer in (
            ("", "CleanLearning(boosting, 60 x 15 leaves)"),
            (", defaults", "CleanLearning(boosting, scikit-learn's defaults)"),
        )
    },
    "judge, 2 classes": ("judge_labels, 50,000 rows, 2 classes", "LogisticRegression", 1),
    "judge, 10 classes": ("judge_labels, 50,000 rows, 10 classes", "LogisticRegression", 2),
    "line": ("RankedRangeClassifier(), 1,000 x 20", "ExtraTrees(200)", 0.7),
}
WIDTH = 100  # of lines of text
Number = Callable[[Row], float]


def board(rows: Sequence[Row]) -> Iterator[str]:
    parts: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        parts[row["part"]].append(row)
    for name, draw in DRAWN.items():
        if name in parts:
            yield from draw(parts[name])


# -- Means over tables ---------------------------------------------------------------------------


def select(rows: Iterable[Row], **wanted: str) -> list[Row]:
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def halves(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Yield both halves of the tables that have rows."""
    for half, names in HALVES.items():
        if chosen := [row for row in rows if row["data"] in names]:
            yield half, chosen


def by_table(rows: Iterable[Row], number: Number) -> dict[str, float]:
    """Return the mean over the samples of each table."""
    values: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        values[row["data"]].append(number(row))
    return {data: float(np.mean(each)) for data, each in values.items()}


def mean(rows: Iterable[Row], number: Number) -> float:
    return float(np.mean(list(by_table(rows, number).values())))


def lead(ours: dict[str, float], theirs: dict[str, float]) -> str:
    """Return the mean difference over tables, its standard error, and where it is positive."""
    gaps = np.array([ours[data] - theirs[data] for data in ours])
    if len(gaps) == 1:
        return f"{gaps[0]:+.1f}"
    error = gaps.std(ddof=1) / np.sqrt(len(gaps))
    return f"{gaps.mean():+.1f} ± {error:.1f} ({(gaps > 0).sum()} of {len(gaps)})"


def percent(key: str) -> Number:
    return lambda row: 100 * float(row[key])


def of_rows(key: str) -> Number:
    """Return a count as per cent of the rows."""
    return lambda row: 100 * float(row[key]) / float(row["rows"])


def header(title: str, *columns: str) -> Iterator[str]:
    yield from (*wrap(f"**{title}**", WIDTH), "")
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"


def line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


# -- Planted noise, and clean tables --------------------------------------------------------------


def draw_planted(rows: Sequence[Row]) -> Iterator[str]:
    yield from draw_ranking(rows)
    yield from draw_tables(rows)
    yield from draw_clean(rows)
    yield from draw_stated(rows)
    yield from draw_planted_shapes(rows)


def better_ranking(rows: Sequence[Row]) -> str:
    """Return the ranking of cleanlab that is best on the mean of the tables."""
    return max(RANKINGS, key=lambda name: mean(rows, percent(f"cleanlab {name}")))


def draw_ranking(rows: Sequence[Row]) -> Iterator[str]:
    yield from header(
        "Average precision x 100: ours, and cleanlab with boosting",
        *("tables", "noise", "auto", "forest", "boosting", "linear"),
        *("cleanlab: self / margin / adjusted", "auto - its best", "target"),
        *("same probabilities: boosting - its best", "auto - its best", "target"),
    )
    for half, part in halves(rows):
        for noise, (target, same) in {"sym15": ("+7", "0"), "one30": ("+11", "+5")}.items():
            found = {name: select(part, noise=noise, method=name) for name in MODELS}
            if not found["boosting"]:
                continue
            best = {name: f"cleanlab {better_ranking(found[name])}" for name in MODELS}
            ours = [f"{mean(found[name], percent('precision')):.1f}" for name in MODELS]
            theirs = [mean(found["boosting"], percent(f"cleanlab {name}")) for name in RANKINGS]
            leads = [
                lead(
                    by_table(found[name], percent(key)), by_table(found[peer], percent(best[peer]))
                )
                for name, key, peer in (
                    ("auto", "precision", "boosting"),
                    ("boosting", "alone", "boosting"),
                    ("auto", "alone", "auto"),
                )
            ]
            yield line(
                half,
                NOISES[noise],
                *ours,
                " / ".join(f"{value:.1f}" for value in theirs),
                *(leads[0], target, *leads[1:], same),
            )
    yield ""


def draw_tables(rows: Sequence[Row]) -> Iterator[str]:
    yield from header(
        "By table: average precision of auto, boosting, and cleanlab's best with boosting",
        *("table", *NOISES.values()),
    )
    for half, part in halves(rows):
        columns = []
        for noise in NOISES:
            found = {name: select(part, noise=noise, method=name) for name in MODELS}
            if not found["boosting"]:
                return
            best = f"cleanlab {better_ranking(found['boosting'])}"
            columns.append(
                [
                    by_table(found["auto"], percent("precision")),
                    by_table(found["boosting"], percent("precision")),
                    by_table(found["boosting"], percent(best)),
                ]
            )
        for data in columns[0][0]:
            cells = [" / ".join(f"{each[data]:.1f}" for each in column) for column in columns]
            yield line(f"{data} ({half})", *cells)
    yield ""


def draw_clean(rows: Sequence[Row]) -> Iterator[str]:
    clean = select(rows, noise="none")
    yield from header(
        "Rows flagged on clean tables, % (target: 0.3 in the mean, none above 2)",
        *("table", *MODELS, "cleanlab with boosting", "evidence of auto"),
    )

    def flagged(part: Sequence[Row]) -> list[dict[str, float]]:
        columns = [by_table(select(part, method=name), of_rows("flagged")) for name in MODELS]
        theirs = by_table(select(part, method="boosting"), of_rows("cleanlab flagged"))
        return [*columns, theirs]

    for half, part in (*halves(clean), ("", select(clean, data="TitanicSurvival"))):
        columns = flagged(part)
        for data in columns[0]:
            own = [row["evidence"] for row in select(part, data=data, method="auto")]
            evidence = ", ".join("cannot judge" if e is None else f"{e:.1f}" for e in own)
            values = [f"{column[data]:.2f}" for column in columns]
            yield line(f"{data} ({half})" if half else data, *values, evidence)
        if half:
            means = [f"{np.mean(list(column.values())):.2f}" for column in columns]
            yield line(f"**mean, {half}**", *means, "")
    yield ""


def draw_stated(rows: Sequence[Row]) -> Iterator[str]:
    yield from header(
        "Stated against actual, where there is evidence (target: within 10 points)",
        *("tables", "noise", "model", "posterior", "rows", "stated %", "actual %", "gap"),
    )
    for half, part in halves(rows):
        for noise in NOISES:
            for name in MODELS:
                found = [
                    row["stated"]
                    for row in select(part, noise=noise, method=name)
                    if row["evidence"] is not None and row["evidence"] > 0
                ]
                for bin_ in found[0] if found else ():
                    n, stated, actual = np.sum([each[bin_] for each in found], axis=0)
                    if n:
                        shares = 100 * stated / n, 100 * actual / n
                        yield line(
                            *(half, NOISES[noise], name, bin_, f"{n:,.0f}"),
                            *(f"{share:.1f}" for share in shares),
                            f"{shares[1] - shares[0]:+.1f}",
                        )
    yield ""


SHAPES = ("squared", "rooted", "3 decimals", "2 decimals")


def draw_planted_shapes(rows: Sequence[Row]) -> Iterator[str]:
    """Yield flags and verdicts by probabilities of other shapes, over all tables and samples."""
    yield from header(
        "Probabilities of another shape, planted noise: flags, and cells that keep their verdict",
        *("tables", "model", "flags as given", *SHAPES),
    )
    for half, part in halves(rows):
        for name in ("auto", "boosting"):
            found = [row["shapes"] for row in select(part, method=name) if "shapes" in row]
            if not found:
                continue
            before = sum(each["as given"][1] for each in found)
            cells = []
            for shape in SHAPES:
                flags = sum(each[shape][1] for each in found)
                kept = sum(sign(each[shape][0]) == sign(each["as given"][0]) for each in found)
                cells.append(
                    f"{flags:,} ({100 * (flags / max(before, 1) - 1):+.0f} %), {kept}/{len(found)}"
                )
            yield line(half, name, f"{before:,}", *cells)
    yield ""


def sign(evidence: float | None) -> bool:
    return evidence is not None and evidence > 0


# -- Accuracy ------------------------------------------------------------------------------------


def draw_refit(rows: Sequence[Row]) -> Iterator[str]:
    yield from header(
        "Accuracy on clean test labels minus that of the plain model, points "
        "(target: +2 under noise, -0.1 on clean labels)",
        *(
            "tables",
            "labels",
            "model",
            "plain %",
            "drop flagged",
            "drop the count",
            "weights 1 - w",
        ),
    )
    kinds = {
        "noise": ("sym20", "one25"),
        "sym20": ("sym20",),
        "one25": ("one25",),
        "clean": ("none",),
    }
    for half, part in halves(rows):
        for label, noises in kinds.items():
            chosen = [row for row in part if row["noise"] in noises]
            plain = {
                name: by_table(select(chosen, method=name), percent("plain")) for name in MODELS
            }
            for name in MODELS:
                found = select(chosen, method=name)
                leads = [lead(by_table(found, percent(rule)), plain[name]) for rule in RULES]
                yield line(half, label, name, f"{np.mean(list(plain[name].values())):.1f}", *leads)
            peer = by_table(select(chosen, method="CleanLearning"), percent("drop"))
            if peer:
                gap = lead(peer, plain["boosting"])
                yield line(half, label, "CleanLearning(boosting)", "as boosting", gap, "", "")
    yield ""


def draw_line(rows: Sequence[Row]) -> Iterator[str]:
    yield from header(
        "RankedRangeClassifier() minus LogisticRegression(), points "
        "(target: -0.1 on clean labels, +0.8 with one class 20 %)",
        *("tables", "labels", "LogisticRegression %", "default", "with its ridge"),
        *("dropped by default, %", "of them wrong, %"),
    )
    for half, part in halves(rows):
        for noise, label in (("none", "clean"), ("one20", "one class 20 %"), ("sym20", "sym 20 %")):
            chosen = select(part, noise=noise)
            plain = by_table(select(chosen, method="LogisticRegression"), percent("accuracy"))
            ours = [select(chosen, method=name) for name in ("default", "same ridge")]
            leads = [lead(by_table(found, percent("accuracy")), plain) for found in ours]
            dropped, hits = (sum(row[key] for row in ours[0]) for key in ("dropped", "hits"))
            yield line(
                *(half, label, f"{np.mean(list(plain.values())):.1f}", *leads),
                f"{mean(ours[0], of_rows('dropped')):.2f}",
                f"{100 * hits / dropped:.0f}" if dropped else "-",
            )
    yield ""


# -- A rare class, and verified errors -----------------------------------------------------------


def draw_rare(rows: Sequence[Row]) -> Iterator[str]:
    yield from header(
        "A rare class, 20,000 rows: evidence by sample, and rows flagged, of them right "
        "(target: clean at most 5; auto 4 in 5 found at 9 in 10 right)",
        *("labels", "model", "evidence", "of its own", "flagged", "right", "planted"),
        "cleanlab, same probabilities: flagged, right",
    )
    for noise, label in (("none", "clean"), ("false15", "15 % false positives")):
        for name in MODELS:
            found = sorted(select(rows, noise=noise, method=name), key=lambda row: int(row["seed"]))
            if not found:
                continue
            lists = [
                ", ".join(str(row[key]) for row in found)
                for key in ("flagged", "hits", "wrong", "cleanlab flagged", "cleanlab hits")
            ]
            evidence = ", ".join(
                "-" if row["evidence"] is None else f"{row['evidence']:.0f}" for row in found
            )
            own = ", ".join(f"{row['models'][0][1]:.0f}" for row in found)
            yield line(label, name, evidence, own, *lists[:3], f"{lists[3]}; {lists[4]}")
    yield ""
    doubted = [row["sentence"] for row in select(rows, noise="none", method="boosting")]
    for sentence, times in Counter(text.partition(". ")[0] for text in doubted).items():
        yield from wrap(
            f"Boosting on clean labels, {times} of {len(doubted)}: “{sentence}.”", WIDTH
        )
    yield ""


def draw_verified(rows: Sequence[Row]) -> Iterator[str]:
    yield from header(
        "Errors that people verified: AUC among reviewed rows, same probabilities",
        *("set", "reviewed, confirmed", "evidence", "ours"),
        *(f"cleanlab, {name} (lead ± s.e.)" for name in RANKINGS),
    )
    for row in select(rows, method="ranking"):
        auc, errors = row["auc"], row["leads"]
        yield line(
            *(SIZES[row["data"]], f"{row['reviewed']}, {row['confirmed']}"),
            *(f"{row['evidence']:.1f}", f"{auc['ours']:.3f}"),
            *(
                f"{auc[name]:.3f} ({auc['ours'] - auc[name]:+.3f} ± {errors[name]:.3f})"
                for name in RANKINGS
            ),
        )
    yield ""
    yield from header(
        "Tiers: confirmed / reviewed of rows",
        *("set", "almost surely wrong", "probably wrong", "worth a look"),
        *("three tiers: confirmed errors", "% of rows", "cleanlab's issues"),
    )
    for data in dict.fromkeys(row["data"] for row in rows):
        part = select(rows, data=data)
        found = {row["method"]: row for row in part}
        tiers = [found[f"tier {tier}"] for tier in (3, 2, 1)]
        confirmed, size = (sum(tier[key] for tier in tiers) for key in ("confirmed", "rows"))
        total = found["ranking"]["confirmed"]
        yield line(
            SIZES[data],
            *(f"{each['confirmed']}/{each['reviewed']} of {each['rows']}" for each in tiers),
            f"{confirmed} of {total} ({100 * confirmed / total:.0f} %)",
            f"{100 * size / tiers[0]['of']:.2f}",
            "{confirmed}/{reviewed} of {rows}".format(**found["cleanlab"]),
        )
    yield ""
    yield from header(
        "Twenty reviews passed as known: r.m.s. error without and with them, on the other rows",
        *("set", "drawn from (rows)", "share wrong, worth a look", "error of that share"),
        *("of the share on other rows", "of their mean posterior up to 1/2", "of each posterior"),
    )
    for row in rows:
        if row["method"].startswith("reviews, "):
            yield line(
                SIZES[row["data"]],
                f"{row['method'].removeprefix('reviews, ')} ({row['pool']})",
                f"{row['share']:.2f}",
                *(
                    f"{row[f'{what} without']:.3f}, {row[f'{what} with']:.3f}"
                    for what in ("whole", "share", "mean", "row")
                ),
            )
    yield ""


def draw_flips(rows: Sequence[Row]) -> Iterator[str]:
    yield from header(
        "Labels of MNIST flipped at random (target: evidence in 5 of 5; 95 of 100 flagged)",
        *("flipped", "evidence", "flagged", "of them flipped", "count"),
    )
    for noise in dict.fromkeys(row["noise"] for row in rows):
        found = select(rows, noise=noise)
        yield line(
            noise.removeprefix("flip"),
            f"{sum(sign(row['evidence']) for row in found)} of {len(found)}",
            *(
                f"{np.mean([row[key] for row in found]):.1f}"
                for key in ("flagged", "hits", "count")
            ),
        )
    yield ""


def draw_shapes(rows: Sequence[Row]) -> Iterator[str]:
    yield from header(
        "Probabilities of another shape, verified sets: evidence; flagged "
        "(target: flags within 10 %; 2 decimals: a warning)",
        *("set", "flipped", "as given", *SHAPES),
    )
    for row in rows:
        cells = [
            f"{row['shapes'][name][0]:.1f}; {row['shapes'][name][1]}"
            for name in ("as given", *SHAPES)
        ]
        flipped = row["noise"].removeprefix("flip")
        yield line(SIZES[row["data"]], flipped, *cells)
    yield ""


def draw_time(rows: Sequence[Row]) -> Iterator[str]:
    yield from header(
        "Processor time on one thread over that of the peer: median of 5 rounds (lowest, highest)",
        *("ours", "peer", "clean labels", "15 % wrong", "target"),
    )
    for data, (ours, peer, target) in PEERS.items():
        cells = []
        for noise in ("none", "sym15"):
            for row in select(rows, data=data, noise=noise):
                ratios = np.divide(row["ours"], row["peer"])
                low, middle, high = np.quantile(ratios, [0, 0.5, 1])
                seconds = np.median(row["ours"])
                cells.append(f"{middle:.2f} ({low:.2f}, {high:.2f}), {seconds:.2f} s")
        if cells:
            yield line(ours, peer, *cells, target)
    yield ""


DRAWN: dict[str, Callable[[Sequence[Row]], Iterator[str]]] = {
    "planted": draw_planted,
    "refit": draw_refit,
    "line": draw_line,
    "rare": draw_rare,
    "verified": draw_verified,
    "flips": draw_flips,
    "shapes": draw_shapes,
    "time": draw_time,
}
