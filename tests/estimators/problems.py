"""Data with wrong labels and outliers at known places."""

import numpy as np


def wrong_labels(n=300, d=3, rate=0.1, seed=0, labels=("no", "yes"), noise=0.3):
    """Return rows of two classes, their labels, and which of these are wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    truth = X @ np.linspace(2.0, -1.0, d) + noise * rng.normal(size=n) > 0.3
    wrong = np.zeros(n, dtype=bool)
    wrong[rng.choice(n, int(rate * n), replace=False)] = True
    return X, np.array(labels)[(truth ^ wrong).astype(int)], wrong


def three_classes(n=240, seed=0):
    """Return rows of three overlapping classes and their labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    centres = np.array([[2.0, 0.0], [-1.0, 1.7], [-1.0, -1.7]])
    return centres[y] + rng.normal(size=(n, 2)), np.array(["a", "b", "c"])[y]


def outlying(n=200, d=3, n_wrong=20, seed=0):
    """Return rows, targets on a plane with noise, and which of the targets are far off."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X @ np.arange(1.0, d + 1) + 2 + 0.1 * rng.normal(size=n)
    wrong = np.zeros(n, dtype=bool)
    wrong[rng.choice(n, n_wrong, replace=False)] = True
    y[wrong] += rng.uniform(10, 30, size=n_wrong)
    return X, y, wrong


def label_sets(n=90, d=4, n_labels=5, seed=0, noise=0.3):
    """Return rows, and the indicator of their labels: none of them or all, sometimes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    scores = X @ rng.normal(size=(d, n_labels)) + noise * rng.normal(size=(n, n_labels))
    Y = scores > np.linspace(0.0, 1.0, n_labels)
    Y[0], Y[1] = False, True
    return X, Y
