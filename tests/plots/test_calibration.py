import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq
from sklearn.calibration import calibration_curve
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from sorr.plots import CalibrationDisplay, ReliabilityCurve
from tests.plots.fakes import two_classes


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("n_bins", [1, 5, 12])
def test_the_curve_of_all_rows_is_that_of_scikit_learn(strategy, n_bins):
    model, X, y = two_classes(n=300)
    options = {"n_bins": n_bins, "strategy": strategy}
    display = CalibrationDisplay.from_estimator(model, X, y, **options)
    observed, predicted = calibration_curve(y == "yes", model.predict_proba(X)[:, 1], **options)
    assert_allclose(display.line_.get_xdata(), predicted)
    assert_allclose(display.line_.get_ydata(), observed)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_probabilities_at_the_edge_of_a_bin_fall_where_scikit_learn_puts_them(strategy):
    probability = np.array([0.0, 0.25, 0.25, 0.5, 0.5, 0.75, 1.0, 1.0])
    labels = np.array([0, 1, 0, 1, 0, 0, 1, 1])
    options = {"n_bins": 4, "strategy": strategy}
    display = CalibrationDisplay.from_predictions(labels, probability, **options)
    observed, predicted = calibration_curve(labels, probability, **options)
    assert_allclose(display.line_.get_xydata(), np.column_stack([predicted, observed]))


def test_the_second_curve_has_the_rows_that_were_kept():
    model, X, y = two_classes(n=300, m=(20, 30))
    display = CalibrationDisplay.from_estimator(model, X, y, n_bins=4)
    stays = ~model.outlier_mask_
    probability = model.predict_proba(X)[stays, 1]
    observed, predicted = calibration_curve(
        y[stays] == "yes", probability, n_bins=4, strategy="quantile"
    )
    assert_allclose(display.kept_line_.get_xdata(), predicted)
    assert_allclose(display.kept_line_.get_ydata(), observed)
    assert display.kept_rows.n_rows.sum() == stays.sum()
    assert display.kept_line_.get_label() == "rows kept (250)"


def test_wrong_labels_bend_the_curve_of_all_rows_only():
    rng = np.random.default_rng(0)
    probability = np.repeat([0.01, 0.99], 5000)
    truth = rng.random(10_000) < probability
    wrong = rng.random(10_000) < 0.1
    display = CalibrationDisplay.from_predictions(truth ^ wrong, probability, left_out=wrong)
    # one label in ten is flipped: 0.99 becomes 0.99 * 0.9 + 0.01 * 0.1, and 0.01 is mirrored
    assert_allclose(display.all_rows.observed[[0, -1]], [0.108, 0.892], atol=0.02)
    assert_allclose(display.kept_rows.observed[[0, -1]], [0.01, 0.99], atol=0.02)


def test_a_model_that_leaves_out_nothing_has_one_curve():
    _, X, y = two_classes()
    display = CalibrationDisplay.from_estimator(LogisticRegression().fit(X, y), X, y)
    assert display.kept_line_ is None
    assert display.ax_.get_title() == "Calibration of LogisticRegression"


def test_if_all_rows_are_left_out_there_is_no_second_curve():
    display = CalibrationDisplay.from_predictions([0, 1], [0.2, 0.9], left_out=[True, True])
    assert display.kept_rows is None


def test_the_interval_of_a_share_is_where_a_score_test_accepts():
    curve = ReliabilityCurve(np.array([0.5, 0.5]), np.array([0.2, 1.0]), np.array([25, 8]))
    low, high = curve.interval()

    def excess(p, share, n):
        return (share - p) ** 2 - 1.959964**2 * p * (1 - p) / n

    assert_allclose(low[0], brentq(excess, 1e-9, 0.2, args=(0.2, 25)))
    assert_allclose(high[0], brentq(excess, 0.2, 1 - 1e-9, args=(0.2, 25)))
    assert_allclose(low[1], brentq(excess, 1e-9, 1 - 1e-9, args=(1.0, 8)))
    assert high[1] == 1


def test_intervals_are_drawn_unless_they_are_not_wanted():
    curve = ReliabilityCurve(np.array([0.5]), np.array([0.4]), np.array([25]))
    assert len(CalibrationDisplay(curve).plot().ax_.collections) == 1
    assert len(CalibrationDisplay(curve).plot(interval=False).ax_.collections) == 0


def test_of_many_classes_one_is_looked_at():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(90, 2)), np.arange(90) % 3
    model = LogisticRegression().fit(X, y)
    display = CalibrationDisplay.from_estimator(model, X, y, pos_label=2, n_bins=3)
    observed, predicted = calibration_curve(
        y == 2, model.predict_proba(X)[:, 2], n_bins=3, strategy="quantile"
    )
    assert_allclose(display.line_.get_xydata(), np.column_stack([predicted, observed]))
    assert "label 2" in display.ax_.get_xlabel()
    with pytest.raises(ValueError, match=r"there are 3 classes; needed pos_label.*0, 1, 2"):
        CalibrationDisplay.from_estimator(model, X, y)


def test_the_first_label_is_the_mirror_image_of_the_second():
    model, X, y = two_classes(n=200)
    curves = [
        CalibrationDisplay.from_estimator(
            model, X, y, pos_label=label, strategy="uniform", n_bins=5
        ).all_rows
        for label in ("no", "yes")
    ]
    assert_allclose(curves[0].observed, 1 - curves[1].observed[::-1])
    assert_array_equal(curves[0].n_rows, curves[1].n_rows[::-1])


def test_a_model_without_probabilities_is_refused():
    _, X, y = two_classes()
    with pytest.raises(ValueError, match=r"this LinearSVC has no predict_proba; needed .* smooth"):
        CalibrationDisplay.from_estimator(LinearSVC().fit(X, y), X, y)


def test_a_model_that_is_not_fitted_is_refused():
    _, X, y = two_classes()
    with pytest.raises(NotFittedError):
        CalibrationDisplay.from_estimator(LogisticRegression(), X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "kmeans"}, "strategy='kmeans' is not known; needed one of 'quantile', 'u"),
        ({"n_bins": 0}, "2 rows are given, and n_bins=0; needed one or more of both"),
        ({"y_true": [0, 2]}, "y_true holds other values than 0 and 1; pass y == label"),
        (
            {"y_true": [0, 1, 1]},
            r"y_true has shape \(3,\), y_prob \(2,\); needed one entry of both",
        ),
        ({"y_prob": [[0.8, 0.2], [0.3, 0.7]]}, r"y_prob \(2, 2\).*take the column of the label"),
        ({"y_true": [[0], [1]], "y_prob": [[0.2], [0.7]]}, r"y_true has shape \(2, 1\)"),
        ({"y_prob": [0.2, np.nan]}, "1 of the probabilities are NaN; needed numbers from 0 to 1"),
        ({"y_prob": [-0.1, 0.7]}, "y_prob holds -0.1, which is not a probability; needed numbers"),
        ({"y_prob": [0.2, 1.5]}, "y_prob holds 1.5, .* and not from decision_function"),
        ({"left_out": [True]}, r"left_out has shape \(1,\); needed .* each of the 2 rows"),
        ({"left_out": True}, r"left_out has shape \(\); needed .* each of the 2 rows"),
    ],
)
def test_what_cannot_be_drawn_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        CalibrationDisplay.from_predictions(**{"y_true": [0, 1], "y_prob": [0.2, 0.7], **options})
