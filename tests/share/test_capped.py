"""Trimming that leaves right rows alone, and the choice of how many rows to drop."""

import numpy as np
import pytest

from sorr.share.average import AverageLoss
from sorr.share.capped import balanced, capped_trimming, choose_rows
from sorr.share.contest import corrected_error


def test_the_largest_mistakes_of_each_class_are_chosen():
    mistakes = np.array([3.0, 1.0, 2.0, 5.0, -1.0, 4.0])
    index = np.array([0, 0, 0, 1, 1, 1])
    chosen = choose_rows(mistakes, index, np.array([2.0, 1.0]), np.ones(6))
    np.testing.assert_array_equal(np.flatnonzero(chosen), [0, 2, 3])


def test_a_row_that_is_right_is_never_chosen():
    mistakes = np.array([-3.0, 0.0, 2.0, 0.5])
    chosen = choose_rows(mistakes, np.zeros(4, dtype=int), np.array([4.0]), np.ones(4))
    np.testing.assert_array_equal(chosen, mistakes > 0)


def test_rows_are_chosen_by_mass():
    mistakes, mass = np.array([4.0, 3.0, 2.0, 1.0]), np.array([2.0, 0.0, 1.0, 1.0])
    chosen = choose_rows(mistakes, np.zeros(4, dtype=int), np.array([3.0]), mass)
    np.testing.assert_array_equal(np.flatnonzero(chosen), [0, 2])


def test_kept_rows_stand_for_all_of_their_class():
    problem = AverageLoss(np.zeros((5, 1)), np.array([0, 0, 0, 1, 1]), 2, np.ones(1), True)
    kept = balanced(problem, np.ones(5), np.array([True, False, False, False, False]))
    np.testing.assert_allclose(kept, [0, 1.5, 1.5, 1, 1])


@pytest.mark.parametrize("count", [0, 20, 400])
def test_no_more_rows_are_dropped_than_scores_get_wrong(count):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    y[:30] = 1 - y[:30]
    problem = AverageLoss(X, y, 2, np.full(3, 1e-3), True)
    metric = problem.metric(None, rng)
    theta = problem.fit(np.ones(500), metric)
    scores = problem.raw(theta)
    counts = np.full(2, float(count))
    found = capped_trimming(
        problem, np.ones(500), metric, theta, counts, np.zeros(2), scores, rounds=4
    )
    wrong = problem.by_class(problem.mistakes(scores) > 0)
    dropped = problem.by_class(found.dropped)
    np.testing.assert_array_equal(dropped, np.minimum(counts, wrong))
    if count == 400:
        assert found.dropped[:30].sum() >= 28
        right = (problem.raw(found.theta) > 0) == (X[:, 0] > 0)
        assert right.mean() > 0.97


def test_the_number_can_grow_if_the_trimmed_fit_gets_more_rows_wrong():
    # Wrong labels of one class turn the plain fit so far that it gets some of them right.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 2)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    y[(y == 1) & (rng.random(1000) < 0.4)] = 0
    problem = AverageLoss(X, y, 2, np.full(2, 1e-3), True)
    metric = problem.metric(None, rng)
    theta = problem.fit(np.ones(1000), metric)
    counts, scores = np.array([200.0, 0.0]), problem.raw(theta)
    sizes = [
        capped_trimming(
            problem, np.ones(1000), metric, theta, counts, most, scores, rounds=5
        ).dropped.sum()
        for most in (np.zeros(2), counts)
    ]
    assert sizes[0] < sizes[1] <= 200


def test_the_corrected_error_is_unbiased():
    # Over all labels of a true class, weighed by their rates, it is the error itself.
    matrix = np.array([[0.9, 0.1, 0.0], [0.2, 0.7, 0.1], [0.05, 0.05, 0.9]])
    for true in range(3):
        for predicted in range(3):
            labels = np.arange(3)
            error = corrected_error(np.full(3, predicted), labels, matrix)
            assert matrix[true] @ error == pytest.approx(float(predicted != true), abs=1e-12)
