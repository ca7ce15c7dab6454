"""Robust scores of many rows of several classes, and what the share makes of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

from sorr import RankedRangeClassifier, estimate_outlier_share
from sorr.share.average import Frame
from sorr.share.robust import are_many, robust_fit

N, CLASSES = 6000, 4


def problem(rates, seed=0):
    """Return rows of overlapping classes, their true labels, and those with some flipped.

    `rates` maps pairs of classes to the share of the first that is labelled as the second.
    """
    rng = np.random.default_rng(seed)
    centres = 1.6 * rng.standard_normal((CLASSES, 8))
    true = rng.integers(CLASSES, size=N)
    X = centres[true] + rng.standard_normal((N, 8))
    y = true.copy()
    for (source, target), rate in rates.items():
        rows = np.flatnonzero(true == source)
        y[rng.permutation(rows)[: int(rate * len(rows))]] = target
    return X, true, y


def accuracy(theta, X, true):
    return np.mean((X @ theta[:-1] + theta[-1]).argmax(axis=1) == true)


def test_many_rows_of_several_classes_are_told_from_others():
    assert are_many(60_000, 10, 7850)
    assert not are_many(60_000, 2, 785)  # two classes have a curve of their own
    assert not are_many(4999, 3, 12)
    assert not are_many(30_000, 10, 7850)


def test_the_robust_fit_does_not_chase_flips_that_softmax_follows():
    X, true, y = problem({(0, 1): 0.45, (2, 3): 0.45})
    ones = np.ones(N)
    robust = robust_fit(X, y, CLASSES, 1e4, True, ones, np.random.default_rng(0))
    plain = LogisticRegression(C=1e4 / N, max_iter=1000).fit(X, y)
    assert accuracy(robust, X, true) > plain.score(X, true) + 0.03


def test_rows_without_mass_have_no_say():
    X, _, y = problem({})
    spoiled = y.copy()
    spoiled[::3] = (y[::3] + 1) % CLASSES
    mass = np.ones(N)
    mass[::3] = 0
    fits = [
        robust_fit(X, labels, CLASSES, 1e4, True, mass, np.random.default_rng(0))
        for labels in (y, spoiled)
    ]
    best = [(X @ fit[:-1] + fit[-1]).argmax(axis=1) for fit in fits]
    assert np.mean(best[0] == best[1]) > 0.99


@pytest.mark.parametrize("rate", [0.2, 0.4])
def test_flips_are_counted_in_the_classes_they_went_to(rate):
    X, true, y = problem({(0, 1): rate, (2, 3): rate})
    wrong = np.bincount(y[y != true], minlength=CLASSES)
    share = estimate_outlier_share(X, y, random_state=0)
    assert_allclose(share.count_, wrong, atol=0.03 * N / CLASSES + 0.15 * wrong.max())
    assert share.drop_[[0, 2]].max() < 0.05 * N / CLASSES
    assert np.all(share.drop_ <= np.ceil(1.25 * share.count_) + share.leverage_.sum())


def test_clean_rows_are_hardly_touched():
    X, _, y = problem({})
    share = estimate_outlier_share(X, y, random_state=0)
    assert share.drop_.sum() < 0.02 * N


def test_the_classifier_recovers_what_clean_labels_give():
    X, true, y = problem({(0, 1): 0.4, (2, 3): 0.4})
    there, labels, _ = problem({}, seed=0)
    model = RankedRangeClassifier(m="auto", certify=False, random_state=0).fit(X, y)
    best = LogisticRegression(C=1e4 / N, max_iter=1000).fit(X, true).score(there, labels)
    plain = LogisticRegression(C=1e4 / N, max_iter=1000).fit(X, y).score(there, labels)
    assert plain < best - 0.05
    assert model.score(there, labels) > best - 0.015
    suspects = np.argsort(-model.share_.score_)[: np.count_nonzero(y != true)]
    assert np.mean((y != true)[suspects]) > 0.8


def test_standardised_parameters_predict_the_same():
    rng = np.random.default_rng(0)
    frame = Frame(rng.standard_normal(3), 1 + rng.random(3))
    X, theta = rng.standard_normal((20, 3)), rng.standard_normal((4, 2))
    rows = (X - frame.centre) / frame.scale
    there = frame.standardised(theta, True)
    assert_allclose(rows @ there[:-1] + there[-1], X @ theta[:-1] + theta[-1], atol=1e-12)
    assert_allclose(frame.original(there, True), theta, atol=1e-12)
    assert_array_equal(frame.standardised(theta[:3], False), theta[:3] * frame.scale[:, None])


def test_a_strong_ridge_does_not_drop_whole_classes():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, size=6000)
    X = 3 * np.eye(4, 6)[y] + rng.standard_normal((6000, 6))
    y[(y < 2) & (rng.random(6000) < 0.3)] += 1
    share = estimate_outlier_share(X, y, C=1e-2, random_state=0)
    assert (share.drop_ < 0.5 * np.bincount(y)).all()


def test_rows_without_weight_do_not_make_many():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, size=6000)
    X = rng.standard_normal((3, 4))[y] + rng.standard_normal((6000, 4))
    mass = np.where(np.arange(6000) < 400, 1.0, 0.0)
    some = estimate_outlier_share(X[:400], y[:400], random_state=0)
    every = estimate_outlier_share(X, y, sample_weight=mass, random_state=0)
    assert np.abs(some.rate_ - every.rate_).max() < 0.1
