import numpy as np
import pytest
from scipy import sparse

from sorr.objectives import RankedRangeObjective
from sorr.solvers import trim
from sorr.solvers.batch import Batch, Problems, Ranking, Stage, _blur_lower, _Model
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
    expected = Batch(objective).descend(some_candidates(Batch(objective)), STAGES)
    monkeypatch.setattr("sorr.solvers.batch._CHUNK", chunk)
    chunked = Batch(objective).descend(some_candidates(Batch(objective)), STAGES)
    np.testing.assert_allclose(chunked[1], expected[1], rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared", "absolute", "huber"])
def test_steps_never_increase_the_objective(loss, kind):
    batch = Batch(problem(loss, **KINDS[kind]))
    T = some_candidates(batch, 20)
    before = batch.values(T)
    for stages in (STAGES[:1], STAGES, HOT, HOT + STAGES):
        after, values = batch.descend(T, stages)
        np.testing.assert_allclose(values, batch.values(after), rtol=1e-12)
        assert (values <= before).all()
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


def blurred_end(batch, T, band):
    """Return the weights of the rows of one candidate, where its lower end is blurred."""
    objective = batch.objective
    group = objective.groups.groups[0]
    m, k = np.array([group.m]), np.array([group.k])
    losses = batch.losses(T @ batch.frame.rows.T, objective)
    ranking = Ranking(losses, batch.mass, group.mass)
    reach = np.maximum(1, np.floor(band * np.minimum(k - m, group.mass - k)))
    cut = ranking.between(m, k + reach)
    blur = _blur_lower(ranking, cut, losses.ravel()[cut.at], m, k, reach=reach, smallest=1e-12)
    return cut, blur, losses


@pytest.mark.parametrize("kind", ["plain", "weights"])
def test_blurred_weights_have_the_mass_of_the_range(kind):
    objective = problem(n=60, **KINDS[kind])
    batch = Batch(objective)
    group = objective.groups.groups[0]
    for seed in range(5):
        T = some_candidates(batch, 1, seed)
        cut, blur, losses = blurred_end(batch, T, 0.5)
        assert blur.weight.sum() == pytest.approx(group.width, rel=1e-9)
        assert (blur.weight >= 0).all()
        assert (blur.weight <= cut.share + 1e-12).all()
        assert (blur.edge > 0).sum() >= 2
        exact = (batch.values(T)[0] - objective.ridge(batch.frame.original(T)[0])) / group.scale
        assert exact - group.width * blur.width[0] <= blur.weight @ losses.ravel()[cut.at] <= exact


def sharp_parts(losses, mass, width):
    """Return the parts of all losses whose mass is as wanted, by bisection."""
    low, high = losses.min() - 2 * width, losses.max() + 2 * width
    for _ in range(200):
        middle = (low + high) / 2
        part = np.clip(0.5 + (losses - middle) / (2 * width), 0, 1)
        low, high = (middle, high) if part.sum() > mass else (low, middle)
    return part


@pytest.mark.parametrize("band", [0.1, 0.3, 0.5])
def test_no_row_below_the_cut_would_get_a_weight(band):
    batch = Batch(problem(m=6, k=30))
    for seed in range(30):
        cut, blur, losses = blurred_end(batch, some_candidates(batch, 1, seed), band)
        kept = np.argsort(-losses[0])[6:]
        expected = np.zeros(60)
        expected[kept] = sharp_parts(losses[0][kept], 24, blur.width[0])
        weight = np.zeros(60)
        weight[cut.at] = blur.weight
        np.testing.assert_allclose(weight, expected, atol=1e-7)


def test_a_search_compares_like_with_like(monkeypatch):
    objective = problem("hinge", m=6, k=30)
    search = Batch._search
    seen = []

    def checked(self, raw, T, current, direction, rows, model):
        np.testing.assert_allclose(current, self._value(raw, T, model), rtol=1e-9)
        seen.append(model.objective.loss)
        return search(self, raw, T, current, direction, rows, model)

    monkeypatch.setattr(Batch, "_search", checked)
    for case in (objective, problem(m=6, k=30)):
        batch = Batch(case)
        batch.descend(some_candidates(batch), [*HOT, *STAGES, *HOT, *STAGES])
    assert len(set(seen)) > 2


def test_the_gradient_is_that_of_the_blurred_objective():
    objective = problem(m=6, k=30)
    batch = Batch(objective)
    T = some_candidates(batch, 1)
    scale = objective.groups.groups[0].scale
    width = blurred_end(batch, T, 0.5)[1].width[0]

    def blurred(T):
        # the width is a constant of the blurred function: taken where the gradient is
        losses = np.sort(batch.losses(T @ batch.frame.rows.T, objective)[0])[::-1][6:]
        part = sharp_parts(losses, 24, width)
        smooth = part @ losses - width * ((part - 0.5) ** 2).sum()
        ridge = np.square(T) @ batch.frame.penalty / (2 * objective.C)
        return scale * smooth + ridge[0]

    raw = T @ batch.frame.rows.T
    model = _Model(batch.repeat_problem(1), objective, None)
    gradient, step = batch._direction(raw, T, model, 0.5, np.full(1, 1e-9))
    for i in range(T.shape[1]):
        shift = np.zeros_like(T)
        shift[0, i] = 1e-5
        slope = (blurred(T + shift) - blurred(T - shift)) / 2e-5
        assert gradient[0, i] == pytest.approx(slope, rel=1e-5, abs=1e-8)
    assert gradient[0] @ step[0] < 0


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
