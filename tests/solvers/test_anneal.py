import numpy as np
import pytest

from sorr.objectives import RankedRangeObjective
from sorr.solvers import Status, trim
from sorr.solvers.anneal import _Heated, anneal
from sorr.solvers.fast import descend, evaluate
from tests.solvers.problems import classes


@pytest.mark.parametrize("options", [{}, {"k": 0.7}, {"groups": True}, {"weighted": True}])
def test_the_slope_of_a_heated_objective_is_that_of_its_values(options):
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
    heated = _Heated.of(objective, 0.5)
    theta = np.array([0.7, -0.3, 0.2, 0.1])
    _, slope = heated.value_and_subgradient(theta)
    numeric = [(heated.value(theta + s) - heated.value(theta - s)) / 2e-6 for s in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(slope, numeric, rtol=1e-5, atol=1e-8)


def test_a_heated_objective_tends_to_the_cold_one_from_above():
    X, y = classes(40, 3)
    objective = RankedRangeObjective(X, y, m=8, C=10.0)
    theta = np.array([0.7, -0.3, 0.2, 0.1])
    excess = [_Heated.of(objective, h).value(theta) - objective.value(theta) for h in (1.0, 0.01)]
    assert excess[0] > excess[1] >= -1e-12
    assert excess[1] < 1e-2


def test_annealing_finds_deeper_minima_than_sharp_steps():
    """With many features and flipped labels, each sharp descent ends in a minimum of its own."""
    gains = []
    for seed in range(4):
        X, y = classes(3000, 100, seed, noise=0.3)
        rng = np.random.default_rng(seed)
        y[rng.random(3000) < 0.1] *= -1
        objective = RankedRangeObjective(X, y, m=300, C=1e4)
        start = evaluate(objective, np.zeros(101))
        sharp = descend(objective, start, tol=1e-6)
        soft = descend(objective, anneal(objective, start, rng), tol=1e-6)
        gains.append(sharp.value / soft.value - 1)
    assert np.mean(gains) > 0.003


@pytest.mark.parametrize("groups", [False, True])
def test_an_annealed_fit_of_several_classes_may_sample_its_rows(groups):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, size=6000)
    X = rng.standard_normal((3, 8))[y] + rng.standard_normal((6000, 8))
    objective = RankedRangeObjective(X, y, "softmax", m=0.1, groups=y if groups else None)
    assert trim(objective, certify=False, random_state=0).status is Status.CONVERGED
