"""From scores of labels to predictions: what every model that ranks labels has in common."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score

from sorr.estimators.topk import TopKLinear, as_label_count

SCORES = np.array(
    [[3.0, 1.0, 2.0, 0.0], [0.0, 0.0, 0.0, 0.0], [-1.0, 5.0, 5.0, 2.0], [1.0, 2.0, 2.0, 2.0]]
)
INDICATOR = np.array([[1, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]])


class Given(TopKLinear):
    """A model whose scores are the rows themselves."""

    def __init__(self, k=1):
        self.k = k

    def fit(self, X, y, sample_weight=None):
        rows, labels = self._label_rows(X, y, sample_weight)
        self.rows = rows
        d, n_labels = rows.X.shape[1], len(labels.classes)
        self._keep_labels(labels, np.eye(d, n_labels), np.zeros(n_labels))
        return self


def test_the_best_labels_come_first_and_of_ties_the_first_label():
    model = Given(k=2).fit(SCORES, INDICATOR)
    assert model.predict_topk(SCORES).tolist() == [[0, 2], [0, 1], [1, 2], [1, 2]]


def test_predictions_are_the_indicator_of_the_best_labels():
    model = Given(k=2).fit(SCORES, INDICATOR)
    found = model.predict(SCORES)
    assert found.dtype == int
    assert_array_equal(found, [[1, 0, 1, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0]])


def test_sparse_targets_make_sparse_predictions():
    dense = Given(k=2).fit(SCORES, INDICATOR).predict(SCORES)
    found = Given(k=2).fit(SCORES, sparse.csr_matrix(INDICATOR)).predict(SCORES)
    assert sparse.issparse(found)
    assert found.format == "csr"
    assert_array_equal(found.toarray(), dense)
    assert accuracy_score(sparse.csr_matrix(INDICATOR), found) == 0.25


def test_the_sign_of_the_decision_is_the_prediction():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    for k in (1, 2, 3):
        model = Given(k=k).fit(X, rng.random((50, 4)) < 0.5)
        assert_array_equal(model.decision_function(X) > 0, model.predict(X) == 1)


def test_the_decision_is_the_score_less_the_middle_of_the_cut():
    model = Given(k=2).fit(SCORES, INDICATOR)
    assert_allclose(model.decision_function(SCORES)[0], [1.5, -0.5, 0.5, -1.5])
    assert_array_equal(model.decision_function(SCORES)[1], np.zeros(4))  # tied: no sign to give


def test_one_class_for_each_row_is_predicted_by_name_and_decided_by_scores():
    model = Given(k=2).fit(SCORES, ["a", "b", "c", "d"])
    assert model.predict(SCORES).tolist() == ["a", "a", "b", "b"]
    assert_array_equal(model.decision_function(SCORES), SCORES)
    assert model.predict_topk(SCORES).shape == (4, 2)


def test_of_two_classes_the_decision_is_a_difference():
    model = Given().fit(SCORES[:, :2], ["no", "yes", "yes", "no"])
    assert_array_equal(model.decision_function(SCORES[:, :2]), [-2, 0, 6, 1])
    assert model.predict(SCORES[:, :2]).tolist() == ["no", "no", "yes", "yes"]
    assert model.coef_.shape == (2, 2)


def test_the_score_asks_for_true_labels_only_or_for_all_that_are_true():
    model = Given(k=2).fit(SCORES, INDICATOR)
    assert model.score(SCORES, INDICATOR) == 0.75  # rows with no label, or all of them, are right
    assert model.score(SCORES, sparse.csr_array(INDICATOR)) == 0.75
    assert model.score(SCORES, INDICATOR, sample_weight=[1, 5, 1, 1]) == 3 / 8


def test_the_score_of_one_class_for_each_row_is_the_top_k_accuracy():
    y = ["a", "c", "c", "a"]
    assert Given(k=1).fit(SCORES, ["a", "b", "c", "d"]).score(SCORES, y) == 0.25
    assert Given(k=2).fit(SCORES, ["a", "b", "c", "d"]).score(SCORES, y) == 0.5
    assert Given(k=3).fit(SCORES, ["a", "b", "c", "d"]).score(SCORES, y) == 0.75


def test_unknown_labels_and_lengths_are_refused_in_the_score():
    model = Given().fit(SCORES, ["a", "b", "c", "d"])
    with pytest.raises(ValueError, match="'z', which is none of the labels of the fit"):
        model.score(SCORES, ["z", "a", "a", "a"])
    model = Given().fit(SCORES, INDICATOR)
    with pytest.raises(ValueError, match="X has 4 rows, y 2"):
        model.score(SCORES, INDICATOR[:2])


def test_rows_of_no_weight_bring_no_labels_of_their_own():
    model = Given().fit(SCORES, ["a", "b", "c", "d"], [1, 1, 0, 2])
    assert model.classes_.tolist() == ["a", "b", "d"]
    assert_array_equal(model.rows.y, np.eye(3, dtype=bool))
    assert_array_equal(model.rows.weight, [1, 1, 2])
    assert Given().fit(SCORES, INDICATOR, [1, 1, 0, 0]).n_labels_ == 4


def test_targets_are_needed_one_for_each_row():
    with pytest.raises(ValueError, match="requires y to be passed"):
        Given().fit(SCORES, None)
    with pytest.raises(ValueError, match="X has 4 rows, y 3"):
        Given().fit(SCORES, INDICATOR[:3])


@pytest.mark.parametrize(
    ("k", "error", "message"),
    [
        (4, ValueError, "k=4 labels cannot be chosen among 4; needed 1 <= k < 4"),
        (7, ValueError, "k=7 labels cannot be chosen among 4"),
        (0, ValueError, "k=0 labels"),
        (-1, ValueError, "k=-1 labels"),
        (1.0, TypeError, "k=1.0 is of type float; needed a number of labels"),
        (True, TypeError, "k=True is of type bool"),
        ("all", TypeError, "k='all' is of type str"),
    ],
)
def test_k_is_a_number_of_labels_below_all_of_them(k, error, message):
    for y in (INDICATOR, INDICATOR, ["a", "b", "c", "d"]):
        with pytest.raises(error, match=message):
            Given(k=k).fit(SCORES, y)


def test_k_may_be_any_kind_of_int():
    assert as_label_count(np.int64(2), 3) == 2


def test_k_may_change_after_the_fit_and_is_checked_again():
    model = Given(k=1).fit(SCORES, INDICATOR).set_params(k=3)
    assert model.predict_topk(SCORES).shape == (4, 3)
    assert_array_equal(model.predict(SCORES).sum(axis=1), 3)
    model.set_params(k=4)
    for method in (model.predict, model.predict_topk, model.decision_function):
        with pytest.raises(ValueError, match="k=4 labels cannot be chosen among 4"):
            method(SCORES)


def test_nothing_is_predicted_before_the_fit():
    for method in ("predict", "predict_topk", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(Given(), method)(SCORES)
