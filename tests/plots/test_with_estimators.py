"""The displays on the estimators of this library, which they know by attributes only."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sorr import RankedRangeClassifier, RankedRangeClassifierCV, RankedRangeRegressor
from sorr.baselines import RobustMaxClassifier
from sorr.plots import (
    CalibrationDisplay,
    DecisionBoundaryDisplay,
    RankedLossDisplay,
    TendencyDisplay,
    TraceDisplay,
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 2))
    y = np.where(X @ [3.0, 1.0] + rng.normal(size=160) > 0, "spam", "ham")
    wrong = rng.random(160) < 0.1
    return X, np.where(wrong, np.where(y == "spam", "ham", "spam"), y)


@pytest.fixture(scope="module")
def model(rows):
    return RankedRangeClassifier(m=0.1, k=0.8, random_state=0).fit(*rows)


def test_the_panels_of_a_classifier_show_its_losses_and_its_cuts(model, rows):
    display = RankedLossDisplay.from_estimator(model, *rows)
    assert display.is_fit
    for i, curve in enumerate(display.curves):
        members = rows[1] == model.classes_[i]
        assert_array_equal(curve.losses, np.sort(model.losses_[members])[::-1])
        assert (curve.m, curve.k) == (model.m_[i], model.k_[i])
        assert curve.losses[int(curve.m) - 1] == model.thresholds_[i, 0]
        assert curve.losses[int(curve.k) - 1] == model.thresholds_[i, 1]
        inside = np.diff(np.clip(curve.edges, *curve.spans()["kept"]))
        share = model.row_weights_[members] @ model.losses_[members]
        share_of_rows = np.mean(members)
        assert_allclose(inside @ curve.losses / (curve.k - curve.m) * share_of_rows, share)


def test_new_rows_are_judged_by_the_outlier_score(model, rows):
    X, y = rows[0][:50] + 0.1, rows[1][:50]
    display = RankedLossDisplay.from_estimator(model, X, y)
    n_out = sum(curve.m for curve in display.curves)
    assert n_out == np.sum(model.outlier_score(X, y) > 0)


def test_rows_ranked_together_need_no_labels(rows):
    model = RankedRangeClassifier(m=12, ranking="pooled", random_state=0).fit(*rows)
    (curve,) = RankedLossDisplay.from_estimator(model).curves
    assert_array_equal(curve.losses, np.sort(model.losses_)[::-1])
    assert (curve.m, curve.k) == (12, 160)


def test_where_classes_with_weights_are_ranked_together_their_weights_are_mass(rows):
    X, y = rows
    of_class = {"ham": 1.0, "spam": 3.0}
    model = RankedRangeClassifier(m=12, ranking="pooled", class_weight=of_class, random_state=0)
    model.fit(X, y)
    with pytest.raises(ValueError, match="with ranking='pooled' and class_weight, each weight"):
        RankedLossDisplay.from_estimator(model, X, y)
    weight = np.where(y == "ham", 1.0, 3.0)
    (curve,) = RankedLossDisplay.from_estimator(model, X, y, sample_weight=weight).curves
    assert curve.edges[-1] == model.k_[0] == weight.sum()


@pytest.fixture(scope="module")
def rankless(rows):
    return RobustMaxClassifier(K=5.0, C=10.0).fit(*rows)


def test_rows_of_the_robust_maximum_that_take_slack_are_marked(rankless, rows):
    X, y = rows
    mask = rankless.outlier_score(X, y) > 0
    assert 0 < mask.sum() < len(mask)
    boundary = DecisionBoundaryDisplay.from_estimator(rankless, X, y, resolution=20)
    assert_array_equal(boundary.left_out_.get_offsets(), X[mask])
    calibration = CalibrationDisplay.from_estimator(rankless, X, y)
    assert calibration.kept_rows.n_rows.sum() == np.sum(~mask)
    scaled = make_pipeline(StandardScaler(), RobustMaxClassifier(K=5.0, C=10.0)).fit(X, y)
    boundary = DecisionBoundaryDisplay.from_estimator(scaled, X, y, resolution=20)
    mask = scaled[-1].outlier_score(scaled[0].transform(X), y) > 0
    assert_array_equal(boundary.left_out_.get_offsets(), X[mask])


@pytest.mark.parametrize(
    ("display", "attribute"), [(RankedLossDisplay, "m_"), (TraceDisplay, "trace_")]
)
def test_a_model_without_ranks_is_told_which_models_have_them(display, attribute, rankless, rows):
    given = () if display is TraceDisplay else rows
    with pytest.raises(TypeError, match=f"Classifier has no {attribute}, .*RankedRangeRegressor"):
        display.from_estimator(rankless, *given)


def test_a_regressor_has_one_panel(rows):
    X = rows[0]
    y = X[:, 0] + np.where(np.arange(160) < 10, 30.0, 0.0)
    model = RankedRangeRegressor(m=10, random_state=0).fit(X, y)
    for display in (
        RankedLossDisplay.from_estimator(model),
        RankedLossDisplay.from_estimator(model, X, y),
    ):
        assert display.is_fit
        assert display.curves[0].m == 10


def test_weights_are_mass_and_rows_without_any_are_not_drawn(rows):
    X, y = rows
    weight = np.tile([0.0, 1.0, 2.0, 1.0], 40)
    model = RankedRangeClassifier(m=0.1, random_state=0).fit(X, y, sample_weight=weight)
    for given in (X, None):
        display = RankedLossDisplay.from_estimator(model, given, y, sample_weight=weight)
        totals = [curve.edges[-1] for curve in display.curves]
        assert totals == [weight[y == label].sum() for label in model.classes_]
        assert [curve.m for curve in display.curves] == model.m_.tolist()


def test_a_pipeline_is_looked_through(rows):
    X, y = rows
    pipeline = make_pipeline(StandardScaler(), RankedRangeClassifier(m=0.1, random_state=0)).fit(
        X, y
    )
    mask = pipeline[-1].outlier_mask_
    boundary = DecisionBoundaryDisplay.from_estimator(pipeline, X, y, resolution=20)
    assert_array_equal(boundary.left_out_.get_offsets(), X[mask])
    calibration = CalibrationDisplay.from_estimator(pipeline, X, y)
    assert calibration.kept_rows.n_rows.sum() == np.sum(~mask)
    assert RankedLossDisplay.from_estimator(pipeline, X, y).is_fit
    assert len(TraceDisplay.from_estimator(pipeline).objective) == len(pipeline[-1].trace_)


def test_three_classes_have_three_panels_and_three_boundaries():
    rng = np.random.default_rng(1)
    index = np.arange(120) % 3
    X = rng.normal(size=(120, 2)) + 3 * np.array([[0, 0], [1, 0], [0.5, 1]])[index]
    model = RankedRangeClassifier(m=0.1, C=10.0, random_state=0).fit(X, index)
    assert len(RankedLossDisplay.from_estimator(model, X, index).curves) == 3
    boundary = DecisionBoundaryDisplay.from_estimator(model, X, index)
    assert len(boundary.boundaries_) == 3
    assert len(boundary.left_out_.get_offsets()) == model.outlier_mask_.sum()


def test_the_trace_ends_at_the_objective_of_the_model(model):
    display = TraceDisplay.from_estimator(model)
    assert_allclose(display.lines_[display.best_start].get_ydata()[-1], model.objective_)


def test_the_hinge_has_no_probabilities_to_calibrate(rows):
    model = RankedRangeClassifier(loss="hinge", random_state=0).fit(*rows)
    with pytest.raises(ValueError, match="this RankedRangeClassifier has no predict_proba"):
        CalibrationDisplay.from_estimator(model, *rows)


@pytest.mark.parametrize(
    "display", [RankedLossDisplay, TraceDisplay, DecisionBoundaryDisplay, CalibrationDisplay]
)
def test_a_model_that_is_not_fitted_is_refused(display, rows):
    given = () if display is TraceDisplay else rows
    with pytest.raises(NotFittedError):
        display.from_estimator(RankedRangeClassifier(), *given)


def test_the_curve_of_a_search_is_the_lowest_error_of_its_results(rows):
    grid = {"m": [0, 0.1, 0.2], "k": [0.5, None], "C": [1.0, 100.0]}
    search = RankedRangeClassifierCV(grid, cv=2, random_state=0).fit(*rows)
    results = search.cv_results_
    error = results["mean_test_error"]
    for name, places in (("m", [0, 0.1, 0.2]), ("k", [0.5, 1.0])):
        display = TendencyDisplay.from_estimator(search, name)
        column = list(results[f"param_{name}"])
        wanted = [
            min(e for e, cell in zip(error, column, strict=True) if cell == value)
            for value in grid[name]
        ]
        assert_array_equal(display.line_.get_xydata(), np.column_stack([places, wanted]))
        assert display.chosen[0] == search.best_params_[name]
        assert display.average == min(
            e
            for e, m, k in zip(error, results["param_m"], results["param_k"], strict=True)
            if m == 0 and k is None
        )
    assert RankedLossDisplay.from_estimator(search, *rows).is_fit
    boundary = DecisionBoundaryDisplay.from_estimator(search, *rows, resolution=20)
    assert len(boundary.left_out_.get_offsets()) == search.best_estimator_.outlier_mask_.sum()


def test_rows_dropped_by_a_judgement_have_no_rank_to_draw():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = (X @ [3.0, -2.0, 1.0] > 0).astype(int)
    y[:60] = 1 - y[:60]
    model = RankedRangeClassifier(random_state=0).fit(X, y)
    assert model.outlier_mask_.any()
    with pytest.raises(ValueError, match="LabelCurveDisplay"):
        RankedLossDisplay.from_estimator(model, X, y)
