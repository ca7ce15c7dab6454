import numpy as np
import pytest

from sorr.objectives import RankedRangeObjective, constant_model
from sorr.solvers import exhaustive, topsum, trim
from sorr.solvers.solution import constant_weights
from tests.solvers.problems import classes


@pytest.mark.parametrize(("loss", "value"), [("logistic", np.log(2)), ("hinge", 1.0)])
def test_weights_prove_the_constant_model_where_it_is_the_minimum(loss, value):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 3)), rng.choice([-1.0, 1.0], 300)
    objective = RankedRangeObjective(X, y, loss, k=60, C=100.0)
    theta = constant_model(objective)
    assert objective.value(theta) == pytest.approx(value)
    weights = constant_weights(objective, theta)
    bound = objective.lower_bound(objective.at(theta), weights)
    assert bound == pytest.approx(value, rel=1e-9)
    assert topsum(objective).objective == pytest.approx(value, rel=1e-6)


def test_no_weights_are_found_where_another_model_is_better():
    X, y = classes(300, 3, noise=0.1)
    objective = RankedRangeObjective(X, y, k=200, C=100.0)
    assert topsum(objective).objective < 0.6
    assert constant_weights(objective, constant_model(objective)) is None


def test_many_rows_take_the_short_cut_to_the_constant_model():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((3000, 3)), rng.choice([-1.0, 1.0], 3000)
    solution = topsum(RankedRangeObjective(X, y, k=300, C=100.0))
    assert solution.status.name == "CONSTANT_MODEL"
    assert solution.gap <= 1e-6
    assert np.abs(solution.coef).max() < 1e-6


def test_small_coefficients_of_a_strong_ridge_are_not_constant():
    X, y = classes(100)
    solution = topsum(RankedRangeObjective(X, y, C=1e-3))
    assert np.abs(solution.coef).max() < 1e-3
    assert solution.status.name == "OPTIMAL"


def test_a_single_class_is_refused_by_every_solver():
    objective = RankedRangeObjective(np.zeros((5, 1)), np.ones(5))
    weightless = RankedRangeObjective(
        np.zeros((4, 1)), np.array([1.0, 1.0, -1.0, 1.0]), sample_weight=[1.0, 1.0, 0.0, 1.0]
    )
    for solver in (topsum, trim, exhaustive):
        for given in (objective, weightless):
            with pytest.raises(ValueError, match="all rows that count are of class 1; needed two"):
                solver(given)
