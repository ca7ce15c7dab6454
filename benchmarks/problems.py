"""Data for the benchmarks, generated: nothing is read from files."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

__all__ = [
    "draw_clouds",
    "draw_flipped",
    "draw_sparse_flipped",
    "draw_tiny",
    "fresh_problems",
    "make_leverage",
    "make_monk_half",
]

Array = npt.NDArray[np.float64]

_SHAPES = (
    *((60, 3), (150, 5), (200, 5), (216, 6), (400, 8), (600, 10)),
    *((1000, 20), (3000, 20), (4500, 50)),
)
_LOSSES = ("logistic", "hinge", "logistic", "hinge", "squared", "absolute")
_KINDS = ("flipped", "leverage", "clusters", "heavy tails", "duplicates", "clouds")
_RANKS = ((0.1, None), (0.2, 0.6), (0.1, None), (0.15, 0.8))


def draw_flipped(n: int, d: int, *, condition: float = 1.0, seed: int = 0) -> tuple[Array, Array]:
    """Draw Gaussian rows of a condition number, labelled by a noisy plane; 10 % are flipped."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    if condition > 1:
        left, right = (np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(2))
        X = X @ (left * np.geomspace(1, 1 / condition, d)) @ right
    score = X @ rng.standard_normal(d)
    y = np.where(score / score.std() + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)
    y[rng.random(n) < 0.1] *= -1
    return X, y


def draw_sparse_flipped(
    n: int, d: int, row_size: int, seed: int = 0
) -> tuple[sparse.csr_matrix, Array]:
    """Draw sparse rows with `row_size` entries each; 10 % of the labels are flipped."""
    rng = np.random.default_rng(seed)
    columns = np.sort(rng.integers(0, d, (n, row_size)), axis=1).astype(np.int32)
    starts = np.arange(0, n * row_size + 1, row_size, dtype=np.int32)
    X = sparse.csr_matrix((rng.standard_normal(n * row_size), columns.ravel(), starts), (n, d))
    X.sum_duplicates()
    score = np.asarray(X @ rng.standard_normal(d))
    y = np.where(score / score.std() + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)
    y[rng.random(n) < 0.1] *= -1
    return X, y


def make_monk_half(seed: int) -> tuple[Array, Array]:
    """Return half of the third Monk's problem, standardised: the whole domain has 432 rows."""
    rows = np.array(list(product(*map(range, (3, 3, 2, 3, 4, 2)))), dtype=float)
    a2, a4, a5 = rows[:, 1], rows[:, 3], rows[:, 4]
    y = np.where(((a5 == 2) & (a4 == 0)) | ((a5 != 3) & (a2 != 2)), 1.0, -1.0)
    half = np.random.default_rng(seed).permutation(len(y))[: len(y) // 2]
    X = rows[half]
    return (X - X.mean(axis=0)) / X.std(axis=0), y[half]


def draw_clouds(n: int, d: int, seed: int = 0) -> tuple[Array, Array]:
    """Draw two overlapping clouds of rows, and a fifth of each class from the other's."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], n)
    X = rng.standard_normal((n, d)) + 0.7 * y[:, None] * rng.choice([-1, 1], (n, 1), p=[0.2, 0.8])
    return X, y


def draw_tiny(seed: int) -> dict[str, Any]:
    """Return arguments for `RankedRangeObjective`: at most 12 rows, m below the smaller class."""
    rng = np.random.default_rng(seed)
    while True:
        n, d, m = int(rng.integers(6, 13)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
        X = rng.standard_normal((n, d))
        y = np.where(X[:, 0] + rng.standard_normal(n) > 0, 1.0, -1.0)
        if min(np.sum(y > 0), np.sum(y < 0)) > m:
            break
    k = int(rng.integers(m + 1, n + 1))
    loss = ("logistic", "hinge")[seed % 2]
    C = float(rng.choice([1.0, 100.0, 1e4]))
    return {"X": X, "y": y, "loss": loss, "m": m, "k": k, "C": C}


def make_leverage(
    seed: int = 1,
) -> tuple[Array, Array, Array, Array, npt.NDArray[np.intp]]:
    """Return training and test data, and which training rows were moved far out and mislabelled."""
    X, y = make_classification(
        20_000, 50, n_informative=20, n_redundant=0, flip_y=0, random_state=seed
    )
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
    weights = LogisticRegression(max_iter=1000).fit(X, y).coef_[0]
    moved = np.random.default_rng(0).permutation(len(y))[: len(y) // 20]
    X[moved] += 20 * weights / np.linalg.norm(weights)
    y[moved] = 0
    return X, 2.0 * y - 1, X_test, 2.0 * y_test - 1, moved


def fresh_problems(seed: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the names of 54 problems and their arguments for `RankedRangeObjective`.

    Each seed has other data. Every shape from 60 x 3 to 4500 x 50 comes with every loss and, in
    an order that depends on the seed, with every kind of data. Half of the problems have k < n, a
    third rank within groups.
    """
    rng = np.random.default_rng([seed, 54])
    for i, (n, d) in enumerate(_SHAPES):
        kinds = rng.permutation(_KINDS).tolist()
        for j, (loss, kind) in enumerate(zip(_LOSSES, kinds, strict=True)):
            draw = _draw_numbers if loss in ("squared", "absolute") else _draw_classes
            X, y = draw(kind, n, d, rng)
            m, k = _RANKS[(i + j) % len(_RANKS)]
            problem: dict[str, Any] = {"X": X, "y": y, "loss": loss, "m": m, "k": k, "C": 1e4}
            ranked = "pooled"
            if (i + j) % 3 == 2:
                ranked, problem["groups"] = "grouped", rng.integers(0, 2, n)
            yield f"{loss} {kind} {n}x{d} m={m} k={k} {ranked}", problem


def _draw_rows(kind: str, n: int, d: int, rng: np.random.Generator) -> Array:
    """Draw rows: Gaussian, or with heavy tails, or from few values so that many are equal."""
    if kind == "heavy tails":
        return np.clip(rng.standard_t(2, (n, d)), -30, 30)
    if kind == "duplicates":
        few = rng.integers(0, 3, (max(20, n // 6), d)).astype(float)
        return few[rng.integers(0, len(few), n)]
    return rng.standard_normal((n, d))


def _draw_classes(kind: str, n: int, d: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw two classes; about a tenth of the rows is wrong in the way of the kind."""
    X = _draw_rows(kind, n, d, rng)
    wrong = rng.random(n) < 0.1
    if kind == "clouds":
        y = rng.choice([-1.0, 1.0], n)
        side = y * rng.choice([-1.0, 1.0], n, p=[0.2, 0.8])
        return X + 1.4 / np.sqrt(d) * side[:, None], y
    score = (X - X.mean(axis=0)) @ rng.standard_normal(d)
    y = np.where(score / score.std() + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)
    direction = rng.standard_normal(d)
    if kind == "leverage":  # each wrong row lies far out, on the wrong side
        X[wrong] += 10 * direction / np.linalg.norm(direction)
        y[wrong] = np.where(X[wrong] @ direction > 0, -1.0, 1.0)
    elif kind == "clusters":  # one tight cluster of one class
        X[wrong] = 4 * direction / np.sqrt(d) + 0.1 * rng.standard_normal((wrong.sum(), d))
        y[wrong] = rng.choice([-1.0, 1.0])
    else:
        y[wrong] *= -1
    return X, y


def _draw_numbers(kind: str, n: int, d: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw targets on a noisy plane; about a tenth of the rows is wrong in the way of the kind."""
    X = _draw_rows(kind, n, d, rng)
    y = X @ rng.standard_normal(d) + 1.0 + 0.3 * rng.standard_normal(n)
    wrong = rng.random(n) < 0.1
    if kind == "leverage":
        X[wrong] += 10 * rng.standard_normal(d) / np.sqrt(d)
        y[wrong] = 5.0
    elif kind == "clusters":
        X[wrong] = 4 * rng.standard_normal(d) / np.sqrt(d) + 0.1 * X[wrong]
        y[wrong] = 10.0 + 0.1 * y[wrong]
    elif kind == "clouds":  # two planes: the smaller one has a third of the rows
        wrong = rng.random(n) < 1 / 3
        y[wrong] = X[wrong] @ rng.standard_normal(d) + 0.3 * rng.standard_normal(wrong.sum())
    else:
        y[wrong] += 5 * rng.standard_t(2, wrong.sum())
    return X, y
