import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sorr.objectives import RankedRangeObjective
from sorr.solvers import topsum
from sorr.solvers.blur import Blurred, clipped_parts, sharpen, sharpens
from sorr.solvers.fast import evaluate
from tests.solvers.problems import classes, targets_for


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=12), st.floats(0.05, 0.95), st.data())
def test_clipped_parts_have_the_mass_they_should(values, share, data):
    values = np.array(values, dtype=float)
    mass = np.array(
        data.draw(st.lists(st.floats(0.1, 2), min_size=len(values), max_size=len(values)))
    )
    total = share * mass.sum()
    bracket = (values.min() - 0.5, values.max())
    part = clipped_parts(values, mass, total, bracket, 0.5)
    assert mass @ part == pytest.approx(total, rel=1e-9)
    assert ((part >= 0) & (part <= 1)).all()
    assert (np.diff(part[np.argsort(values)]) >= -1e-12).all()


@pytest.mark.parametrize("groups", [False, True])
def test_the_slope_of_a_blurred_objective_is_that_of_its_values(groups):
    X, y = classes(40, 3)
    objective = RankedRangeObjective(X, y, k=0.4, C=10.0, groups=y if groups else None)
    blurred = Blurred.of(objective, 0.2)
    theta = np.array([0.7, -0.3, 0.2, 0.1])
    _, slope = blurred.value_and_subgradient(theta)
    step = 1e-6 * np.eye(4)
    numeric = [(blurred.value(theta + s) - blurred.value(theta - s)) / 2e-6 for s in step]
    np.testing.assert_allclose(slope, numeric, rtol=1e-5, atol=1e-8)


def test_a_blurred_objective_tends_to_the_sharp_one_from_above():
    X, y = classes(40, 3)
    objective = RankedRangeObjective(X, y, k=15, C=10.0)
    theta = np.array([0.7, -0.3, 0.2, 0.1])
    exact = objective.value(theta)
    excess = [Blurred.of(objective, width).value(theta) - exact for width in (1.0, 0.1, 0.001)]
    assert excess[0] > excess[1] > excess[2] >= -1e-12
    assert excess[2] < 1e-3


@pytest.mark.parametrize("loss", ["hinge", "absolute"])
@pytest.mark.parametrize("k", [None, 0.5])
def test_corners_are_approached_by_newton_steps(loss, k):
    X, _ = classes(2000, 4)
    objective = RankedRangeObjective(X, targets_for(loss, X), loss, k=k, C=100.0)
    start = evaluate(objective, np.array([0.5, 0.1, 0.0, 0.0, 0.0]))
    point = sharpen(objective, start)
    assert point.value <= topsum(objective).objective * (1 + 1e-3)
    assert point.value == pytest.approx(objective.value(point.theta), rel=1e-12)


def test_only_corners_and_few_parameters_are_sharpened():
    X, y = classes(30, 3)
    assert sharpens(RankedRangeObjective(X, y, "hinge"))
    assert not sharpens(RankedRangeObjective(X, y, "logistic"))
    wide = np.zeros((30, 600))
    assert not sharpens(RankedRangeObjective(wide, y, "hinge"))
