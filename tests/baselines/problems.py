"""Data to fit, and independent referees."""

from __future__ import annotations

import warnings

import numpy as np
import pytest


def two_classes(n=60, d=3, seed=0, noise=0.7):
    """Draw features, and a class of -1 or +1 for each row, partly wrong."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(X[:, 0] + noise * rng.standard_normal(n) > 0, 1.0, -1.0)
    return X, y


def three_classes(n=60, d=2, seed=0):
    """Draw features, and a class of 0, 1 or 2 for each row, partly wrong."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.digitize(X[:, 0] + 0.4 * rng.standard_normal(n), [-0.5, 0.5])


def conic_robust_maximum(values, K, power):
    """Return the largest value after the best slack, by cvxpy."""
    cp = pytest.importorskip("cvxpy")
    slack = cp.Variable(len(values), nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.max(values - slack)), [cp.norm(slack, power) <= K])
    problem.solve(solver="CLARABEL")
    return problem.value


def conic_minimum(X, y, loss, K, power, C):
    """Return the minimum of the robust maximum loss plus a ridge, by cvxpy."""
    cp = pytest.importorskip("cvxpy")
    n, d = X.shape
    slack = cp.Variable(n, nonneg=True)
    if loss == "softmax":
        outputs = y.max() + 1
        w, b = cp.Variable((d, outputs)), cp.Variable((1, outputs))
        raw = X @ w + np.ones((n, 1)) @ b
        losses = cp.log_sum_exp(raw, axis=1) - cp.sum(cp.multiply(np.eye(outputs)[y], raw), axis=1)
    else:
        w, b = cp.Variable(d), cp.Variable()
        margin = cp.multiply(y, X @ w + b)
        losses = {"logistic": cp.logistic(-margin), "hinge": cp.pos(1 - margin)}[loss]
    objective = cp.max(losses - slack) + cp.sum_squares(w) / (2 * C)
    problem = cp.Problem(cp.Minimize(objective), [cp.norm(slack, power) <= K])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # "may be inaccurate": it is, by 1e-7 or so
        problem.solve(solver="CLARABEL")
    return problem.value
