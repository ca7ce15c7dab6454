"""The softmax over label sets: gradients by differences, minima by others, certified gaps."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp

from sorr.estimators import set_objective
from sorr.estimators.set_objective import SetSoftmax, distinct_sets
from sorr.solvers import Status


def problem(n=60, d=4, n_labels=5, seed=0, C=3.0, weighted=True, form=np.asarray, shift=0.0):
    """Return an objective on labels that depend on the features, and the labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(0.5, 3, d) * (rng.random((n, d)) < 0.7)
    Y = X @ rng.normal(size=(d, n_labels)) + rng.normal(size=(n, n_labels)) > 0.8
    sets, index = distinct_sets(Y)
    weight = rng.uniform(0.2, 2, n) if weighted else None
    return SetSoftmax(form(X + shift), sets, index, weight, C), Y


def point(objective, seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=objective.shape), rng.normal(size=len(objective.sets))


def minimum(objective, tol=1e-12):
    start = np.zeros(objective.shape), np.zeros(len(objective.sets))
    return objective.minimise(*start, tol=tol, max_iter=2000)


def test_the_value_is_that_of_a_slow_loop():
    objective, Y = problem()
    coef, offset = point(objective)
    X, mass = objective.X, objective.mass
    value = (coef**2).sum() / 6 + 0.5e-3 * (offset**2).sum()
    for x, labels, share in zip(X, Y, mass, strict=True):
        logits, own = [], None
        for members, b in zip(objective.sets, offset, strict=True):
            logits.append(sum(x @ coef[:, j] for j in np.flatnonzero(members)) + b)
            if np.array_equal(members > 0, labels):
                own = logits[-1]
        value += share * (logsumexp(logits) - own)
    assert objective.value_and_gradient(coef, offset)[0] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_gradient_is_that_of_differences(form):
    objective, _ = problem(n=30, form=form)
    coef, offset = point(objective)
    _, *slopes = objective.value_and_gradient(coef, offset)
    h = 1e-5
    for parameter, slope in zip((coef, offset), slopes, strict=True):
        for place in np.ndindex(parameter.shape):
            ends = []
            for step in (h, -h):
                kept = parameter[place]
                parameter[place] += step
                ends.append(objective.value_and_gradient(coef, offset)[0])
                parameter[place] = kept
            assert slope[place] == pytest.approx((ends[0] - ends[1]) / (2 * h), abs=1e-8)


@pytest.mark.parametrize("n_features", [1000, 3])
def test_dense_and_sparse_rows_have_the_same_minimum(n_features, monkeypatch):
    monkeypatch.setattr(set_objective, "_MOST_FEATURES", n_features)
    dense, _ = problem()
    thin, _ = problem(form=sparse.csr_array)
    coef, offset = point(dense)
    for one, other in zip(
        dense.value_and_gradient(coef, offset), thin.value_and_gradient(coef, offset), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-12)
    np.testing.assert_allclose(minimum(dense).coef, minimum(thin).coef, atol=1e-5)


def test_rows_in_parts_are_the_rows_as_a_whole(monkeypatch):
    objective, _ = problem()
    whole = objective.value_and_gradient(*point(objective))
    monkeypatch.setattr(set_objective, "_CHUNK", 100)
    for one, other in zip(whole, objective.value_and_gradient(*point(objective)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def test_the_minimum_is_that_of_cvxpy():
    cp = pytest.importorskip("cvxpy", reason="the referee is optional")
    objective, _ = problem(n=25, d=3, n_labels=3)
    coef, offset = cp.Variable(objective.shape), cp.Variable(len(objective.sets))
    logits = objective.X @ coef @ objective.sets.T + np.ones((25, 1)) @ cp.reshape(
        offset, (1, len(objective.sets)), order="C"
    )
    own = cp.sum(cp.multiply(logits, np.eye(len(objective.sets))[objective.index]), axis=1)
    loss = objective.mass @ (cp.log_sum_exp(logits, axis=1) - own)
    ridge = cp.sum_squares(coef) / (2 * objective.C) + 0.5e-3 * cp.sum_squares(offset)
    best = cp.Problem(cp.Minimize(loss + ridge)).solve(solver="CLARABEL")
    found = minimum(objective)
    assert found.objective == pytest.approx(best, rel=1e-6)  # as far as the referee goes
    np.testing.assert_allclose(found.coef, coef.value, atol=1e-3)


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6, 1e-9])
@pytest.mark.parametrize("C", [0.1, 10.0, 1e4])
def test_the_gap_bounds_the_distance_to_the_minimum(tol, C):
    objective, _ = problem(C=C)
    best = minimum(objective).objective
    found = minimum(objective, tol)
    assert found.status is Status.OPTIMAL
    assert found.gap <= tol
    assert 0 <= found.objective - best + 1e-12 <= found.gap * found.objective + 2e-12
    for seed in range(5):
        value, *slopes = objective.value_and_gradient(*point(objective, seed))
        assert value - best <= objective.gap(value, *slopes) * value


def test_features_far_from_zero_make_no_difference():
    near, far = problem()[0], problem(shift=1e4)[0]
    np.testing.assert_allclose(minimum(near).coef, minimum(far).coef, atol=1e-6)


def test_too_few_steps_are_said_to_be_too_few():
    objective, _ = problem(C=100.0)
    start = np.zeros(objective.shape), np.zeros(len(objective.sets))
    found = objective.minimise(*start, tol=1e-9, max_iter=3)
    assert found.status is Status.UNCERTIFIED
    assert found.gap > 1e-9
    assert found.n_iter == 3


def test_the_minimum_is_a_start_that_takes_no_step():
    objective, _ = problem()
    found = minimum(objective)
    again = objective.minimise(found.coef, found.offset, tol=1e-10, max_iter=5)
    assert again.n_iter == 0


@pytest.mark.parametrize("n_labels", [1, 8, 9, 40])
def test_distinct_sets_are_those_of_a_slow_loop(n_labels):
    rng = np.random.default_rng(n_labels)
    base = rng.random((6, n_labels)) < 0.5
    Y = base[rng.integers(6, size=50)]
    sets, index = distinct_sets(Y)
    np.testing.assert_array_equal(sets[index], Y)
    assert len(sets) == len({tuple(row) for row in Y.tolist()})
