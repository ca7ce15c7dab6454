"""Plain fits against scikit-learn, in any units of the columns."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from sorr.share.average import AverageLoss, probabilities, standardise


def data(n_classes, n=600, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1.0, 100.0, 1e-2, 1.0] + [0.0, 500.0, 0.0, 1.0]
    raw = (X - X.mean(axis=0)) / X.std(axis=0) @ rng.normal(size=(d, n_classes))
    return X, (raw + rng.gumbel(size=raw.shape)).argmax(axis=1)


def fitted(X, y, C, intercept=True, mass=None):
    rows, frame = standardise(X, intercept)
    loss = AverageLoss(rows, y, int(y.max()) + 1, 1 / (C * frame.scale**2), intercept)
    metric = loss.metric(None, np.random.default_rng(0))
    theta = loss.fit(np.ones(len(y)) if mass is None else mass, metric, tol=1e-5)
    return frame.original(theta, intercept)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_fit_is_that_of_logistic_regression(n_classes, intercept):
    X, y = data(n_classes)
    X = X if intercept else X - X.mean(axis=0)
    theta = fitted(X, y, 600.0, intercept)
    peer = LogisticRegression(C=1.0, tol=1e-8, max_iter=10_000, fit_intercept=intercept)
    peer.fit(X, y)
    ours = X @ theta[:4] + (theta[4] if intercept else 0.0)
    # float32 rows, and a fit that stops early: agreement of what is predicted to 1 %
    given = probabilities(ours), peer.predict_proba(X)
    np.testing.assert_allclose(*given, atol=1e-2)


def test_mass_counts_as_copies():
    X, y = data(2)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    copies = np.repeat(np.arange(len(y)), weight)
    one, many = fitted(X, y, 1e3, mass=weight.astype(float)), fitted(X[copies], y[copies], 1e3)
    np.testing.assert_allclose(X @ one[:4] + one[4], X @ many[:4] + many[4], atol=2e-2)


def test_sparse_rows_give_the_fit_of_dense_ones():
    X, y = data(2)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    dense, csr = fitted(X, y, 1e3), fitted(sparse.csr_array(X), y, 1e3)
    np.testing.assert_allclose(dense, csr, atol=5e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_mistakes_are_positive_where_the_prediction_is_wrong_and_rank_as_losses(n_classes):
    X, y = data(n_classes)
    loss = AverageLoss(X, y, n_classes, np.ones(4), False)
    raw = np.random.default_rng(0).normal(size=(len(y), n_classes))
    raw = raw[:, 0] if n_classes == 2 else raw
    mistakes = loss.mistakes(raw)
    predicted = raw > 0 if n_classes == 2 else raw.argmax(axis=1)
    np.testing.assert_array_equal(mistakes > 0, predicted != y)
    wrong = mistakes > 0
    ranks = np.argsort(mistakes[wrong]), np.argsort(loss.losses(raw)[wrong])
    np.testing.assert_array_equal(*ranks)


def test_a_constant_column_is_harmless():
    X, y = data(2)
    theta = fitted(np.column_stack([X, np.full(len(y), 7.0)]), y, 1e3)
    assert np.isfinite(theta).all()
    assert theta[4] == 0
