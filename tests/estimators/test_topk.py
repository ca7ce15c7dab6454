"""From scores of labels to predictions: what every model that ranks labels has in common."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sorr import TopKMultilabelClassifier
from sorr._checks import as_label_count
from sorr.estimators import NotConvergedWarning, TopKLinear, logistic_scores
from sorr.estimators.topk import LabelScores, add_standardised
from sorr.losses import MultilabelHinge, TopKMultilabel, TopKSubset
from sorr.metrics import topk_multilabel_accuracy
from sorr.objectives import RankedRangeObjective
from sorr.ranked import Mass
from sorr.solvers import trim
from tests.estimators.problems import label_sets, three_classes
from tests.slow import slow

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
    predicted = model.predict(SCORES)
    assert predicted.dtype == int
    assert_array_equal(predicted, [[1, 0, 1, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0]])


def test_sparse_targets_make_sparse_predictions():
    dense = Given(k=2).fit(SCORES, INDICATOR).predict(SCORES)
    predicted = Given(k=2).fit(SCORES, sparse.csr_matrix(INDICATOR)).predict(SCORES)
    assert sparse.issparse(predicted)
    assert predicted.format == "csr"
    assert_array_equal(predicted.toarray(), dense)
    assert accuracy_score(sparse.csr_matrix(INDICATOR), predicted) == 0.25


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
    with pytest.raises(ValueError, match="'z', which is not a class of the fit"):
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


# -- The classifier whose k best labels are to be true ---------------------------------------------


LOSSES = ("tkml", "subset", "subset+logistic", "multilabel_hinge")
SETS = "abcde"


def top(k=2, loss="tkml", **parameters):
    return TopKMultilabelClassifier(k, loss=loss, random_state=0, **parameters)


@pytest.fixture(scope="module")
def data():
    return label_sets()


@pytest.fixture(params=["tkml", "multilabel_hinge", *slow("subset", "subset+logistic")])
def loss(request):
    return request.param


# -- what is minimised -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("tkml", TopKMultilabel(2)),
        ("subset", TopKSubset(2)),
        ("multilabel_hinge", MultilabelHinge()),
    ],
)
def test_the_objective_is_that_of_the_loss(data, name, same):
    X, Y = data
    model = top(loss=name, C=3.0).fit(X, Y)
    objective = RankedRangeObjective(X, Y, same, C=3.0)
    solution = trim(objective, random_state=0)
    assert_allclose(model.objective_, solution.objective, rtol=1e-6)
    theta = np.vstack([model.coef_.T, model.intercept_])
    assert_allclose(objective.value(theta), model.objective_, rtol=1e-9)
    assert_allclose(model.losses_, same.value(Y, X @ model.coef_.T + model.intercept_), atol=1e-9)
    assert_allclose(model.row_weights_, 1 / len(X))


def test_rows_without_labels_and_with_all_of_them_cost_nothing(data, loss):
    X, Y = data
    model = top(loss=loss).fit(X, Y)
    costs = model.losses_[:2]
    assert_array_equal(costs if loss != "tkml" else costs[:1], 0)
    for y in (np.zeros_like(Y), np.ones_like(Y)):
        assert model.score(X, y) == 1


def test_the_intercept_has_a_mean_of_zero_and_can_be_left_out(data, loss):
    X, Y = data
    assert_allclose(top(loss=loss).fit(X, Y).intercept_.mean(), 0, atol=1e-12)
    assert_array_equal(top(loss=loss, fit_intercept=False).fit(X, Y).intercept_, 0)


def test_a_label_that_no_row_has_is_a_column_with_a_low_score(data, loss):
    X, Y = data
    Y = np.insert(Y, 2, False, axis=1)
    Y[1] = True
    Y[1, 2] = False
    model = top(loss=loss, C=100.0).fit(X, Y)
    assert model.coef_.shape == (6, 4)
    assert model.predict(X)[:, 2].mean() < 0.1


def test_a_label_that_all_rows_have_is_predicted(data, loss):
    X, Y = data
    Y = np.insert(Y, 0, True, axis=1)
    model = top(loss=loss, C=100.0, certify=False).fit(X, Y)
    assert model.predict(X)[:, 0].mean() > 0.9


def test_the_paper_s_algorithm_lowers_the_same_objective(data):
    X, Y = data
    by_trim = top(loss="multilabel_hinge").fit(X, Y)
    by_dca = top(loss="multilabel_hinge", solver="dca").fit(X, Y)
    assert by_trim.objective_ <= by_dca.objective_ * (1 + 1e-9)
    assert_allclose(by_dca.objective_, by_trim.objective_, rtol=1e-3)  # it certifies nothing


# -- logistic scores added -------------------------------------------------------------------------


def test_subset_and_logistic_scores_are_added_in_units_of_their_deviation(data):
    X, Y = data
    both = top(loss="subset+logistic", C_logistic=4.0).fit(X, Y)
    rounded = RankedRangeObjective(X, Y, TopKSubset(both.k).smoothed(2.0), C=both.C)
    subset = trim(rounded, random_state=0)
    models = [LogisticRegression(C=4.0 / len(X), tol=1e-8).fit(X, truth) for truth in Y.T]
    logistic = np.column_stack([model.decision_function(X) for model in models])
    ranked = X @ subset.coef + subset.intercept
    expected = logistic / logistic.std() + ranked / ranked.std()
    scores = X @ both.coef_.T + both.intercept_
    assert_allclose(scores - scores.mean(), expected - expected.mean(), atol=1e-4)
    assert both.objective_ == subset.objective


def test_the_logistic_part_has_the_same_ridge_by_default(data):
    default, same = (
        top(loss="subset+logistic", C=2.0),
        top(loss="subset+logistic", C=2.0, C_logistic=2.0),
    )
    assert_array_equal(default.fit(*data).coef_, same.fit(*data).coef_)


def test_rows_that_are_dropped_are_left_out_of_the_logistic_part_too(data):
    X, Y = data
    wrong = np.arange(2, 12)
    Y = Y.copy()
    Y[wrong] = ~Y[wrong]
    model = top(loss="subset+logistic", m_samples=10).fit(X, Y)
    kept = ~model.outlier_mask_
    again = top(loss="subset+logistic").fit(X[kept], Y[kept])
    ratio = model.coef_ / again.coef_  # deviations are over all rows, so only the scale differs
    assert np.count_nonzero(model.outlier_mask_) == 10
    assert_allclose(again.objective_, model.objective_, rtol=1e-2)  # perhaps another minimum
    assert abs(np.median(ratio) - 1) < 0.2


def test_deviations_are_over_all_rows_that_count_the_dropped_ones_too_by_weight(data):
    X, Y = data
    Y, weight = Y.copy(), np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
    Y[2:12] = ~Y[2:12]
    both = top(loss="subset+logistic", m_samples=20).fit(X, Y, weight)
    kept = (weight > 0) & ~both.outlier_mask_
    logistic = logistic_scores(X[kept], Y[kept], weight[kept], C=both.C).of(X)
    counted = weight > 0
    rounded = RankedRangeObjective(
        X[counted],
        Y[counted],
        TopKSubset(both.k).smoothed(2.0),
        m=Mass(20.0),
        C=both.C,
        sample_weight=weight[counted],
    )
    subset = trim(rounded, random_state=0)
    expected = np.zeros_like(logistic)
    for scores in (logistic, X @ subset.coef + subset.intercept):
        copies = scores.repeat(weight.astype(int), axis=0)
        expected += scores / copies.std()
    scores = X @ both.coef_.T + both.intercept_
    assert_allclose(scores - scores.mean(), expected - expected.mean(), atol=1e-6)


def test_a_logistic_part_that_does_not_converge_says_so(data, monkeypatch):
    def hasty(*rows, **how):
        return logistic_scores(*rows, **how, max_iter=2)

    monkeypatch.setattr("sorr.estimators.topk.logistic_scores", hasty)
    with pytest.warns(NotConvergedWarning, match="the logistic regression of a label"):
        top(loss="subset+logistic").fit(*data)


# -- the form of the data --------------------------------------------------------------------------


# Losses that are not convex have many minima, and rounding decides which of them is found: there
# the same parameters have to cost the same in either form, and both have to be good.


def cost(model, X, Y, weight=None, order=slice(None)):
    """Return the objective of other data at the parameters of a model."""
    loss = {"tkml": TopKMultilabel(2), "subset": TopKSubset(2)}.get(model.loss, MultilabelHinge())
    m, k = Mass(model.m_[0]), Mass(model.k_[0])
    objective = RankedRangeObjective(X, Y, loss, m=m, k=k, C=model.C, sample_weight=weight)
    return objective.value(np.vstack([model.coef_.T, model.intercept_])[:, order])


def test_dense_and_sparse_rows_and_targets_give_the_same_model(data, loss):
    X, Y = data
    dense = top(loss=loss).fit(X, Y)
    for X_form, Y_form in ((sparse.csr_array(X), Y), (X, sparse.csr_array(Y))):
        model = top(loss=loss).fit(X_form, Y_form)
        assert_allclose(model.objective_, dense.objective_, rtol=0.02)
        assert abs(model.score(X_form, Y_form) - dense.score(X, Y)) < 0.05
        if loss != "subset+logistic":
            assert_allclose(cost(model, X, Y), model.objective_, rtol=1e-9)
            assert_allclose(cost(dense, X_form, Y), dense.objective_, rtol=1e-9)
        if loss == "multilabel_hinge":
            assert_allclose(model.coef_, dense.coef_, atol=1e-5)


def test_the_order_of_rows_does_not_matter(data, loss):
    X, Y = data
    order = np.random.default_rng(3).permutation(len(X))
    model, other = top(loss=loss).fit(X, Y), top(loss=loss).fit(X[order], Y[order])
    assert_allclose(other.objective_, model.objective_, rtol=0.02)
    assert abs(other.score(X, Y) - model.score(X, Y)) < 0.05
    if loss != "subset+logistic":
        assert_allclose(cost(model, X[order], Y[order]), model.objective_, rtol=1e-9)
    if loss == "multilabel_hinge":
        assert_allclose(other.coef_, model.coef_, atol=1e-5)


def test_labels_in_another_order_have_their_scores_in_that_order(data, loss):
    X, Y = data
    order = np.array([3, 0, 4, 1, 2])
    model, other = top(loss=loss).fit(X, Y), top(loss=loss).fit(X, Y[:, order])
    assert_allclose(other.objective_, model.objective_, rtol=0.02)
    assert abs(other.score(X, Y[:, order]) - model.score(X, Y)) < 0.05
    if loss != "subset+logistic":
        assert_allclose(cost(model, X, Y[:, order], order=order), model.objective_, rtol=1e-9)
    if loss == "multilabel_hinge":
        assert_allclose(other.coef_, model.coef_[order], atol=1e-5)


@pytest.mark.parametrize(
    "ranks", [{}, {"m_samples": 6, "k_samples": 0.9}, *slow({"m_samples": 0.1})]
)
def test_a_row_of_weight_two_is_two_copies(data, loss, ranks):
    X, Y = (part[:60] for part in data)
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    copies = X.repeat(weight, axis=0), Y.repeat(weight, axis=0)
    by_weight, by_copies = (top(loss=loss, **ranks) for _ in range(2))
    by_weight.fit(X, Y, weight)
    by_copies.fit(*copies)
    assert_array_equal(by_weight.m_, by_copies.m_)
    assert_array_equal(by_weight.k_, by_copies.k_)
    assert np.isnan(by_weight.losses_[weight == 0]).all()
    assert_allclose(by_weight.objective_, by_copies.objective_, rtol=0.1)
    if loss != "subset+logistic":
        assert_allclose(cost(by_weight, *copies), by_weight.objective_, rtol=1e-9)
        assert_allclose(cost(by_copies, X, Y, weight), by_copies.objective_, rtol=1e-9)
    if loss == "multilabel_hinge" and not ranks:
        assert_allclose(by_weight.coef_, by_copies.coef_, atol=1e-5)


def test_weights_count_in_the_logistic_part_too(data):
    X, Y = (part[:60] for part in data)
    weight = np.random.default_rng(0).integers(1, 3, len(X))
    ranked = LabelScores(np.ones((4, 5)) * np.arange(5), np.zeros(5))
    by_weight = logistic_scores(X, Y, weight.astype(float), C=10.0)
    copies = X.repeat(weight, axis=0), Y.repeat(weight, axis=0)
    by_copies = logistic_scores(*copies, C=10.0)
    assert_allclose(by_weight.coef, by_copies.coef, atol=1e-5)
    both = add_standardised([ranked, by_weight], X, weight)
    same = add_standardised([ranked, by_copies], copies[0])
    assert_allclose(both.coef, same.coef, atol=1e-5)


def test_scores_that_are_all_the_same_add_nothing(data):
    X, Y = data
    logistic = logistic_scores(X, Y, C=10.0)
    constant = LabelScores(np.zeros((4, 5)), np.full(5, 7.0))
    alone, both = (add_standardised(p, X) for p in ([logistic], [constant, logistic]))
    assert_array_equal(both.coef, alone.coef)
    assert_array_equal(both.intercept, alone.intercept)


def test_a_label_of_all_rows_or_of_none_has_the_logistic_score_of_its_share():
    X = np.random.default_rng(0).normal(size=(9, 2))
    Y = np.array([[True, False, i % 2 == 0] for i in range(9)])
    scores = logistic_scores(X, Y, C=1.0)
    assert_array_equal(scores.coef[:, :2], 0)
    assert_allclose(scores.intercept[:2], [np.log(19), -np.log(19)])
    twice = logistic_scores(X, Y, np.full(9, 2.0), C=1.0)  # as of two copies of each row
    assert_allclose(twice.intercept[:2], [np.log(37), -np.log(37)])
    assert_array_equal(logistic_scores(X, Y, C=1.0, fit_intercept=False).intercept, 0)


def test_one_class_for_each_row_is_a_set_of_one_label(loss):
    X, y = three_classes(n=90)
    one_hot = y[:, None] == np.array(["a", "b", "c"])
    model, sets = top(1, loss).fit(X, y), top(1, loss).fit(X, one_hot)
    assert_array_equal(model.coef_, sets.coef_)
    assert_array_equal(model.predict(X), np.array(["a", "b", "c"])[sets.predict(X).argmax(axis=1)])
    assert model.score(X, y) == sets.score(X, one_hot) > 0.8


def test_a_frame_is_an_indicator_with_names(data, loss):
    pandas = pytest.importorskip("pandas")
    X, Y = data
    named = pandas.DataFrame(Y, columns=[*SETS])
    model, same = top(loss=loss).fit(X, named), top(loss=loss).fit(X, Y)
    assert_array_equal(model.coef_, same.coef_)
    assert model.classes_.tolist() == list(SETS)
    assert model.score(X, named) == same.score(X, Y)
    assert_array_equal(model.predict(X), same.predict(X))


def test_frames_name_features_and_labels(data):
    pandas = pytest.importorskip("pandas")
    X, Y = data
    frame, target = pandas.DataFrame(X, columns=list("pqrs")), pandas.DataFrame(Y, columns=[*SETS])
    model = top().fit(frame, target)
    assert model.feature_names_in_.tolist() == list("pqrs")
    assert model.predict_topk(frame)[0, 0] in SETS
    assert model.score(frame, target) == topk_multilabel_accuracy(
        Y, X @ model.coef_.T + model.intercept_, k=2
    )


# -- rows that are left out ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tkml", *slow(*LOSSES[1:])])
def test_mislabelled_rows_are_dropped_as_a_whole(name):
    X, Y = label_sets(n=200, noise=0.0)
    wrong = np.flatnonzero(Y.sum(axis=1) == 2)[:12]
    Y[wrong] = ~Y[wrong] & (np.arange(5) < 4)
    model = top(loss=name, m_samples=12, C=100.0).fit(X, Y)
    assert np.count_nonzero(model.outlier_mask_) == 12
    assert model.outlier_mask_[wrong].sum() >= (4 if name == "tkml" else 10)
    assert_array_equal(model.row_weights_[model.outlier_mask_], 0)
    assert_allclose(model.row_weights_.sum(), 1)
    assert_array_equal(model.m_, [12])
    assert_array_equal(model.k_, [200])


def test_rows_of_one_class_are_ranked_within_it():
    X, y = three_classes(n=150)
    y[np.flatnonzero(y == "a")[:5]] = "b"
    model = top(1, ranking="within_class", m_samples={"b": 5}).fit(X, y)
    assert (y[model.outlier_mask_] == "b").all()
    assert_array_equal(model.m_, [0, 5, 0])
    assert model.thresholds_.shape == (3, 2)
    assert model.minima_[0].dropped == {"a": 0, "b": 5, "c": 0}
    fraction = top(1, ranking="within_class", m_samples=0.1).fit(X, y)
    assert_array_equal(fraction.m_, [(y == name).sum() // 10 for name in "abc"])


def test_the_outlier_score_is_positive_for_rows_that_were_dropped(loss):
    X, y = three_classes(n=150)
    pooled = top(1, loss, m_samples=0.1).fit(X, y)
    within = top(1, loss, m_samples=0.1, ranking="within_class").fit(X, y)
    for model in (pooled, within):
        is_out = model.outlier_score(X, y) > 0
        if loss == "tkml":  # is one wherever the true class ranks second: part of a tie is kept
            assert is_out.any()
            assert model.outlier_mask_[is_out].all()
        else:
            assert_array_equal(is_out, model.outlier_mask_)


def test_ranks_of_samples_need_not_leave_any_class():
    X, y = three_classes(n=60)
    # With the usual C, the certificate of this fit depends on rounding.
    assert top(1, m_samples=0.45, C=1.0).fit(X, y).outlier_mask_.sum() == 27


# -- how it ends and begins ------------------------------------------------------------------------


def test_small_problems_are_certified_and_large_ones_on_demand(data):
    X, Y = data
    assert top().fit(X, Y).gap_ <= 1e-6
    assert np.isinf(top(certify=False).fit(X, Y).gap_)
    many = np.tile(X, (5, 1)), np.tile(Y, (5, 1))
    assert np.isinf(top(loss="subset").fit(*many).gap_)
    assert top(loss="subset", certify=True).fit(*many).gap_ <= 1e-6


@pytest.mark.parametrize("change", [{"k": 3}, *slow({"C": 20.0}, {"loss": "subset"})])
def test_a_warm_start_goes_on_from_the_last_fit_of_other_parameters(data, loss, change):
    X, Y = data
    model = top(loss=loss, warm_start=True).fit(X, Y)
    before = model.trace_
    again = model.set_params(**change).fit(X, Y)
    assert len({step.start for step in again.trace_}) == 1  # and from nowhere else
    assert again.trace_ is not before
    cold = top(loss=loss).set_params(**change).fit(X, Y)
    assert again.objective_ <= cold.objective_ * 1.2


def test_a_warm_start_at_the_solution_stays_there(data, loss):
    X, Y = data
    model = top(loss=loss, warm_start=True).fit(X, Y)
    objective, coef = model.objective_, model.coef_
    model.fit(X, Y)
    assert model.trace_[0].objective == pytest.approx(objective, rel=1e-9)  # that is the start
    assert objective * 0.99 < model.objective_ <= objective * (1 + 1e-9)
    if loss == "multilabel_hinge":
        assert_allclose(model.coef_, coef, atol=1e-5)


def test_a_warm_start_with_other_labels_is_a_cold_one(data):
    X, Y = data
    fewer = Y[:, :4]
    model = top(warm_start=True).fit(X, Y).fit(X, fewer)
    assert_array_equal(model.coef_, top().fit(X, fewer).coef_)


def test_a_warm_start_may_begin_or_cease_to_have_an_intercept(data):
    X, Y = data
    model = top(loss="multilabel_hinge", warm_start=True, fit_intercept=False).fit(X, Y)
    for fit_intercept in (True, False):
        model.set_params(fit_intercept=fit_intercept).fit(X, Y)
        cold = top(loss="multilabel_hinge", fit_intercept=fit_intercept).fit(X, Y)
        assert model.objective_ == pytest.approx(cold.objective_, rel=1e-6)


def test_the_same_seed_gives_the_same_model(data, loss):
    first, second = top(loss=loss).fit(*data), top(loss=loss).fit(*data)
    assert_array_equal(first.coef_, second.coef_)


def test_a_fit_that_fails_leaves_the_last_one(data):
    X, Y = data
    model = top().fit(X, Y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="k=2 labels cannot be chosen among 2"):
        model.fit(X, Y[:, :2])
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)


def test_progress_is_reported_on_demand(data, capsys):
    top(loss="subset+logistic", verbose=2).fit(*data)
    lines = capsys.readouterr().err
    assert "[TopKMultilabelClassifier]" in lines
    assert "logistic scores of labels (5 of 5)" in lines
    top(loss="subset+logistic").fit(*data)
    assert capsys.readouterr().err == ""


# -- in the company of scikit-learn ----------------------------------------------------------------


def test_a_clone_has_the_parameters_and_not_the_fit(data):
    model = top(m_samples=0.1).fit(*data)
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    assert not hasattr(copied, "coef_")


def test_a_pickle_predicts_the_same(data, loss):
    X, Y = data
    model = top(loss=loss, m_samples=0.1).fit(X, Y)
    loaded = pickle.loads(pickle.dumps(model))
    assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert_array_equal(loaded.outlier_score(X, Y), model.outlier_score(X, Y))
    assert loaded.status_ is model.status_


def test_a_grid_search_in_a_pipeline_chooses_the_ridge(data):
    X, Y = data
    pipeline = make_pipeline(StandardScaler(), top(loss="subset", certify=False))
    grid = {"topkmultilabelclassifier__C": [0.01, 10.0]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, Y)
    assert search.best_params_["topkmultilabelclassifier__C"] == 10.0
    assert search.best_score_ > 0.8


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"loss": "subsets"}, ValueError, "loss='subsets' is not known; did you mean 'subset'"),
        ({"loss": TopKSubset(1)}, ValueError, "is not known; needed one of 'tkml'"),
        ({"ranking": "class"}, ValueError, "ranking='class' is not known"),
        ({"ranking": "within_class"}, ValueError, "y is an indicator; needed one class"),
        ({"solver": "topsum"}, ValueError, "solver='topsum' is not known; needed one of 'trim'"),
        (
            {"certify": "yes"},
            ValueError,
            "certify='yes' is not known; needed True, False or 'auto'",
        ),
        ({"C": 0}, ValueError, "^C=0 is not positive"),
        ({"certify": 1}, TypeError, "certify=1 is not a bool"),
        ({"C": -1.0}, ValueError, "C=-1.0 is not positive"),
        ({"C_logistic": 0}, ValueError, "C_logistic=0 is not positive"),
        ({"m_samples": 90}, ValueError, "m_samples and k_samples, here m and k: "),
        ({"m_samples": 0.0}, ValueError, "m_samples and k_samples, here m and k: m=0.0"),
        ({"m_samples": {0: 1}}, TypeError, "m_samples and k_samples, here m and k: m={0: 1}"),
        ({"k_samples": 91}, ValueError, "m_samples and k_samples, here m and k: k=91"),
        ({"tol": -1.0}, ValueError, "tol=-1.0"),
        ({"max_iter": 0}, ValueError, "max_iter=0"),
        ({"verbose": True}, TypeError, "verbose=True is not an int"),
        ({"warm_start": 1}, TypeError, "warm_start=1 is not a bool"),
        ({"fit_intercept": 1}, TypeError, "fit_intercept=1 is not a bool"),
        ({"k": 5}, ValueError, "k=5 labels cannot be chosen among 5"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(data, parameters, error, message):
    with pytest.raises(error, match=message):
        top(**{"k": 2, **parameters}).fit(*data)
