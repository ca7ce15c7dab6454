"""The estimators in the places where scikit-learn's own are used."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sorr import RankedRangeClassifier, RankedRangeRegressor
from tests.estimators.problems import outlying, three_classes, wrong_labels
from tests.slow import slow


@pytest.fixture(scope="module")
def data():
    return wrong_labels(n=120)[:2]


@pytest.fixture
def model():
    return RankedRangeClassifier(m=0.1, C=100.0, random_state=0)


def test_a_clone_has_the_parameters_and_not_the_fit(model, data):
    copied = clone(model.set_params(m={"yes": 3}).fit(*data))
    assert copied.get_params() == model.get_params()
    assert not hasattr(copied, "coef_")


def test_a_pickle_predicts_the_same(model, data):
    X, y = data
    model.fit(X, y)
    loaded = pickle.loads(pickle.dumps(model))
    assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.status_ is model.status_
    assert_array_equal(loaded.outlier_score(X, y), model.outlier_score(X, y))


def test_a_grid_search_chooses_among_ranks(model, data):
    search = GridSearchCV(model, {"m": [0.05, 0.1], "C": [1.0, 100.0]}, cv=3).fit(*data)
    assert search.best_params_["m"] in (0.05, 0.1)
    assert search.best_score_ > 0.7


def test_a_pipeline_and_cross_validation(model, data):
    assert cross_val_score(make_pipeline(StandardScaler(), model), *data, cv=3).min() > 0.7


def test_a_calibrated_hinge_has_probabilities(model, data):
    X, y = data
    calibrated = CalibratedClassifierCV(model.set_params(loss="hinge"), cv=3).fit(X, y)
    assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1)


def test_permutation_importance_finds_the_feature_that_matters(model, data):
    X, y = data
    importance = permutation_importance(model.fit(X, y), X, y, n_repeats=5, random_state=0)
    assert importance.importances_mean.argmax() == 0


def test_one_against_the_rest_works_with_losses_of_two_classes():
    X, y = three_classes()
    model = RankedRangeClassifier(m=0.05, loss="squared_hinge", C=100.0, random_state=0)
    assert OneVsRestClassifier(model).fit(X, y).score(X, y) > 0.8


@pytest.mark.parametrize("m", [0.1, "auto"])
def test_sample_weights_are_routed(model, data, m):
    X, y = data
    model.set_params(m=m)
    weight = np.where(y == "yes", 4.0, 1.0)
    with config_context(enable_metadata_routing=True):
        weighted = model.set_fit_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), weighted)
        routed = pipeline.fit(X, y, sample_weight=weight)[-1]
    direct = clone(model).fit(StandardScaler().fit_transform(X), y, sample_weight=weight)
    assert_allclose(routed.coef_, direct.coef_)


@pytest.mark.parametrize("library", ["pandas", *slow("polars")])
@pytest.mark.parametrize("kind", [RankedRangeClassifier, RankedRangeRegressor])
def test_frames_bring_the_names_of_features(library, kind):
    frames = pytest.importorskip(library)
    X, y, _ = wrong_labels(n=80) if kind is RankedRangeClassifier else outlying(n=80)
    frame = frames.DataFrame({name: X[:, i] for i, name in enumerate("abc")})
    model = kind(random_state=0).fit(frame, frames.Series(y))
    assert_array_equal(model.feature_names_in_, ["a", "b", "c"])
    assert_allclose(model.coef_, kind(random_state=0).fit(X, y).coef_)
    other = frame.rename(columns={"a": "z"}) if library == "pandas" else frame.rename({"a": "z"})
    with pytest.raises(ValueError, match="feature names"):
        model.predict(other)


@pytest.mark.parametrize("m", [0.1, "auto"])
def test_a_pipeline_that_puts_out_frames_keeps_the_names(model, data, m):
    pandas = pytest.importorskip("pandas")
    X, y = data
    model.set_params(m=m)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    pipeline = make_pipeline(StandardScaler(), model).set_output(transform="pandas")
    assert_array_equal(pipeline.fit(frame, y)[-1].feature_names_in_, ["a", "b", "c"])
