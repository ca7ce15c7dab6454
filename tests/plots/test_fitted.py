from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sorr.plots.fitted import (
    find_left_out,
    label_index,
    read_losses,
    require_fitted,
    take_apart,
)
from tests.plots.fakes import TwoClasses, pooled, two_classes


def test_the_last_step_of_a_pipeline_and_the_best_of_a_search_are_taken():
    model = pooled([1.0, 2.0], 0, 2)
    search = SimpleNamespace(best_estimator_=SimpleNamespace(steps=[("scale", None), ("m", model)]))
    assert take_apart(search).model is model
    assert require_fitted(search, "losses_") is model


def test_rows_go_through_the_other_steps_of_a_pipeline():
    X, y = np.array([[1.0, 0.0], [-3.0, 0.0], [2.0, 0.0]]), np.array(["yes", "no", "yes"])
    model = TwoClasses(2 * X, y, (0, 1))
    doubled = FunctionTransformer(lambda X: 2 * X)
    pipeline = SimpleNamespace(steps=[("double", doubled), ("skip", "passthrough"), ("m", model)])
    assert read_losses(pipeline, X, y).is_fit
    assert not read_losses(model, X, y).is_fit


def test_the_rows_of_the_fit_are_told_from_others_by_their_losses():
    model, X, y = two_classes()
    assert read_losses(model, X, y).is_fit
    assert read_losses(model, X.astype(np.float32), y).is_fit
    assert not read_losses(model, X[::-1], y[::-1]).is_fit
    assert not read_losses(model, X[:-1], y[:-1]).is_fit
    moved = X.copy()
    moved[7, 0] += 0.01
    assert not read_losses(model, moved, y).is_fit


def test_what_was_left_out_of_the_fit_is_its_mask():
    model, X, y = two_classes()
    assert_array_equal(find_left_out(model, X, y), model.outlier_mask_)


def test_new_rows_would_be_left_out_where_their_score_is_above_zero():
    model, _, _ = two_classes()
    _, X, y = two_classes(n=100, seed=3)
    assert_array_equal(find_left_out(model, X, y), model.outlier_score(X, y) > 0)


def test_other_models_leave_out_nothing():
    _, X, y = two_classes()
    assert find_left_out(make_pipeline(LogisticRegression()).fit(X, y), X, y) is None


def test_a_model_that_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError, match=r"this LogisticRegression has no losses_.*\.fit\(X"):
        require_fitted(LogisticRegression(), "losses_")


@pytest.mark.parametrize("attributes", [("losses_", "m_", "k_"), ("trace_",)])
def test_a_fitted_model_of_another_kind_is_not_said_to_be_unfitted(attributes):
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    wanted = f"has no {attributes[0]}, .*such as RankedRangeClassifier or RankedRangeRegressor"
    with pytest.raises(TypeError, match=wanted) as error:
        require_fitted(make_pipeline(model), *attributes)
    assert "not fitted" not in str(error.value)


def test_without_ranks_rows_are_left_out_whose_score_is_above_zero():
    model, X, y = two_classes()
    rankless = SimpleNamespace(outlier_mask_=None, outlier_score=model.outlier_score)
    doubled = FunctionTransformer(lambda X: 2 * X)
    pipeline = SimpleNamespace(steps=[("double", doubled), ("m", rankless)])
    assert_array_equal(find_left_out(pipeline, X, y), model.outlier_score(2 * X, y) > 0)


def test_labels_are_found_among_the_classes():
    assert_array_equal(label_index(["b", "a", "b"], ["a", "b"]), [1, 0, 1])
    with pytest.raises(
        ValueError, match=r"'c', which is not a class of the fit; needed .*'a', 'b'"
    ):
        label_index(["a", "c"], ["a", "b"])
    with pytest.raises(ValueError, match=r"y holds 6, which is not a class of the fit"):
        label_index(np.array([3, 6]), np.array([3, 4]))
    with pytest.raises(ValueError, match=r"y has shape \(1, 2\)"):
        label_index([["a", "b"]], ["a", "b"])
