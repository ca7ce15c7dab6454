"""Data to fit, and an independent solver for the convex problems."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest

from sorr.objectives import RankedRangeObjective


def classes(n=60, d=3, seed=0, noise=0.5):
    """Draw features, and a class of -1 or +1 for each row, partly wrong."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(X[:, 0] + noise * rng.standard_normal(n) > 0, 1.0, -1.0)
    return X, y


def line(n=60, d=3, seed=0, outliers=0):
    """Draw features and real targets; the first rows are outliers."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = X @ np.arange(1.0, d + 1) + 1 + 0.3 * rng.standard_normal(n)
    y[:outliers] += 30
    return X, y


def with_sentinels(n=200, number=1, size=sys.float_info.max):
    """Draw a line without noise, some of whose targets mark that there is none."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    y = X @ [1.0, 2.0, 3.0]
    y[7 : 7 + number] = -size
    y[8 : 7 + number : 2] = size
    return X, y


def three_classes(n=60, d=3, seed=0, signal=1.0):
    """Draw features, and a class of 0, 1 or 2 for each row; each class is there."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    scores = signal * X @ rng.standard_normal((d, 3)) + rng.gumbel(size=(n, 3))
    return X, np.append([0, 1, 2], scores.argmax(axis=1)[3:])


def targets_for(loss, X, seed=0):
    """Return a target of X that suits a loss by name."""
    if loss in ("absolute", "squared", "huber"):
        return line(*X.shape, seed=seed)[1]
    return np.where(
        X[:, 0] + 0.5 * np.random.default_rng(seed).standard_normal(len(X)) > 0, 1.0, -1.0
    )


def conic_minimum(X, y, loss, k, C, weight=None):
    """Return the minimum of the average of the top k losses plus a ridge, by cvxpy.

    Integer weights repeat rows: that is what weights mean.
    """
    cp = pytest.importorskip("cvxpy")
    if weight is not None:
        X, y = np.repeat(X, weight, axis=0), np.repeat(y, weight)
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    raw = X @ w + b
    losses = {
        "logistic": lambda: cp.logistic(-cp.multiply(y, raw)),
        "hinge": lambda: cp.pos(1 - cp.multiply(y, raw)),
        "squared_hinge": lambda: cp.square(cp.pos(1 - cp.multiply(y, raw))),
        "absolute": lambda: cp.abs(raw - y),
        "squared": lambda: cp.square(raw - y),
    }[loss]()
    problem = cp.Problem(cp.Minimize(cp.sum_largest(losses, k) / k + cp.sum_squares(w) / (2 * C)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # "may be inaccurate": it is, by 1e-7 or so
        problem.solve(solver="CLARABEL")
    return problem.value


def conic_minimum_of_classes(X, y, k, C):
    """Return the minimum for the multi-class hinge, as above."""
    cp = pytest.importorskip("cvxpy")
    own = np.eye(y.max() + 1)[y]
    W, b = cp.Variable((X.shape[1], own.shape[1])), cp.Variable(own.shape[1])
    columns = [X @ W[:, j] + b[j] for j in range(own.shape[1])]
    true = sum(cp.multiply(own[:, j], column) for j, column in enumerate(columns))
    losses = cp.max(
        cp.vstack([column - true + 1 - own[:, j] for j, column in enumerate(columns)]), axis=0
    )
    problem = cp.Problem(cp.Minimize(cp.sum_largest(losses, k) / k + cp.sum_squares(W) / (2 * C)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        problem.solve(solver="CLARABEL")
    return problem.value


def ranked_problem(loss="logistic", n=60, d=3, seed=0, **options):
    X, y = classes(n, d, seed)
    if loss in ("squared", "absolute", "huber"):
        X, y = line(n, d, seed, outliers=5)
    return RankedRangeObjective(X, y, loss, **{"m": 6, "k": 40, "C": 10.0} | options)


def some_candidates(batch, size=7, seed=0):
    return np.random.default_rng(seed).standard_normal((size, batch.frame.rows.shape[1]))


def kinds():
    rng = np.random.default_rng(5)
    weight = rng.integers(0, 4, 60).astype(float)
    labels = rng.integers(0, 3, 60)
    yield "plain", {}
    yield "whole", {"k": None}
    yield "top", {"m": 0}
    yield "weights", {"sample_weight": weight, "m": 0.11, "k": 0.7}
    yield "groups", {"groups": labels, "m": 0.1, "k": 0.8}
    yield "both", {"groups": labels, "sample_weight": weight, "m": 0.1, "k": 0.8}
    yield "no intercept", {"fit_intercept": False}


KINDS = dict(kinds())
