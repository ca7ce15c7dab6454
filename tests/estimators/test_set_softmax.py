"""The classifier of label sets, from checks of scikit-learn to its relation with softmax."""

import pickle
from itertools import combinations

import numpy as np
import pytest
from scipy import optimize, sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from sorr.estimators import NotConvergedWarning, set_softmax
from sorr.estimators.set_softmax import LabelSetClassifier
from sorr.metrics import topk_accuracy, topk_multilabel_accuracy
from sorr.solvers import Status


@parametrize_with_checks([LabelSetClassifier()])
def test_scikit_learn_finds_nothing_to_complain_about(estimator, check):
    check(estimator)


def labelled(n=120, d=4, n_labels=6, seed=0):
    """Return rows, and labels of which some go together."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = X @ rng.normal(size=(d, n_labels)) + 0.5 * rng.normal(size=(n, n_labels)) > 0.7
    Y[:, 1] |= Y[:, 0]
    return X, Y.astype(int)


def three_classes(n=150, seed=0):
    rng = np.random.default_rng(seed)
    index = rng.integers(3, size=n)
    centres = np.array([[2.0, 0.0], [-1.0, 1.7], [-1.0, -1.7]])
    return centres[index] + rng.normal(size=(n, 2)), np.array(["a", "b", "c"])[index]


def test_probabilities_are_those_of_the_formula():
    X, Y = labelled()
    model = LabelSetClassifier(k=2, C=5.0).fit(X, Y)
    probability = model.predict_set_proba(X[:7])
    scores = X[:7] @ model.coef_.T + model.intercept_
    for row, score in zip(probability, scores, strict=True):
        logits = [score[labels].sum() for labels in model.sets_] + model.set_intercept_
        np.testing.assert_allclose(row, np.exp(logits) / np.exp(logits).sum(), atol=1e-12)
    np.testing.assert_allclose(model.intercept_, -X.mean(axis=0) @ model.coef_.T, atol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_the_labels_that_are_predicted_are_the_most_likely_to_be_right(k):
    X, Y = labelled()
    model = LabelSetClassifier(k=k).fit(X, Y)
    predicted = model.predict(X)
    assert (predicted.sum(axis=1) == k).all()
    for row, chosen in zip(model.predict_set_proba(X), predicted, strict=True):
        chances = {}
        for labels in combinations(range(6), k):
            z = np.isin(np.arange(6), labels)
            is_right = (model.sets_ <= z).all(axis=1) | (model.sets_ >= z).all(axis=1)
            chances[labels] = row @ is_right
        assert chances[tuple(np.flatnonzero(chosen))] >= max(chances.values()) - 1e-9


@pytest.mark.parametrize("k", [1, 2, 4])
def test_all_ways_to_predict_agree(k):
    X, Y = labelled()
    model = LabelSetClassifier(k=k).fit(X[:80], Y[:80])
    predicted, scores = model.predict(X), model.decision_function(X)
    np.testing.assert_array_equal(scores > 0, predicted == 1)
    names = model.predict_topk(X)
    assert names.shape == (120, k)
    for row, labels in zip(names, predicted, strict=True):
        assert set(row.tolist()) == set(np.flatnonzero(labels).tolist())
    marginal = model.predict_set_proba(X) @ model.sets_
    ordered = np.take_along_axis(marginal, names, axis=1)
    assert (np.diff(ordered, axis=1) <= 1e-12).all()  # the most probable first
    accuracy = model.score(X, Y)
    n_right = (Y & predicted.astype(bool)).sum(axis=1)
    assert accuracy == np.mean(n_right == np.minimum(Y.sum(axis=1), k))
    assert accuracy == topk_multilabel_accuracy(Y, scores, k=k)
    assert not hasattr(model, "predict_proba")


def test_k_may_be_changed_without_another_fit():
    X, Y = labelled()
    model = LabelSetClassifier(k=1).fit(X, Y)
    for k in (1, 2, 3, 4, 5):
        other = LabelSetClassifier(k=k).fit(X, Y)
        model.set_params(k=k)
        np.testing.assert_array_equal(model.predict(X), other.predict(X))
        assert model.score(X, Y) == other.score(X, Y)
    model.k = 6
    with pytest.raises(ValueError, match="k=6 labels cannot be chosen among 6"):
        model.predict(X)


def test_one_class_for_each_row_is_softmax_regression():
    X, y = three_classes()
    model = LabelSetClassifier(C=20.0, tol=1e-12).fit(X, y)
    target = np.array([[name == label for label in "abc"] for name in y], dtype=float)
    centred = X - X.mean(axis=0)

    def loss(theta):
        coef, offset = theta[:6].reshape(2, 3), theta[6:]
        logits = centred @ coef + offset
        total = np.log(np.exp(logits).sum(axis=1))
        ridge = (coef**2).sum() / 40 + 0.5e-3 * (offset**2).sum()
        return (total - (logits * target).sum(axis=1)).mean() + ridge

    peer = optimize.minimize(loss, np.zeros(9), method="BFGS", options={"gtol": 1e-8})
    assert model.objective_ == pytest.approx(peer.fun, abs=1e-9)
    np.testing.assert_allclose(model.coef_.T.ravel(), peer.x[:6], atol=1e-4)  # by differences
    logits = centred @ peer.x[:6].reshape(2, 3) + peer.x[6:]
    np.testing.assert_allclose(model.decision_function(X), logits, atol=1e-3)
    np.testing.assert_array_equal(model.predict(X), np.array(list("abc"))[logits.argmax(axis=1)])
    for k in (1, 2):
        model.k = k
        np.testing.assert_allclose(model.score(X, y), topk_accuracy(y, logits, k)[0])
        assert model.predict_topk(X).shape == (150, k)
    assert (model.predict_topk(X)[:, 0] == model.predict(X)).all()


def test_two_classes_have_one_score():
    X, y = three_classes()
    is_two = y != "c"
    model = LabelSetClassifier().fit(X[is_two], y[is_two])
    scores = model.decision_function(X)
    assert scores.shape == (150,)
    np.testing.assert_array_equal(model.predict(X), np.where(scores > 0, "b", "a"))


def test_every_form_of_the_target_gives_the_same_model():
    X, Y = labelled()
    model = LabelSetClassifier(k=2).fit(X, Y)
    for form in (sparse.csr_array(Y), Y.astype(bool), Y.tolist()):
        other = LabelSetClassifier(k=2).fit(X, form)
        np.testing.assert_array_equal(other.coef_, model.coef_)
        predicted = other.predict(X)
        assert sparse.issparse(predicted) == sparse.issparse(form)
        dense = predicted.toarray() if sparse.issparse(form) else predicted
        np.testing.assert_array_equal(dense, model.predict(X))
        assert other.score(X, form) == model.score(X, Y)


def test_dense_and_sparse_rows_give_the_same_predictions():
    X, Y = labelled()
    X[X < 0] = 0
    dense, thin = (LabelSetClassifier(k=2, tol=1e-10).fit(A, Y) for A in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(dense.coef_, thin.coef_, atol=1e-4)
    np.testing.assert_allclose(
        dense.predict_set_proba(X), thin.predict_set_proba(sparse.csr_array(X)), atol=1e-4
    )


def test_a_weight_is_a_number_of_copies():
    X, Y = labelled()
    weight = np.random.default_rng(3).integers(0, 3, size=len(X))
    many = np.repeat(np.arange(len(X)), weight)
    one = LabelSetClassifier(tol=1e-10).fit(X, Y, sample_weight=weight)
    other = LabelSetClassifier(tol=1e-10).fit(X[many], Y[many])
    np.testing.assert_array_equal(one.sets_, other.sets_)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-5)
    np.testing.assert_allclose(one.set_intercept_, other.set_intercept_, atol=1e-4)


def test_the_order_of_rows_and_labels_does_not_matter():
    X, Y = labelled()
    rng = np.random.default_rng(0)
    rows, labels = rng.permutation(len(X)), rng.permutation(6)
    model = LabelSetClassifier(k=2, tol=1e-10).fit(X, Y)
    other = LabelSetClassifier(k=2, tol=1e-10).fit(X[rows], Y[rows][:, labels])
    np.testing.assert_allclose(other.coef_, model.coef_[labels], atol=1e-5)
    np.testing.assert_array_equal(other.predict(X), model.predict(X)[:, labels])


def test_a_warm_start_leads_to_the_same_model_in_fewer_steps():
    X, Y = labelled()
    cold = LabelSetClassifier(C=10.0, tol=1e-8).fit(X, Y)
    warm = LabelSetClassifier(C=9.0, tol=1e-8, warm_start=True).fit(X, Y)
    warm.set_params(C=10.0).fit(X, Y)
    assert warm.n_iter_ < cold.n_iter_
    np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-3)
    # from other rows, which have other sets; and from other labels, which are no start
    for rows, columns in ((slice(60), slice(6)), (slice(None), slice(1, 6))):
        other = LabelSetClassifier(tol=1e-8, warm_start=True).fit(X[rows], Y[rows, columns])
        other.fit(X, Y)
        np.testing.assert_allclose(other.coef_, cold.coef_, atol=1e-3)


def test_rows_in_parts_are_the_rows_as_a_whole(monkeypatch):
    X, Y = labelled()
    model = LabelSetClassifier(k=3).fit(X, Y)
    whole = model.predict(X), model.predict_set_proba(X)
    monkeypatch.setattr(set_softmax, "_CHUNK", 50)
    np.testing.assert_array_equal(model.predict(X), whole[0])
    np.testing.assert_allclose(model.predict_set_proba(X), whole[1], atol=1e-12)


def test_rows_without_labels_and_labels_without_rows_are_taken():
    X, Y = labelled()
    Y[:5], Y[5:9] = 0, 1
    Y = np.column_stack([Y, np.zeros(len(Y), dtype=int)])
    model = LabelSetClassifier(k=2).fit(X, Y)
    assert not model.sets_[:, 6].any()
    assert model.coef_[6].tolist() == [0.0] * 4
    assert (~model.sets_.any(axis=1)).sum() == 1
    assert not model.predict(X)[:, 6].any()


def test_a_single_set_is_predicted_for_all_rows():
    X, Y = np.arange(6.0).reshape(3, 2), np.array([[1, 1, 0]] * 3)
    model = LabelSetClassifier(k=1).fit(X, Y)
    assert model.score(X, Y) == 1.0
    assert model.predict_set_proba(X).tolist() == [[1.0]] * 3
    model.k = 2
    np.testing.assert_array_equal(model.predict(X), Y)


@pytest.mark.parametrize("value", [0, 1])
def test_a_single_set_is_certified_where_shares_of_rows_are_rounded(value):
    X, Y = np.random.default_rng(0).normal(size=(60, 3)), np.full((60, 4), value)
    model = LabelSetClassifier(k=1).fit(X, Y)  # a warning would be an error
    assert model.gap_ <= 1e-6


def test_what_is_known_of_the_fit_is_kept():
    X, Y = labelled()
    model = LabelSetClassifier().fit(X, Y)
    assert model.status_ is Status.OPTIMAL
    assert 0 <= model.gap_ <= 1e-6
    assert model.n_iter_ > 1
    with pytest.warns(NotConvergedWarning, match="raise tol or max_iter"):
        LabelSetClassifier(max_iter=2).fit(X, Y)


def test_progress_is_reported_if_asked_for(capsys):
    X, Y = labelled()
    LabelSetClassifier(verbose=2).fit(X, Y)
    assert "[LabelSetClassifier]" in capsys.readouterr().err


def test_clones_pickles_and_searches_work():
    X, Y = labelled()
    model = LabelSetClassifier(k=2).fit(X, Y)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.predict(X), model.predict(X))
    assert clone(model).get_params() == model.get_params()
    search = GridSearchCV(LabelSetClassifier(k=2), {"C": [0.1, 10.0]}, cv=KFold(3)).fit(X, Y)
    assert search.best_params_["C"] == 10.0


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    X, Y = labelled()
    model = LabelSetClassifier(k=2).fit(X, Y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="k=6 labels cannot be chosen among 6"):
        model.set_params(k=6).fit(X, Y)
    np.testing.assert_array_equal(model.set_params(k=2).predict(X), before)


@pytest.mark.parametrize(
    ("parameters", "error", "match"),
    [
        ({"C": np.inf}, ValueError, "not finite"),
        ({"C": -1.0}, ValueError, "C=-1.0"),
        ({"C": "10"}, TypeError, "needed a number"),
        ({"tol": 0.0}, ValueError, "tol=0.0"),
        ({"max_iter": 0}, ValueError, "max_iter=0"),
        ({"warm_start": 1}, TypeError, "True or False"),
        ({"verbose": True}, TypeError, "0, 1 or 2"),
        ({"k": 0}, ValueError, "k=0"),
        ({"k": 1.0}, TypeError, "float"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, error, match):
    X, Y = labelled()
    with pytest.raises(error, match=match):
        LabelSetClassifier(**parameters).fit(X, Y)
