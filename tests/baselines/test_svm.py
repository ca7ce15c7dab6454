import io
from contextlib import redirect_stderr

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sorr import TopKMultilabelClassifier
from sorr.baselines import MulticlassSVM, TopKSVMClassifier
from sorr.estimators import NotConvergedWarning
from sorr.losses import MultilabelHinge, TopKSVM
from tests.baselines.problems import conic_label_minimum, label_sets, three_classes
from tests.slow import slow

X, Y = label_sets(60)
X3, Y3 = three_classes(60)
MODELS = [MulticlassSVM(tol=1e-6), TopKSVMClassifier(1, tol=1e-6), TopKSVMClassifier(3, tol=1e-6)]
each = pytest.mark.parametrize("model", [MODELS[2], *slow(*MODELS[:2])], ids=repr)


def referee(model, X, Y, C, weight=None, fit_intercept=True):
    loss = "hinge" if isinstance(model, MulticlassSVM) else "topk_svm"
    return conic_label_minimum(X, Y, loss, C, model.k, weight, fit_intercept)


@each
@pytest.mark.parametrize("C", [10.0, *slow(0.1, 1e3)])
def test_label_sets_reach_the_optimum_of_cvxpy(model, C):
    model.set_params(C=C).fit(X, Y)
    assert model.objective_ == pytest.approx(referee(model, X, Y, C), rel=3e-6)
    assert model.gap_ <= 1e-6


@pytest.mark.slow
@each
@pytest.mark.parametrize(
    ("weight", "fit_intercept"), [(None, False), (np.arange(60) % 3, True)], ids=str
)
def test_weights_and_a_missing_intercept_do_too(model, weight, fit_intercept):
    model = type(model)(model.k, tol=1e-6, fit_intercept=fit_intercept).fit(X, Y, weight)
    best = referee(model, X, Y, 10.0, weight, fit_intercept)
    assert model.objective_ == pytest.approx(best, rel=3e-6)


@pytest.mark.parametrize("model", MODELS[:2], ids=repr)
def test_classes_reach_the_optimum_of_cvxpy(model):
    model.set_params(C=10.0).fit(X3, Y3)
    truth = np.eye(3, dtype=bool)[Y3]
    assert model.objective_ == pytest.approx(referee(model, X3, truth, 10.0), rel=3e-6)
    assert model.score(X3, Y3) > 0.6


@pytest.mark.slow
@each
def test_many_parameters_come_within_about_the_tolerance_of_the_optimum(model):
    X, Y = label_sets(80, d=60, n_labels=6, seed=3)
    best = referee(model, X, Y, 10.0)
    for tol in (1e-2, 1e-3, 1e-4):
        fitted = type(model)(model.k, tol=tol).fit(X, Y)
        assert fitted.gap_ <= tol
        assert best * (1 - 1e-6) <= fitted.objective_ <= best * (1 + 3 * tol)


@each
def test_what_is_kept_of_a_fit_goes_together(model):
    model = type(model)(model.k, C=5.0).fit(X, Y)
    loss = MultilabelHinge() if isinstance(model, MulticlassSVM) else TopKSVM(model.k)
    raw = X @ model.coef_.T + model.intercept_
    value = loss.value(Y, raw).mean() + (model.coef_**2).sum() / 10
    assert model.objective_ == pytest.approx(value)
    assert model.gap_ <= 1e-3
    assert model.intercept_.mean() == pytest.approx(0, abs=1e-12)
    assert_array_equal(model.predict(X).sum(axis=1), model.k)


def test_with_one_label_each_and_k_of_one_both_are_the_same():
    a, b = (cls(tol=1e-7).fit(X3, Y3) for cls in (MulticlassSVM, TopKSVMClassifier))
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-6)
    assert_allclose(a.coef_, b.coef_, atol=1e-2)


def test_the_hinge_is_that_of_the_top_k_classifier_to_a_certified_gap():
    model = MulticlassSVM(tol=1e-6).fit(X, Y)
    peer = TopKMultilabelClassifier(
        loss="multilabel_hinge", C=10.0, certify=True, random_state=0
    ).fit(X, Y)
    assert peer.gap_ <= 1e-6
    assert model.objective_ == pytest.approx(peer.objective_, rel=2e-6)


def test_what_the_hinge_learns_does_not_depend_on_k():
    assert_array_equal(MulticlassSVM(1).fit(X, Y).coef_, MulticlassSVM(4).fit(X, Y).coef_)
    assert np.abs(TopKSVMClassifier(1).fit(X, Y).coef_ - TopKSVMClassifier(3).fit(X, Y).coef_).any()


@pytest.mark.parametrize(
    ("cls", "d"),
    [
        (MulticlassSVM, 4),
        pytest.param(TopKSVMClassifier, 60, marks=pytest.mark.slow),
        pytest.param(MulticlassSVM, 60, marks=pytest.mark.slow),
        pytest.param(TopKSVMClassifier, 4, marks=pytest.mark.slow),
    ],
)
def test_a_warm_start_goes_on_from_the_last_fit(cls, d):
    X, Y = label_sets(80, d=d, seed=1)
    model = cls(2, warm_start=True, tol=1e-4).fit(X, Y)
    cold, value = model.n_iter_, model.objective_
    assert model.fit(X, Y).n_iter_ < 1.2 * cold  # corners take most of the steps, near or far
    assert model.objective_ == pytest.approx(value, rel=3e-4)
    fresh = cls(2, tol=1e-4).fit(X[:, :2], Y[:, 1:])
    assert_array_equal(model.fit(X[:, :2], Y[:, 1:]).coef_, fresh.coef_)


def test_single_precision_rows_give_the_same_model():
    for n in (60, 6000):  # of many rows, predictions are held in single precision as well
        X, Y = label_sets(n, d=50, seed=2)
        wide, short = (TopKSVMClassifier(2).fit(a, Y) for a in (X, X.astype(np.float32)))
        assert short.coef_.dtype == np.float64
        assert short.objective_ == pytest.approx(wide.objective_, rel=1e-3)


def test_without_a_ridge_rows_that_can_be_separated_have_no_loss():
    X = np.array([[2.0, 0], [3, 1], [0, 2], [1, 3], [-2, -2], [-3, -2]])
    model = MulticlassSVM(C=np.inf).fit(X, [0, 0, 1, 1, 2, 2])
    assert model.objective_ == pytest.approx(0, abs=1e-3)
    assert model.score(X, [0, 0, 1, 1, 2, 2]) == 1


def test_features_that_say_nothing_leave_the_model_to_its_intercept():
    y = np.repeat([0, 1, 2], [9, 4, 2])
    for cls in (MulticlassSVM, TopKSVMClassifier):
        model = cls().fit(np.zeros((15, 3)), y)
        assert_array_equal(model.coef_, 0)
        assert_array_equal(model.predict(np.zeros((2, 3))), 0)


def test_progress_is_reported_to_those_who_ask():
    for d in (4, 60):
        X, Y = label_sets(d=d)
        with redirect_stderr(io.StringIO()) as lines:
            MulticlassSVM(verbose=2).fit(X, Y)
        assert "[MulticlassSVM]" in lines.getvalue()


@pytest.mark.parametrize("d", [4, 60])
def test_too_few_steps_make_for_a_warning(d):
    X, Y = label_sets(d=d)
    with pytest.warns(NotConvergedWarning, match=r"Not converged \(gap .*\) in 3 steps; scale"):
        model = TopKSVMClassifier(max_iter=3).fit(X, Y)
    assert model.n_iter_ == 3
    assert model.gap_ > 1e-3


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"C": 0}, ValueError, "C=0 is not positive"),
        ({"tol": -1.0}, ValueError, "tol=-1.0 is not a tolerance"),
        ({"max_iter": 1.5}, TypeError, "needed an int, 1 or more"),
        ({"warm_start": "yes"}, TypeError, "needed True or False"),
        ({"fit_intercept": None}, TypeError, "needed True or False"),
        ({"k": 5}, ValueError, "k=5 labels cannot be chosen among 5"),
        ({"k": 0}, ValueError, "k=0 labels cannot be chosen among 5"),
    ],
)
@pytest.mark.parametrize("cls", [MulticlassSVM, TopKSVMClassifier])
def test_wrong_parameters_are_refused(cls, parameters, error, message):
    with pytest.raises(error, match=message):
        cls(**parameters).fit(X, Y)
