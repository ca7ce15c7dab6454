import zlib

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification

from sorr.experiments.label_sets.splits import our_split, paper_split


def generated():
    return make_multilabel_classification(
        100, 8, n_classes=6, allow_unlabeled=False, random_state=0
    )


def sets_of(split):
    """Return the rows of all parts, each as one tuple of numbers with its labels, sorted."""
    return sorted(
        (*np.round(x, 9), *y) for part in split for x, y in zip(part.X, part.Y, strict=True)
    )


@pytest.mark.parametrize("draw", [our_split, paper_split])
def test_parts_are_a_half_and_two_quarters_of_rows_that_have_labels(draw):
    split = draw("synthetic", 0)
    assert [len(part.X) for part in split] == [50, 25, 25]
    assert all(part.Y.dtype == bool and part.Y.any(axis=1).all() for part in split)


@pytest.mark.parametrize("draw", [our_split, paper_split])
def test_a_split_is_the_same_each_time_and_another_for_another_number(draw):
    first, again, other = draw("synthetic", 3), draw("synthetic", 3), draw("synthetic", 4)
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.X, two.X)
        np.testing.assert_array_equal(one.Y, two.Y)
    assert not np.array_equal(first.train.Y, other.train.Y)


def test_our_columns_are_standardised_by_training_rows_alone():
    train, validation, test = our_split("synthetic", 0)
    np.testing.assert_allclose(train.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(train.X.std(axis=0), 1)
    assert np.abs(np.vstack([validation.X, test.X]).mean(axis=0)).max() > 0.01


def test_our_order_is_drawn_by_the_names_of_the_data_set_and_the_split():
    _, Y = generated()
    order = np.random.default_rng(zlib.crc32(b"synthetic 2")).permutation(len(Y))
    found = np.vstack([part.Y for part in our_split("synthetic", 2)])
    np.testing.assert_array_equal(found, Y[order] > 0)


def test_the_papers_columns_go_from_minus_one_to_one_over_all_rows():
    X = np.vstack([part.X for part in paper_split("synthetic", 0)])
    np.testing.assert_allclose(X.min(axis=0), -1)
    np.testing.assert_allclose(X.max(axis=0), 1)


def test_the_papers_splits_hold_the_same_rows_drawn_by_seeds_from_one():
    X, Y = generated()
    low, high = X.min(axis=0), X.max(axis=0)
    order = np.random.RandomState(1).permutation(len(X))
    first = paper_split("synthetic", 0)
    np.testing.assert_allclose(
        first.train.X, (-1 + 2 * (X - low) / (high - low))[order[:50]], atol=1e-7
    )
    np.testing.assert_array_equal(first.test.Y, Y[order[75:]] > 0)
    assert sets_of(first) == sets_of(paper_split("synthetic", 5))
