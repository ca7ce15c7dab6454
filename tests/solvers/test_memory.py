import numpy as np

from sorr.solvers.memory import Memory


def filled(size):
    rng = np.random.default_rng(0)
    root = rng.standard_normal((5, 5))
    H = root @ root.T + np.eye(5)
    memory = Memory(size)
    steps = rng.standard_normal((5, 5))
    for step in steps:
        memory.add(step, H @ step, rtol=1e-12)
    return memory, steps, H


def test_the_last_change_leads_back_to_the_last_step():
    """The secant equation, whatever the metric."""
    memory, steps, H = filled(3)
    for metric in (None, lambda q: 3 * q):
        np.testing.assert_allclose(memory.solve(H @ steps[-1], metric), steps[-1], atol=1e-10)


def test_conjugate_steps_give_the_whole_inverse():
    root = np.random.default_rng(1).standard_normal((4, 4))
    H = root @ root.T + np.eye(4)
    memory = Memory(4)
    for step in np.linalg.eigh(H)[1].T:
        memory.add(step, H @ step, rtol=1e-12)
    vector = np.arange(4.0)
    np.testing.assert_allclose(memory.solve(vector), np.linalg.solve(H, vector), atol=1e-10)


def test_an_empty_memory_returns_the_gradient_and_old_steps_are_forgotten():
    memory = Memory(2)
    np.testing.assert_array_equal(memory.solve(np.array([1.0, -2.0])), [1.0, -2.0])
    for i in range(5):
        memory.add(np.eye(2)[i % 2], np.eye(2)[i % 2], rtol=1e-12)
    assert len(memory) == 2
    memory.clear()
    assert len(memory) == 0


def test_a_step_along_which_nothing_curves_upwards_is_left_out():
    memory = Memory(3)
    memory.add(np.array([1.0, 0.0]), np.array([-1.0, 0.0]), rtol=1e-12)
    memory.add(np.array([1.0, 0.0]), np.array([0.0, 1.0]), rtol=1e-12)
    assert len(memory) == 0


def test_changes_whose_squares_vanish_are_forgotten():
    memory = Memory(2)
    memory.add(np.array([1.0]), np.array([1e-170]), rtol=1e-10)
    assert np.isfinite(memory.solve(np.ones(1))).all()
