"""Targets in every form that they come in, and those that are refused."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.preprocessing import MultiLabelBinarizer

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
def test_sets_of_labels_are_refused_with_a_way_to_an_indicator(collection):
    sets = [collection(row) for row in SETS]
    column = np.empty(4, dtype=object)
    column[:] = sets
    for y in (sets, column):
        with pytest.raises(ValueError, match=r"MultiLabelBinarizer\(\)\.fit_transform\(y\)"):
            labels_of(y)
        with pytest.raises(ValueError, match="MultiLabelBinarizer"):
            indicator_like(y, np.arange(3), "indicator")
    assert_array_equal(labels_of(MultiLabelBinarizer().fit_transform(sets)).indicator, INDICATOR)


def test_columns_of_frames_that_hold_sets_are_refused_too():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for column in (pandas.Series(SETS), polars.Series(SETS)):
        with pytest.raises(ValueError, match="MultiLabelBinarizer"):
            labels_of(column)


def test_the_columns_of_a_frame_name_the_labels():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for make in (pandas.DataFrame, polars.DataFrame):
        labels = labels_of(make({"a": [1, 0, 1], "b": [0, 0, 1]}))
        assert labels.classes.tolist() == ["a", "b"]
        assert labels.kind == "indicator"


def test_lists_of_one_label_each_are_a_column_of_classes():
    with pytest.warns(DataConversionWarning):
        labels = labels_of([[0], [1], [0]])
    assert labels.kind == "multiclass"
    assert_array_equal(labels.indicator, [[1, 0], [0, 1], [1, 0]])


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
        (np.array([["a", "b"], ["b", "c"]]), ValueError, "holds 'a'.*MultiLabelBinarizer"),
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
        ([[1, 0], [0, 1, 1]], ValueError, "a collection of labels for each row"),
        ([[True, False], [True]], ValueError, "a collection of labels for each row"),
        ([[], []], ValueError, r"shape \(2, 0\)"),
        ([{1}, 2], ValueError, "a collection of labels for each row"),
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
    labels = labels_of(["a", "b", "c"]).take(rows)
    assert labels.classes.tolist() == ["a", "b"]
    assert_array_equal(labels.indicator, [[1, 0], [0, 1]])


def test_labels_that_are_columns_stay_without_rows():
    labels = labels_of(INDICATOR).take(np.array([1, 2]))
    assert_array_equal(labels.indicator, [[1, 0, 0], [0, 0, 0]])


def test_all_rows_are_taken_by_default():
    labels = labels_of(INDICATOR)
    assert labels.take(None) is labels


def test_a_single_class_in_rows_of_positive_weight_is_refused():
    with pytest.raises(ValueError, match="only the class 'a' in rows of positive weight"):
        labels_of(["a", "b", "a"]).take(np.array([0, 2]))


# -- targets of new rows ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["indicator", "sparse"])
@pytest.mark.parametrize("y", [INDICATOR, sparse.csr_array(INDICATOR), INDICATOR.tolist()])
def test_labels_of_new_rows_may_have_another_form_than_those_of_the_fit(y, kind):
    assert_array_equal(indicator_like(y, np.arange(3), kind), INDICATOR)


def test_classes_of_new_rows_find_their_columns():
    classes = np.array(["a", "b", "c"])
    assert_array_equal(indicator_like(["c", "a"], classes, "multiclass"), [[0, 0, 1], [1, 0, 0]])


@pytest.mark.parametrize(
    ("y", "kind", "message"),
    [
        (["a", "z"], "multiclass", "'z', which is not a class of the fit; needed classes among"),
        (INDICATOR, "multiclass", "the fit was given one class for each row"),
        (sparse.csr_array(INDICATOR), "multiclass", "the fit was given one class for each row"),
        (["a", "b"], "indicator", r"shape \(2,\), but the fit was given an indicator"),
        (INDICATOR[:, :2], "indicator", "2 columns, but the fit had 3 labels"),
        (sparse.csr_array(INDICATOR[:, :2]), "sparse", "2 columns, but the fit had 3 labels"),
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
