"""The released loop against a literal one, written row by row."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sorr.experiments.paper.released import (
    Part,
    _Loop,
    draw_split,
    mark_costliest_other,
    mark_costly,
    run_aggregate_loop,
    run_digits_loop,
    run_label_set_loop,
    run_svm_loop,
)
from sorr.experiments.published import LoopSetting


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

    setting = LoopSetting(None, outer=3, inner=25, step=0.3)
    found = run_aggregate_loop(X, y, loss, m=m, k=k, setting=setting, start_seed=7, score=score)
    expected = literal(X, y, loss, m, k, *setting[1:], 7, score)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_an_outer_step_with_a_known_tangent_is_not_repeated():
    X, y = rows()
    scored = []

    def score(theta):
        scored.append(theta)
        return 0.0

    setting = LoopSetting(None, outer=50, inner=4, step=0.1)
    run_aggregate_loop(X, y, "logistic", m=0, k=30, setting=setting, start_seed=0, score=score)
    assert len(scored) == 4


def test_of_equal_scores_the_last_point_is_kept():
    X, y = rows()
    seen = []

    def score(theta):
        seen.append(theta)
        return 0.5

    setting = LoopSetting(None, outer=1, inner=5, step=0.1)
    found = run_aggregate_loop(X, y, "hinge", m=0, k=30, setting=setting, start_seed=0, score=score)
    np.testing.assert_array_equal(found, seen[-1])


@pytest.mark.parametrize("seed", [0, 5])
def test_a_split_is_stratified_and_uses_every_row_once(seed):
    y = np.repeat([-1, 1], [41, 18])
    parts = draw_split(y, seed)
    assert sorted(np.concatenate(parts)) == list(range(59))
    assert [(np.sum(y[part] == -1), np.sum(y[part] == 1)) for part in parts] == [
        (20, 9),
        (10, 4),
        (11, 5),
    ]


def test_splits_differ_by_seed_and_repeat_with_it():
    y = np.repeat([-1, 1], 20)
    first, again, other = (draw_split(y, seed)[0] for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert set(first) != set(other)


def rows_with_labels(n, seed, n_features=3, n_labels=5):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, n_features))
    Y = X @ rng.normal(size=(n_features, n_labels)) + rng.normal(size=(n, n_labels)) > 0.3
    Y[np.arange(n), rng.integers(n_labels, size=n)] = True
    return Part(X, Y)


def literal_slope(W, X, Y, rank):
    """Add up the slopes of the most costly labels, one row and one label at a time."""
    total = np.zeros_like(W)
    for x, y in zip(X, Y, strict=True):
        scores = [float(w @ x) for w in W]
        lowest = min(np.flatnonzero(y), key=lambda j: scores[j])
        costs = [max(0.0, 1 + score - scores[lowest]) for score in scores]
        bound = sorted(costs, reverse=True)[rank - 1]
        counted = [j for j, cost in enumerate(costs) if cost >= bound and cost > 0]
        for j in counted:
            if j != lowest:
                total[j] += x
        total[lowest] -= len(counted) * x
    return total


def literal_accuracy(W, X, Y, k):
    right = 0
    for x, y in zip(X, Y, strict=True):
        best = set(np.argsort(W @ x)[-k:].tolist())
        true = set(np.flatnonzero(y).tolist())
        right += best <= true or true <= best
    return right / len(X)


def literal_loop(train, validation, k, setting):
    X, V = (np.hstack([part.X, np.ones((len(part.X), 1))]) for part in (train, validation))
    shape = train.y.shape[1], X.shape[1]
    W = np.random.RandomState(1234).rand(*shape)
    for _ in range(setting.outer):
        tangent = literal_slope(W, X, train.y, k)
        W = np.random.RandomState(1234).rand(*shape)
        highest, kept = 0.0, None
        for _ in range(setting.inner):
            slope = literal_slope(W, X, train.y, k + 1) - tangent
            W = W - setting.step * (slope / len(X) + W / setting.C)
            accuracy = literal_accuracy(W, V, validation.y, k)
            if accuracy >= highest:
                highest, kept = accuracy, W
        W = kept
    return W, highest


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize(("outer", "inner", "C"), [(1, 40, 1e4), (6, 15, 1e4), (3, 20, 5.0)])
def test_the_loop_is_that_of_the_released_script(k, outer, inner, C):
    train, validation = rows_with_labels(20, seed=k), rows_with_labels(14, seed=10 + k)
    setting = LoopSetting(C, outer, inner, 0.1)
    found = run_label_set_loop(train, validation, k, setting)
    coef, accuracy = literal_loop(train, validation, k, setting)
    np.testing.assert_allclose(found.coef, coef.T, rtol=1e-9)
    assert found.accuracy == accuracy


def test_outer_steps_that_would_repeat_an_earlier_one_are_left_out_without_a_change():
    train, validation = rows_with_labels(12, seed=1), rows_with_labels(8, seed=2)
    setting = LoopSetting(1e4, 12, 4, 0.1)
    found = run_label_set_loop(train, validation, 2, setting)
    assert found.repeated > 0
    coef, _ = literal_loop(train, validation, 2, setting)
    np.testing.assert_allclose(found.coef, coef.T, rtol=1e-9)


@pytest.mark.parametrize("rank", [1, 2, 3, 5])
def test_labels_that_tie_count_in_full(rank):
    part = rows_with_labels(60, seed=0)
    loop = _Loop(part, part, 2, LoopSetting(1e4, 1, 1, 0.1), 1e-4)
    W = np.zeros((5, 4))
    W[:, 3] = [1.0, 0.0, 1.0, 0.0, -2.0]  # scores are intercepts alone, so that many tie
    X = np.hstack([part.X, np.ones((60, 1))])
    expected = literal_slope(W, X, part.y, rank)
    np.testing.assert_allclose(loop.slope(X @ W.T, rank), expected.T, atol=1e-12)


def test_scores_are_those_of_the_coefficients_with_the_intercepts_last():
    train, validation = rows_with_labels(12, seed=3), rows_with_labels(8, seed=4)
    found = run_label_set_loop(train, validation, 1, LoopSetting(1e4, 2, 5, 0.1))
    expected = [[x @ w[:-1] + w[-1] for w in found.coef.T] for x in validation.X]
    np.testing.assert_allclose(found.scores(validation.X), expected)


def test_a_setting_without_c_is_refused():
    part = rows_with_labels(8, seed=0)
    with pytest.raises(ValueError, match="no C; pass one"):
        run_label_set_loop(part, part, 1, LoopSetting(None, 1, 1, 0.1))


# -- The released loop for digits against its description, written out row by row ------------------


SETTING = LoopSetting(None, 3, 14, 0.1)


def parts(dtype=np.float64):
    rng = np.random.default_rng(3)
    X, y = rng.random((60, 5)), rng.integers(0, 4, 60)
    X[np.arange(60), y] += 0.6  # something to learn
    return Part(X[:40].astype(dtype), y[:40]), Part(X[40:].astype(dtype), y[40:])


def slow_slope(W, part, n_ranked, ranks_own=True):
    """Add up slopes row by row, labels sorted by what they cost."""
    slope = np.zeros(W.shape)
    for x, own in zip(part.X, part.y, strict=True):
        x = np.append(x, 1.0)
        scores = [w @ x for w in W]
        costs = {j: max(0.0, 1 + score - scores[own]) for j, score in enumerate(scores)}
        if not ranks_own:
            del costs[own]
        for j in sorted(costs, key=costs.get, reverse=True)[:n_ranked]:
            if j != own and costs[j] > 0:
                slope[j] += x
                slope[own] -= x
    return slope


def slow_descent(part, held, setting, slope_of, tangent, look_every):
    """Return the last of the iterates that predict best, its accuracy and its number."""
    W = np.random.RandomState(1234).rand(4, part.X.shape[1] + 1)
    best = (W, 0.0, 0)
    for step in range(1, setting.inner + 1):
        W = W - setting.step * (slope_of(W) - tangent) / len(part.y)
        if step % look_every == 0 or step == setting.inner:
            guesses = [np.argmax(W @ np.append(x, 1.0)) for x in held.X]
            accuracy = float(np.mean(guesses == held.y))
            if accuracy >= best[1]:
                best = (W, accuracy, step)
    return best


def slow_tkml(part, held, k, setting, look_every):
    W = np.random.RandomState(1234).rand(4, part.X.shape[1] + 1)
    for _ in range(setting.outer):
        tangent = slow_slope(W, part, k)
        best = slow_descent(
            part, held, setting, lambda W: slow_slope(W, part, k + 1), tangent, look_every
        )
        W = best[0]
    return best


def assert_same(kept, slow):
    assert_allclose(kept.coef, slow[0], rtol=1e-10)
    assert (kept.accuracy, kept.step) == slow[1:]


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("look_every", [1, 5])
def test_the_loop_ends_where_its_description_row_by_row_does(k, look_every):
    train, held = parts()
    kept = run_digits_loop(train, held, k, SETTING, look_every=look_every)
    assert_same(kept, slow_tkml(train, held, k, SETTING, look_every))


@pytest.mark.parametrize("ranks_own", [True, False])
def test_the_sum_of_the_top_1_needs_one_outer_step(ranks_own):
    train, held = parts()
    kept = run_svm_loop(train, held, SETTING, ranks_own=ranks_own, look_every=1)
    slow = slow_descent(
        train, held, SETTING, lambda W: slow_slope(W, train, 1, ranks_own), 0.0, look_every=1
    )
    assert_same(kept, slow)


def test_single_precision_ends_at_the_same_point():
    train, held = parts(np.float32)
    kept = run_digits_loop(train, held, 2, SETTING, look_every=1)
    assert kept.coef.dtype == np.float32
    # rounding in 14 steps of numbers of about one
    assert_allclose(kept.coef, slow_tkml(*parts(), 2, SETTING, 1)[0], atol=1e-5)


def test_all_directions_are_the_same_as_none_chosen():
    train, held = parts()
    chosen = run_digits_loop(train, held, 2, SETTING, n_directions=6, look_every=1)
    assert_same(chosen, slow_tkml(train, held, 2, SETTING, 1))


def test_few_directions_are_those_in_which_rows_vary_most():
    train, held = parts()
    rows = np.column_stack([train.X, np.ones(40)])
    spread = np.linalg.svd(rows)[2][:3]  # rows of V, the largest singular values first
    kept = run_svm_loop(train, held, SETTING, ranks_own=True, n_directions=3, look_every=1)
    slow = slow_descent(
        train, held, SETTING, lambda W: slow_slope(W, train, 1) @ spread.T @ spread, 0.0, 1
    )
    assert_same(kept, slow)


def test_scores_are_those_of_the_coefficients_and_the_intercept():
    train, held = parts()
    kept = run_svm_loop(train, held, SETTING, ranks_own=False)
    expected = [[w[:-1] @ x + w[-1] for w in kept.coef] for x in held.X]
    assert_allclose(kept.scores(held.X), expected)


# one column for each row: right with a wide margin, right with a narrow one, wrong
SCORES = np.array([[5.0, 2.0, 1.0], [1.0, 1.5, 3.0], [0.0, 0.0, 1.5]])
OWN = np.array([0, 0, 0])


def test_a_row_that_is_right_takes_the_first_rank_itself():
    found = mark_costly(SCORES, OWN, n_ranked=1)
    assert_array_equal(found, [[0, 0, 0], [0, 0, 1], [0, 0, 0]])


def test_the_second_rank_counts_labels_within_the_margin():
    found = mark_costly(SCORES, OWN, n_ranked=2)
    assert_array_equal(found, [[0, 0, 0], [0, 1, 1], [0, 0, 1]])


def test_the_top_1_svm_looks_at_the_best_other_label():
    found = mark_costliest_other(SCORES, OWN)
    assert_array_equal(found, [[0, 0, 0], [0, 1, 1], [0, 0, 0]])
