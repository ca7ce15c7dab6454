"""Data for the benchmarks, generated: nothing is read from files."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

__all__ = ["draw_clouds", "draw_flipped", "draw_sparse_flipped", "make_leverage", "make_monk_half"]

Array = npt.NDArray[np.float64]


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


def make_leverage() -> tuple[Array, Array, Array, Array, npt.NDArray[np.intp]]:
    """Return training and test data, and which training rows were moved far out and mislabelled."""
    X, y = make_classification(
        20_000, 50, n_informative=20, n_redundant=0, flip_y=0, random_state=1
    )
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
    weights = LogisticRegression(max_iter=1000).fit(X, y).coef_[0]
    moved = np.random.default_rng(0).permutation(len(y))[: len(y) // 20]
    X[moved] += 20 * weights / np.linalg.norm(weights)
    y[moved] = 0
    return X, 2.0 * y - 1, X_test, 2.0 * y_test - 1, moved
