"""Rows of the benchmark of labels, as tables in Markdown, with targets where there are any."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import wrap
from typing import NamedTuple

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
    yield from draw_goals(parts)
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


# -- What was to be reached ----------------------------------------------------------------------


class Goal(NamedTuple):
    """A number to reach, on both halves of the tables or on one set alone."""

    work: str
    peer: str
    target: str
    reached: dict[str, float]
    """The number by half, or by the name of a set."""
    gaps: list[float]
    """What is missing, for each of them; zero or less if nothing is."""
    digits: int = 1

    def __str__(self) -> str:
        values = {name: f"{value:.{self.digits}f}" for name, value in self.reached.items()}
        alone = ", ".join(f"{name} {values[name]}" for name in values if name not in HALVES)
        worst = max(self.gaps)
        missed = f"**missed by {worst:.{self.digits}f}**"
        halves = values.get("design", ""), values.get("report", "")
        return line(
            *(self.work, self.peer, self.target, *halves, alone),
            "reached" if worst <= 0 else missed,
        )


def at_least(
    work: str, peer: str, target: float, reached: dict[str, float], digits: int = 1
) -> Goal:
    gaps = [target - value for value in reached.values()]
    return Goal(work, peer, f"at least {target:g}", reached, gaps, digits)


def at_most(
    work: str, peer: str, target: float, reached: dict[str, float], digits: int = 1
) -> Goal:
    gaps = [value - target for value in reached.values()]
    return Goal(work, peer, f"at most {target:g}", reached, gaps, digits)


def draw_goals(parts: dict[str, list[Row]]) -> Iterator[str]:
    yield from header(
        "What was to be reached, and what was",
        *("work", "peer", "to reach", "design tables", "report tables", "alone", ""),
    )
    for name, find in GOALS.items():
        if name in parts:
            yield from map(str, find(parts[name]))
    yield ""


def each_half(rows: Sequence[Row], number: Callable[[list[Row]], float]) -> dict[str, float]:
    return {half: number(part) for half, part in halves(rows)}


def planted_goals(rows: Sequence[Row]) -> Iterator[Goal]:
    noisy = {noise: select(rows, noise=noise) for noise in NOISES}
    peer = "cleanlab with boosting, its best"

    def lead_of(method: str, key: str, peer: str) -> Callable[[list[Row]], float]:
        def find(part: list[Row]) -> float:
            theirs = select(part, method=peer)
            best = mean(theirs, percent(f"cleanlab {better_ranking(theirs)}"))
            return mean(select(part, method=method), percent(key)) - best

        return find

    for noise, (target, same) in {"sym15": (7, 0), "one30": (11, 5)}.items():
        if noisy[noise]:
            kind = f"average precision, {NOISES[noise]}"
            found = each_half(noisy[noise], lead_of("auto", "precision", "boosting"))
            yield at_least(f"{kind}: lead of auto", peer, target, found)
            for name in ("boosting", "auto"):
                found = each_half(noisy[noise], lead_of(name, "alone", name))
                work = f"{kind}: same probabilities, {name}"
                yield at_least(work, "cleanlab, its best", same, found)
    clean = select(rows, noise="none")
    theirs = each_half(
        select(clean, method="boosting"), lambda part: mean(part, of_rows("cleanlab flagged"))
    )
    peer = "cleanlab " + ", ".join(f"{value:.1f}" for value in theirs.values())
    for name in MODELS:
        found = each_half(select(clean, method=name), lambda part: mean(part, of_rows("flagged")))
        yield at_most(f"flagged on clean tables, %: {name}", peer, 0.3, found, 2)
    found = each_half(clean, lambda part: max(map(of_rows("flagged"), part)))
    yield at_most("the same, the worst sample by any model", "", 2, found, 2)
    for name in MODELS:
        if survivors := select(clean, data="TitanicSurvival", method=name):
            found = {"worst of 3": max(map(of_rows("flagged"), survivors))}
            yield at_most(f"flagged on TitanicSurvival, %: {name}", "", 0, found, 2)
    for noise, some in noisy.items():
        for bin_ in ("0.9 to 1", "0.5 to 0.9"):
            ours = select(some, method="auto")
            found = each_half(ours, lambda part, bin_=bin_: abs(gap_of_stated(part, bin_)))  # type: ignore[misc]
            yield at_most(f"stated against actual, {NOISES[noise]}: {bin_}", "", 10, found)


def gap_of_stated(rows: Sequence[Row], bin_: str) -> float:
    """Return by how many points more rows of a bin are wrong than it says."""
    found = [row["stated"][bin_] for row in rows if sign(row["evidence"])]
    n, stated, actual = np.sum(found, axis=0) if found else (1, 0, 0)
    return float(100 * (actual - stated) / max(n, 1))


def refit_goals(rows: Sequence[Row]) -> Iterator[Goal]:
    def gain(name: str, plain: str) -> Callable[[list[Row]], float]:
        return lambda part: (
            mean(select(part, method=name), percent("drop"))
            - mean(select(part, method=plain), percent("plain"))
        )

    noisy = [row for row in rows if row["noise"] != "none"]
    for label, some, target in (("noise", noisy, 2.0), ("clean", select(rows, noise="none"), -0.1)):
        theirs = each_half(some, gain("CleanLearning", "boosting"))
        peer = "CleanLearning " + ", ".join(f"{value:+.1f}" for value in theirs.values())
        for name in MODELS:
            work = f"accuracy minus plain, {label}: {name}"
            yield at_least(work, peer, target, each_half(some, gain(name, name)))


def line_goals(rows: Sequence[Row]) -> Iterator[Goal]:
    for noise, label, target in (("none", "clean", -0.1), ("one20", "one class 20 %", 0.8)):
        found = each_half(
            select(rows, noise=noise),
            lambda part: (
                mean(select(part, method="default"), percent("accuracy"))
                - mean(select(part, method="LogisticRegression"), percent("accuracy"))
            ),
        )
        yield at_least(f"RankedRangeClassifier(), {label}", "LogisticRegression()", target, found)


def rare_goals(rows: Sequence[Row]) -> Iterator[Goal]:
    clean = max(int(row["flagged"]) for row in select(rows, noise="none"))
    yield at_most("rare class, clean: flagged by any model", "", 5, {"worst": clean}, 0)
    auto = select(rows, noise="false15", method="auto")
    flagged, hits, wrong = (sum(row[key] for row in auto) for key in ("flagged", "hits", "wrong"))
    found = {"auto": 100 * hits / wrong}
    yield at_least("rare class, false positives found, %", "", 80, found, 0)
    yield at_least("of the flagged ones right, %", "", 90, {"auto": 100 * hits / flagged}, 0)


def verified_goals(rows: Sequence[Row]) -> Iterator[Goal]:
    for row in select(rows, method="ranking"):
        auc = row["auc"]
        best = max(auc[name] for name in RANKINGS)
        found = {SIZES[row["data"]]: auc["ours"]}
        yield at_least("AUC of verified errors", "cleanlab, its best", round(best, 3), found, 3)
    for data in dict.fromkeys(row["data"] for row in rows):
        part = select(rows, data=data)
        tiers = [row for row in part if row["method"].startswith("tier")]
        total = select(part, method="ranking")[0]["confirmed"]
        held = 100 * sum(row["confirmed"] for row in tiers) / total
        size = 100 * sum(row["rows"] for row in tiers) / tiers[0]["of"]
        yield at_least("confirmed errors in the tiers, %", "", 66, {SIZES[data]: held}, 0)
        yield at_most("rows in the tiers, %", "", 3, {SIZES[data]: size})
        if tiers[0]["reviewed"]:
            right = 100 * tiers[0]["confirmed"] / tiers[0]["reviewed"]
            yield at_least("top tier right, %", "", 90, {SIZES[data]: right}, 0)


def flips_goals(rows: Sequence[Row]) -> Iterator[Goal]:
    for noise in ("flip10", "flip100"):
        found = sum(sign(row["evidence"]) for row in select(rows, noise=noise))
        work = f"MNIST, {noise.removeprefix('flip')} flipped: trials with evidence"
        yield at_least(work, "", 5, {"of 5": found}, 0)
    flagged = float(np.mean([row["flagged"] for row in select(rows, noise="flip100")]))
    yield at_least("100 flipped: flagged", "", 95, {"mean": flagged}, 0)


def shapes_goals(rows: Sequence[Row]) -> Iterator[Goal]:
    for row in rows:
        before = row["shapes"]["as given"][1]
        if before:
            found = {name: 100 * abs(row["shapes"][name][1] / before - 1) for name in SHAPES[:-1]}
            flipped = row["noise"].removeprefix("flip")
            work = f"change of flags, %: {SIZES[row['data']]}, flipped: {flipped}"
            yield at_most(work, "", 10, found, 0)


def time_goals(rows: Sequence[Row]) -> Iterator[Goal]:
    for data, (ours, peer, target) in PEERS.items():
        found = {
            label: float(np.median(np.divide(row["ours"], row["peer"])))
            for noise, label in (("none", "clean"), ("sym15", "noisy"))
            for row in select(rows, data=data, noise=noise)
        }
        if found:
            yield at_most(f"time, {ours}", peer, target, found, 2)


GOALS: dict[str, Callable[[Sequence[Row]], Iterator[Goal]]] = {
    "planted": planted_goals,
    "refit": refit_goals,
    "line": line_goals,
    "rare": rare_goals,
    "verified": verified_goals,
    "flips": flips_goals,
    "shapes": shapes_goals,
    "time": time_goals,
}


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
        *("tables", "labels", "LogisticRegression %", "default", "with C=1e4"),
        *("dropped by default, %", "of them wrong, %"),
    )
    for half, part in halves(rows):
        for noise, label in (("none", "clean"), ("one20", "one class 20 %"), ("sym20", "sym 20 %")):
            chosen = select(part, noise=noise)
            plain = by_table(select(chosen, method="LogisticRegression"), percent("accuracy"))
            ours = [select(chosen, method=name) for name in ("default", "weak ridge")]
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
