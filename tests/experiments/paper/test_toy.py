import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.svm import SVC

from sorr.datasets import make_imbalanced, make_multimodal
from sorr.experiments.paper import toy as chapter
from sorr.experiments.paper.toy import (
    AUTHORS,
    KINDS,
    MEASURES,
    MODELS,
    Ranks,
    Toy,
    bayes_error,
    fit,
    has_file,
    is_constant,
    measure,
    population_error,
    ranks,
    row_error,
    summarise,
    toy_rows,
)
from sorr.experiments.published import LOSSES
from sorr.experiments.rows import select_rows

LINES = [(-1.0, -1.0, 3.0), (-14.4, -12.5, 35.9), (-1.0, 0.2, 0.5), (0.0, 1.0, -1.0)]


@pytest.fixture
def no_files(monkeypatch, tmp_path):
    monkeypatch.setenv("SORR_DATA", str(tmp_path))
    monkeypatch.setenv("SORR_CACHE", str(tmp_path))


@pytest.mark.parametrize(
    ("kind", "make"), [("balanced", make_multimodal), ("imbalanced", make_imbalanced)]
)
def test_rows_are_drawn_with_the_number_of_the_split_as_seed(kind, make):
    toy, wanted = toy_rows(kind, split=3, n_outliers=2), make(2, random_state=3)
    assert_array_equal(toy.X, wanted.data)
    assert_array_equal(toy.y, wanted.target)
    assert_array_equal(np.flatnonzero(toy.outliers), [0, 1])


@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize("kind", KINDS)
def test_the_authors_rows_have_one_outlier_and_an_unknown_distribution(kind):
    if not has_file(kind):
        pytest.skip(f"the authors' file of the {kind} toy set is not at hand")
    toy = toy_rows(kind + AUTHORS)
    assert toy.X.shape == (200, 2)
    assert toy.outliers.sum() == 1
    assert toy.bayes is None


@pytest.mark.usefixtures("no_files")
@pytest.mark.parametrize("kind", KINDS)
def test_files_that_are_not_there_are_not_fetched(kind):
    assert not has_file(kind)


def test_outliers_do_not_count_and_rows_on_the_line_count_half():
    X = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 5.0], [-1.0, 0.0], [-1.0, 1.0]])
    y = np.array([1, -1, 1, -1, 1])
    toy = Toy(X, y, np.array([False, False, False, False, True]), None)
    assert row_error(np.array([1.0, 0.0, 0.0]), toy) == 100 * (1 + 0.5) / 4


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("line", LINES)
def test_the_error_on_unseen_rows_is_that_of_a_large_sample(kind, line):
    theta, bayes = np.array(line), toy_rows(kind).bayes
    rng, n, wrong = np.random.default_rng(0), 200_000, 0.0
    for label, share, mean, deviation in bayes.components:
        rows = rng.normal(mean, deviation, size=(n, 2))
        wrong += share * np.mean(label * (rows @ theta[:2] + theta[2]) < 0)
    deviation_of_sample = np.sqrt(wrong * (1 - wrong) / n)
    assert_allclose(
        population_error(theta, bayes), 100 * wrong, rtol=0, atol=500 * deviation_of_sample
    )


def test_a_constant_is_wrong_on_the_other_class_and_without_an_intercept_on_half_of_all():
    bayes = toy_rows("imbalanced").bayes
    for intercept, wanted in ((0.3, 2.0), (-0.3, 98.0), (0.0, 50.0)):
        assert_allclose(population_error(np.array([0.0, 0.0, intercept]), bayes), wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_no_line_is_better_than_the_bayes_classifier(kind):
    bayes, least = toy_rows(kind).bayes, bayes_error(kind)
    rng = np.random.default_rng(1)
    errors = []
    for angle, distance in rng.uniform([0.4, 0.5], [1.2, 2.6], size=(500, 2)):
        errors.append(population_error(-np.array([np.cos(angle), np.sin(angle), -distance]), bayes))
    assert least <= min(errors) < 2 * least + 0.01


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

    monkeypatch.setattr(chapter, "run_aggregate_loop", record)
    found = fit("paper", toy.X, toy.y, loss, Ranks(1, 2), seed=7)
    assert found.theta is wanted
    assert given["X"] is toy.X
    assert given["y"] is toy.y
    assert (given["loss"], given["m"], given["k"]) == (loss, 1, 2)
    assert given["setting"] == (None, outer, 1000, 0.01)
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


def row(split, error, coef=(1.0, 2.0, 3.0), model="AoRR", setting="hinge k=2", k=2):
    line = dict(zip(("coef1", "coef2", "intercept"), coef, strict=True))
    return {
        "protocol": "ours",
        "dataset": "balanced",
        "model": model,
        "setting": setting,
        "split": split,
        "chosen": {"m": 1, "k": k},
        "objective": error / 8,
        "gap": split / 1e6,
        "error_rows": error,
        "error_population": error + 1,
        **line,
    }


def test_errors_are_means_over_draws_and_the_line_is_that_of_the_first():
    (record,) = summarise([row(1, 4.0, (9.0, 9.0, 9.0)), row(0, 2.0)])
    assert record["error_rows"] == 3.0
    assert record["error_rows_spread"] == math.sqrt(2)
    assert record["error_population"] == 4.0
    assert record["objective"] == 3 / 8
    assert record["gap"] == 1e-6
    assert record["draws"] == 2
    assert [record[name] for name in ("coef1", "coef2", "intercept")] == [1.0, 2.0, 3.0]
    assert (record["loss"], record["k"]) == ("hinge", 2)


def test_without_the_first_draw_there_is_no_line_and_of_one_draw_no_spread():
    (record,) = summarise([row(3, 4.0)])
    assert math.isnan(record["coef1"])
    assert math.isnan(record["error_rows_spread"])


def test_draws_without_a_line_are_counted():
    (record,) = summarise([row(0, 2.0), row(1, 50.0, (0.0, 0.0, 0.3)), row(2, 50.0, (0.0,) * 3)])
    assert record["constant"] == 2
    assert not is_constant(record)


def test_every_rank_and_loss_has_a_record_of_its_own():
    rows = [
        row(0, 1.0),
        row(0, 2.0, k=3, setting="hinge k=3"),
        row(0, 3.0, setting="logistic k=2"),
    ]
    records = summarise(rows)
    assert len(records) == 3
    assert select_rows(records, loss="hinge", k=3)[0]["error_rows"] == 2.0
    assert select_rows(records, loss="hinge", k=4) == []
