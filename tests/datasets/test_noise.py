"""Noise: exact numbers of wrong labels, at the places that are told, from the right labels."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sorr
from sorr.datasets import (
    MNIST_FLIPS,
    flip_by_transition,
    flip_pairs,
    flip_symmetric,
)

rates = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0])
digits = st.lists(st.integers(0, 9), max_size=60).map(lambda some: np.array([*range(10), *some]))


@given(digits, rates, st.integers(0, 5))
def test_the_papers_flips_take_exactly_the_share_of_each_class(y, rate, seed):
    noisy, wrong = flip_pairs(y, MNIST_FLIPS, rate, seed)
    for digit in range(10):
        of_class = y == digit
        target = MNIST_FLIPS.get(digit)
        expected = 0 if target is None else int(rate * of_class.sum())
        assert wrong[of_class].sum() == expected
        assert (noisy[of_class & wrong] == target).all()
    np.testing.assert_array_equal(noisy != y, wrong)


def test_the_papers_flips_are_the_five_pairs():
    assert dict(MNIST_FLIPS) == {2: 7, 3: 8, 5: 6, 6: 5, 7: 1}
    with pytest.raises(TypeError):
        MNIST_FLIPS[0] = 1


def test_classes_that_are_swapped_do_not_chain():
    y = np.repeat([5, 6], 50)
    noisy, wrong = flip_pairs(y, {5: 6, 6: 5}, 1.0, 0)
    assert wrong.all()
    np.testing.assert_array_equal(noisy, np.repeat([6, 5], 50))


@given(digits, rates, st.integers(0, 5))
def test_symmetric_flips_take_exactly_the_share_of_all_rows(y, rate, seed):
    noisy, wrong = flip_symmetric(y, rate, seed)
    assert wrong.sum() == int(rate * len(y))
    np.testing.assert_array_equal(noisy != y, wrong)
    assert set(noisy.tolist()) <= set(y.tolist())


def test_symmetric_flips_go_to_every_other_class_alike():
    y = np.repeat([0, 1, 2, 3], 10_000)
    noisy = flip_symmetric(y, 0.6, 0).y
    table = np.array([np.bincount(noisy[y == c], minlength=4) for c in range(4)]) / 10_000
    expected = np.where(np.eye(4), 0.4, 0.2)
    np.testing.assert_allclose(table, expected, atol=0.02)  # five standard deviations


def test_a_transition_matrix_is_followed():
    matrix = np.array([[0.7, 0.3, 0.0], [0.0, 1.0, 0.0], [0.25, 0.25, 0.5]])
    y = np.repeat(["a", "b", "c"], 20_000)
    noisy, wrong = flip_by_transition(y, matrix, 0)
    table = [[np.mean(noisy[y == i] == j) for j in "abc"] for i in "abc"]
    np.testing.assert_allclose(table, matrix, atol=0.02)
    assert np.array_equal(np.array(table) == 0, matrix == 0)  # what is impossible never happens
    np.testing.assert_array_equal(noisy != y, wrong)


@given(digits, st.integers(0, 5))
def test_a_permutation_as_a_transition_is_certain(y, seed):
    matrix = np.roll(np.eye(10), 1, axis=1)
    noisy, wrong = flip_by_transition(y, matrix, seed)
    np.testing.assert_array_equal(noisy, (y + 1) % 10)
    assert wrong.all()


def test_rounded_rows_of_a_transition_still_reach_a_class():
    third = np.full((3, 3), 1 / 3) * (1 - 1e-12)
    noisy = flip_by_transition(np.arange(3).repeat(100), third, 0).y
    assert set(noisy.tolist()) == {0, 1, 2}


def test_a_transition_may_name_classes_that_are_not_there():
    swap = [[0, 0, 1], [0, 1, 0], [1, 0, 0]]
    noisy = flip_by_transition(["b", "a"], swap, 0, classes=["b", "a", "long"]).y
    assert noisy.tolist() == ["long", "a"]


CALLS = {
    "pairs": lambda y, seed: flip_pairs(y, {0: 1, 1: 0}, 0.5, seed),
    "symmetric": lambda y, seed: flip_symmetric(y, 0.5, seed),
    "transition": lambda y, seed: flip_by_transition(y, np.full((3, 3), 1 / 3), seed),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_same_seed_gives_the_same_labels_and_what_is_given_stays(call):
    y = np.arange(300) % 3
    before = y.copy()
    runs = [call(y, seed) for seed in (7, 7, np.random.default_rng(7))]
    for one, other in pairwise(runs):
        np.testing.assert_array_equal(one.y, other.y)
        np.testing.assert_array_equal(one.wrong, other.wrong)
    assert not np.array_equal(runs[0].wrong, call(y, 8).wrong)
    rng = np.random.default_rng(7)
    assert not np.array_equal(call(y, rng).wrong, call(y, rng).wrong)  # a generator goes on
    assert call(y, None).y.shape == runs[0].y.shape
    np.testing.assert_array_equal(y, before)


@pytest.mark.parametrize("kind", [np.uint8, np.int64, np.float32, "<U1", object])
def test_the_type_of_labels_stays(kind):
    y = (np.arange(40) % 4).astype(kind)
    names = np.unique(y).tolist()
    for noisy, wrong in (
        flip_pairs(y, {names[0]: names[2]}, 0.5, 0),
        flip_symmetric(y, 0.5, 0),
        flip_by_transition(y, np.full((4, 4), 0.25), 0),
    ):
        assert noisy.dtype == y.dtype
        np.testing.assert_array_equal(noisy != y, wrong)
        assert wrong.any()


def test_the_room_is_there():
    assert sorr.datasets.flip_pairs is flip_pairs


ROWS = [0, 1, 1]


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: flip_pairs(ROWS, {0: 1}, 1.5), ValueError, "rate=1.5 .* from 0 to 1"),
        (lambda: flip_pairs(ROWS, {0: 1}, np.nan), ValueError, "rate=nan"),
        (lambda: flip_pairs(ROWS, {0: 1}, "all"), TypeError, "str"),
        (lambda: flip_pairs(ROWS, {0: 1}, True), TypeError, "bool"),
        (lambda: flip_pairs(ROWS, {0: 0}, 0.5), ValueError, "its own label"),
        (lambda: flip_pairs(ROWS, {"0": 1}, 0.5), ValueError, "'0', which is not in y"),
        (lambda: flip_pairs(ROWS, {0: 7}, 0.5), ValueError, "7, which is not in y"),
        (lambda: flip_pairs([[0, 1]], {0: 1}, 0.5), ValueError, "one class for each row"),
        (lambda: flip_pairs([], {0: 1}, 0.5), ValueError, r"shape \(0,\)"),
        (lambda: flip_symmetric([np.nan, 1.0], 0.5), ValueError, "NaN"),
        (lambda: flip_symmetric(["a", "a"], 0.5), ValueError, "one class only, 'a'"),
        (lambda: flip_by_transition(ROWS, np.eye(3)), ValueError, "2 classes: pass classes"),
        (lambda: flip_by_transition(ROWS, np.ones((2, 2))), ValueError, "add up to one"),
        (lambda: flip_by_transition(ROWS, [[2, -1], [0, 1]]), ValueError, "negative"),
        (lambda: flip_by_transition(ROWS, np.full((2, 2), np.nan)), ValueError, "NaN"),
        (lambda: flip_by_transition(ROWS, np.eye(2), classes=[0, 2]), ValueError, "holds 1"),
        (lambda: flip_by_transition(ROWS, np.eye(2), classes=[0, 0]), ValueError, "more than once"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_way_out(call, error, match):
    with pytest.raises(error, match=match):
        call()
