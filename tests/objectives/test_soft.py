import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sorr.objectives import RankedRangeObjective, annealed, blurred
from sorr.objectives.soft import clip_to_mass
from tests.solvers.problems import classes


@pytest.mark.parametrize("options", [{}, {"k": 0.7}, {"groups": True}, {"weighted": True}])
def test_the_slope_of_an_annealed_objective_is_that_of_its_values(options):
    X, y = classes(40, 3)
    weight = np.random.default_rng(0).integers(1, 3, 40) if options.get("weighted") else None
    objective = RankedRangeObjective(
        X,
        y,
        m=0.2,
        k=options.get("k"),
        C=10.0,
        groups=y if options.get("groups") else None,
        sample_weight=weight,
    )
    soft = annealed(objective, 0.5)
    theta = np.array([0.7, -0.3, 0.2, 0.1])
    _, slope = soft.value_and_subgradient(theta)
    numeric = [(soft.value(theta + s) - soft.value(theta - s)) / 2e-6 for s in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(slope, numeric, rtol=1e-5, atol=1e-8)


def test_an_annealed_objective_tends_to_the_sharp_one_from_above():
    X, y = classes(40, 3)
    objective = RankedRangeObjective(X, y, m=8, C=10.0)
    theta = np.array([0.7, -0.3, 0.2, 0.1])
    exact = objective.value(theta)
    excess = [annealed(objective, t).value(theta) - exact for t in (1.0, 0.01)]
    assert excess[0] > excess[1] >= -1e-12
    assert excess[1] < 1e-2


@pytest.mark.parametrize("groups", [False, True])
def test_the_slope_of_a_blurred_objective_is_that_of_its_values(groups):
    X, y = classes(40, 3)
    objective = RankedRangeObjective(X, y, k=0.4, C=10.0, groups=y if groups else None)
    soft = blurred(objective, 0.2)
    theta = np.array([0.7, -0.3, 0.2, 0.1])
    _, slope = soft.value_and_subgradient(theta)
    step = 1e-6 * np.eye(4)
    numeric = [(soft.value(theta + s) - soft.value(theta - s)) / 2e-6 for s in step]
    np.testing.assert_allclose(slope, numeric, rtol=1e-5, atol=1e-8)


def test_a_blurred_objective_tends_to_the_sharp_one_from_above():
    X, y = classes(40, 3)
    objective = RankedRangeObjective(X, y, k=15, C=10.0)
    theta = np.array([0.7, -0.3, 0.2, 0.1])
    exact = objective.value(theta)
    excess = [blurred(objective, width).value(theta) - exact for width in (1.0, 0.1, 0.001)]
    assert excess[0] > excess[1] > excess[2] >= -1e-12
    assert excess[2] < 1e-3


def test_what_is_made_from_a_soft_objective_is_as_soft():
    X, y = classes(40, 3)
    objective = RankedRangeObjective(X, y, "hinge", m=8, C=10.0)
    soft = annealed(objective, 0.5).smoothed(0.1)
    assert soft.temperature == 0.5
    assert soft.loss == objective.smoothed(0.1).loss
    assert blurred(objective, 0.2).with_ridge(3.0).width == 0.2


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=12), st.floats(0.05, 0.95), st.data())
def test_parts_have_the_mass_they_should(values, share, data):
    values = np.array(values, dtype=float)
    mass = np.array(
        data.draw(st.lists(st.floats(0.1, 2), min_size=len(values), max_size=len(values)))
    )
    total = share * mass.sum()
    bracket = (values.min() - 0.5, values.max())
    part = clip_to_mass(values, mass, total, bracket, 0.5)
    assert mass @ part == pytest.approx(total, rel=1e-9)
    assert ((part >= 0) & (part <= 1)).all()
    assert (np.diff(part[np.argsort(values)]) >= -1e-12).all()
