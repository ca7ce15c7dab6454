import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier

import sorr
from sorr.baselines import RobustMaxClassifier, maximum, robust_maximum
from sorr.estimators import ConstantModelWarning, NotConvergedWarning
from sorr.solvers import Status
from tests.baselines.problems import three_classes, two_classes

X, Y = two_classes(80)
NAMES = np.where(Y > 0, "yes", "no")


def fit(X=X, y=NAMES, sample_weight=None, **parameters):
    model = RobustMaxClassifier(**({"K": 3.0, "C": 100.0} | parameters))
    return model.fit(X, y, sample_weight=sample_weight)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_what_is_kept_of_a_fit_goes_together(norm, loss):
    model = fit(norm=norm, loss=loss)
    margin = Y * model.decision_function(X)
    losses = np.log1p(np.exp(-margin)) if loss == "logistic" else np.maximum(1 - margin, 0)
    solution = robust_maximum(losses, 3.0, norm)
    ridge = (model.coef_**2).sum() / 200
    np.testing.assert_allclose(model.losses_, losses, atol=1e-12)
    np.testing.assert_allclose(model.slack_, solution.slack, atol=1e-12)
    assert model.threshold_ == pytest.approx(solution.threshold)
    assert model.objective_ == pytest.approx(solution.threshold + ridge)
    np.testing.assert_array_equal(model.outlier_mask_, model.slack_ > 1e-6 * model.slack_.max())
    assert model.gap_ <= 1e-6
    assert model.status_ is Status.OPTIMAL
    assert model.n_iter_ >= 1
    assert model.coef_.shape == (1, 3)
    assert model.intercept_.shape == (1,)
    assert list(model.classes_) == ["no", "yes"]
    assert set(model.predict(X)) == {"no", "yes"}
    np.testing.assert_array_equal(model.predict(X) == "yes", model.decision_function(X) > 0)


def test_an_outlier_takes_most_of_the_slack_and_moves_the_model_less_than_the_maximum_does():
    X, y = two_classes(100, noise=0.0)
    far = X[:, 0].argmax()
    y[far] = -1.0
    model = fit(X, y, norm="l1", K=10.0, C=1e4)
    assert model.slack_.argmax() == far
    assert model.outlier_mask_[far]
    clean = np.arange(100) != far
    with pytest.warns(ConstantModelWarning):
        sharp = maximum(C=1e4).fit(X, y)
    assert model.score(X[clean], y[clean]) > 0.9 > sharp.score(X[clean], y[clean])


def test_no_budget_is_the_maximum_loss():
    X, y = two_classes(60, noise=0.0)
    model, peer = fit(X, y, K=0.0), maximum(C=100.0, tol=1e-9).fit(X, y)
    assert model.objective_ == pytest.approx(peer.objective_, rel=1e-6)
    np.testing.assert_array_equal(model.slack_, 0.0)
    assert not model.outlier_mask_.any()
    assert model.threshold_ == model.losses_.max()


def test_a_large_budget_is_logistic_regression():
    model = fit(K=1e4, norm="l1", tol=1e-10)
    peer = LogisticRegression(C=100.0 / 80, tol=1e-10, max_iter=10_000).fit(X, NAMES)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_several_classes_have_an_output_each(norm):
    X, y = three_classes(90)
    model = fit(X, np.array(["a", "b", "c"])[y], norm=norm)
    assert model.coef_.shape == (3, 2)
    assert model.intercept_.shape == (3,)
    assert model.gap_ <= 1e-6
    chance = model.predict_proba(X)
    np.testing.assert_allclose(chance.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[chance.argmax(axis=1)], model.predict(X))
    assert model.score(X, np.array(["a", "b", "c"])[y]) > 0.6
    assert model.intercept_.sum() == pytest.approx(0.0, abs=1e-12)
    assert np.ptp(model.intercept_) > 0.1


def test_the_hinge_takes_several_classes_one_against_the_rest():
    X, y = three_classes(90)
    with pytest.raises(ValueError, match=r"Only binary.*'hinge'.*3 classes.*OneVsRest"):
        fit(X, y, loss="hinge")
    with pytest.raises(ValueError, match=r"Only binary.*'squared_hinge'"):
        fit(X, y, loss="squared_hinge")
    model = OneVsRestClassifier(RobustMaxClassifier(K=5.0, loss="hinge")).fit(X, y)
    assert model.score(X, y) > 0.5


def test_the_hinge_has_no_probabilities():
    assert not hasattr(fit(loss="hinge"), "predict_proba")
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'"):
        fit(loss="hinge").predict_proba  # noqa: B018


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_sparse_single_and_wide_rows_give_the_same_model(loss, norm):
    dense = fit(loss=loss, norm=norm, tol=1e-9)
    thin = fit(sparse.csr_matrix(X), loss=loss, norm=norm, tol=1e-9)
    short = fit(X.astype(np.float32), loss=loss, norm=norm, tol=1e-9)
    padded = np.hstack([X, np.zeros((80, 100))])
    wide = fit(padded, loss=loss, norm=norm, tol=1e-9)
    both = fit(sparse.csr_array(padded), loss=loss, norm=norm, tol=1e-9)
    np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-6)
    np.testing.assert_allclose(short.coef_, dense.coef_, atol=1e-4)
    np.testing.assert_allclose(wide.coef_[:, :3], dense.coef_, atol=1e-6)
    np.testing.assert_allclose(both.coef_[:, :3], dense.coef_, atol=1e-6)
    assert both.coef_.shape == (1, 103)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_rows_of_weight_two_are_two_copies_and_of_weight_zero_are_not_there(loss, norm):
    weight = np.random.default_rng(0).integers(0, 3, 80)
    weighted = fit(sample_weight=weight, loss=loss, norm=norm, tol=1e-8)
    copies = fit(np.repeat(X, weight, axis=0), np.repeat(NAMES, weight), loss=loss, norm=norm)
    assert weighted.objective_ == pytest.approx(copies.objective_, abs=2e-6)
    assert np.isnan(weighted.losses_[weight == 0]).all()
    np.testing.assert_array_equal(weighted.slack_[weight == 0], 0.0)
    power = {"l1": 1, "l2": 2}[norm]
    assert (weight @ weighted.slack_**power) ** (1 / power) == pytest.approx(3.0)


def test_the_score_of_an_outlier_is_what_it_exceeds_the_threshold_by():
    model = fit()
    score = model.outlier_score(X, NAMES)
    np.testing.assert_allclose(np.maximum(score, 0), model.slack_, atol=1e-12)
    with pytest.raises(ValueError, match="'maybe', which is not a class of the fit"):
        model.outlier_score(X[:1], ["maybe"])
    with pytest.raises(ValueError, match="needed one target for each row"):
        model.outlier_score(X, NAMES[:5])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_rows_of_zeros_leave_the_model_to_its_intercept(form):
    y = np.repeat(["no", "yes"], [9, 3])
    with pytest.warns(ConstantModelWarning):
        model = fit(form(np.zeros((12, 20))), y)
    with pytest.warns(ConstantModelWarning):
        peer = fit(np.zeros((12, 1)), y)
    np.testing.assert_array_equal(model.coef_, np.zeros((1, 20)))
    assert model.gap_ <= 1e-6
    assert model.objective_ == pytest.approx(peer.objective_, rel=1e-6)
    assert model.intercept_[0] < -0.1
    with pytest.warns(ConstantModelWarning):
        none = fit(form(np.zeros((12, 20))), y, fit_intercept=False)
    assert none.objective_ == pytest.approx(np.log(2) - 3 / np.sqrt(12))


def test_without_an_intercept_there_is_none():
    model = fit(fit_intercept=False)
    np.testing.assert_array_equal(model.intercept_, [0.0])
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_[0])


@pytest.mark.digits
def test_the_same_data_give_the_same_bytes_and_copies_predict_alike():
    model, again = fit(), fit()
    assert model.coef_.tobytes() == again.coef_.tobytes()
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.decision_function(X), model.decision_function(X))
    assert clone(model).get_params() == model.get_params()


def test_a_grid_search_chooses_the_budget():
    search = GridSearchCV(RobustMaxClassifier(C=10.0), {"K": [0.1, 10.0], "norm": ["l1", "l2"]})
    assert search.fit(X, NAMES).best_score_ > 0.6


def test_overlapping_classes_without_slack_make_for_a_warning_of_a_constant_model():
    with pytest.warns(ConstantModelWarning, match="Constant model.*raise K=0"):
        model = fit(K=0.0)
    assert model.status_ is Status.CONSTANT_MODEL


def test_too_few_steps_make_for_a_warning():
    with pytest.warns(NotConvergedWarning, match=r"Not converged \(gap .*raise tol or max_iter"):
        model = fit(max_iter=2)
    assert model.n_iter_ == 2
    assert model.status_ is Status.UNCERTIFIED
    assert model.gap_ > 1e-6


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    model = fit()
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="one class only"):
        model.fit(X, ["yes"] * 80)
    np.testing.assert_array_equal(model.coef_, before)


def test_it_is_public():
    assert sorr.baselines.RobustMaxClassifier is RobustMaxClassifier


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"K": -1.0}, ValueError, "K=-1.0 is not a budget"),
        ({"K": np.nan}, ValueError, "K=nan is not a budget"),
        ({"K": True}, TypeError, "K=True is of type bool"),
        ({"K": None}, TypeError, "K=None is of type NoneType"),
        ({"norm": "ll2"}, ValueError, "norm='ll2'.*did you mean 'l2'"),
        ({"norm": "max"}, ValueError, "needed one of 'l1', 'l2'"),
        ({"loss": "logistc"}, ValueError, "did you mean 'logistic'"),
        ({"loss": "squared"}, ValueError, "needed a loss over classes"),
        ({"loss": 3}, TypeError, "needed a name such as 'logistic'"),
        ({"C": 0.0}, ValueError, "C=0.0 is not positive"),
        ({"C": True}, TypeError, "needed a number"),
        ({"tol": 0.0}, ValueError, "needed a number above 0"),
        ({"max_iter": 0}, ValueError, "needed an int, 1 or more"),
        ({"fit_intercept": "no"}, TypeError, "needed True or False"),
    ],
)
def test_wrong_parameters_are_refused(parameters, error, message):
    with pytest.raises(error, match=message):
        fit(**parameters)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"X": X[:, 0]}, "Expected 2D array"),
        ({"X": X * np.nan}, "NaN"),
        ({"X": X[:1], "y": NAMES[:1]}, "one class only.*needed two"),
        ({"y": X[:, 0]}, "Unknown label type: continuous"),
        ({"sample_weight": -np.ones(80)}, "negative weight"),
        ({"sample_weight": np.zeros(80)}, "adds up to zero"),
        ({"sample_weight": (Y > 0) * 1.0}, "one class only, 'yes'"),
    ],
)
def test_wrong_data_are_refused(data, message):
    with pytest.raises(ValueError, match=message):
        fit(**data)


def test_more_parameters_than_a_matrix_can_hold_are_refused():
    many = sparse.eye_array(6000, format="csr")
    with pytest.raises(ValueError, match=r"6000 rows of 6000 features.*needed 5000 at most"):
        fit(many, np.arange(6000) % 2)
