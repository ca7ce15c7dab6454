from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

import sorr
from sorr.baselines import BinaryRelevance, logistic
from sorr.estimators import NotConvergedWarning
from tests.baselines.problems import label_sets, three_classes

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
    brief = partial(logistic.logistic_scores, max_iter=1)
    monkeypatch.setattr(logistic, "logistic_scores", brief)
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
