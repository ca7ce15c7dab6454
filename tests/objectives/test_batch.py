import numpy as np
import pytest

from sorr.objectives import Batch, Problems, RankedRangeObjective
from tests.solvers.problems import KINDS, classes, line, ranked_problem, some_candidates


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["logistic", "hinge", "absolute"])
def test_values_are_those_of_the_objective(loss, kind):
    objective = ranked_problem(loss, **KINDS[kind])
    batch = Batch(objective)
    T = some_candidates(batch)
    expected = [objective.value(theta) for theta in batch.frame.original(T)]
    np.testing.assert_allclose(batch.values(T), expected, rtol=1e-12)


def test_every_candidate_may_have_a_problem_of_its_own():
    X, y = classes()
    batch = Batch(RankedRangeObjective(X, y))
    T = some_candidates(batch, 4)
    ends, C = [(0, 60), (3, 20), (10, 11), (0, 1)], [1.0, 10.0, 100.0, 0.5]
    m, k = np.array(ends, dtype=float).T[:, :, None]
    problems = Problems(m, k, 1 / (k - m), 1 / np.array(C))
    expected = [
        RankedRangeObjective(X, y, m=low, k=high, C=c).value(theta)
        for (low, high), c, theta in zip(ends, C, batch.frame.original(T), strict=True)
    ]
    np.testing.assert_allclose(batch.values(T, problems), expected, rtol=1e-12)


@pytest.mark.parametrize("kind", ["plain", "weights", "groups"])
def test_values_are_right_where_losses_tie(kind):
    objective = ranked_problem(**KINDS[kind])
    batch = Batch(objective)
    T = np.zeros((3, 4))
    T[1, 3], T[2, 0] = 1.0, 1e-3
    expected = [objective.value(theta) for theta in batch.frame.original(T)]
    np.testing.assert_allclose(batch.values(T), expected, rtol=1e-12)


def test_a_huge_discarded_loss_leaves_the_value_untouched():
    X, y = line(30)
    y[0] = 1e150  # its square is 1e300
    objective = RankedRangeObjective(X, y, "squared", m=1, k=20)
    batch = Batch(objective)
    T = batch.frame.standardised(np.ones((1, 4)))
    assert batch.values(T)[0] == pytest.approx(objective.value(np.ones(4)), rel=1e-9)
    assert batch.values(T)[0] < 100


def test_coordinates_translate_back_and_forth():
    batch = Batch(ranked_problem())
    T = some_candidates(batch)
    np.testing.assert_allclose(batch.frame.standardised(batch.frame.original(T)), T, atol=1e-12)
    theta = batch.frame.original(T)
    raw = np.array([batch.objective.raw_prediction(t) for t in theta])
    np.testing.assert_allclose(T @ batch.frame.rows.T, raw[:, batch.index], atol=1e-12)


def test_steps_do_not_warn_of_invalid_values():
    batch = Batch(ranked_problem())
    vars(batch)["_rows"] = np.full_like(batch.frame.rows, np.inf, dtype=np.float32)
    T = some_candidates(batch, 2)
    assert np.isinf(batch.evaluate(T, batch.repeat_problem(2)).value).all()
