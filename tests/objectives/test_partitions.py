"""Rows in partitions give what rows in memory give, whatever the partitions are."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from sorr.objectives import PartitionedObjective, RankedRangeObjective
from sorr.objectives.partitions import Listed
from sorr.solvers import Status, constants, exhaustive, topsum, trim
from tests.objectives.problems import tied
from tests.slow import slow

pytestmark = pytest.mark.usefixtures("rows_stay_in_partitions")


@pytest.fixture
def rows_stay_in_partitions(monkeypatch):
    """Lower the number of rows that are gathered in memory: the tests are small."""
    monkeypatch.setattr(constants, "FEW_ENTRIES", {False: 5000, True: 5000})


LOSSES = ["logistic", "hinge", "squared", "absolute", "softmax"]


@st.composite
def partitioned(draw, **options):
    """Draw a problem full of ties, and sizes of partitions, some of them empty."""
    problem = draw(tied(LOSSES, **options))
    n = len(problem.y)
    ends = sorted(draw(st.lists(st.integers(0, n), max_size=4)))
    sizes = np.diff([0, *ends, n]).tolist()
    return problem, sizes, draw(st.integers(1, n))


def split(objective, sizes, sample_size=None, seed=0):
    rng = np.random.default_rng(seed)
    return PartitionedObjective.split(objective, sizes, sample_size=sample_size, rng=rng)


@given(partitioned())
def test_points_are_those_of_rows_in_memory(drawn):
    problem, sizes, sample_size = drawn
    objective = problem.objective()
    parts = split(objective, sizes, sample_size)
    before = None
    for theta in (problem.start, problem.end, problem.start):
        point, expected = parts.at(theta, before), objective.at(theta)
        assert point.value == pytest.approx(expected.value, rel=1e-12, abs=1e-12)
        assert_allclose(parts.row_weights(point), expected.shares, atol=1e-12)
        assert_allclose(parts.gradient(point), objective.gradient(expected), atol=1e-10)
        lost, wanted = parts.dropped_by_class(point), objective.dropped_by_class(expected)
        assert lost.keys() == wanted.keys()
        assert_allclose(list(lost.values()), list(wanted.values()), atol=1e-9)
        before = point.raw


@given(partitioned())
def test_a_majoriser_drops_the_rows_that_it_drops_in_memory(drawn):
    problem, sizes, sample_size = drawn
    objective = problem.objective()
    parts = split(objective, sizes, sample_size)
    majoriser, touching = parts.majorise(parts.at(problem.start))
    expected, start = objective.majorise(objective.at(problem.start))
    assert touching.value == pytest.approx(start.value, rel=1e-12, abs=1e-12)
    assert_allclose(majoriser.gradient(touching), expected.gradient(start), atol=1e-10)
    moved = majoriser.near(touching, problem.end)
    assert moved.value == pytest.approx(expected.value(problem.end), rel=1e-12, abs=1e-12)
    if majoriser.dropped is not None:
        kept = np.concatenate([part.masses(majoriser.dropped) for part in parts.engine.parts])
        assert_allclose(kept * (expected.groups.masses > 0), expected.groups.masses, atol=1e-9)


@given(partitioned(max_rows=8))
def test_no_bound_lies_above_the_minimum(drawn):
    problem, sizes, sample_size = drawn
    objective = problem.objective(m=0, C=2.0)
    parts = split(objective, sizes, sample_size)
    try:
        lowest = topsum(objective, tol=1e-9).objective
    except ValueError:  # all rows that count are of one class
        assume(False)
    point = parts.at(problem.start)
    if objective.loss.has_curvature:
        weights = parts.share_weights(point)
    else:
        band, weights_of = parts.band(point, len(problem.y))
        pieces = objective.loss.pieces(band.y, band.design.predict(problem.start))[0].shape[1]
        part = np.random.default_rng(0).dirichlet(np.ones(pieces + 1), len(band.y))[:, :pieces]
        weights = weights_of(part * band.omega[:, None])
    assert parts.lower_bound(point, weights) <= lowest * (1 + 1e-8) + 1e-12


def rows(loss, n=6000, d=4, *, copies=False, seed=0):
    """Draw rows with outliers; with few different values there are many ties."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (n, 3)).astype(float) if copies else rng.standard_normal((n, d))
    score = X @ np.linspace(1, 2, X.shape[1])
    if loss in ("logistic", "hinge"):
        y = np.where(score + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
        y[rng.random(n) < 0.08] *= -1
        return X, y
    if loss == "softmax":
        y = np.digitize(score + 0.5 * rng.standard_normal(n), [-1.0, 1.0])
        wrong = rng.random(n) < 0.08
        return X, np.where(wrong, rng.integers(3, size=n), y)
    y = score + (0.0 if copies else 0.3) * rng.standard_normal(n)
    return X, y + np.where(rng.random(n) < 0.08, 20.0, 0.0)


SIZES = {
    "one": [6000],
    "three": [2000, 2000, 2000],
    "sixteen": [375] * 16,
    "unequal, some empty": [0, 11, 3989, 0, 1, 1999, 0],
}
RANKS = {"k = n": None, "k < n": 0.7}


def make(loss, *, k=None, ranking="pooled", **options):
    X, y = rows(loss, **options.pop("rows", {}))
    groups = None if ranking == "pooled" or loss in ("squared", "absolute") else y
    if "sparse" in options:
        X = options.pop("sparse")(X)
    return RankedRangeObjective(X, y, loss, m=0.1, k=k, C=100.0, groups=groups, **options)


def solve_in_memory(objective, **options):
    """Solve with all rows as arrays: an independent path up to many rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constants, "FEW_ENTRIES", {False: 1 << 30, True: 1 << 30})
        return trim(objective, random_state=0, **options)


def check_equal(objective, chosen=tuple(SIZES)):
    """Solve with all rows in one partition and in several, and compare; also with arrays."""
    expected = trim(objective, random_state=0, n_starts=1)
    assert expected.status is Status.CERTIFIED
    in_memory = solve_in_memory(objective, n_starts=1)
    assert expected.objective == pytest.approx(in_memory.objective, rel=1e-4)
    for name in chosen:
        rng = np.random.default_rng(0)
        parts = PartitionedObjective.split(objective, SIZES[name], rng=rng)
        solution = trim(parts, random_state=rng, n_starts=1)
        assert solution.status is Status.CERTIFIED
        assert solution.objective == pytest.approx(expected.objective, rel=1e-10)
        assert_array_equal(solution.row_weights == 0, expected.row_weights == 0)
        assert_allclose(solution.row_weights, expected.row_weights, atol=1e-9)
        assert solution.minima[0].dropped == expected.minima[0].dropped


@pytest.mark.parametrize("loss", ["absolute", *slow("logistic", "hinge", "squared", "softmax")])
@pytest.mark.parametrize("k", RANKS.values(), ids=RANKS)
def test_all_partitions_give_the_same_minimum(loss, k):
    check_equal(make(loss, k=k))


@pytest.mark.parametrize("loss", ["softmax", *slow("logistic", "hinge")])
def test_rows_may_be_ranked_within_classes(loss):
    check_equal(make(loss, k=0.8, ranking="classes"), ["three", "unequal, some empty"])


@pytest.mark.parametrize("loss", ["logistic", *slow("hinge", "squared", "absolute", "softmax")])
def test_rows_may_have_weights(loss):
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.3], 6000)
    check_equal(make(loss, k=0.8, sample_weight=weight), ["three", "unequal, some empty"])


@pytest.mark.parametrize("loss", ["hinge", *slow("logistic", "absolute")])
def test_rows_may_be_sparse(loss):
    check_equal(make(loss, sparse=sparse.csr_array), ["three", "unequal, some empty"])


@pytest.mark.parametrize("loss", ["logistic", "absolute", *slow("hinge", "squared", "softmax")])
@pytest.mark.parametrize("k", RANKS.values(), ids=RANKS)
def test_copies_in_partitions_are_merged_first(loss, k):
    check_equal(make(loss, k=k, rows={"copies": True}), ["three", "unequal, some empty"])


def test_a_class_may_be_missing_from_a_partition():
    X, y = rows("logistic")
    order = np.argsort(y, kind="stable")
    objective = RankedRangeObjective(X[order], y[order], m=0.1, k=0.8, C=100.0)
    check_equal(objective, ["three", "sixteen"])


@pytest.mark.parametrize("loss", ["logistic", "hinge", "absolute"])
def test_a_certificate_holds_in_memory_too(loss):
    """The convex problem of the last step has a minimum that another solver finds."""
    objective = make(loss)
    solution = trim(objective, random_state=0, n_starts=1)
    majoriser = objective.trimmed(objective.raw_prediction(solution.theta))
    lowest = topsum(majoriser, start=solution.theta).objective
    assert majoriser.value(solution.theta) * (1 - 1e-6) <= lowest * (1 + 1e-6)


def test_few_rows_in_partitions_are_brought_together():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((9, 1)), rng.choice([-1.0, 1.0], 9)
    objective = RankedRangeObjective(X, y, m=2, C=10.0)
    parts = split(objective, [4, 0, 5])
    assert trim(parts, random_state=0).objective == pytest.approx(exhaustive(objective).objective)


def test_a_bracket_that_missed_is_widened():
    objective = make("logistic", k=0.7)
    parts = split(objective, SIZES["three"], sample_size=20)  # far too few rows to guess from
    rng = np.random.default_rng(1)
    for _ in range(20):
        theta = rng.standard_normal(5)
        assert parts.at(theta).value == pytest.approx(objective.value(theta), rel=1e-12)


def test_the_sample_does_not_depend_on_partitions():
    objective = make("logistic")
    samples = [split(objective, sizes).sample for sizes in SIZES.values()]
    for sample in samples[1:]:
        assert_array_equal(sample.design.X, samples[0].design.X)
        assert_array_equal(sample.y, samples[0].y)


class Forgetful(Listed):
    """Partitions that lose what they remember before each round."""

    def map(self, kernel, *small):
        for part in self.parts:
            part._last.clear()
            part._kept.clear()
        return super().map(kernel, *small)


def test_a_partition_may_forget_what_it_remembers():
    objective = make("hinge", k=0.7)
    solutions = []
    for engine in (Listed, Forgetful):
        rng = np.random.default_rng(0)
        parts = PartitionedObjective.split(objective, SIZES["three"], rng=rng)
        parts = parts.replace(engine=engine(parts.engine.parts))
        solutions.append(trim(parts, random_state=rng, n_starts=1))
    assert_array_equal(solutions[0].theta, solutions[1].theta)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weighted", [False, True])
def test_copies_are_merged_into_one_row_of_their_mass(loss, weighted):
    weight = np.random.default_rng(1).choice([0.0, 1.0, 2.5], 6000) if weighted else None
    objective = make(loss, k=0.8, ranking="classes", rows={"copies": True}, sample_weight=weight)
    merged = objective.merge_copies()
    different = np.unique(np.column_stack([objective.design.X, objective.y]), axis=0)
    assert merged.n_samples <= len(different)
    assert merged.groups.masses.sum() == pytest.approx(objective.groups.masses.sum())
    rng = np.random.default_rng(2)
    for _ in range(5):
        theta = rng.integers(-2, 3, objective.shape) / 2
        assert merged.value(theta) == pytest.approx(objective.value(theta), rel=1e-12)
        point, other = merged.at(theta), objective.at(theta)
        assert_allclose(merged.gradient(point), objective.gradient(other), atol=1e-12)
    for sizes in SIZES.values():
        again = split(objective, sizes).merge_copies()
        assert_array_equal(again.design.X, merged.design.X)
        assert_allclose(again.groups.weight, merged.groups.weight, rtol=1e-12)


def test_zeros_of_both_signs_are_one_value():
    X = np.array([[0.0], [-0.0], [1.0], [1.0]])
    objective = RankedRangeObjective(X, np.array([1.0, 1.0, -1.0, -1.0]))
    assert objective.merge_copies().n_samples == 2


def test_copies_are_dropped_in_equal_parts():
    """Of ten copies at the cut three have to go: each counts by seven tenths."""
    X = np.repeat([[0.0], [1.0], [2.0]], 10, axis=0)
    y = np.repeat([0.0, 1.0, 9.0], 10)
    solution = trim(RankedRangeObjective(X, y, "absolute", m=3, C=1e6), random_state=0)
    expected = np.repeat([0.7 / 27, 1 / 27, 1 / 27], 10)
    assert_allclose(np.sort(solution.row_weights), expected, rtol=1e-9)


def test_huge_targets_are_refused_in_partitions():
    X, y = rows("absolute")
    y[0] = 1e200
    with pytest.raises(ValueError, match="a target is as large as 1e\\+200"):
        split(RankedRangeObjective(X, y, "absolute", m=0.1), SIZES["three"])


@pytest.mark.parametrize("case", [(8, 13), (10, 0), *slow(*product((4, 8, 10), range(12)))])
def test_sizes_of_columns_do_not_cost_the_certificate(case):
    """Bounds need digits that the value no longer shows."""
    d, seed = case
    X, y = rows("squared", d=d, seed=seed)
    X = X * np.geomspace(1e-6, 1e6, d)
    solution = trim(RankedRangeObjective(X, y, "squared", m=0.1, k=0.6, C=100.0), random_state=0)
    assert solution.status is Status.CERTIFIED


def test_few_gross_outliers_do_not_hide_in_the_sample():
    """A sample may hold more outliers than its share: as a precaution it drops more rows."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((20_000, 3))
        y = X @ [1.0, 2.0, -1.0] + 0.1 * rng.standard_normal(20_000)
        outliers = rng.choice(20_000, 6, replace=False)
        X[outliers, 0], y[outliers] = 1e4, -1e4
        objective = RankedRangeObjective(X, y, "squared", m=6, C=1e4)
        solution = trim(objective, random_state=seed)
        assert_array_equal(np.sort(outliers), np.flatnonzero(solution.row_weights == 0))


def test_infinite_losses_above_the_cut_leave_value_and_gradient_finite():
    X, y = rows("squared", d=3)
    X[:2, 0] = 1e160
    objective = RankedRangeObjective(X, y, "squared", m=3)
    parts, theta = split(objective, SIZES["three"]), np.array([1.0, 1.0, 0.0, 0.0])
    with np.errstate(over="ignore"):
        point, expected = parts.at(theta), objective.at(theta)
        assert point.value == pytest.approx(expected.value, rel=1e-12)
        assert_allclose(parts.gradient(point), objective.gradient(expected), rtol=1e-9)


def test_a_group_may_be_missing_from_the_sample():
    X, y = rows("hinge")
    groups = np.zeros(6000, dtype=int)
    groups[:6] = np.arange(1, 7)
    objective = RankedRangeObjective(X, y, "hinge", m=0.1, C=10.0, groups=groups)
    rng = np.random.default_rng(0)
    parts = PartitionedObjective.split(objective, SIZES["three"], sample_size=50, rng=rng)
    solution = trim(parts, random_state=rng, n_starts=1)
    assert solution.objective <= objective.value(np.zeros(5))


@pytest.mark.parametrize("scale", [1.0, 1e17])
def test_rows_that_only_seem_equal_are_not_merged(scale):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(60, scale), rng.standard_normal(60)])
    y = 2 * X[:, 1] + np.where(np.arange(60) < 5, 50.0, 0.0)
    objective = RankedRangeObjective(X, y, "absolute", m=5, C=1e6, fit_intercept=False)
    solution = trim(objective, random_state=0)
    assert_array_equal(np.flatnonzero(solution.row_weights == 0), np.arange(5))


@pytest.mark.parametrize("sizes", [[3000], [6000, 1], [7000, -1000]])
def test_partitions_have_all_rows(sizes):
    with pytest.raises(ValueError, match="that add up to 6000"):
        split(make("logistic"), sizes)
