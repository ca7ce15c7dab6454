import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sorr.objectives import RankedRangeObjective
from sorr.ranked import Mass
from sorr.solvers import Status, dca, topsum, trim
from tests.slow import examples, slow
from tests.solvers.problems import (
    classes,
    conic_minimum_of_classes,
    line,
    targets_for,
    three_classes,
    with_sentinels,
)


def never_rises(solution):
    """Check that the objective falls from step to step of each start, through all phases.

    Many rows are predicted in float32 in the fast phase.
    """
    for start in {step.start for step in solution.trace}:
        values = np.array([step.objective for step in solution.trace if step.start == start])
        slack = 1e-7 if len(solution.row_weights) >= 5000 else 1e-12
        assert (np.diff(values) <= slack * values[:-1]).all()


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared", "absolute", "huber"])
@pytest.mark.parametrize("k", [None, 60])
def test_the_end_is_a_certified_fixed_point_and_the_way_goes_down(loss, k):
    X, _ = classes(120, 4)
    y = targets_for(loss, X)
    solution = trim(RankedRangeObjective(X, y, loss, m=12, k=k, C=1e3), random_state=0)
    assert solution.status is Status.CERTIFIED
    assert solution.fixed_point
    assert solution.gap <= 1e-6
    never_rises(solution)
    assert solution.objective == pytest.approx(min(s.objective for s in solution.trace), rel=1e-12)


@settings(max_examples=examples(60))
@given(
    seed=st.integers(0, 10_000),
    loss=st.sampled_from(["logistic", "hinge"]),
    m=st.integers(1, 6),
    width=st.integers(1, 18),
    tied=st.booleans(),
)
def test_no_trimming_step_is_worse_than_the_exact_dca_step(seed, loss, m, width, tied):
    """The chain of inequalities behind the solver, with both convex problems solved exactly."""
    X, y = classes(24, 2, seed)
    X = np.round(X) if tied else X
    objective = RankedRangeObjective(X, y, loss, m=m, k=m + width, C=10.0)
    theta = np.random.default_rng(seed).standard_normal(3)
    raw = objective.raw_prediction(theta)
    before = objective.value(theta)
    trimmed = topsum(objective.trimmed(raw), tol=1e-9)
    step = dca(objective, start=theta, inner="deterministic", outer_steps=1, tol=0)
    assert objective.value(trimmed.theta) <= trimmed.objective + 1e-12
    assert trimmed.objective <= before + 1e-12
    # What DCA minimises is nowhere below what trimming minimises, so neither is its minimum.
    convex, linear = objective.convex_parts()
    slope = linear.subgradient_at(raw, theta)
    at = step.theta
    tangent = linear.value(theta) + float(slope @ (at - theta))
    assert trimmed.objective <= convex.value(at) - tangent + 1e-8


@pytest.mark.parametrize("seed", range(6))
def test_a_fixed_point_cannot_be_lowered_by_trimming_again(seed):
    X, y = classes(200, 4, seed, noise=1.0)
    objective = RankedRangeObjective(X, y, m=40, k=160, C=1e4)
    start = 3 * np.random.default_rng(seed).standard_normal(5)
    solution = trim(objective, start=start)
    assert solution.fixed_point
    again = topsum(objective.trimmed(objective.raw_prediction(solution.theta)))
    assert again.objective >= solution.objective * (1 - 2e-6)


def test_an_early_stop_is_told_from_a_fixed_point():
    X, _ = classes(400, 6, seed=3, noise=2.0)
    score = X.sum(axis=1) + 2 * np.random.default_rng(3).standard_normal(400)
    y = np.digitize(score, [-1, 1])
    objective = RankedRangeObjective(X, y, "softmax", m=60, k=300, C=1e4)
    stopped = trim(objective, start=np.ones((7, 3)), max_iter=1)
    finished = trim(objective, start=np.ones((7, 3)))
    assert finished.objective < stopped.objective
    assert finished.fixed_point
    assert not stopped.fixed_point
    assert stopped.status is Status.NOT_FIXED


def test_nothing_dropped_is_the_convex_minimum():
    X, y = classes(200, 3)
    objective = RankedRangeObjective(X, y, "hinge", k=0.4, C=100.0)
    solution = trim(objective)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(topsum(objective).objective, rel=2e-6)


@pytest.mark.parametrize("certify", [False, True])
def test_outliers_are_found_and_dropped(certify):
    X, y = line(200, 3, outliers=20)
    solution = trim(
        RankedRangeObjective(X, y, "squared", m=20, C=1e6), certify=certify, random_state=0
    )
    np.testing.assert_array_equal(np.flatnonzero(solution.row_weights == 0), np.arange(20))
    np.testing.assert_allclose(solution.coef, [1, 2, 3], atol=0.1)
    assert solution.minima[0].dropped == {None: 20.0}
    assert np.isinf(solution.gap) != certify


def test_weights_are_copies():
    X, y = classes(50, 2)
    weight = np.random.default_rng(1).integers(1, 4, 50)
    weighted = trim(
        RankedRangeObjective(X, y, m=0.1, k=0.8, C=100.0, sample_weight=weight), random_state=0
    )
    n = int(weight.sum())
    again = RankedRangeObjective(np.repeat(X, weight, axis=0), np.repeat(y, weight), C=100.0)
    repeated = trim(again.with_groups(weighted_groups(again, 0.1 * n, 0.8 * n)), random_state=0)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-5)


def weighted_groups(objective, m, k):
    """Return one group of all rows with ends that may be fractions of a row."""
    (group,) = objective.groups
    ends = group._replace(m=m, k=k, scale=1 / (k - m))
    return type(objective.groups)((ends,), objective.n_samples)


def test_sparse_rows_and_float32_find_the_same_minimum():
    X, y = classes(150, 3)
    X[np.abs(X) < 0.3] = 0
    options = {"m": 10, "k": 100, "C": 50.0}
    dense = trim(RankedRangeObjective(X, y, **options), random_state=0)
    thin = trim(RankedRangeObjective(sparse.csr_array(X), y, **options), random_state=0)
    single = trim(RankedRangeObjective(X.astype(np.float32), y, **options), random_state=0)
    assert thin.objective == pytest.approx(dense.objective, rel=1e-6)
    assert single.objective == pytest.approx(dense.objective, rel=1e-5)


def test_ranking_within_classes_repairs_one_sided_flips():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 5))
    clean = np.where(X @ [2, -1, 1, 0, 0] + 0.5 * rng.standard_normal(2000) > 0, 1.0, -1.0)
    y = clean.copy()
    positive = np.flatnonzero(clean > 0)
    y[positive[: int(0.3 * len(positive))]] = -1.0
    wrong = float(np.mean(y[y < 0] != clean[y < 0]))
    pooled = RankedRangeObjective(X, y, m=wrong * np.mean(y < 0), C=1e4)
    within = RankedRangeObjective(X, y, m={-1.0: wrong, 1.0: 0}, C=1e4, groups=y)
    accuracy = [
        np.mean(np.sign(o.raw_prediction(trim(o, random_state=0).theta)) == clean)
        for o in (pooled, within)
    ]
    assert accuracy[1] > accuracy[0]
    assert accuracy[1] > 0.9


def test_many_rows_go_through_every_phase_and_come_out_certified():
    X, y = classes(8000, 4)
    y[:800] *= -1
    for loss in ("logistic", "hinge"):
        solution = trim(RankedRangeObjective(X, y, loss, m=0.1, k=0.6, C=1e3), random_state=0)
        assert solution.status is Status.CERTIFIED
        assert {"start", "fast", "trim"} <= {step.phase for step in solution.trace}
        never_rises(solution)


def test_several_outputs_are_annealed_and_certified():
    X, y = classes(300, 3)
    labels = np.digitize(X[:, 0] + 0.2 * y, [-0.5, 0.5])
    labels[:20] = 2 - labels[:20]
    solution = trim(RankedRangeObjective(X, labels, "softmax", m=0.1, C=10.0), random_state=0)
    assert solution.status is Status.CERTIFIED
    assert solution.coef.shape == (3, 3)
    assert solution.intercept.shape == (3,)


def test_a_loss_with_unknown_corners_is_fitted_without_a_certificate():
    X, y = classes(200, 3)
    labels = np.stack([y > 0, y < 0], axis=1)
    objective = RankedRangeObjective(X, labels, "topk_svm", m=0.1, C=10.0)
    with pytest.raises(TypeError, match="certify=False"):
        trim(objective)
    solution = trim(objective, certify=False, random_state=0)
    raw = objective.raw_prediction(solution.theta)
    assert solution.status is Status.CONVERGED
    assert np.mean(raw.argmax(axis=1) == (y < 0)) > 0.8


def test_zero_is_no_trap():
    """At zero all losses tie: every row is as good to drop as any other."""
    X, y = classes(100, 3, noise=0.1)
    for loss in ("logistic", "hinge"):
        for n_starts in (1, "auto"):
            objective = RankedRangeObjective(X, y, loss, m=5, k=80, C=1e3)
            solution = trim(objective, n_starts=n_starts, random_state=0)
            assert solution.objective < 0.5 * objective.value(np.zeros(4))


def test_the_same_seed_gives_the_same_solution():
    X, y = classes(150, 3)
    objective = RankedRangeObjective(X, y, m=30, k=90, C=1e4)
    one, two = (trim(objective, random_state=7) for _ in range(2))
    np.testing.assert_array_equal(one.theta, two.theta)
    assert [step[:3] for step in one.trace] == [step[:3] for step in two.trace]


def test_distinct_minima_come_back_the_lowest_first():
    X, y = classes(100, 3, seed=3)
    solution = trim(RankedRangeObjective(X, y, m=25, k=70, C=1e4), random_state=0)
    values = [minimum.objective for minimum in solution.minima]
    assert values == sorted(values)
    assert values[0] == solution.objective
    assert len(values) > 1
    assert len({step.start for step in solution.trace if step.phase == "trim"}) >= len(values)
    for minimum in solution.minima:
        assert sum(minimum.dropped.values()) == pytest.approx(25)
        assert set(minimum.dropped) == {-1.0, 1.0}


def test_a_class_that_fits_inside_m_is_refused_before_fitting():
    X, y = classes(100)
    y[:] = 1
    y[:8] = -1
    with pytest.raises(ValueError, match=r"class -1 has a mass of 8.*lower m.*groups=y"):
        trim(RankedRangeObjective(X, y, m=8))
    trim(RankedRangeObjective(X, y, m=7), n_starts=1, certify=False)
    trim(RankedRangeObjective(X, y, m=0.1, groups=y), n_starts=1, certify=False)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_the_constant_model_is_returned_and_named(loss):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((400, 3)), rng.choice([-1.0, 1.0], 400)
    solution = trim(RankedRangeObjective(X, y, loss, m=5, k=40, C=10.0), random_state=0)
    assert solution.status is Status.CONSTANT_MODEL
    assert "raise k" in solution.status.sentence
    assert np.abs(solution.coef).max() < 1e-3


@pytest.mark.parametrize("n_starts", [0, True, -3, "many", 2.5])
def test_no_starts_are_refused(n_starts):
    X, y = classes()
    with pytest.raises((TypeError, ValueError), match=r"n_starts=.* needed an int, 1 or more"):
        trim(RankedRangeObjective(X, y, m=3), n_starts=n_starts)


@pytest.mark.parametrize("scale", [1e-8, 1e8, *slow(1e-3, 1.0)])
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_the_fast_phase_does_not_mind_the_scale_of_columns(scale, loss):
    X, y = classes(6000, 3)
    objective = RankedRangeObjective(scale * X, y, loss, m=300, C=1e4 / scale**2)
    plain = trim(RankedRangeObjective(X, y, loss, m=300, C=1e4), n_starts=1, random_state=0)
    fast = trim(objective, n_starts=1, certify=False, random_state=0)
    assert fast.objective == pytest.approx(plain.objective, rel=1e-4)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_the_fast_phase_does_not_mind_columns_far_from_zero(loss):
    X, y = classes(6000, 3)
    plain = trim(RankedRangeObjective(X, y, loss, m=300, C=1e4), n_starts=1, random_state=0)
    moved = RankedRangeObjective(X + 1e4, y, loss, m=300, C=1e4)
    fast = trim(moved, n_starts=1, certify=False, random_state=0)
    assert fast.objective == pytest.approx(plain.objective, rel=1e-3)


@pytest.mark.parametrize(
    "options",
    [
        {"m": 0.1, "groups": [0] * 59 + [1]},
        {"m": 59},
        {"m": {0: 5, 1: 4}, "groups": [0] * 55 + [1] * 5},
        {"m": Mass(3.2), "k": Mass(20.5)},
    ],
)
def test_ranks_at_the_edge_are_legal(options):
    X, y = line(60, 2, outliers=5)
    objective = RankedRangeObjective(X, y, "squared", C=1e3, **options)
    solution = trim(objective, random_state=0)
    assert solution.objective == pytest.approx(objective.value(solution.theta), rel=1e-9)
    assert solution.status is Status.CERTIFIED


def test_targets_that_are_fitted_at_the_start_are_no_problem():
    X, _ = classes(100, 70)
    solution = trim(RankedRangeObjective(X, np.zeros(100), "squared", m=5), random_state=0)
    assert solution.objective == 0


def test_an_annealed_point_above_the_start_is_not_taken(monkeypatch):
    X, y = classes(6000, 70, noise=0.3)
    objective = RankedRangeObjective(X, y, m=300, C=10.0)
    bad = objective.at(np.full(71, -5.0))
    monkeypatch.setattr(sys.modules["sorr.solvers.trimming"], "anneal", lambda *_: bad)
    solution = trim(objective, certify=False, random_state=0)
    assert bad.value > solution.trace[0].objective
    never_rises(solution)


# -- huge targets --------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "absolute", "huber"])
@pytest.mark.parametrize("size", [sys.float_info.max, 1.5e154, 1e149])
@pytest.mark.parametrize("options", [{}, {"n_starts": 1}, {"certify": False}], ids=str)
def test_an_huge_target_is_dropped_like_any_outlier(loss, size, options):
    X, y = with_sentinels(size=size)
    objective = RankedRangeObjective(X, y, loss, m=10, C=1e6)
    solution = trim(objective, random_state=0, **options)
    expected = Status.CERTIFIED if options.get("certify", True) else Status.CONVERGED
    assert solution.status is expected
    assert solution.row_weights[7] == 0
    assert solution.objective == pytest.approx(objective.value(solution.theta), rel=1e-12)
    np.testing.assert_allclose(solution.coef, [1, 2, 3], rtol=1e-3)


def test_several_huge_targets_are_dropped_up_to_the_last():
    X, y = with_sentinels(number=10)
    solution = trim(RankedRangeObjective(X, y, "squared", m=10, k=150, C=1e6), random_state=0)
    assert solution.status is Status.CERTIFIED
    np.testing.assert_allclose(solution.coef, [1, 2, 3], rtol=1e-3)


@pytest.mark.parametrize("m", [0, 4])
def test_an_huge_target_that_counts_leaves_nothing_certified(m):
    X, y = with_sentinels(number=5)
    solution = trim(RankedRangeObjective(X, y, "squared", m=m, C=1e6), random_state=0)
    assert solution.status is Status.UNCERTIFIED
    assert np.isinf(solution.objective)
    assert np.isinf(solution.gap)


# -- the multi-class hinge ----------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"certify": False}], ids=str)
def test_the_multiclass_hinge_is_not_stuck_at_zero(options):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(30, 2)), np.append([0, 1, 2], rng.integers(3, size=27))
    solution = trim(RankedRangeObjective(X, y, "multiclass_hinge", C=1e4), **options)
    assert solution.status is not Status.CONSTANT_MODEL
    expected = conic_minimum_of_classes(X, y, 30, 1e4)
    assert solution.objective == pytest.approx(expected, rel=1e-3 if options else 1e-6)


@pytest.mark.parametrize("k", [60, *slow(None)])
def test_the_multiclass_hinge_of_the_rows_that_are_kept_is_at_its_minimum(k):
    X, y = three_classes(100, 3, signal=3.0)
    y[10:18] = (y[10:18] + 1) % 3
    objective = RankedRangeObjective(X, y, "multiclass_hinge", m=10, k=k, C=100.0)
    solution = trim(objective, random_state=0)
    assert solution.status is Status.CERTIFIED
    assert solution.fixed_point
    kept = objective.dropped(objective.raw_prediction(solution.theta)) < 0.5
    expected = conic_minimum_of_classes(X[kept], y[kept], (k or 100) - 10, 100.0)
    assert solution.objective == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("loss", ["squared", "absolute"])
@pytest.mark.parametrize("d", [3, 70])
@pytest.mark.parametrize("size", [3.4e38, 1e20])
def test_a_marker_that_float32_cannot_square_is_dropped_from_many_rows(loss, d, size):
    X, _ = line(5200, d)
    y = X @ np.arange(1.0, d + 1)
    y[5] = -size
    objective = RankedRangeObjective(X, y, loss, m=0.01, C=1e8)
    solution = trim(objective, certify=False, random_state=0)
    assert solution.row_weights[5] == 0
    np.testing.assert_allclose(solution.coef, np.arange(1.0, d + 1), rtol=1e-2)
