"""Objects with the attributes of fitted estimators, and nothing else."""

from types import SimpleNamespace

import numpy as np

from sorr.ranked import thresholds


def left_out(losses, m):
    """Return the rows of the m largest losses."""
    mask = np.zeros(len(losses), dtype=bool)
    mask[np.argsort(-losses, kind="stable")[:m]] = True
    return mask


def pooled(losses, m, k):
    """A model whose rows are ranked together."""
    losses = np.asarray(losses, dtype=float)
    return SimpleNamespace(
        losses_=losses,
        m_=np.array([float(m)]),
        k_=np.array([float(k)]),
        outlier_mask_=left_out(losses, m),
        thresholds_=np.array([thresholds(losses, m, k)]),
    )


class TwoClasses:
    """A classifier of two features: the first one is the raw prediction for "yes"."""

    classes_ = np.array(["no", "yes"])

    def __init__(self, X, y, m):
        rows = np.asarray(y) == "yes"
        self.losses_ = self.loss(X, y)
        self.m_ = np.array(m, dtype=float)
        self.k_ = np.array([np.sum(~rows), np.sum(rows)], dtype=float)
        self.outlier_mask_ = np.zeros(len(rows), dtype=bool)
        self.largest_kept = np.zeros(2)
        for i, here in enumerate((~rows, rows)):
            self.outlier_mask_[here] = left_out(self.losses_[here], m[i])
            self.largest_kept[i] = self.losses_[here & ~self.outlier_mask_].max()

    def loss(self, X, y):
        sign = np.where(np.asarray(y) == "yes", 1.0, -1.0)
        return np.logaddexp(0.0, -sign * np.asarray(X)[:, 0])

    def decision_function(self, X):
        return np.asarray(X)[:, 0]

    def predict_proba(self, X):
        yes = 1 / (1 + np.exp(-np.asarray(X)[:, 0]))
        return np.column_stack([1 - yes, yes])

    def outlier_score(self, X, y):
        return self.loss(X, y) - self.largest_kept[(np.asarray(y) == "yes").astype(int)]


def two_classes(n=60, m=(3, 5), seed=0):
    """Return a model, and the rows it was fitted on."""
    rng = np.random.default_rng(seed)
    X = 2 * rng.normal(size=(n, 2))
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-X[:, 0])), "yes", "no")
    return TwoClasses(X, y, m), X, y
