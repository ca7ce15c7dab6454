import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

from sorr.baselines import PairwiseRanking
from sorr.estimators import NotConvergedWarning
from sorr.losses import LogSumExpPairwise, SigmoidPairwise
from tests.baselines.problems import conic_label_minimum, label_sets, three_classes

X, Y = label_sets(60)


def objective(model, loss, X=X, Y=Y, C=10.0):
    raw = X @ model.coef_.T + model.intercept_
    return loss.value(Y, raw).mean() + (model.coef_**2).sum() / (2 * C)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weight", [None, np.arange(60) % 3])
def test_linear_outputs_reach_the_optimum_of_cvxpy(weight, fit_intercept):
    model = PairwiseRanking(outputs="linear", C=10.0, fit_intercept=fit_intercept)
    model.fit(X, Y, weight)
    best = conic_label_minimum(X, Y, "lsep", 10.0, weight=weight, fit_intercept=fit_intercept)
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
def test_wrong_parameters_are_refused(parameters, error, message):
    with pytest.raises(error, match=message):
        PairwiseRanking(**parameters).fit(X, Y)
