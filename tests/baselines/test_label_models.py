import pickle
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

import sorr
from sorr.baselines import (
    BinaryRelevance,
    MulticlassSVM,
    PairwiseRanking,
    TopKSVMClassifier,
    label_models,
)
from sorr.estimators import NotConvergedWarning
from sorr.losses import LogSumExpPairwise, SigmoidPairwise
from tests.baselines.problems import conic_label_minimum, label_sets, three_classes
from tests.slow import slow

X, Y = label_sets(60)
X80, Y80 = label_sets(80)
X3, Y3 = three_classes(60)
X90, Y90 = three_classes(90)
NAMES = np.array(["a", "b", "c"])[Y90]
WEIGHT = np.random.default_rng(0).integers(0, 3, 80)


# -- Binary relevance ------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_each_label_is_scikit_learns_logistic_regression(weight, fit_intercept):
    model = BinaryRelevance(C=5.0, fit_intercept=fit_intercept).fit(X80, Y80, weight)
    total = 80 if weight is None else weight.sum()
    peer = LogisticRegression(C=5.0 / total, fit_intercept=fit_intercept, tol=1e-6, max_iter=1000)
    for j in range(Y80.shape[1]):
        peer.fit(X80, Y80[:, j], weight)
        # rows of no weight are left out before the fit: the same minimum from the same start
        assert_allclose(model.coef_[j], peer.coef_[0], rtol=1e-4, atol=1e-6)
        assert_allclose(model.intercept_[j], np.squeeze(peer.intercept_), rtol=1e-4, atol=1e-6)


def test_a_label_that_all_rows_have_or_none_has_the_same_score_everywhere():
    odd = np.column_stack([Y80, np.ones(80, bool), np.zeros(80, bool)])
    model = BinaryRelevance(k=2).fit(X80, odd)
    assert_array_equal(model.coef_[5:], 0)
    assert_allclose(model.intercept_[5:], [np.log(80.5 / 0.5), np.log(0.5 / 80.5)])
    assert_array_equal(model.coef_[:5], BinaryRelevance(k=2).fit(X80, Y80).coef_)
    assert (model.predict(X80)[:, 5] == 1).mean() > 0.9
    assert_array_equal(model.predict(X80)[:, 6], 0)
    bare = BinaryRelevance(fit_intercept=False).fit(X80, odd)
    assert_array_equal(bare.intercept_, 0)


def test_one_class_for_each_row_is_one_against_the_rest():
    model = BinaryRelevance(k=2, C=9.0).fit(X90, NAMES)
    for name, coef in zip("abc", model.coef_, strict=True):
        peer = LogisticRegression(C=0.1, tol=1e-6, max_iter=1000)
        peer.fit(X90, np.equal(NAMES, name))
        assert_allclose(coef, peer.coef_[0], rtol=1e-6)
    assert set(model.predict(X90)) == set("abc")


def test_a_logistic_regression_that_does_not_end_makes_for_a_warning(monkeypatch):
    brief = partial(label_models.logistic_scores, max_iter=1)
    monkeypatch.setattr(label_models, "logistic_scores", brief)
    with pytest.warns(NotConvergedWarning, match=r"Not converged: the logistic .*lower C, or"):
        BinaryRelevance().fit(X80, Y80)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"C": 0.0}, ValueError, "C=0.0 is not positive"),
        ({"C": "1"}, TypeError, "C='1' is of type str"),
        ({"tol": 0.0}, ValueError, "needed a number above 0"),
        ({"k": 3}, ValueError, "k=3 labels cannot be chosen among 3"),
        ({"k": True}, TypeError, "k=True is of type bool"),
        ({"fit_intercept": "no"}, TypeError, "needed True or False"),
    ],
)
def test_wrong_parameters_of_binary_relevance_are_refused(parameters, error, message):
    with pytest.raises(error, match=message):
        BinaryRelevance(**parameters).fit(X90, NAMES)


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    model = BinaryRelevance().fit(X90, NAMES)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="needed 0 and 1 only"):
        model.fit(X80, 2 * Y80)
    assert_array_equal(model.coef_, before)
    assert list(model.classes_) == ["a", "b", "c"]


def test_it_is_public():
    assert "BinaryRelevance" in sorr.baselines.__all__


# -- Pairwise ranking ------------------------------------------------------------------------------


def objective(model, loss, X=X, Y=Y, C=10.0):
    raw = X @ model.coef_.T + model.intercept_
    return loss.value(Y, raw).mean() + (model.coef_**2).sum() / (2 * C)


@pytest.mark.parametrize("fit_intercept", [True, *slow(False)])
@pytest.mark.parametrize("weight", [np.arange(60) % 3, *slow(None)])
def test_linear_outputs_reach_the_optimum_of_cvxpy(weight, fit_intercept):
    model = PairwiseRanking(outputs="linear", C=10.0, fit_intercept=fit_intercept)
    model.fit(X, Y, weight)
    best = conic_label_minimum(
        X,
        Y,
        "lsep",
        10.0,
        weight=weight,
        fit_intercept=fit_intercept,
    )
    assert model.objective_ == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize(
    ("outputs", "loss"), [("linear", LogSumExpPairwise()), ("sigmoid", SigmoidPairwise())]
)
def test_what_is_kept_of_a_fit_goes_together(outputs, loss):
    model = PairwiseRanking(2, outputs=outputs, C=10.0).fit(X, Y)
    assert model.objective_ == pytest.approx(objective(model, loss))
    assert model.n_iter_ > 1
    step = np.random.default_rng(0).standard_normal(model.coef_.shape)
    for size in (-1e-3, 1e-3):
        moved = PairwiseRanking(2, outputs=outputs).fit(X, Y)
        moved.coef_, moved.intercept_ = model.coef_ + size * step, model.intercept_
        assert objective(moved, loss) > model.objective_


def test_with_one_label_each_linear_outputs_are_the_softmax():
    X, y = three_classes(90)
    model = PairwiseRanking(outputs="linear", C=10.0, tol=1e-8).fit(X, y)
    peer = LogisticRegression(C=10.0 / 90, tol=1e-8, max_iter=1000).fit(X, y)
    assert_allclose(model.coef_, peer.coef_, atol=1e-6)
    assert_allclose(model.intercept_, peer.intercept_ - peer.intercept_.mean(), atol=1e-6)


def test_other_starts_lead_no_lower_than_zero():
    model = PairwiseRanking(C=100.0).fit(X, Y)
    for seed in range(5):
        other = PairwiseRanking(C=100.0, warm_start=True).fit(X, Y)
        random = np.random.default_rng(seed)
        other.coef_ = random.standard_normal(model.coef_.shape)
        other.intercept_ = random.standard_normal(model.intercept_.shape)
        assert other.fit(X, Y).objective_ >= model.objective_ - 1e-6


def test_a_row_that_is_wrong_by_far_moves_sigmoid_outputs_less_than_linear_ones():
    far = X.copy()
    far[5] *= 30
    wrong = Y.copy()
    wrong[5] = ~wrong[5]

    def moved(outputs, C):
        model = PairwiseRanking(outputs=outputs, C=C)
        clean, dirty = (model.fit(*data).coef_ for data in ((X, Y), (far, wrong)))
        return np.linalg.norm(dirty - clean) / np.linalg.norm(clean)

    assert moved("sigmoid", 160.0) < 0.7 * moved("linear", 10.0)


@pytest.mark.parametrize("outputs", ["sigmoid", "linear"])
def test_a_warm_start_goes_on_from_the_last_fit(outputs):
    model = PairwiseRanking(outputs=outputs, warm_start=True).fit(X, Y)
    cold, value = model.n_iter_, model.objective_
    assert model.fit(X, Y).n_iter_ < cold / 3
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    model.fit(X[:, :2], Y[:, 1:])  # of other labels and features: from the beginning
    fresh = PairwiseRanking(outputs=outputs).fit(X[:, :2], Y[:, 1:])
    assert_array_equal(model.coef_, fresh.coef_)


def test_too_few_steps_make_for_a_warning():
    with pytest.warns(NotConvergedWarning, match=r"Not converged in 2 steps; .*raise tol or max_i"):
        model = PairwiseRanking(max_iter=2).fit(X, Y)
    assert model.n_iter_ == 2


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"outputs": "sigmoids"}, ValueError, "did you mean 'sigmoid'"),
        ({"C": -1}, ValueError, "C=-1 is not positive"),
        ({"tol": None}, ValueError, "tol=None is not a tolerance"),
        ({"max_iter": 0}, ValueError, "needed an int, 1 or more"),
        ({"warm_start": 1}, TypeError, "needed True or False"),
        ({"fit_intercept": "no"}, TypeError, "needed True or False"),
        ({"k": 5}, ValueError, "k=5 labels cannot be chosen among 5"),
    ],
)
def test_wrong_parameters_of_pairwise_ranking_are_refused(parameters, error, message):
    with pytest.raises(error, match=message):
        PairwiseRanking(**parameters).fit(X, Y)


# -- What all baselines over labels have in common -------------------------------------------------


MODELS = [
    BinaryRelevance(2),
    MulticlassSVM(2),
    PairwiseRanking(2),
    PairwiseRanking(2, outputs="linear"),
    TopKSVMClassifier(2),
]
each = pytest.mark.parametrize(
    "model", [MODELS[0], *MODELS[2:4], *slow(MODELS[1], MODELS[4])], ids=repr
)


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
    dense, thin = (
        fitted(model, X3, Y3),
        fitted(model, sparse.csr_array(X3), Y3),
    )
    assert_allclose(raw(thin, X3), raw(dense, X3), atol=2e-5)


@each
def test_rows_of_weight_two_are_two_copies_and_of_weight_zero_are_not_there(model):
    weight = np.random.default_rng(0).integers(0, 3, 60)
    weighted = fitted(model, X, Y, weight)
    copies = fitted(model, np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0))
    assert_allclose(raw(weighted, X), raw(copies, X), atol=2e-5)


@pytest.mark.slow
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
    once, twice = (
        fitted(model, X3, Y3),
        fitted(model, X3, Y3, np.full(60, 2.0)),
    )
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
