"""The solvers against their peers and against an earlier commit, in one run on one thread.

``python -m benchmarks solvers --today PATH`` compares with the library in PATH, a checkout of the
commit to compare with. `benchmarks.solvers_work` does the work in processes of its own, one for
each library, which take turns, so that a noisy minute affects all of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.solvers_turns import (
    ROOT,
    SEED,
    Answer,
    Arguments,
    Bench,
    Entry,
    Lap,
    Peer,
    Row,
    Worker,
    compare,
    describe,
    format_spread,
    ratios,
    take_turns,
)

__all__ = ["report"]

C = 1e4
PEER = "LogisticRegression (LR)"


def flipped(n: int, d: int, seed: int = SEED, **options: Any) -> Arguments:
    return {"kind": "flipped", "n": n, "d": d, "seed": seed, **options}


def trim_entry(what: str, target: str, loss: str, m: int, k: int, **options: Any) -> Entry:
    return Entry(what, "trim", {"loss": loss, "m": m, "k": k, "C": C, **options}, target)


def peer_of(m: int, k: int) -> Peer:
    """Return `LogisticRegression` with the ridge of a ranked range."""
    return Peer("regression", {"C": C / (k - m)})


# -- Against peers -------------------------------------------------------------------------------


def convex(bench: Bench) -> Iterator[Row]:
    if find_spec("cvxpy") is None:
        yield Row("convex problems against CLARABEL", "cvxpy is not installed")
        return
    for n, d, number, targets in (
        (300, 5, 3, (6, 2)),
        (1500, 20, 3, (25, 8)),
        (5000, 50, 2, (150, 40)),
    ):
        k = 8 * n // 10
        for loss, target in zip(("logistic", "hinge"), targets, strict=True):
            options: Arguments = {"m": 0, "k": k, "loss": loss, "ranking": "pooled", "C": C}
            entry = Entry(
                f"convex {loss} {n:,} x {d}, k = 0.8 n, estimator, certified",
                "classifier",
                options,
                f">= {target} times CLARABEL",
            )
            peer = Peer("cvxpy", {"loss": loss, "k": k, "C": C}, "CLARABEL", faster=True)
            data = [flipped(n, d, seed) for seed in bench.seeds(number)]
            yield from compare(bench, [entry], peer, data, 3)


def robust(bench: Bench) -> Iterator[Row]:
    entry = Entry(
        "robust 1,000 x 20, RankedRangeClassifier(m=0.1)", "classifier", {"m": 0.1}, "<= 30 x LR"
    )
    data = [flipped(1000, 20, seed) for seed in bench.seeds(5)]
    yield from compare(bench, [entry], Peer("regression", {}), data, 3)


def small(bench: Bench) -> Iterator[Row]:
    data = [flipped(200, 5, seed) for seed in bench.seeds(5)]
    for loss, target in (("logistic", 6), ("hinge", 9)):
        what, wanted = f"robust 200 x 5, {loss}, ", f">= {target} times as fast as today"
        for entry in (
            Entry(f"{what}estimator, m = 0.1", "classifier", {"m": 0.1, "loss": loss}, wanted),
            trim_entry(f"{what}trim, m = 0.1 n, C = 1e4", wanted, loss, 20, 200),
        ):
            yield from compare(bench, [entry], None, data, 3)


def tall(bench: Bench) -> Iterator[Row]:
    for n, fast in ((200_000, 0.6), (1_000_000, 0.5)):
        if bench.quick and n == 1_000_000:
            continue
        for k in (n, n // 2):
            what = f"logistic {n:,} x 20, k = n/{n // k}, "
            m, targets = n // 10, (f"<= {fast} x LR", "<= 1 x LR", "<= 3.5 x LR")
            if k < n:
                targets = ("", "", "<= 3.5 x LR")
            fit = ("logistic", m, k)
            entries = [
                trim_entry(f"{what}one start, fast", targets[0], *fit, n_starts=1, certify=False),
                trim_entry(f"{what}one start, certified", targets[1], *fit, n_starts=1),
                trim_entry(f"{what}default, certified", targets[2], *fit),
            ]
            yield from compare(bench, entries, peer_of(m, k), [flipped(n, 20)], 5)


def wide(bench: Bench) -> Iterator[Row]:
    n = 20_000
    m = n // 10
    for k, target in ((n, "<= 2.5 x LR, 1e-3"), (n // 2, "<= 4 x LR, 1e-3")):
        what, fit = f"logistic 20,000 x 200, k = n/{n // k}, ", ("logistic", m, k)
        entries = [
            trim_entry(
                f"{what}one start, certified", "<= 2 x LR" if k == n else "", *fit, n_starts=1
            ),
            trim_entry(f"{what}default, not certified", target, *fit, certify=False),
        ]
        yield from compare(bench, entries, peer_of(m, k), [flipped(n, 200)], 5)


def correlated(bench: Bench) -> Iterator[Row]:
    n = 200_000
    m = n // 10
    for k in (n, n // 2):
        what = f"condition 100: 200,000 x 20, k = n/{n // k}, one start, certified"
        entry = trim_entry(what, "<= 0.3 x LR", "logistic", m, k, n_starts=1)
        yield from compare(bench, [entry], peer_of(m, k), [flipped(n, 20, condition=100)], 5)


def hinge(bench: Bench) -> Iterator[Row]:
    for n, d, targets in ((20_000, 200, (5, 8)), (200_000, 20, (5, 5))):
        m = n // 10
        for k, target in zip((n, n // 2), targets, strict=True):
            what, wanted = f"hinge {n:,} x {d}, k = n/{n // k}, ", f"<= {target} x LR"
            entries = [
                trim_entry(f"{what}one start, certified", wanted, "hinge", m, k, n_starts=1),
                trim_entry(f"{what}default, certified", wanted, "hinge", m, k),
            ]
            yield from compare(bench, entries, peer_of(m, k), [flipped(n, d)], 3)


def leverage(bench: Bench) -> Iterator[Row]:
    data = {"kind": "leverage", "seed": SEED}
    n, m = 15_000, 750
    peer = peer_of(0, n)
    scores = bench.workers["ours"].ask("score", data=data, **peer.arguments)
    entry = Entry(
        "leverage outliers, 15,000 x 50, default",
        "leverage",
        {"C": C},
        f"{100 * scores['clean']:.1f} %, 1, <= 5 x LR",
    )

    def say(answers: Sequence[Answer]) -> str:
        accuracy, recall = answers[0]["accuracy"], answers[0]["recall"]
        plain = f"(LR {100 * scores['all']:.1f} %)"
        return f"accuracy {100 * accuracy:.1f} % {plain}, recall {recall:.2f}"

    yield from compare(bench, [entry], peer_of(m, n), [data], 5, say)


def sparse(bench: Bench) -> Iterator[Row]:
    n = 200_000
    m = n // 10
    data = {"kind": "sparse", "n": n, "d": 100_000, "row_size": 50, "seed": SEED}
    what = "CSR 200,000 x 100,000, 50 entries a row, default"
    entry = trim_entry(what, "<= 3 x LR", "logistic", m, n)
    yield from compare(bench, [entry], peer_of(m, n), [data], 2)
    yield memory_row(bench, f"{what}: memory", data, peer_of(m, n), "<= 2 x LR's growth")


def regression(bench: Bench) -> Iterator[Row]:
    from benchmarks.regression import (  # imports all of the library
        LEVERAGE,
        SPEEDS,
        describe_error,
        draw_line,
        fit_in_r,
        has_r,
    )

    if not has_r():
        yield Row("robust lines against ltsReg", "not compared: needed are Rscript and robustbase")
    for size, shape in SPEEDS.items():
        if size not in ("500 x 5", "2,000 x 20"):
            continue
        entry = Entry(
            f"robust line {size}, RankedRangeRegressor(m='auto')",
            "robust line",
            {},
            "<= 1 x ltsReg",
        )
        heats, errors = [], []
        for seed in bench.seeds(3):
            line = draw_line(LEVERAGE, shape, seed)
            heat: list[Lap] = []
            for _ in range(bench.rounds(3)):
                data = {"kind": "line", "size": size, "seed": seed}
                heat += take_turns(bench, [entry], None, data, 1)
                for found in fit_in_r(line.X, line.y, "ltsReg", repeats=3).values():
                    heat[-1]["peer"] = {"seconds": found.seconds}
                    errors.append(describe_error(line, found.coef) or np.nan)
            heats.append(heat)
        theirs = f" (ltsReg {np.median(errors):.2f})" if errors else ""

        def say(answers: Sequence[Answer], theirs: str = theirs) -> str:
            ours = np.median([answer["error"] for answer in answers])
            return f"error {ours:.2f} x that of clean rows{theirs}"

        yield from describe(heats, [entry], Peer("", {}, "ltsReg") if errors else None, say)


# -- Minima --------------------------------------------------------------------------------------


def monk(bench: Bench) -> Iterator[Row]:
    splits = range(SEED, SEED + (5 if bench.quick else 10))
    for loss, m in (("logistic", 20), ("logistic", 30), ("hinge", 20), ("hinge", 45)):
        fit: Arguments = {"loss": loss, "m": m, "k": 70, "C": C}
        laps: list[Lap] = []
        excess: dict[str, list[float]] = {who: [] for who in bench.workers}
        for split in splits:
            data = {"kind": "monk", "seed": split}
            best = min(
                answer["objective"]
                for answer in bench.ask("starts", data=data, starts=60, **fit).values()
            )
            own = [bench.ask("trim", data=data, random_state=i, **fit) for i in range(3)]
            best = min(best, *(answer["objective"] for lap in own for answer in lap.values()))
            for lap in own:
                for who, answer in lap.items():
                    excess[who].append(answer["objective"] / best - 1)
            laps += own
        missed = {who: f"{np.sum(np.array(e) > 0.02)} of {len(e)}" for who, e in excess.items()}
        today = ""
        if "today" in excess:
            speed = format_spread(ratios(laps, "today", "ours"), "times")
            today = f"{speed}, {missed['today']} above"
        yield Row(
            f"Monk halves, {loss}, m = {m}, k = 70, default",
            format_spread([lap["ours"]["seconds"] for lap in laps], "s"),
            f"{missed['ours']} above the best by > 2 %, worst {100 * max(excess['ours']):.1f} %",
            today,
            "<= 0.05 s, none",
        )


def tiny(bench: Bench) -> Iterator[Row]:
    number = 50 if bench.quick else 200
    laps = [bench.ask("tiny", seed=seed) for seed in range(SEED, SEED + number)]
    reached = {who: sum(lap[who]["reached"] for lap in laps) for who in bench.workers}
    missed = [str(SEED + i) for i, lap in enumerate(laps) if not lap["ours"]["reached"]]
    below = sum(lap["ours"]["below"] for lap in laps)
    yield Row(
        "tiny problems, n <= 12, default against enumeration",
        format_spread([lap["ours"]["seconds"] for lap in laps], "s"),
        f"{reached['ours']} of {number} reached"
        + (f", not seeds {', '.join(missed)}" if missed else "")
        + (f", {below} below the bound" if below else ""),
        f"{reached['today']} of {number} reached" if "today" in reached else "",
        "all",
    )


def fresh(bench: Bench) -> Iterator[Row]:
    for seed in bench.seeds(2)[: 1 if bench.quick else 2]:
        laps = [bench.ask("fresh", seed=seed, number=i) for i in range(54)]
        ours = [lap["ours"] for lap in laps]
        gap = max(answer["gap"] for answer in ours)
        what = f"54 fresh problems, seed {seed}"
        total = f"{sum(answer['seconds'] for answer in ours):.1f} s in all"
        if "today" not in bench.workers:
            yield Row(what, total, f"gap at most {gap:.0e}", "", "compared with today's only")
            continue
        change = np.array([x["ours"]["objective"] / x["today"]["objective"] - 1 for x in laps])
        lower, higher = np.sum(change < -1e-6), np.sum(change > 1e-6)
        worst = laps[int(change.argmax())]["ours"]["name"] if higher else "none"
        yield Row(
            what,
            total,
            f"lower {lower}, equal {len(laps) - lower - higher}, higher {higher}",
            f"worst excess {max(change.max(), 0):.1e}: {worst}",
            "none higher",
        )
        for loss in dict.fromkeys(answer["loss"] for answer in ours):
            own = [lap for lap in laps if lap["ours"]["loss"] == loss]
            speed = ratios(own, "today", "ours")
            yield Row(
                f"{what}: {loss}, {len(own)} of them",
                f"{sum(lap['ours']['seconds'] for lap in own):.1f} s in all",
                f"gap at most {max(lap['ours']['gap'] for lap in own):.0e}",
                f"geometric mean {np.exp(np.mean(np.log(speed))):.2f} times "
                f"({min(speed):.2f} - {max(speed):.2f})",
            )


def grid(bench: Bench) -> Iterator[Row]:
    for name, data, target in (
        ("216 x 6", {"kind": "monk", "seed": SEED}, 5),
        ("2700 x 5", {"kind": "clouds", "n": 2700, "d": 5, "seed": SEED}, 15),
    ):
        lap = bench.ask("grid", data=data, checked=10 if bench.quick else 40)
        ours, today = lap["ours"], lap.get("today")
        yield Row(
            f"grid of {ours['cells']} cells, {name}",
            f"{ours['seconds']:.1f} s",
            f"{100 * ours['near']:.0f} % within 1 % of a search of their own",
            f"{today['seconds'] / ours['seconds']:.2f} times, {100 * today['near']:.0f} %"
            if today
            else "",
            f"<= {target} s, >= 95 %",
        )


# -- Size ----------------------------------------------------------------------------------------


def growth(bench: Bench) -> Iterator[Row]:
    sizes = [10_000, 100_000] if bench.quick else [10_000, 100_000, 1_000_000]
    times: dict[str, list[float]] = {who: [] for who in bench.workers}
    for n in sizes:
        entry = trim_entry("", "", "logistic", n // 10, n)
        laps = take_turns(bench, [entry], None, flipped(n, 20), bench.rounds(3))
        for who, seconds in times.items():
            seconds.append(min(x[f"{who} 0"]["seconds"] for x in laps if f"{who} 0" in x))
    show = {who: f"{', '.join(f'{t:.2f}' for t in own)} s" for who, own in times.items()}
    exponent = {who: np.polyfit(np.log(sizes), np.log(t), 1)[0] for who, t in times.items()}
    yield Row(
        f"growth, n = {', '.join(f'{n:,}' for n in sizes)}, d = 20",
        show["ours"],
        f"exponent {exponent['ours']:.2f}",
        f"{show['today']}, exponent {exponent['today']:.2f}" if "today" in exponent else "",
        "<= 1.1",
    )


def memory_row(bench: Bench, what: str, data: Arguments, peer: Peer, target: str) -> Row:
    """Return by how much memory grows during a fit of the estimator and of its peer."""
    found = {
        who: bench.ask_anew(who, "memory", data=data, who="ours", m=0.1, C=C)
        for who in bench.workers
    }
    theirs = bench.ask_anew("ours", "memory", data=data, who="peer", **peer.arguments)
    ours = found["ours"]
    share = {
        who: f"{answer['growth'] / answer['size']:.2f} x of X" for who, answer in found.items()
    }
    ratio = ours["growth"] / theirs["growth"]
    return Row(
        what,
        f"{share['ours']} ({ours['size'] / 1e6:.0f} MB)",
        f"LR {theirs['growth'] / theirs['size']:.2f} x of X, ours {ratio:.2f} x that",
        share.get("today", ""),
        target,
    )


def memory(bench: Bench) -> Iterator[Row]:
    n = 200_000 if bench.quick else 1_000_000
    what = f"growth of memory, {n:,} x 20, RankedRangeClassifier(m=0.1)"
    yield memory_row(bench, what, flipped(n, 20), peer_of(n // 10, n), "<= 0.5 x of X")


def files(bench: Bench) -> Iterator[Row]:
    for m, target in ((0.1, 20), ("auto", 26)):
        lap = bench.ask("files", data=flipped(300, 5), m=m)
        number = {who: f"{len(answer['files'])} files" for who, answer in lap.items()}
        yield Row(
            f"files that a fit walks, 300 x 5, m = {m}",
            number["ours"],
            "",
            number.get("today", ""),
            f"<= {target} files",
        )


# -- All of them ---------------------------------------------------------------------------------


GROUPS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    each.__name__: each
    for each in (
        *(convex, robust, small, monk, tiny, hinge, tall, wide, fresh, memory, regression, files),
        *(correlated, grid, growth, leverage, sparse),
    )
}


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks solvers", description=__doc__)
    parser.add_argument("--today", type=Path, help="checkout of the commit to compare with")
    parser.add_argument(
        "--only", nargs="+", choices=list(GROUPS), default=list(GROUPS), metavar="NAME",
        help=f"groups of rows, of {', '.join(GROUPS)}",
    )  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="fewer repeats, no 1,000,000 rows")
    return parser.parse_args(arguments)


def report(arguments: Sequence[str] = ()) -> Iterator[str]:
    chosen = options(arguments)
    sources = {"ours": ROOT / "src"}
    if chosen.today:
        sources["today"] = chosen.today.resolve() / "src"
    yield f"solvers, one thread, processor time; x LR: as a share of that of {PEER};"
    yield "medians of pairs that were measured in turns, and in brackets the lowest and highest"
    if chosen.today:
        yield f"today is {chosen.today}; times: how many times as fast as today"
    else:
        yield "there is no column for today: --today PATH compares with another checkout"
    yield ""
    names = Row("what", "measured", "quality", "compared with today", "to reach")
    yield names.draw("today" in sources)
    for name in chosen.only:
        with ExitStack() as stack:  # fresh processes: what was measured before changes times
            workers = {}
            for who, source in sources.items():
                workers[who] = Worker(source)
                stack.callback(workers[who].close)
            for row in GROUPS[name](Bench(workers, sources, chosen.quick)):
                yield row.draw("today" in sources)
