import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.svm import SVC

from sorr.experiments.toy import models as toy_models
from sorr.experiments.toy.data import Toy, toy_rows
from sorr.experiments.toy.models import LOSSES, MEASURES, MODELS, Ranks, fit, measure, ranks

C = 1e4


def logistic_fit(X, y):
    """Return the coefficients, the intercept last, and the objective of the average loss."""
    model = LogisticRegression(C=C / len(y), solver="newton-cholesky", tol=1e-10).fit(X, y)
    theta = np.append(model.coef_[0], model.intercept_)
    return theta, log_loss(y, model.predict_proba(X)) + theta[:2] @ theta[:2] / (2 * C)


def largest_loss(loss, theta, X, y):
    margin = y * (X @ theta[:2] + theta[2])
    return (np.logaddexp(0, -margin) if loss == "logistic" else np.maximum(0, 1 - margin)).max()


def test_each_model_learns_from_losses_of_other_ranks():
    assert [tuple(ranks(model, 200, m=5, k=6)) for model in MODELS] == [
        (0, 200),
        (0, 1),
        (0, 6),
        (5, 6),
    ]


def test_our_average_is_logistic_regression():
    toy = toy_rows("balanced", split=1)
    found = fit("ours", toy.X, toy.y, "logistic", Ranks(0, 200), seed=0)
    theta, objective = logistic_fit(toy.X, toy.y)
    assert_allclose(found.objective, objective, rtol=1e-8)
    assert_allclose(found.theta, theta, rtol=1e-3)  # the objective is flat along the line
    assert found.status == "OPTIMAL"


def test_no_row_that_is_left_out_gives_a_lower_objective_than_ours():
    toy = toy_rows("imbalanced", split=0)
    some = np.r_[:46, 196:200]  # the outlier, and all rows of the small class
    X, y = toy.X[some], toy.y[some]
    found = fit("ours", X, y, "logistic", Ranks(1, 50), seed=0)
    others = ~np.eye(50, dtype=bool)
    lowest = min(logistic_fit(X[rows], y[rows])[1] for rows in others)
    assert_allclose(found.objective, lowest, rtol=1e-6)


@pytest.mark.parametrize("n_outliers", [1, 20])
def test_with_as_many_left_out_as_there_are_outliers_hinge_parts_the_others_at_full_margin(
    n_outliers,
):
    toy = toy_rows("balanced", split=2, n_outliers=n_outliers)
    kept = Ranks(n_outliers, n_outliers + 1)
    found = fit("ours", toy.X, toy.y, "hinge", kept, seed=0)
    rest = ~toy.outliers
    machine = SVC(kernel="linear", C=1e6, tol=1e-8).fit(toy.X[rest], toy.y[rest])
    assert_allclose(found.theta, np.append(machine.coef_[0], machine.intercept_), rtol=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_outliers", [1, 4])
def test_the_maximum_has_no_line_where_no_line_parts_the_rows(loss, n_outliers):
    toy = toy_rows("balanced", split=0, n_outliers=n_outliers)
    constant = math.log(2) if loss == "logistic" else 1.0
    for kept in (Ranks(0, 1), Ranks(0, n_outliers + 1)):
        found = fit("ours", toy.X, toy.y, loss, kept, seed=0)
        assert_array_equal(found.theta, np.zeros(3))
        assert_allclose(found.objective, constant)
        assert found.status == "CONSTANT_MODEL"
    for theta in np.random.default_rng(0).normal(size=(1000, 3)):
        assert largest_loss(loss, theta, toy.X, toy.y) >= constant


@pytest.mark.parametrize(("loss", "outer"), [("logistic", 100), ("hinge", 5)])
def test_the_released_loop_has_the_printed_settings_and_the_rows_of_the_fit_to_choose_by(
    loss, outer, monkeypatch
):
    toy, given = toy_rows("balanced"), {}
    wanted = np.array([-1.0, -1.0, 3.0])

    def record(X, y, loss, **settings):
        given.update(settings, X=X, y=y, loss=loss)
        return wanted

    monkeypatch.setattr(toy_models, "released_fit", record)
    found = fit("paper", toy.X, toy.y, loss, Ranks(1, 2), seed=7)
    assert found.theta is wanted
    assert given["X"] is toy.X
    assert given["y"] is toy.y
    assert {name: given[name] for name in ("loss", "m", "k", "outer", "inner", "step")} == {
        "loss": loss,
        "m": 1,
        "k": 2,
        "outer": outer,
        "inner": 1000,
        "step": 0.01,
    }
    assert given["score"](wanted) == 199 / 200  # the outlier counts as any other row
    margin = np.sort(toy.y * (toy.X @ wanted[:2] + wanted[2]))[1]
    second = np.logaddexp(0, -margin) if loss == "logistic" else max(0, 1 - margin)
    assert_allclose(found.objective, second + 2 / (2 * C))


def test_the_released_loop_leaves_the_average_unfinished():
    toy = toy_rows("balanced", split=0)
    ours, loop = (
        fit(protocol, toy.X, toy.y, "logistic", Ranks(0, 200), seed=0)
        for protocol in ("ours", "paper")
    )
    assert loop.objective > 2 * ours.objective
    assert np.isnan(loop.gap)


def test_a_measurement_holds_the_line_and_both_errors():
    toy = toy_rows("balanced", split=0)
    found = measure("ours", toy, "logistic", Ranks(0, 1), seed=0)
    assert dict(found.values) == dict(zip(MEASURES, [0.0, 0.0, 0.0, 50.0, 50.0], strict=True))
    assert found.chosen == {"m": 0, "k": 1}


def test_without_a_distribution_the_error_on_unseen_rows_is_unknown():
    toy = Toy(*toy_rows("balanced")[:3], None)
    found = measure("ours", toy, "logistic", Ranks(0, 200), seed=0)
    assert np.isnan(found.values["error_population"])
    assert found.values["error_rows"] == 0
