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


def label_sets(n=60, d=4, n_labels=5, seed=0):
    """Draw features and an indicator of labels; the first row has none, the second has all."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    scores = X @ rng.standard_normal((d, n_labels)) + rng.standard_normal((n, n_labels))
    Y = scores > rng.normal(0.5, 0.5, n_labels)
    Y[:2] = [[False], [True]]
    return X, Y


def conic_label_minimum(X, Y, loss, C, k=1, weight=None, fit_intercept=True):
    """Return the minimum of a mean loss over labels plus a ridge, by cvxpy, from its formula."""
    cp = pytest.importorskip("cvxpy")
    (n, d), n_labels = X.shape, Y.shape[1]
    weight = np.ones(n) if weight is None else weight
    W, b = cp.Variable((d, n_labels)), cp.Variable(n_labels)
    terms = []
    for x, y, mass in zip(X, Y, weight, strict=True):
        inside, outside = np.flatnonzero(y), np.flatnonzero(~y)
        if not len(inside) or (loss != "topk_svm" and not len(outside)):
            continue
        f = x @ W + (b if fit_intercept else 0)
        if loss == "topk_svm":
            violation = cp.sum_largest(f + ~y, k) / k - cp.min(f[inside])
        elif loss == "hinge":
            violation = 1 + cp.max(f[outside]) - cp.min(f[inside])
        else:
            pairs = [f[u] - f[v] for u in outside for v in inside]
            terms.append(mass * cp.log_sum_exp(cp.hstack([0, *pairs])))
            continue
        terms.append(mass * cp.pos(violation))
    objective = sum(terms) / weight.sum() + cp.sum_squares(W) / (2 * C)
    problem = cp.Problem(cp.Minimize(objective))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        problem.solve(solver="CLARABEL")
    return problem.value


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
