import numpy as np
import pytest

from sorr.solvers import solve_symmetric


@pytest.mark.parametrize("scales", [np.ones(6), np.logspace(-8, 8, 6)])
def test_systems_of_any_scale_are_solved(scales):
    rng = np.random.default_rng(0)
    root = rng.standard_normal((6, 6))
    M = (root @ root.T + 0.1 * np.eye(6)) * scales[:, None] * scales
    expected = rng.standard_normal(6) / scales
    np.testing.assert_allclose(solve_symmetric(M)(M @ expected), expected, rtol=1e-8)


def test_a_singular_matrix_still_gives_a_solution_of_a_consistent_system():
    M = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    solution = solve_symmetric(M)(np.array([2.0, 2.0, 0.0]))
    np.testing.assert_allclose(M @ solution, [2.0, 2.0, 0.0], atol=1e-6)


def test_an_indefinite_matrix_falls_back_to_least_squares():
    M = np.array([[1.0, 2.0], [2.0, 1.0]])
    np.testing.assert_allclose(solve_symmetric(M)(np.array([3.0, 3.0])), [1.0, 1.0], rtol=1e-6)
