"""Rows of the benchmark of networks, as tables in Markdown and as targets met or missed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.rows import Row

__all__ = ["CHOSEN", "board"]

CHOSEN: dict[str, dict[str, Any]] = {
    "mlp": {"GCE": 0.7, "SCE": (0.01, 1.0), "ELR": 3.0, "co-teaching, true share": 10},
    "cnn": {"GCE": 0.7, "SCE": (0.1, 1.0), "ELR": 3.0, "co-teaching, true share": 5},
}
"""The best of three settings of each peer: mean of the ten cells with 10,000 rows on seed 1."""

CLEAN = "none"


def board(rows: Sequence[Row]) -> Iterator[str]:
    parts: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in rows:
        parts[row["kind"], row["rows"]].append(row)
    for (kind, n), part in parts.items():
        yield from accuracies(f"{kind.upper()}, {n:,} rows", part)
        yield from suspects(f"{kind.upper()}, {n:,} rows", part)
        if kind == "mlp":
            yield from targets(n, part)


def cells_of(rows: Sequence[Row]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((row["name"], row["noise"]) for row in rows))


def grouped(rows: Sequence[Row], column: str) -> dict[str, dict[tuple[str, str], list[float]]]:
    found: dict[str, dict[tuple[str, str], list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row.get(column) is not None:
            found[row["method"] + spell(row["setting"])][row["name"], row["noise"]].append(
                row[column]
            )
    return found


def spell(setting: Any) -> str:
    if setting is None:
        return ""
    return f" ({', '.join(f'{number:g}' for number in np.ravel(setting))})"


def table(title: str, found: dict[str, dict[tuple[str, str], list[float]]]) -> Iterator[str]:
    cells = list(dict.fromkeys(cell for values in found.values() for cell in values))
    seeds = max(len(values) for each in found.values() for values in each.values())
    yield f"### {title}, mean of {seeds} seeds"
    yield ""
    names = " | ".join(f"{name[0]} {noise}" for name, noise in cells)
    yield f"| | mean (spread over seeds) | {names} |"
    yield "|---" * (len(cells) + 2) + "|"
    for method, values in found.items():
        shown = [f"{np.mean(values[cell]):.1f}" if values.get(cell) else "-" for cell in cells]
        complete = [values[cell] for cell in cells if len(values.get(cell, ())) == seeds]
        by_seed = np.mean(complete, axis=0) if len(complete) == len(cells) else np.empty(0)
        spread = f" ({np.std(by_seed, ddof=1):.2f})" if len(by_seed) > 1 else ""
        mean = f"{by_seed.mean():.2f}{spread}" if len(by_seed) else "-"
        yield f"| {method} | {mean} | {' | '.join(shown)} |"
    yield ""


def accuracies(title: str, rows: Sequence[Row]) -> Iterator[str]:
    found = grouped(rows, "accuracy")
    if not found:
        return
    yield from table(f"Accuracy: {title}", found)
    ours = found.get("sorr")
    rivals = {method: values for method, values in found.items() if not method.startswith("sorr")}
    if ours is None or not rivals:
        return
    lost = [
        f"{cell[0]} {cell[1]} {np.mean(ours[cell]) - best:+.1f} ({method})"
        for cell in cells_of(rows)
        for best, method in [
            max((float(np.mean(values[cell])), method) for method, values in rivals.items())
        ]
        if ours.get(cell) and np.mean(ours[cell]) < best
    ]
    yield f"Cells where another method is better: {'; '.join(lost) or 'none'}."
    yield ""


JUDGES = {
    "sorr": "tracker.judge(), one training",
    "held out": "sorr.judge_labels, five folds",
    "held out, early": "sorr.judge_labels, five folds of 5 epochs",
}
RANKINGS = {
    (method, f"cleanlab {name}"): f"cleanlab, {name}, {folds}"
    for method, folds in (
        ("held out", "the same five folds"),
        ("held out, early", "five folds of 5 epochs"),
    )
    for name in ("self", "margin", "adjusted")
}


def suspects(title: str, rows: Sequence[Row]) -> Iterator[str]:
    judged = {name: [row for row in rows if row["method"] == name] for name in JUDGES}
    found = ranked_by(rows)
    if not found:
        return
    yield from table(f"Average precision of the suspects: {title}", found)
    for name, part in judged.items():
        yield from flags(JUDGES[name], part)
    yield ""


def ranked_by(rows: Sequence[Row]) -> dict[str, dict[tuple[str, str], list[float]]]:
    """Return the average precision of each ranking in each cell."""
    found = {
        JUDGES[name]: values
        for name, values in grouped(rows, "precision").items()
        if name in JUDGES
    }
    for (method, column), name in RANKINGS.items():
        if (values := grouped(rows, column).get(method)) is not None:
            found[name] = values
    return found


def flags(name: str, rows: Sequence[Row]) -> Iterator[str]:
    clean = [row["flagged"] for row in rows if row["noise"] == CLEAN]
    noisy = [row for row in rows if row["noise"] != CLEAN]
    if clean:
        yield f"- {name}: flagged in {len(clean)} clean runs: {', '.join(map(str, clean))}."
    if noisy:
        silent = sum(row["evidence"] <= 0 for row in noisy)
        flagged, right = (sum(row[column] for row in noisy) for column in ("flagged", "rightly"))
        wrong = sum(row["share"] * row["rows"] for row in noisy)
        yield (
            f"- {name}: {silent} of {len(noisy)} noisy runs without evidence; "
            f"{100 * right / max(flagged, 1):.0f} % of the flagged labels are wrong, "
            f"{100 * right / wrong:.0f} % of the wrong ones are flagged."
        )


def targets(n: int, rows: Sequence[Row]) -> Iterator[str]:
    found = grouped(rows, "accuracy")
    ours, plain = found.get("sorr"), found.get("cross-entropy")
    symmetric = next((values for name, values in found.items() if name.startswith("SCE")), None)
    if ours is None:
        return

    def mean(values: dict[tuple[str, str], list[float]]) -> float:
        return float(np.mean([np.mean(each) for each in values.values()]))

    def line(text: str, reached: float, goal: float) -> str:
        return (
            f"- target: {text} {goal:.1f}: {'met' if reached >= goal else 'MISSED'}, {reached:.2f}"
        )

    if n == 10_000 and symmetric is not None and plain is not None:
        yield line("mean of the ten cells over SCE, at least", mean(ours) - mean(symmetric), 1.0)
        worst = min(
            float(np.mean(ours[cell]) - np.mean(plain[cell])) for cell in ours if cell[1] == CLEAN
        )
        yield line("clean labels against cross-entropy, at least", worst, -0.3)
    hard = ours.get(("MNIST", "asym 40"))
    if hard:
        yield line("MNIST asym 40, at least", float(np.mean(hard)), 93.0 if n == 10_000 else 95.0)
    precisions = ranked_by(rows)
    own = precisions.get(JUDGES["sorr"])
    peers = [precisions[name] for name in RANKINGS.values() if name in precisions]
    if own and peers:
        leads = [
            float(np.mean(own[cell]) - max(np.mean(peer[cell]) for peer in peers)) for cell in own
        ]
        yield line("average precision over cleanlab's best in the cell, at least", min(leads), -2.0)
    yield ""
