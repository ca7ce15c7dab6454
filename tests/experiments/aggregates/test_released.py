"""The released loop against a literal one, written row by row."""

import math

import numpy as np
import pytest

from sorr.experiments.aggregates.released import released_fit, released_split


def literal(X, y, loss, m, k, outer, inner, step, seed, score):
    """The loop, one row at a time, with the intercept as first column."""
    n = len(y)
    rows = [[1.0, *row] for row in X]

    def value_and_slope(theta, i):
        margin = y[i] * sum(t * x for t, x in zip(theta, rows[i], strict=True))
        if loss == "hinge":
            return max(0.0, 1 - margin), -y[i] if margin < 1 else 0.0
        return math.log1p(math.exp(-margin)), -y[i] / (1 + math.exp(margin))

    def slope(theta, rank):
        if rank == 0:
            return np.zeros(len(theta))
        found = [value_and_slope(theta, i) for i in range(n)]
        least = sorted((value for value, _ in found), reverse=True)[rank - 1]
        total = np.zeros(len(theta))
        for (value, change), row in zip(found, rows, strict=True):
            if value >= least and value > 0:
                total += change * np.array(row)
        return total / n

    theta = np.random.RandomState(seed).rand(len(rows[0]))
    for _ in range(outer):
        tangent = slope(theta, m)
        point, best = np.zeros(len(rows[0])), -1.0
        for _ in range(inner):
            point = point - step * (slope(point, k) - tangent)
            found = score(np.roll(point, -1))
            if found >= best:
                best, theta = found, point
    return np.roll(theta, -1)


def rows(seed=0, n=30):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 2))
    y = np.where(X @ [1.0, -0.5] + random.normal(size=n) > 0, 1, -1)
    return X, y


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize(("m", "k"), [(3, 12), (0, 1), (0, 30), (9, 10)])
def test_the_loop_ends_where_the_literal_one_does(loss, m, k):
    X, y = rows()
    validation = rows(1)

    def score(theta):
        return float(np.mean((validation[0] @ theta[:-1] + theta[-1] >= 0) == (validation[1] > 0)))

    options = {"m": m, "k": k, "outer": 3, "inner": 25, "step": 0.3}
    found = released_fit(X, y, loss, **options, start_seed=7, score=score)
    expected = literal(X, y, loss, *options.values(), 7, score)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_an_outer_step_with_a_known_tangent_is_not_repeated():
    X, y = rows()
    scored = []

    def score(theta):
        scored.append(theta)
        return 0.0

    released_fit(
        X, y, "logistic", m=0, k=30, outer=50, inner=4, step=0.1, start_seed=0, score=score
    )
    assert len(scored) == 4


def test_of_equal_scores_the_last_point_is_kept():
    X, y = rows()
    seen = []

    def score(theta):
        seen.append(theta)
        return 0.5

    found = released_fit(
        X, y, "hinge", m=0, k=30, outer=1, inner=5, step=0.1, start_seed=0, score=score
    )
    np.testing.assert_array_equal(found, seen[-1])


@pytest.mark.parametrize("seed", [0, 5])
def test_a_split_is_stratified_and_uses_every_row_once(seed):
    y = np.repeat([-1, 1], [41, 18])
    parts = released_split(y, seed)
    assert sorted(np.concatenate(parts)) == list(range(59))
    assert [(np.sum(y[part] == -1), np.sum(y[part] == 1)) for part in parts] == [
        (20, 9),
        (10, 4),
        (11, 5),
    ]


def test_splits_differ_by_seed_and_repeat_with_it():
    y = np.repeat([-1, 1], 20)
    first, again, other = (released_split(y, seed)[0] for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert set(first) != set(other)
