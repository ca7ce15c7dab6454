import numpy as np
import pytest

from sorr.objectives import RankedRangeObjective
from sorr.solvers import Status, exhaustive, trim
from tests.slow import slow
from tests.solvers.problems import classes, with_sentinels


def tiny(seed):
    """Draw a tiny problem whose smaller class does not fit inside m."""
    rng = np.random.default_rng(seed)
    while True:
        n, d, m = int(rng.integers(6, 13)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
        X = rng.standard_normal((n, d))
        y = np.where(X[:, 0] + rng.standard_normal(n) > 0, 1.0, -1.0)
        if min(np.sum(y > 0), np.sum(y < 0)) > m:
            break
    k = int(rng.integers(m + 1, n + 1))
    loss = ("logistic", "hinge")[seed % 2]
    return RankedRangeObjective(X, y, loss, m=m, k=k, C=float(rng.choice([1.0, 100.0, 1e4])))


@pytest.mark.parametrize("seed", range(4))
def test_the_global_minimum_of_a_tiny_problem_is_found_by_enumeration(seed):
    objective = tiny(seed)
    referee = exhaustive(objective)
    constant = np.ptp(objective.raw_prediction(referee.theta)) < 1e-2
    assert referee.status is (Status.CONSTANT_MODEL if constant else Status.OPTIMAL)
    assert referee.gap <= 1e-6
    assert referee.objective == pytest.approx(objective.value(referee.theta), rel=1e-12)
    rng = np.random.default_rng(0)
    others = [objective.value(3 * rng.standard_normal(objective.shape)) for _ in range(200)]
    assert referee.objective <= min(others)


@pytest.mark.parametrize("part", [0, *slow(*range(1, 8))])
def test_the_default_reaches_the_enumerated_minimum_of_tiny_problems(part):
    """At least 97 % of 200 problems, that is: one in 25 may be missed in a part, not in all."""
    hits = 0
    for seed in range(25 * part, 25 * part + 25):
        objective = tiny(seed)
        referee = exhaustive(objective, tol=1e-5)
        solution = trim(objective, random_state=seed)
        assert solution.objective >= referee.objective * (1 - referee.gap) - 1e-9
        hits += solution.objective <= referee.objective * (1 + 1e-4) + 1e-9
    assert hits >= 25 - (part % 4 != 0)  # six misses in all


def test_enumeration_refuses_what_it_cannot_do():
    X, y = classes(60)
    with pytest.raises(ValueError, match="sets of rows to drop; needed at most"):
        exhaustive(RankedRangeObjective(X, y, m=20))
    with pytest.raises(ValueError, match="given weights or a fractional m"):
        exhaustive(RankedRangeObjective(X, y, m=1, sample_weight=np.full(60, 2.0)))


def test_a_constant_model_is_called_one():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 2)), np.where(rng.integers(2, size=12) == 1, 1.0, -1.0)
    referee = exhaustive(RankedRangeObjective(X, y, k=1, C=100.0))
    assert referee.status is Status.CONSTANT_MODEL
    assert referee.gap <= 1e-6


def test_an_huge_target_is_dropped():
    X, y = with_sentinels(12)
    referee = exhaustive(RankedRangeObjective(X, y, "squared", m=1, C=1e6))
    assert referee.status is Status.OPTIMAL
    assert referee.row_weights[7] == 0
    np.testing.assert_allclose(referee.coef, [1, 2, 3], rtol=1e-3)
