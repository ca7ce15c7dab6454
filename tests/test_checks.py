"""Arguments: what is taken, and that a message says what was given and what is needed."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from sorr._checks import (
    as_classes,
    as_count,
    as_indicator,
    as_inverse_ridge,
    as_label_count,
    as_masses,
    as_seed,
    as_vector,
    as_whole_seed,
    check_choice,
    check_flag,
    check_limits,
    check_verbose,
    class_index,
    classes_of,
    close_names,
)


def test_both_ends_of_a_range_of_counts_belong_to_it():
    assert [as_count("k", k, lowest=2, highest=4) for k in (2, np.int32(3), 4)] == [2, 3, 4]
    for outside in (1, 5):
        with pytest.raises(ValueError, match="needed an int, from 2 to 4"):
            as_count("k", outside, lowest=2, highest=4)


@pytest.mark.parametrize(
    ("check", "kind", "message"),
    [
        (lambda: check_choice("loss", "hing", ["hinge"]), ValueError, "did you mean 'hinge'"),
        (lambda: check_choice("loss", None, ["hinge"]), ValueError, "needed one of 'hinge'"),
        (lambda: check_flag("certify", 1), TypeError, "certify=1 is not a bool"),
        (lambda: check_verbose(True), TypeError, "verbose=True is not an int"),
        (lambda: as_count("n", True), TypeError, "n=True is not a count; needed an int, 1 or more"),
        (lambda: as_count("n", 2.0), TypeError, "n=2.0 is not a count"),
        (lambda: as_count("n", 9, highest=8), ValueError, "needed an int, from 1 to 8"),
        (lambda: as_label_count(3, 3), ValueError, "needed 1 <= k < 3"),
        (lambda: as_label_count(1.0, 3), TypeError, "k=1.0 is of type float"),
        (lambda: check_limits(0.0, 10), ValueError, "tol=0.0 is not a tolerance"),
        (lambda: check_limits(1e-3, 0), ValueError, "max_iter=0 is not a count"),
        (lambda: as_inverse_ridge("1"), TypeError, "C='1' is of type str"),
        (lambda: as_inverse_ridge(-1, "C_2"), ValueError, "C_2=-1 is not positive; needed C_2 > 0"),
        (lambda: as_masses([1.0], 2), ValueError, r"shape \(1,\); needed .* each of the 2 rows"),
        (lambda: as_masses([1.0, -1.0], 2), ValueError, "negative weight"),
        (lambda: as_masses([0.0, 0.0], 2), ValueError, "adds up to zero"),
        (lambda: as_vector("y", []), ValueError, r"y has shape \(0,\)"),
        (lambda: as_vector("y", [1.0, np.nan]), ValueError, "y holds NaN"),
        (lambda: as_indicator("y", [[0, 2]]), ValueError, "y is an indicator and holds 2"),
        (lambda: as_indicator("y", [[0, np.nan]]), ValueError, "Input y contains NaN"),
        (lambda: classes_of(np.ones(3, int)), ValueError, "y holds one class only, 1"),
        (lambda: as_classes("y", np.array([3]), [1, 2]), ValueError, "y holds 3, which is not one"),
        (lambda: as_classes("y", np.array([1]), [1, 1]), ValueError, "more than once"),
        (lambda: class_index(np.array([99]), np.arange(12)), ValueError, "and 2 more"),
    ],
)
def test_a_wrong_argument_is_refused_with_what_was_given(check, kind, message):
    with pytest.raises(kind, match=message):
        check()


def test_close_names_ignore_case_and_keep_the_first_of_equal_ones():
    assert close_names("AGE", ["age", "Age", "label"]) == ["age"]


def test_labels_are_indexed_among_the_sorted_classes_or_the_given_ones():
    labels = np.array(["b", "a", "b"])
    classes, index = as_classes("y", labels, None)
    assert classes.tolist() == ["a", "b"]
    assert_array_equal(index, [1, 0, 1])
    classes, index = as_classes("y", labels, ["b", "c", "a"])
    assert classes.tolist() == ["b", "c", "a"]
    assert_array_equal(index, [0, 2, 0])


def test_a_sparse_indicator_with_duplicates_is_refused_and_stays_as_it_is():
    stored = sparse.csr_array((np.array([1, 1]), np.array([1, 1]), np.array([0, 2])), shape=(1, 2))
    with pytest.raises(ValueError, match="holds 2"):
        as_indicator("y", stored)
    assert stored.nnz == 2


def test_a_seed_stays_and_a_state_gives_one_number():
    assert as_seed(7) == as_whole_seed(np.int64(7)) == 7
    generator = np.random.default_rng(0)
    assert as_seed(None) is None
    assert as_seed(generator) is generator
    assert as_seed(np.random.RandomState(0)) == as_seed(np.random.RandomState(0))
    assert as_whole_seed(np.random.default_rng(1)) == as_whole_seed(np.random.default_rng(1))
