import math
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sorr.experiments.paper.population import (
    Population,
    expected_loss,
    point_minimum,
    population_minimum,
    scaled_loss,
)
from sorr.experiments.published import LOSSES
from sorr.ranked import Thresholds

STEEPEST = 1 / math.log(2)  # the slope of the scaled losses is less
GRID = np.linspace(-40, 40, 8_001)
STEP = GRID[1] - GRID[0]

losses = st.sampled_from(LOSSES)
etas = st.integers(1, 99).filter(lambda part: part != 50).map(lambda part: part / 100)
levels = st.integers(0, 30).map(lambda part: part / 10)
pairs = st.tuples(levels, st.one_of(levels, st.just(math.inf))).map(sorted)


def individual(loss, z):
    """Return the losses as they are defined, one at zero."""
    return np.log2(1 + np.exp(-z)) if loss == "logistic" else np.maximum(1 - z, 0)


def by_definition(loss, lower, upper, eta, t):
    def g(s):
        return np.maximum(s - lower, 0) - np.maximum(s - upper, 0)

    return eta * g(individual(loss, t)) + (1 - eta) * g(individual(loss, -t))


@given(loss=losses, z=st.floats(-30, 30))
def test_losses_are_one_at_zero(loss, z):
    assert scaled_loss(loss, z) == pytest.approx(individual(loss, z), rel=1e-12, abs=1e-15)
    assert scaled_loss(loss, 0.0) == 1


@settings(max_examples=50)
@given(loss=losses, cuts=pairs, eta=etas)
def test_the_expected_loss_is_that_of_the_paper(loss, cuts, eta):
    found = expected_loss(loss, Thresholds(cuts[1], cuts[0]), eta, GRID)
    assert_allclose(found, by_definition(loss, *cuts, eta, GRID), rtol=1e-9, atol=1e-12)


@settings(max_examples=50)
@given(loss=losses, cuts=pairs, eta=etas)
def test_no_grid_has_a_lower_point_and_a_fine_one_comes_near(loss, cuts, eta):
    found = point_minimum(loss, Thresholds(cuts[1], cuts[0]), eta)
    values = by_definition(loss, *cuts, eta, GRID)
    wrong = values[(eta - 0.5) * GRID <= 0].min()
    for exact, nearest in ((found.infimum, values.min()), (found.infimum + found.excess, wrong)):
        assert exact <= nearest + 1e-9
        assert exact >= nearest - STEEPEST * STEP / 2 - 1e-9


@settings(max_examples=50)
@given(loss=losses, cuts=pairs, eta=etas)
def test_both_ends_minimise_and_nothing_outside_of_them_does(loss, cuts, eta):
    found = point_minimum(loss, Thresholds(cuts[1], cuts[0]), eta)
    ends = np.clip([found.low, found.high], -40, 40)
    assert_allclose(by_definition(loss, *cuts, eta, ends), found.infimum, atol=1e-9)
    near = GRID[np.abs(GRID) < 15]  # farther out the logistic loss is flat but for rounding
    beyond = near[np.maximum(found.low - near, near - found.high) > STEP]
    assert (by_definition(loss, *cuts, eta, beyond) > found.infimum + 1e-9).all()


@settings(max_examples=50)
@given(loss=losses, cuts=pairs, eta=etas)
def test_theorem_2_holds_with_every_minimiser_below_the_loss_at_zero(loss, cuts, eta):
    assume(cuts[0] < min(cuts[1], 1))
    found = point_minimum(loss, Thresholds(cuts[1], cuts[0]), eta)
    assert found.excess > 0
    assert min((eta - 0.5) * found.low, (eta - 0.5) * found.high) > 0


@given(loss=losses, upper=st.floats(1.01, 5), eta=etas)
def test_theorem_2_fails_where_the_lower_threshold_is_the_loss_at_zero(loss, upper, eta):
    found = point_minimum(loss, Thresholds(upper, 1.0), eta)
    assert found == (0, 0, 0, 0)


@given(loss=losses, lower=st.floats(1.01, 3), more=st.floats(0.1, 3), eta=etas)
def test_above_it_a_whole_interval_around_zero_minimises(loss, lower, more, eta):
    found = point_minimum(loss, Thresholds(lower + more, lower), eta)
    reach = math.log(2**lower - 1) if loss == "logistic" else lower - 1
    assert_allclose([found.low, found.high], [-reach, reach], rtol=1e-9)
    assert (found.infimum, found.excess) == (0, 0)


@given(loss=losses, level=levels, eta=etas)
def test_where_thresholds_are_equal_everything_minimises(loss, level, eta):
    assert point_minimum(loss, Thresholds(level, level), eta) == (-math.inf, math.inf, 0, 0)


def test_the_logistic_loss_with_a_cap_alone_has_its_infimum_at_infinity():
    found = point_minimum("logistic", Thresholds(2.0, 0.0), 0.75)
    assert found.low == found.high == math.inf
    assert found.infimum == 0.5


def test_at_one_half_there_is_no_wrong_sign():
    assert math.isnan(point_minimum("hinge", Thresholds(2.0, 0.0), 0.5).excess)


# -- populations -----------------------------------------------------------------------------------


ONE_TO_THREE = st.integers(1, 3)


@st.composite
def problems(draw, n_points=ONE_TO_THREE):
    """Draw a population without a point of probability one half, and ranks."""
    masses = st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda pair: pair[0] != pair[1])
    size = draw(n_points)
    positive, negative = zip(*draw(st.lists(masses, min_size=size, max_size=size)), strict=True)
    population = Population(positive, negative)
    assume(population.total > 1)
    m = draw(st.integers(0, population.total - 1))
    return population, m, draw(st.integers(m + 1, population.total))


def by_sorting(loss, population, m, k, predictions):
    """Return the average of a ranked range: a row for each unit of mass, sorted."""
    t = np.asarray(predictions)
    values = np.concatenate([individual(loss, t), individual(loss, -t)])
    rows = np.repeat(values, population.positive + population.negative)
    return np.sort(rows)[::-1][m:k].mean()


@settings(max_examples=40)
@given(problem=problems(), loss=losses)
def test_the_predictions_found_attain_the_infimum_and_the_thresholds(problem, loss):
    population, m, k = problem
    found = population_minimum(loss, population, m, k)
    near = np.clip(found.predictions, -40, 40)
    assert by_sorting(loss, population, m, k, near) == pytest.approx(found.infimum, abs=1e-9)
    signs = np.concatenate([found.predictions, np.negative(found.predictions)])
    with np.errstate(over="ignore"):
        values = individual(loss, signs)
    rows = np.sort(np.repeat(values, population.positive + population.negative))[::-1]
    assert found.cuts.lower == pytest.approx(rows[k - 1], abs=1e-9)
    assert found.cuts.upper == (pytest.approx(rows[m - 1], abs=1e-9) if m else math.inf)


@settings(max_examples=20)
@given(problem=problems(st.just(2)), loss=losses)
def test_no_predictions_on_a_grid_are_lower_and_none_of_a_wrong_sign_beats_the_excess(
    problem, loss
):
    population, m, k = problem
    found = population_minimum(loss, population, m, k)
    grid = [-40.0, *np.linspace(-3, 3, 25), 40.0]
    for predictions in product(grid, repeat=2):
        value = by_sorting(loss, population, m, k, predictions)
        assert value >= found.infimum - 1e-9
        for t, side, excess in zip(predictions, population.bayes, found.excess, strict=True):
            if t * side <= 0:
                assert value >= found.infimum + excess - 1e-9


@settings(max_examples=100)
@given(problem=problems(), loss=losses)
def test_one_rule_tells_which_signs_are_right_at_every_minimiser(problem, loss):
    population, m, k = problem
    found = population_minimum(loss, population, m, k)
    wrong = sum(map(min, population.positive, population.negative))
    margins = np.abs(np.subtract(population.positive, population.negative))
    if m + k <= 2 * wrong:
        expected = [False] * len(margins)
        assert found.infimum == pytest.approx(1)
    elif m <= wrong:
        expected = [True] * len(margins)
        assert found.infimum < 1
    else:
        expected = list(margins > m - wrong)
        assert found.infimum == 0
    assert [excess > 0 for excess in found.excess] == expected


def test_a_population_knows_bayes_rule():
    population = Population((7, 1), (3, 9))
    assert population.total == 20
    assert population.etas == (0.7, 0.1)
    assert population.bayes == (1, -1)
    assert population.bayes_error == 0.2
