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

X, Y = label_sets(80)
X3, Y3 = three_classes(90)
NAMES = np.array(["a", "b", "c"])[Y3]
WEIGHT = np.random.default_rng(0).integers(0, 3, 80)


# -- each label by itself ------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_each_label_is_scikit_learns_logistic_regression(weight, fit_intercept):
    model = BinaryRelevance(C=5.0, fit_intercept=fit_intercept).fit(X, Y, weight)
    total = 80 if weight is None else weight.sum()
    peer = LogisticRegression(C=5.0 / total, fit_intercept=fit_intercept, tol=1e-6, max_iter=1000)
    for j in range(Y.shape[1]):
        peer.fit(X, Y[:, j], weight)
        # rows of no weight are left out before the fit: the same minimum from the same start
        assert_allclose(model.coef_[j], peer.coef_[0], rtol=1e-4, atol=1e-6)
        assert_allclose(model.intercept_[j], np.squeeze(peer.intercept_), rtol=1e-4, atol=1e-6)


def test_a_label_that_all_rows_have_or_none_has_the_same_score_everywhere():
    odd = np.column_stack([Y, np.ones(80, bool), np.zeros(80, bool)])
    model = BinaryRelevance(k=2).fit(X, odd)
    assert_array_equal(model.coef_[5:], 0)
    assert_allclose(model.intercept_[5:], [np.log(80.5 / 0.5), np.log(0.5 / 80.5)])
    assert_array_equal(model.coef_[:5], BinaryRelevance(k=2).fit(X, Y).coef_)
    assert (model.predict(X)[:, 5] == 1).mean() > 0.9
    assert_array_equal(model.predict(X)[:, 6], 0)
    bare = BinaryRelevance(fit_intercept=False).fit(X, odd)
    assert_array_equal(bare.intercept_, 0)


def test_one_class_for_each_row_is_one_against_the_rest():
    model = BinaryRelevance(k=2, C=9.0).fit(X3, NAMES)
    for name, coef in zip("abc", model.coef_, strict=True):
        peer = LogisticRegression(C=0.1, tol=1e-6, max_iter=1000)
        peer.fit(X3, np.equal(NAMES, name))
        assert_allclose(coef, peer.coef_[0], rtol=1e-6)
    assert set(model.predict(X3)) == set("abc")


def test_a_logistic_regression_that_does_not_end_makes_for_a_warning(monkeypatch):
    brief = partial(label_models.logistic_scores, max_iter=1)
    monkeypatch.setattr(label_models, "logistic_scores", brief)
    with pytest.warns(NotConvergedWarning, match=r"Not converged: the logistic .*lower C, or"):
        BinaryRelevance().fit(X, Y)


# -- wrong parameters and data -------------------------------------------------------------------


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
def test_wrong_parameters_are_refused(parameters, error, message):
    with pytest.raises(error, match=message):
        BinaryRelevance(**parameters).fit(X3, NAMES)


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    model = BinaryRelevance().fit(X3, NAMES)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="needed 0 and 1 only"):
        model.fit(X, 2 * Y)
    assert_array_equal(model.coef_, before)
    assert list(model.classes_) == ["a", "b", "c"]


def test_it_is_public():
    assert "BinaryRelevance" in sorr.baselines.__all__


PAIRWISE_RANKING_X, PAIRWISE_RANKING_Y = label_sets(60)


def objective(model, loss, X=PAIRWISE_RANKING_X, Y=PAIRWISE_RANKING_Y, C=10.0):
    raw = X @ model.coef_.T + model.intercept_
    return loss.value(Y, raw).mean() + (model.coef_**2).sum() / (2 * C)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weight", [None, np.arange(60) % 3])
def test_linear_outputs_reach_the_optimum_of_cvxpy(weight, fit_intercept):
    model = PairwiseRanking(outputs="linear", C=10.0, fit_intercept=fit_intercept)
    model.fit(PAIRWISE_RANKING_X, PAIRWISE_RANKING_Y, weight)
    best = conic_label_minimum(
        PAIRWISE_RANKING_X,
        PAIRWISE_RANKING_Y,
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
    model = PairwiseRanking(2, outputs=outputs, C=10.0).fit(PAIRWISE_RANKING_X, PAIRWISE_RANKING_Y)
    assert model.objective_ == pytest.approx(objective(model, loss))
    assert model.n_iter_ > 1
    step = np.random.default_rng(0).standard_normal(model.coef_.shape)
    for size in (-1e-3, 1e-3):
        moved = PairwiseRanking(2, outputs=outputs).fit(PAIRWISE_RANKING_X, PAIRWISE_RANKING_Y)
        moved.coef_, moved.intercept_ = model.coef_ + size * step, model.intercept_
        assert objective(moved, loss) > model.objective_


def test_with_one_label_each_linear_outputs_are_the_softmax():
    PAIRWISE_RANKING_X, y = three_classes(90)
    model = PairwiseRanking(outputs="linear", C=10.0, tol=1e-8).fit(PAIRWISE_RANKING_X, y)
    peer = LogisticRegression(C=10.0 / 90, tol=1e-8, max_iter=1000).fit(PAIRWISE_RANKING_X, y)
    assert_allclose(model.coef_, peer.coef_, atol=1e-6)
    assert_allclose(model.intercept_, peer.intercept_ - peer.intercept_.mean(), atol=1e-6)


def test_other_starts_lead_no_lower_than_zero():
    model = PairwiseRanking(C=100.0).fit(PAIRWISE_RANKING_X, PAIRWISE_RANKING_Y)
    for seed in range(5):
        other = PairwiseRanking(C=100.0, warm_start=True).fit(
            PAIRWISE_RANKING_X, PAIRWISE_RANKING_Y
        )
        random = np.random.default_rng(seed)
        other.coef_ = random.standard_normal(model.coef_.shape)
        other.intercept_ = random.standard_normal(model.intercept_.shape)
        assert (
            other.fit(PAIRWISE_RANKING_X, PAIRWISE_RANKING_Y).objective_ >= model.objective_ - 1e-6
        )


def test_a_row_that_is_wrong_by_far_moves_sigmoid_outputs_less_than_linear_ones():
    far = PAIRWISE_RANKING_X.copy()
    far[5] *= 30
    wrong = PAIRWISE_RANKING_Y.copy()
    wrong[5] = ~wrong[5]

    def moved(outputs, C):
        model = PairwiseRanking(outputs=outputs, C=C)
        clean, dirty = (
            model.fit(*data).coef_
            for data in ((PAIRWISE_RANKING_X, PAIRWISE_RANKING_Y), (far, wrong))
        )
        return np.linalg.norm(dirty - clean) / np.linalg.norm(clean)

    assert moved("sigmoid", 160.0) < 0.7 * moved("linear", 10.0)


@pytest.mark.parametrize("outputs", ["sigmoid", "linear"])
def test_a_warm_start_goes_on_from_the_last_fit(outputs):
    model = PairwiseRanking(outputs=outputs, warm_start=True).fit(
        PAIRWISE_RANKING_X, PAIRWISE_RANKING_Y
    )
    cold, value = model.n_iter_, model.objective_
    assert model.fit(PAIRWISE_RANKING_X, PAIRWISE_RANKING_Y).n_iter_ < cold / 3
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    model.fit(
        PAIRWISE_RANKING_X[:, :2], PAIRWISE_RANKING_Y[:, 1:]
    )  # of other labels and features: from the beginning
    fresh = PairwiseRanking(outputs=outputs).fit(
        PAIRWISE_RANKING_X[:, :2], PAIRWISE_RANKING_Y[:, 1:]
    )
    assert_array_equal(model.coef_, fresh.coef_)


def test_too_few_steps_make_for_a_warning():
    with pytest.warns(NotConvergedWarning, match=r"Not converged in 2 steps; .*raise tol or max_i"):
        model = PairwiseRanking(max_iter=2).fit(PAIRWISE_RANKING_X, PAIRWISE_RANKING_Y)
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
def test_wrong_parameters_are_refused_in_pairwise_ranking(parameters, error, message):
    with pytest.raises(error, match=message):
        PairwiseRanking(**parameters).fit(PAIRWISE_RANKING_X, PAIRWISE_RANKING_Y)


# -- What all baselines over labels have in common -------------------------------------------------


LABELS_X, LABELS_Y = label_sets(60)
LABELS_X3, LABELS_Y3 = three_classes(60)
MODELS = [
    BinaryRelevance(2),
    MulticlassSVM(2),
    PairwiseRanking(2),
    PairwiseRanking(2, outputs="linear"),
    TopKSVMClassifier(2),
]
each = pytest.mark.parametrize("model", MODELS, ids=repr)


def fitted(model, LABELS_X, y, weight=None):
    return clone(model).fit(LABELS_X, y, weight)


def raw(model, LABELS_X):
    scores = LABELS_X @ model.coef_.T + model.intercept_
    return scores - scores.mean(axis=1, keepdims=True)


@each
def test_sparse_rows_and_sparse_labels_give_the_same_model(model):
    dense = fitted(model, LABELS_X, LABELS_Y)
    thin = fitted(model, sparse.csr_matrix(LABELS_X), sparse.csr_array(LABELS_Y.astype(int)))
    assert_allclose(raw(thin, LABELS_X), raw(dense, LABELS_X), atol=2e-5)
    predicted = thin.predict(sparse.csr_array(LABELS_X))
    assert sparse.issparse(predicted)
    assert_array_equal(predicted.toarray(), dense.predict(LABELS_X))


@each
def test_sparse_rows_of_classes_do_too(model):
    dense, thin = (
        fitted(model, LABELS_X3, LABELS_Y3),
        fitted(model, sparse.csr_array(LABELS_X3), LABELS_Y3),
    )
    assert_allclose(raw(thin, LABELS_X3), raw(dense, LABELS_X3), atol=2e-5)


@each
def test_rows_of_weight_two_are_two_copies_and_of_weight_zero_are_not_there(model):
    weight = np.random.default_rng(0).integers(0, 3, 60)
    weighted = fitted(model, LABELS_X, LABELS_Y, weight)
    copies = fitted(model, np.repeat(LABELS_X, weight, axis=0), np.repeat(LABELS_Y, weight, axis=0))
    assert_allclose(raw(weighted, LABELS_X), raw(copies, LABELS_X), atol=2e-5)


@pytest.mark.parametrize("model", [MulticlassSVM(2), TopKSVMClassifier(2)], ids=repr)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_so_they_are_where_there_are_many_parameters(model, form):
    LABELS_X, LABELS_Y = label_sets(60, d=60, seed=4)
    weight = np.random.default_rng(0).integers(1, 3, 60)
    weighted = fitted(model, form(LABELS_X), LABELS_Y, weight)
    copies = fitted(
        model, form(np.repeat(LABELS_X, weight, axis=0)), np.repeat(LABELS_Y, weight, axis=0)
    )
    assert weighted.objective_ == pytest.approx(copies.objective_, rel=2e-3)  # twice the tolerance


@each
def test_twice_the_weight_of_all_rows_changes_nothing(model):
    once, twice = (
        fitted(model, LABELS_X3, LABELS_Y3),
        fitted(model, LABELS_X3, LABELS_Y3, np.full(60, 2.0)),
    )
    assert_allclose(raw(twice, LABELS_X3), raw(once, LABELS_X3), atol=2e-5)


@each
def test_the_order_of_the_rows_does_not_matter(model):
    order = np.random.default_rng(1).permutation(60)
    a, b = fitted(model, LABELS_X, LABELS_Y), fitted(model, LABELS_X[order], LABELS_Y[order])
    assert_allclose(raw(a, LABELS_X), raw(b, LABELS_X), atol=2e-5)


@each
def test_the_order_of_the_labels_does_not_matter(model):
    order = np.random.default_rng(1).permutation(5)
    a, b = fitted(model, LABELS_X, LABELS_Y), fitted(model, LABELS_X, LABELS_Y[:, order])
    assert_allclose(raw(a, LABELS_X)[:, order], raw(b, LABELS_X), atol=2e-5)


@each
def test_the_names_of_the_classes_do_not_matter(model):
    order = np.array([2, 0, 1])
    a, b = fitted(model, LABELS_X3, LABELS_Y3), fitted(model, LABELS_X3, order[LABELS_Y3])
    assert_allclose(raw(a, LABELS_X3), raw(b, LABELS_X3)[:, order], atol=2e-5)
    c = fitted(model, LABELS_X3, np.array(["x", "y", "z"])[LABELS_Y3])
    assert_array_equal(c.classes_, ["x", "y", "z"])
    assert_array_equal(c.coef_, a.coef_)


@each
def test_a_frame_is_an_indicator_with_names(model):
    pandas = pytest.importorskip("pandas")
    names = np.array(["a", "b", "c", "d", "e"])
    frame = pandas.DataFrame(LABELS_Y, columns=names)
    model, peer = fitted(model, LABELS_X, frame), fitted(model, LABELS_X, LABELS_Y)
    assert_array_equal(model.coef_, peer.coef_)
    assert_array_equal(model.predict_topk(LABELS_X), names[peer.predict_topk(LABELS_X)])
    assert model.score(LABELS_X, frame) == peer.score(LABELS_X, LABELS_Y)


@each
def test_rows_with_no_label_or_all_labels_are_right_and_labels_that_never_occur_stay(model):
    odd = np.column_stack([LABELS_Y, np.zeros(60, bool)])
    odd[:2] = [[False], [True]]
    odd[1:, 5] = False
    model = fitted(model, LABELS_X, odd)
    assert model.coef_.shape == (6, 4)
    assert np.isfinite(model.coef_).all()
    assert (
        model.score(LABELS_X[:1], np.zeros((1, 6)))
        == model.score(LABELS_X[:1], np.ones((1, 6)))
        == 1
    )
    assert_array_equal(model.predict(LABELS_X)[:, 5], 0)


@each
def test_they_learn_more_than_which_labels_are_frequent(model):
    LABELS_X, LABELS_Y = label_sets(400)
    always = np.tile(LABELS_Y.sum(axis=0) >= np.sort(LABELS_Y.sum(axis=0))[-2], (200, 1))
    hits = (always & LABELS_Y[200:]).sum(axis=1) == np.minimum(2, LABELS_Y[200:].sum(axis=1))
    assert (
        fitted(model, LABELS_X[:200], LABELS_Y[:200]).score(LABELS_X[200:], LABELS_Y[200:])
        > hits.mean() + 0.1
    )


@pytest.mark.digits
@each
def test_the_same_data_give_the_same_bytes_and_copies_predict_alike(model):
    a, b = fitted(model, LABELS_X3, LABELS_Y3), fitted(model, LABELS_X3, LABELS_Y3)
    assert a.coef_.tobytes() == b.coef_.tobytes()
    copied = pickle.loads(pickle.dumps(a))
    assert_array_equal(copied.decision_function(LABELS_X3), a.decision_function(LABELS_X3))


@each
def test_a_grid_search_chooses_the_ridge(model):
    search = GridSearchCV(clone(model).set_params(k=1), {"C": [1e-6, 10.0]}, cv=3).fit(
        LABELS_X3, LABELS_Y3
    )
    assert search.best_params_["C"] in (1e-6, 10.0)
    assert search.best_score_ > 0.6


@each
def test_wrong_data_are_refused(model):
    for data, message in (
        ((LABELS_X3 * np.nan, LABELS_Y3), "NaN"),
        ((LABELS_X3, LABELS_Y3[:5]), "60 rows, y 5"),
        ((LABELS_X3, LABELS_Y3, -np.ones(60)), "negative weight"),
        ((LABELS_X3, np.zeros(60, int)), "one class only"),
    ):
        with pytest.raises(ValueError, match=message):
            fitted(model, *data)
