import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sorr.objectives import RankedRangeObjective
from sorr.ranked import Ranking, ranked_range_weights
from sorr.solvers import trim
from sorr.solvers.batch import Batch, Problems, Stage
from tests.slow import examples, slow
from tests.solvers.problems import classes, line, targets_for

STAGES = [
    Stage(b, c)
    for b, c in zip(np.geomspace(0.5, 0.05, 12), np.geomspace(0.5, 0.01, 12), strict=True)
]
HOT = [Stage(0.5, 0.5, temperature) for temperature in (3.0, 1.0, 0.3)]


def problem(loss="logistic", n=60, d=3, seed=0, **options):
    X, y = classes(n, d, seed)
    if loss in ("squared", "absolute", "huber"):
        X, y = line(n, d, seed, outliers=5)
    return RankedRangeObjective(X, y, loss, **{"m": 6, "k": 40, "C": 10.0} | options)


def some_candidates(batch, size=7, seed=0):
    return np.random.default_rng(seed).standard_normal((size, batch.frame.rows.shape[1]))


def kinds():
    rng = np.random.default_rng(5)
    weight = rng.integers(0, 4, 60).astype(float)
    labels = rng.integers(0, 3, 60)
    yield "plain", {}
    yield "whole", {"k": None}
    yield "top", {"m": 0}
    yield "weights", {"sample_weight": weight, "m": 0.11, "k": 0.7}
    yield "groups", {"groups": labels, "m": 0.1, "k": 0.8}
    yield "both", {"groups": labels, "sample_weight": weight, "m": 0.1, "k": 0.8}
    yield "no intercept", {"fit_intercept": False}


KINDS = dict(kinds())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["logistic", "hinge", "absolute"])
def test_values_are_those_of_the_objective(loss, kind):
    objective = problem(loss, **KINDS[kind])
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
    objective = problem(**KINDS[kind])
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


@pytest.mark.parametrize("chunk", [1, 200, 60_000])
def test_chunks_do_not_matter(monkeypatch, chunk):
    objective = problem()
    monkeypatch.setattr("sorr.solvers.batch._SINGLE_REACH", 0.0)  # steps in float64
    expected = Batch(objective).descend(some_candidates(Batch(objective)), STAGES)
    monkeypatch.setattr("sorr.solvers.batch._CHUNK", chunk)
    chunked = Batch(objective).descend(some_candidates(Batch(objective)), STAGES)
    np.testing.assert_allclose(chunked[1], expected[1], rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["logistic", "absolute", *slow("hinge", "squared", "huber")])
def test_steps_never_increase_the_objective(loss, kind):
    batch = Batch(problem(loss, **KINDS[kind]))
    T = some_candidates(batch, 20)
    before = batch.values(T)
    for stages in (STAGES[:1], STAGES, HOT, HOT + STAGES):
        after, values = batch.descend(T, stages, n_annealed=20)
        np.testing.assert_allclose(values, batch.values(after), rtol=1e-5)  # steps in float32
        assert (values <= before * (1 + 1e-6)).all()
        if len(stages) > len(HOT):  # a first step may be too long
            assert values.mean() < 0.9 * before.mean()


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared"])
def test_steps_without_ranks_reach_the_convex_minimum(loss):
    objective = problem(loss, m=0, k=None)
    batch = Batch(objective)
    values = batch.descend(some_candidates(batch, 5), STAGES + [Stage(0.1, 1e-4)] * 10)[1]
    lowest = trim(objective).objective
    np.testing.assert_allclose(values, lowest, rtol=1e-3)  # corners stay a little rounded
    assert (values >= lowest * (1 - 1e-6)).all()


@pytest.mark.parametrize("k", [150, None])
def test_zero_is_no_trap(k):
    batch = Batch(problem(k=k, n=200, m=20))
    zero = np.zeros((1, 4))
    after, values = batch.descend(zero, STAGES)
    assert values[0] < 0.9 * batch.values(zero)[0]
    assert np.abs(after).max() > 0.1


def ranked(losses, m, k, mass=None):
    """Return a ranking of the rows of a matrix, all with the same ranks."""
    ends = np.full((2, len(losses)), [[m], [k]], dtype=float)
    return Ranking(losses, mass, losses.shape[1] if mass is None else mass.sum(), *ends)


@settings(max_examples=examples(60))
@given(
    seed=st.integers(0, 10_000),
    m=st.integers(0, 9),
    width=st.integers(1, 10),
    levels=st.sampled_from([1, 2, 4, 1000]),
    weighted=st.booleans(),
)
def test_the_kept_mass_is_that_of_the_range_with_ties_shared(seed, m, width, levels, weighted):
    rng = np.random.default_rng(seed)
    losses = rng.integers(0, levels, (3, 12)).astype(np.float32)
    mass = rng.integers(1, 4, 12).astype(float) if weighted else None
    k = min(m + width, 12)
    kept = ranked(losses, m, k, mass).kept
    for row, weight in zip(losses, kept, strict=True):
        assert weight.sum() == pytest.approx(k - m, rel=1e-6)
        if mass is None:
            expected = ranked_range_weights(row.astype(float), m, k)
            np.testing.assert_allclose(weight, expected, atol=1e-6)
        else:
            copies = ranked_range_weights(np.repeat(row, mass.astype(int)).astype(float), m, k)
            starts = np.cumsum(mass.astype(int)) - mass.astype(int)
            np.testing.assert_allclose(weight, np.add.reduceat(copies, starts), atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [30, 60])
def test_blurred_weights_have_the_mass_of_the_range(k, weighted):
    rng = np.random.default_rng(0)
    losses = rng.exponential(size=(5, 60))
    mass = rng.uniform(0.5, 1.5, 60) if weighted else None
    mass = mass if mass is None else mass * 60 / mass.sum()
    ranking = ranked(losses, 6, k, mass)
    own = np.ones(60) if mass is None else mass
    for hot in (slice(0, 0), slice(0, 5)):
        blur = ranking.blur(0.5, np.full(5, 1e-9), hot, 0.3)
        np.testing.assert_allclose(blur.weight.sum(axis=1), k - 6, rtol=1e-9)
        assert (blur.weight >= 0).all()
        largest = np.argsort(-losses, axis=1)[:, :2]
        assert (np.take_along_axis(blur.weight, largest, axis=1) < 0.9 * own.min()).all()
        if k < 60:
            assert ((blur.edge > 0).sum(axis=1) >= 2).all()
            smallest = np.argsort(losses, axis=1)[:, :10]
            assert not np.take_along_axis(blur.weight, smallest, axis=1).any()


def test_where_all_losses_tie_all_rows_count():
    blur = ranked(np.ones((2, 60)), 6, 30).blur(0.5, np.full(2, 1e-3), slice(0, 0), 0.0)
    np.testing.assert_allclose(blur.weight, 24 / 60)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "absolute"])
def test_the_order_of_the_rows_does_not_matter(monkeypatch, loss):
    monkeypatch.setattr("sorr.solvers.batch._SINGLE_REACH", 0.0)  # steps in float64
    objective = problem(loss)
    shuffled = np.random.default_rng(3).permutation(60)
    ends = []
    for index in (np.arange(60), shuffled):
        X, y = np.asarray(objective.design.X)[index], objective.y[index]
        batch = Batch(RankedRangeObjective(X, y, loss, m=6, k=40, C=10.0))
        ends.append(batch.descend(some_candidates(batch), STAGES)[1])
    np.testing.assert_allclose(*ends, rtol=1e-9)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared"])
def test_weights_are_copies(loss):
    objective = problem(loss)
    X, y = np.asarray(objective.design.X), objective.y
    weight = np.random.default_rng(1).integers(1, 4, 60)
    n = int(weight.sum())
    weighted = Batch(RankedRangeObjective(X, y, loss, m=0.1, k=0.75, C=10.0, sample_weight=weight))
    copies = np.repeat(X, weight, axis=0), np.repeat(y, weight)
    repeated = Batch(RankedRangeObjective(*copies, loss, C=10.0))
    T = some_candidates(weighted)
    theta = weighted.frame.original(T)
    m, k = (np.full((len(T), 1), share * n) for share in (0.1, 0.75))
    problems = Problems(m, k, 1 / (k - m), np.full(len(T), 0.1))
    values = repeated.values(repeated.frame.standardised(theta), problems)
    np.testing.assert_allclose(weighted.values(T), values, rtol=1e-9)


def test_absurd_numbers_are_not_put_into_float32():
    X, y = line(60)
    y[0] = 1e30
    batch = Batch(RankedRangeObjective(X, y, "squared", m=2, C=10.0))
    assert np.isfinite(batch.descend(some_candidates(batch), STAGES)[1]).all()


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_scales_offsets_and_constant_columns_do_not_matter(loss, as_sparse):
    X, y = classes(80, 4, 1)
    y = targets_for(loss, X)
    scale, offset = np.array([1e-3, 1e3, 1.0, 50.0]), np.array([0.0, 1e4, -3.0, 0.0])
    wild = np.hstack([X * scale + (0 if as_sparse else offset), np.full((80, 1), 7.0)])
    wild = sparse.csr_array(wild) if as_sparse else wild
    lowest = []
    for features in (X, wild):  # the ridge is negligible, so that both have the same minima
        batch = Batch(RankedRangeObjective(features, y, loss, m=8, k=60, C=1e12))
        T = np.zeros((1, features.shape[1] + 1))
        lowest.append(batch.descend(T, STAGES * 3)[1][0])
    assert lowest[1] == pytest.approx(lowest[0], rel=1e-3)


def test_coordinates_translate_back_and_forth():
    batch = Batch(problem())
    T = some_candidates(batch)
    np.testing.assert_allclose(batch.frame.standardised(batch.frame.original(T)), T, atol=1e-12)
    theta = batch.frame.original(T)
    raw = np.array([batch.objective.raw_prediction(t) for t in theta])
    np.testing.assert_allclose(T @ batch.frame.rows.T, raw[:, batch.index], atol=1e-12)
