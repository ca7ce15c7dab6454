"""Bounds that hold whatever the model, and the test that a model is wrong."""

import itertools

import numpy as np
import pytest

from sorr.share.average import AverageLoss
from sorr.share.regions import excess, rate_bounds, regions_of, share_bounds, tree_scores


def test_the_share_bound_is_the_largest_share_that_the_rates_allow():
    # All pairs of rates up to their bounds, and the mass of true classes that gives the labels.
    bounds, labels = np.array([0.12, 0.2]), np.array([0.6, 0.4])
    largest = np.zeros(2)
    grid = [np.linspace(0, bound, 60) for bound in bounds]
    for low, high in itertools.product(*grid):
        ones = (labels[1] - low) / (1 - low - high)  # true mass of class 1
        if 0 <= ones <= 1:
            wrong = np.array([ones * high, (1 - ones) * low]) / labels
            largest = np.maximum(largest, wrong)
    np.testing.assert_allclose(share_bounds(bounds, labels), largest, rtol=1e-12)


def test_no_matrix_of_three_classes_exceeds_the_share_bound():
    rng = np.random.default_rng(0)
    for _ in range(300):
        true = rng.dirichlet(np.ones(3))
        matrix = rng.dirichlet(np.ones(3), size=3) * 0.3 + 0.7 * np.eye(3)
        labels = true @ matrix
        flow = true[:, None] * matrix
        wrong = (flow.sum(axis=0) - np.diag(flow)) / labels
        assert np.all(wrong <= share_bounds(1 - np.diag(matrix), labels) + 1e-12)


def test_a_rate_cannot_exceed_the_share_of_other_labels_in_a_region():
    rng = np.random.default_rng(0)
    held = []
    for _ in range(100):
        x = rng.normal(size=1000)
        true = (2 * x + rng.logistic(size=1000) > 0).astype(int)
        label = np.where(rng.random(1000) < np.where(true == 1, 0.2, 0.05), 1 - true, true)
        regions = regions_of(np.column_stack([-x, x]), label, np.ones(1000))
        held.append(rate_bounds(regions, 2) >= [0.05, 0.2])
    assert np.mean(held) >= 0.93  # promised: 95 %


def test_weights_count_as_copies_in_a_region():
    rng = np.random.default_rng(0)
    x, label, weight = rng.normal(size=80), rng.integers(2, size=80), rng.integers(1, 4, 80)
    copies = np.repeat(np.arange(80), weight)
    scores = np.column_stack([-x, x])
    once = regions_of(scores, label, weight.astype(float))
    many = regions_of(scores[copies], label[copies], np.ones(len(copies)))
    for one, other in zip(once, many, strict=True):
        assert one.label == other.label
        assert one.share == pytest.approx(other.share)


def test_a_tree_shows_that_a_rate_is_too_high():
    # Only a tree sees that class 1 is pure where both features are large.
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2000, 2)).astype(np.float32)
    label = ((X > 0).sum(axis=1) == 2).astype(int)
    problem = AverageLoss(X, label, 2, np.full(2, 1e-4), True)
    rows, scores = tree_scores(problem, np.ones(2000), np.random.default_rng(0))
    regions = regions_of(scores, label[rows], np.ones(len(rows)))
    assert excess(regions, np.array([0.0, 0.2]), np.array([0.01, 0.02])) > 2
    assert excess(regions, np.array([0.0, 0.0]), np.array([0.01, 0.02])) <= 0


def test_rows_of_the_tree_are_scored_by_the_other_half():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 12)).astype(np.float32)
    label = rng.integers(2, size=400)
    problem = AverageLoss(X, label, 2, np.full(12, 1e-4), True)
    rows, scores = tree_scores(problem, np.ones(400), np.random.default_rng(0))
    assert np.sort(rows).tolist() == list(range(400))
    right = scores.argmax(axis=1) == label[rows]
    assert right.mean() < 0.6  # labels are random: a tree that had seen them would do better
