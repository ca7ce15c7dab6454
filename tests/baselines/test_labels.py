"""What all baselines over labels have in common."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sorr.baselines import (
    BinaryRelevance,
    MulticlassSVM,
    PairwiseRanking,
    TopKSVMClassifier,
)
from tests.baselines.problems import label_sets, three_classes

X, Y = label_sets(60)
X3, Y3 = three_classes(60)
MODELS = [
    BinaryRelevance(2),
    MulticlassSVM(2),
    PairwiseRanking(2),
    PairwiseRanking(2, outputs="linear"),
    TopKSVMClassifier(2),
]
each = pytest.mark.parametrize("model", MODELS, ids=repr)


def fitted(model, X, y, weight=None):
    return clone(model).fit(X, y, weight)


def raw(model, X):
    scores = X @ model.coef_.T + model.intercept_
    return scores - scores.mean(axis=1, keepdims=True)


@each
def test_sparse_rows_and_sparse_labels_give_the_same_model(model):
    dense = fitted(model, X, Y)
    thin = fitted(model, sparse.csr_matrix(X), sparse.csr_array(Y.astype(int)))
    assert_allclose(raw(thin, X), raw(dense, X), atol=2e-5)
    predicted = thin.predict(sparse.csr_array(X))
    assert sparse.issparse(predicted)
    assert_array_equal(predicted.toarray(), dense.predict(X))


@each
def test_sparse_rows_of_classes_do_too(model):
    dense, thin = fitted(model, X3, Y3), fitted(model, sparse.csr_array(X3), Y3)
    assert_allclose(raw(thin, X3), raw(dense, X3), atol=2e-5)


@each
def test_rows_of_weight_two_are_two_copies_and_of_weight_zero_are_not_there(model):
    weight = np.random.default_rng(0).integers(0, 3, 60)
    weighted = fitted(model, X, Y, weight)
    copies = fitted(model, np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0))
    assert_allclose(raw(weighted, X), raw(copies, X), atol=2e-5)


@pytest.mark.parametrize("model", [MulticlassSVM(2), TopKSVMClassifier(2)], ids=repr)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_so_they_are_where_there_are_many_parameters(model, form):
    X, Y = label_sets(60, d=60, seed=4)
    weight = np.random.default_rng(0).integers(1, 3, 60)
    weighted = fitted(model, form(X), Y, weight)
    copies = fitted(model, form(np.repeat(X, weight, axis=0)), np.repeat(Y, weight, axis=0))
    assert weighted.objective_ == pytest.approx(copies.objective_, rel=2e-3)  # twice the tolerance


@each
def test_twice_the_weight_of_all_rows_changes_nothing(model):
    once, twice = fitted(model, X3, Y3), fitted(model, X3, Y3, np.full(60, 2.0))
    assert_allclose(raw(twice, X3), raw(once, X3), atol=2e-5)


@each
def test_the_order_of_the_rows_does_not_matter(model):
    order = np.random.default_rng(1).permutation(60)
    a, b = fitted(model, X, Y), fitted(model, X[order], Y[order])
    assert_allclose(raw(a, X), raw(b, X), atol=2e-5)


@each
def test_the_order_of_the_labels_does_not_matter(model):
    order = np.random.default_rng(1).permutation(5)
    a, b = fitted(model, X, Y), fitted(model, X, Y[:, order])
    assert_allclose(raw(a, X)[:, order], raw(b, X), atol=2e-5)


@each
def test_the_names_of_the_classes_do_not_matter(model):
    order = np.array([2, 0, 1])
    a, b = fitted(model, X3, Y3), fitted(model, X3, order[Y3])
    assert_allclose(raw(a, X3), raw(b, X3)[:, order], atol=2e-5)
    c = fitted(model, X3, np.array(["x", "y", "z"])[Y3])
    assert_array_equal(c.classes_, ["x", "y", "z"])
    assert_array_equal(c.coef_, a.coef_)


@each
def test_a_frame_is_an_indicator_with_names(model):
    pandas = pytest.importorskip("pandas")
    names = np.array(["a", "b", "c", "d", "e"])
    frame = pandas.DataFrame(Y, columns=names)
    model, peer = fitted(model, X, frame), fitted(model, X, Y)
    assert_array_equal(model.coef_, peer.coef_)
    assert_array_equal(model.predict_topk(X), names[peer.predict_topk(X)])
    assert model.score(X, frame) == peer.score(X, Y)


@each
def test_rows_with_no_label_or_all_labels_are_right_and_labels_that_never_occur_stay(model):
    odd = np.column_stack([Y, np.zeros(60, bool)])
    odd[:2] = [[False], [True]]
    odd[1:, 5] = False
    model = fitted(model, X, odd)
    assert model.coef_.shape == (6, 4)
    assert np.isfinite(model.coef_).all()
    assert model.score(X[:1], np.zeros((1, 6))) == model.score(X[:1], np.ones((1, 6))) == 1
    assert_array_equal(model.predict(X)[:, 5], 0)


@each
def test_they_learn_more_than_which_labels_are_frequent(model):
    X, Y = label_sets(400)
    always = np.tile(Y.sum(axis=0) >= np.sort(Y.sum(axis=0))[-2], (200, 1))
    hits = (always & Y[200:]).sum(axis=1) == np.minimum(2, Y[200:].sum(axis=1))
    assert fitted(model, X[:200], Y[:200]).score(X[200:], Y[200:]) > hits.mean() + 0.1


@pytest.mark.digits
@each
def test_the_same_data_give_the_same_bytes_and_copies_predict_alike(model):
    a, b = fitted(model, X3, Y3), fitted(model, X3, Y3)
    assert a.coef_.tobytes() == b.coef_.tobytes()
    copied = pickle.loads(pickle.dumps(a))
    assert_array_equal(copied.decision_function(X3), a.decision_function(X3))


@each
def test_a_grid_search_chooses_the_ridge(model):
    search = GridSearchCV(clone(model).set_params(k=1), {"C": [1e-6, 10.0]}, cv=3).fit(X3, Y3)
    assert search.best_params_["C"] in (1e-6, 10.0)
    assert search.best_score_ > 0.6


@each
def test_wrong_data_are_refused(model):
    for data, message in (
        ((X3 * np.nan, Y3), "NaN"),
        ((X3, Y3[:5]), "60 rows, y 5"),
        ((X3, Y3, -np.ones(60)), "negative weight"),
        ((X3, np.zeros(60, int)), "one class only"),
    ):
        with pytest.raises(ValueError, match=message):
            fitted(model, *data)
