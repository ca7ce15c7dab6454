"""Targets in every form that they come in, and those that are refused."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from sorr.estimators.label_sets import indicator_like, labels_of

INDICATOR = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 0], [1, 1, 1]])
SETS = [[1, 2], [0], [], [0, 1, 2]]


@pytest.mark.parametrize(
    "y",
    [
        INDICATOR,
        INDICATOR.astype(bool),
        INDICATOR.astype(np.float32),
        INDICATOR.astype(object),
        INDICATOR.tolist(),
        list(INDICATOR),
        [tuple(row) for row in INDICATOR.tolist()],
    ],
)
def test_an_indicator_is_one_in_any_dense_form(y):
    labels = labels_of(y)
    assert labels.kind == "indicator"
    assert labels.indicator.dtype == bool
    assert_array_equal(labels.indicator, INDICATOR)
    assert_array_equal(labels.classes, [0, 1, 2])


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr"])
@pytest.mark.parametrize("dtype", [bool, int, np.float32])
def test_a_sparse_indicator_is_one_in_any_format(form, dtype):
    for make in (sparse.coo_matrix, sparse.coo_array):
        labels = labels_of(make(INDICATOR.astype(dtype)).asformat(form))
        assert labels.kind == "sparse"
        assert_array_equal(labels.indicator, INDICATOR)


def test_zeros_that_are_stored_are_zeros():
    stored = sparse.csr_array(np.ones((2, 2)))
    stored.data[:] = [1, 0, 0, 1]
    assert_array_equal(labels_of(stored).indicator, np.eye(2))


@pytest.mark.parametrize(
    "collection", [list, tuple, set, frozenset, lambda row: np.array(row, int)]
)
def test_sets_of_labels_may_be_any_collection(collection):
    labels = labels_of([collection(row) for row in SETS])
    assert labels.kind == "sets"
    assert_array_equal(labels.indicator, INDICATOR)
    assert_array_equal(labels.classes, [0, 1, 2])


def test_labels_may_be_strings_and_are_sorted():
    labels = labels_of([{"pear", "fig"}, ["apple"], ()])
    assert labels.classes.tolist() == ["apple", "fig", "pear"]
    assert_array_equal(labels.indicator, [[0, 1, 1], [1, 0, 0], [0, 0, 0]])


def test_an_array_of_objects_may_hold_sets():
    y = np.empty(4, dtype=object)
    y[:] = [set(row) for row in SETS]
    assert_array_equal(labels_of(y).indicator, INDICATOR)


def test_columns_of_frames_may_hold_sets():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for column in (pandas.Series(SETS), polars.Series(SETS)):
        assert_array_equal(labels_of(column).indicator, INDICATOR)


def test_the_columns_of_a_frame_name_the_labels():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for make in (pandas.DataFrame, polars.DataFrame):
        labels = labels_of(make({"a": [1, 0, 1], "b": [0, 0, 1]}))
        assert labels.classes.tolist() == ["a", "b"]
        assert labels.kind == "indicator"


def test_lists_of_one_label_each_are_sets():
    labels = labels_of([[0], [1], [0]])
    assert labels.kind == "sets"
    assert_array_equal(labels.indicator, [[1, 0], [0, 1], [1, 0]])


def test_sets_of_zero_and_one_are_not_taken_for_rows_of_an_indicator():
    labels = labels_of([{0, 1}, {1, 0}, {0, 1}])
    assert labels.kind == "sets"
    assert labels.indicator.all()


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (["b", "a", "b"], ["a", "b"]),
        (np.array([3, 1, 3]), [1, 3]),
        (np.array([True, False, True]), [False, True]),
        (np.array([3.0, 1.0, 3.0]), [1.0, 3.0]),
        (np.array(["b", "a", "b"], dtype=object), ["a", "b"]),
    ],
)
def test_one_class_for_each_row_is_a_set_of_one(y, classes):
    labels = labels_of(y)
    assert labels.kind == "multiclass"
    assert labels.classes.tolist() == classes
    assert_array_equal(labels.indicator, [[0, 1], [1, 0], [0, 1]])
    assert_array_equal(labels.index, [1, 0, 1])


def test_one_class_for_each_row_in_a_column_of_a_frame():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    names = ["b", "a", "b"]
    for y in (pandas.Series(names), pandas.Series(names, dtype="category"), polars.Series(names)):
        assert labels_of(y).classes.tolist() == ["a", "b"]


def test_a_column_of_classes_is_taken_for_one_class_each():
    with pytest.warns(DataConversionWarning):
        labels = labels_of(np.array([[3], [1], [3]]))
    assert labels.kind == "multiclass"


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (2 * INDICATOR, ValueError, "holds 2; needed 0 and 1 only: y > 0"),
        (INDICATOR - 0.5, ValueError, "holds -0.5; needed 0 and 1"),
        (np.array([["a", "b"], ["b", "c"]]), ValueError, "holds 'a'.*a list with a set of them"),
        (np.array([[1, "b"], [0, "c"]], dtype=object), ValueError, "holds 'b'"),
        (np.where(INDICATOR > 0, np.nan, 1.0), ValueError, "y contains NaN; needed 0 and 1"),
        (sparse.csr_array(3 * INDICATOR), ValueError, "holds 3; needed 0 and 1"),
        (sparse.csr_array(INDICATOR * np.nan), ValueError, "y contains NaN"),
        (
            sparse.coo_array(([1, 1, 1], ([0, 0, 1], [1, 1, 0])), shape=(2, 2)),
            ValueError,
            "holds 2; needed 0 and 1",
        ),
        (sparse.csr_array(INDICATOR[:, :1]), ValueError, r"sparse and has shape \(4, 1\)"),
        (np.zeros((2, 2, 2)), ValueError, r"shape \(2, 2, 2\); needed one class for each row"),
        (np.zeros((0, 3)), ValueError, r"shape \(0, 3\)"),
        ([], ValueError, r"shape \(0,\)"),
        ([[1, 0], [0, 1, 1]], ValueError, "row 1 of y holds the label 1 more than once"),
        ([[True, False], [True]], TypeError, "row 0 of y holds True, of type bool; needed labels"),
        ([[1.5], [2]], TypeError, "row 0 of y holds 1.5, of type float"),
        ([{1}, {None}], TypeError, "row 1 of y holds None, of type NoneType"),
        ([{1, 2}, {"a"}], TypeError, "ints and labels that are strings, such as . and 'a'"),
        ([{1}, {1}, set()], ValueError, "the label 1 only in the rows that count; needed two"),
        ([[], []], ValueError, "no label at all"),
        ([{1}, 2], ValueError, r"\{1\} for one row and 2 for another.*such as \[2\]"),
        (["a", "a"], ValueError, "one class only, 'a'"),
        ([1.0, np.nan], ValueError, "y contains NaN"),
        ([0.5, 1.5, 2.7], ValueError, "Unknown label type: continuous"),
        ("abc", TypeError, "of type str; needed one class for each row"),
        (7, TypeError, "of type int"),
        ({1: 2}, TypeError, "of type dict"),
    ],
)
def test_what_is_no_target_is_refused(y, error, message):
    with pytest.raises(error, match=message):
        labels_of(y)


def test_labels_of_some_rows_are_theirs_only():
    rows = np.array([0, 1])
    labels = labels_of([{"a", "b"}, {"b"}, {"c"}]).take(rows)
    assert labels.classes.tolist() == ["a", "b"]
    assert_array_equal(labels.indicator, [[1, 1], [0, 1]])
    assert labels_of(["a", "b", "c"]).take(rows).classes.tolist() == ["a", "b"]


def test_labels_that_are_columns_stay_without_rows():
    labels = labels_of(INDICATOR).take(np.array([1, 2]))
    assert_array_equal(labels.indicator, [[1, 0, 0], [0, 0, 0]])


def test_all_rows_are_taken_by_default():
    labels = labels_of(INDICATOR)
    assert labels.take(None) is labels


def test_one_class_in_the_rows_that_count_is_refused():
    with pytest.raises(ValueError, match="the class 'a' only in the rows that count"):
        labels_of(["a", "b", "a"]).take(np.array([0, 2]))


# -- targets of new rows ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["indicator", "sparse", "sets"])
@pytest.mark.parametrize(
    "y", [INDICATOR, sparse.csr_array(INDICATOR), [set(row) for row in SETS], SETS]
)
def test_sets_of_new_rows_may_have_another_form_than_those_of_the_fit(y, kind):
    assert_array_equal(indicator_like(y, np.arange(3), kind), INDICATOR)


def test_the_kind_of_the_fit_says_what_lists_of_zero_and_one_are():
    y = [[0, 1], [1, 0]]
    assert_array_equal(indicator_like(y, np.arange(2), "indicator"), [[0, 1], [1, 0]])
    assert_array_equal(indicator_like(y, np.arange(3), "sets"), [[1, 1, 0], [1, 1, 0]])


def test_classes_of_new_rows_find_their_columns():
    classes = np.array(["a", "b", "c"])
    assert_array_equal(indicator_like(["c", "a"], classes, "multiclass"), [[0, 0, 1], [1, 0, 0]])


@pytest.mark.parametrize(
    ("y", "kind", "message"),
    [
        (["a", "z"], "multiclass", "'z', which is none of the labels of the fit; needed some of"),
        ([{"a"}, {"z"}], "sets", "'z', which is none of the labels of the fit"),
        ([{"a"}, {"b"}], "multiclass", "the fit was given one class for each row"),
        (sparse.csr_array(INDICATOR), "multiclass", "the fit was given one class for each row"),
        (["a", "b"], "sets", r"shape \(2,\), and the fit was given sets of labels"),
        (INDICATOR[:, :2], "indicator", "2 columns, and the fit had 3 labels"),
        (sparse.csr_array(INDICATOR[:, :2]), "sparse", "2 columns, and the fit had 3 labels"),
        (2 * INDICATOR, "indicator", "holds 2; needed 0 and 1"),
    ],
)
def test_new_rows_have_the_labels_of_the_fit(y, kind, message):
    with pytest.raises(ValueError, match=message):
        indicator_like(y, np.array(["a", "b", "c"]), kind)


def test_only_some_of_many_labels_are_listed():
    with pytest.raises(ValueError, match="9 and 20 more"):
        indicator_like([99], np.arange(30), "multiclass")


def test_frames_of_new_rows_have_the_columns_of_the_fit():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 0], "b": [0, 0]})
    classes = np.array(["a", "b"])
    assert_array_equal(indicator_like(frame, classes, "indicator"), frame.to_numpy())
    with pytest.raises(
        ValueError, match=r"the columns 'b', 'a'; needed those of the fit, 'a', 'b'"
    ):
        indicator_like(frame[["b", "a"]], classes, "indicator")
    with pytest.raises(ValueError, match=r"the columns 'b', 'a'; needed those of the fit"):
        indicator_like(frame[["b", "a"]], classes, "sets")  # else labels would be mixed up
    assert_array_equal(indicator_like(frame, np.arange(2), "sparse"), frame.to_numpy())


def test_frames_name_each_label_once():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[1, 0, 1], [0, 1, 1]], columns=["a", "b", "a"])
    with pytest.raises(ValueError, match="the column 'a' more than once"):
        labels_of(frame)


def test_numbers_that_are_not_real_are_no_indicator():
    with pytest.raises(TypeError, match="numbers that are not real"):
        labels_of(np.eye(3, dtype=complex))


def test_entries_of_a_sparse_indicator_that_are_stored_twice_are_added():
    """Two ones in a place are a two, which marks no label."""
    twice = sparse.csr_array((np.ones(3), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    with pytest.raises(ValueError, match="0 and 1"):
        labels_of(twice)
    assert twice.nnz == 3  # what was given stays as it was
