"""Distributions of errors: bells, what wrong targets add to them, and how both are told apart."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.integrate import quad
from scipy.special import expit

from sorr.share import errors as room
from sorr.share.errors import (
    BELLS,
    NORMAL,
    Bell,
    Component,
    Explanation,
    compress,
    explain,
    explain_honest,
    floor_of,
    weighted_median,
)
from tests.slow import slow

ALL = pytest.mark.parametrize("bell", BELLS, ids=[bell.name for bell in BELLS])
SIZES = np.array([0.05, 0.3, 1.0, 2.5, 6.0])


def density_of(bell):
    return lambda u: float(np.exp(bell.log_density(np.array([u]))[0]))


def integral(function, low, high):
    """Return the integral over both sides of zero, where some densities have a corner."""
    parts = [(low, min(high, 0.0)), (max(low, 0.0), high)]
    return sum(quad(function, *part, epsabs=1e-11)[0] for part in parts if part[0] < part[1])


# -- Bells -----------------------------------------------------------------------------------------


@ALL
def test_the_density_of_a_bell_integrates_to_one(bell):
    assert_allclose(integral(density_of(bell), -np.inf, np.inf), 1, rtol=1e-8)


@ALL
def test_the_weight_of_an_error_is_the_slope_of_its_likelihood_over_its_size(bell):
    u = np.concatenate([-SIZES[::-1], SIZES])
    u = u[np.abs(u) > 0.1]  # closer to a corner, the weight is bounded
    step = 1e-5
    slope = (bell.log_density(u + step) - bell.log_density(u - step)) / (2 * step)
    assert_allclose(bell.weight(u), -slope / u, rtol=1e-6)


def test_the_weight_of_laplace_is_bounded_at_its_corner():
    u = np.array([-0.1, -1e-9, 0.0, 1e-300, 0.1])
    assert_allclose(BELLS[1].weight(u), 10)


@ALL
def test_what_lies_beyond_is_what_the_density_leaves(bell):
    beyond = bell.beyond(np.concatenate([SIZES, -SIZES]))
    left = [1 - integral(density_of(bell), -size, size) for size in SIZES]
    assert_allclose(beyond, np.tile(left, 2), atol=1e-9)
    assert_allclose(bell.beyond(np.zeros(1)), 1)


@ALL
@pytest.mark.parametrize("share", [0.1, 0.5, 0.99, 0.9999])
def test_quantiles_invert_what_lies_beyond(bell, share):
    assert_allclose(bell.beyond(np.array([bell.quantile(share)])), 1 - share, rtol=1e-8)


@pytest.mark.parametrize(
    ("bell", "referee"),
    [
        (BELLS[0], stats.norm()),
        (BELLS[1], stats.laplace()),
        *((bell, stats.t(bell.degrees)) for bell in BELLS if 0 < bell.degrees < np.inf),
    ],
    ids=lambda given: getattr(given, "name", ""),
)
def test_bells_are_those_of_scipy(bell, referee):
    u = np.concatenate([-SIZES, SIZES, [40.0]])
    assert_allclose(bell.log_density(u), referee.logpdf(u), rtol=1e-10)
    assert_allclose(bell.beyond(u), 2 * referee.sf(np.abs(u)), rtol=1e-10)
    assert_allclose([bell.quantile(q) for q in (0.5, 0.99)], referee.ppf([0.75, 0.995]), rtol=1e-10)


def test_a_bell_of_mixed_sizes_is_a_mean_of_normals():
    bell = Bell("mixed", variety=0.75)
    z = np.linspace(-2.5, 2.5, 11)
    shares = stats.norm.pdf(z) / stats.norm.pdf(z).sum()
    u = np.concatenate([-SIZES, SIZES])
    parts = stats.norm.pdf(u[:, None], scale=np.exp(0.75 * z))
    assert_allclose(np.exp(bell.log_density(u)), parts @ shares, rtol=1e-10)


# -- Explanations ----------------------------------------------------------------------------------

OUTLIERS = (Component(0.3, -1.0, 8.0, 0), Component(0.7, 12.0, 2.0, 1))


@ALL
@pytest.mark.parametrize(("below", "above"), [(1.0, 1.0), (0.5, 2.0), (3.0, 0.2)])
def test_the_density_of_honest_errors_integrates_to_one_if_it_is_skewed_too(bell, below, above):
    found = Explanation(bell, 4.0, below, above)

    def density(u):
        return float(np.exp(found.log_honest(np.array([4.0 + u]))[0]))

    assert_allclose(integral(density, -np.inf, np.inf), 1, rtol=1e-7)
    assert found.is_skewed == (below != above)


def test_errors_are_measured_in_the_scale_of_their_side():
    found = Explanation(NORMAL, 4.0, 0.5, 2.0)
    assert_allclose(found.in_scales(np.array([3.0, 4.0, 8.0])), [-2.0, 0.0, 2.0])
    assert_allclose(found.beyond(np.array([3.0, 8.0])), 2 * stats.norm.sf(2.0))


def test_log_odds_follow_from_the_rule_of_bayes():
    found = Explanation(BELLS[2], -1.0, 0.8, 1.4, share=0.1, outliers=OUTLIERS)
    errors = np.array([-30.0, -4.0, -1.0, 0.5, 3.0, 11.0])
    width, t = 1.1, stats.t(BELLS[2].degrees)
    off = errors + 1.0
    honest = t.pdf(off / np.where(off < 0, 0.8, 1.4)) / width
    wrong = 0.3 * stats.norm.pdf(errors, -1.0, 8.0) + 0.7 * stats.norm.pdf(errors, 12.0, 2.0)
    anywhere = stats.cauchy.pdf(errors, -1.0, 1.5 * t.ppf(0.995) * width)
    wrong = (1 - room.ANYWHERE) * wrong + room.ANYWHERE * anywhere
    assert_allclose(found.log_honest(errors), np.log(honest))
    assert_allclose(found.log_wrong(errors), np.log(wrong))
    posterior = 0.1 * wrong / (0.1 * wrong + 0.9 * honest)
    assert_allclose(expit(found.log_odds(errors)), posterior)
    right, log_density = found.weigh(errors, None)
    assert_allclose(right, 1 - posterior)
    assert_allclose(log_density, np.log(0.1 * wrong + 0.9 * honest))
    prior = np.linspace(0.05, 0.6, 6)
    log_prior = np.log(prior / (1 - prior))
    posterior = prior * wrong / (prior * wrong + (1 - prior) * honest)
    assert_allclose(expit(found.log_odds(errors, log_prior)), posterior)
    assert_allclose(found.weigh(errors, log_prior)[0], 1 - posterior)


def test_without_outliers_no_target_is_wrong():
    found, errors = Explanation(NORMAL, 0.0, 1.0, 1.0), np.array([0.0, 50.0])
    assert_array_equal(found.log_odds(errors), -np.inf)
    honest, log_density = found.weigh(errors, None)
    assert_array_equal(honest, 1)
    assert_allclose(log_density, stats.norm.logpdf(errors))


def test_a_moved_explanation_says_the_same_of_moved_errors():
    found = Explanation(NORMAL, 1.0, 1.0, 2.0, share=0.1, outliers=OUTLIERS)
    errors = np.linspace(-9, 20, 12)
    assert_allclose(found.move(7.0).log_odds(errors + 7.0), found.log_odds(errors))


def test_numbers_that_are_fitted_have_their_price():
    plain = Explanation(NORMAL, 0.0, 1.0, 1.0)
    assert plain.penalty(100) == 0
    assert_allclose(plain.penalty(100, more=3), 1.5 * np.log(100))
    skewed = Explanation(BELLS[1], 0.0, 1.0, 2.0)
    assert_allclose(skewed.penalty(100), np.log(len(BELLS) - 1) + 0.5 * np.log(100))
    wrong = Explanation(NORMAL, 0.0, 1.0, 1.0, share=0.1, outliers=OUTLIERS)
    assert_allclose(wrong.penalty(100), 2.5 * np.log(100))  # share, width; weight, mean, width


# -- Steps of expectation and maximisation ---------------------------------------------------------


@pytest.fixture(scope="module")
def nowhere():
    """Leave out the part of wrong targets that may be anywhere: steps do not fit it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "ANYWHERE", 1e-300)
        yield


def two_sides(bell, seed, n=200, wrong=30):
    """Return errors with outliers so far out that no limit of their places and widths binds."""
    rng = np.random.default_rng(seed)
    errors = rng.normal(size=n)
    errors[:wrong] = rng.choice([-40.0, 40.0], size=wrong) + 5 * rng.normal(size=wrong)
    errors[:2] = -40.0, 40.0
    sides = (Component(0.5, -30.0, 9.0, -1), Component(0.5, 30.0, 9.0, 1))
    scale = rng.uniform(0.5, 2.0)
    return errors, Explanation(bell, rng.normal(), scale, scale, share=0.1, outliers=sides)


@given(
    st.sampled_from([bell for bell in BELLS if bell.degrees]),  # a corner has no such steps
    st.integers(0, 10_000),
    st.booleans(),
)
@pytest.mark.usefixtures("nowhere")
def test_no_step_lowers_the_likelihood(bell, seed, has_mass):
    errors, now = two_sides(bell, seed)
    mass = np.ones(len(errors))
    if has_mass:
        mass = np.random.default_rng(seed + 1).uniform(0.2, 3.0, size=len(errors))
    last = -np.inf
    for _ in range(12):
        honest, log_density = now.weigh(errors, None)
        value = float(mass @ log_density)
        assert value >= last - 1e-9 * abs(value)
        last = value
        now = now.improve(errors, mass * honest, mass * (1 - honest))


@pytest.mark.usefixtures("nowhere")
def test_steps_lead_to_the_places_of_the_outliers():
    errors, now = two_sides(NORMAL, seed=3)
    for _ in range(30):
        honest, _ = now.weigh(errors, None)
        now = now.improve(errors, honest, 1 - honest)
    assert_allclose(now.share, 30 / 200)
    assert_allclose(now.centre, errors[30:].mean(), atol=1e-6)
    assert_allclose(now.above, errors[30:].std(), rtol=1e-6)
    for part, far in zip(now.outliers, (errors[:30] < 0, errors[:30] > 0), strict=True):
        assert_allclose(part.weight, far.mean(), rtol=1e-6)
        assert_allclose(part.mean, errors[:30][far].mean(), rtol=1e-6)
        assert_allclose(part.width, errors[:30][far].std(), rtol=1e-6)


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=30))
def test_without_outliers_the_scale_of_a_normal_is_the_standard_deviation(values):
    errors = np.array(values)
    ones, zeros = np.ones(len(errors)), np.zeros(len(errors))
    found = Explanation(NORMAL, 3.0, 2.0, 2.0, floor=1e-9).improve(errors, ones, zeros)
    assert_allclose(found.centre, errors.mean(), atol=1e-9)
    assert_allclose(found.above, max(errors.std(), 1e-9), rtol=1e-6, atol=1e-9)
    assert found.scale == found.above == found.below
    found = Explanation(NORMAL, 3.0, 2.0, 2.0, floor=1e-9).improve(
        errors, ones, zeros, fit_centre=False
    )
    assert found.centre == 3
    assert_allclose(found.above**2, np.mean((errors - 3) ** 2), atol=1e-9)


def test_scales_of_two_sides_are_the_likeliest_ones():
    errors = np.random.default_rng(0).gamma(2.0, size=300)
    ones, zeros = np.ones(300), np.zeros(300)
    found = Explanation(NORMAL, 1.0, 0.5, 1.5).improve(errors, ones, zeros, fit_centre=False)

    def value(below, above):
        return Explanation(NORMAL, 1.0, below, above).log_honest(errors).sum()

    best = value(found.below, found.above)
    for factor in (0.99, 1.01):
        assert value(factor * found.below, found.above) < best
        assert value(found.below, factor * found.above) < best


# -- With wrong targets and without ----------------------------------------------------------------

DRAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "Laplace": lambda rng, n: rng.laplace(size=n),
    "t5": lambda rng, n: rng.standard_t(5, size=n),
    "t3": lambda rng, n: rng.standard_t(3, size=n),
    "gamma": lambda rng, n: rng.gamma(2.0, size=n),
    "scale mixture": lambda rng, n: rng.normal(size=n) * np.exp(0.75 * rng.normal(size=n)),
}


def explained(errors, mass=None, floor=1e-9):
    return explain(errors, np.ones(len(errors)) if mass is None else mass, floor)


def drawn(name, seed=0, n=300, wrong=0):
    """Return errors of which the first are 10 standard deviations off, to either side."""
    rng = np.random.default_rng(seed)
    errors = DRAWS[name](rng, n)
    errors[:wrong] += 10 * errors.std() * rng.choice([-1, 1], size=wrong)
    return errors


@pytest.mark.parametrize("name", ["t3", "gamma", *slow("normal", "Laplace", "t5", "scale mixture")])
@pytest.mark.parametrize("draws", [range(6), *slow(range(100))], ids=len)
def test_errors_that_some_bell_explains_are_no_evidence(name, draws):
    calm = [explained(drawn(name, seed)).evidence < np.log(10) for seed in draws]
    assert np.mean(calm) >= 0.97


@pytest.mark.parametrize("seed", range(3))
def test_one_outlier_in_twenty_at_ten_standard_deviations_is_strong_evidence(seed):
    errors = drawn("normal", seed, wrong=15)
    found = explained(errors)
    assert found.evidence - np.log(10) > 10
    assert_allclose(found.wrong.share, 0.05, atol=0.02)
    odds = found.wrong.log_odds(errors)
    assert odds[:15].min() > 0 > odds[15:].max()


@pytest.mark.parametrize(("name", "bell"), [("Laplace", "Laplace"), ("normal", "normal")])
def test_many_errors_tell_their_bell(name, bell):
    assert explained(drawn(name, n=2000)).honest.bell.name == bell
    errors = drawn(name, n=500)
    assert explain_honest(errors, np.ones(500), 1e-9) == explained(errors).honest


def test_skewed_errors_have_two_scales():
    honest = explained(drawn("gamma", n=1000)).honest
    assert honest.below < 0.7 * honest.above


@pytest.mark.parametrize("name", ["normal", *slow("t5")])
@pytest.mark.parametrize("wrong", [100, *slow(0)])
@pytest.mark.parametrize("n", [10_000, *slow(50_000)])
def test_many_errors_are_compressed_without_a_change_that_matters(n, name, wrong, monkeypatch):
    errors = drawn(name, n=n, wrong=wrong)
    fast = explained(errors)
    monkeypatch.setattr(room, "compress", lambda errors, mass: (errors, mass))
    exact = explained(errors)
    # 400 groups of up to 125 errors stand for the middle
    assert_allclose(fast.evidence, exact.evidence, rtol=0.01, atol=0.3)
    assert_allclose(fast.honest.value, exact.honest.value, rtol=1e-3)
    assert_allclose(fast.honest.scale, exact.honest.scale, rtol=1e-3)
    assert_allclose(fast.wrong.scale, exact.wrong.scale, rtol=1e-3)


@given(st.integers(1, 2000), st.integers(0, 100))
def test_compressed_errors_have_the_same_mass_mean_and_extremes(n, seed):
    rng = np.random.default_rng(seed)
    errors, mass = rng.standard_t(2, size=n), rng.uniform(0.1, 2.0, size=n)
    fewer, masses = compress(errors, mass)
    assert len(fewer) == n if n <= 600 else len(fewer) <= 1001
    assert_allclose(masses.sum(), mass.sum())
    assert_allclose(masses @ fewer, mass @ errors, atol=1e-9)
    assert_allclose([fewer.min(), fewer.max()], [errors.min(), errors.max()], rtol=0.05)
    off, unit = errors - np.median(errors), np.median(np.abs(errors - np.median(errors)))
    step = np.ptp(np.arcsinh(off / unit)) / 1000 if unit else 0.0  # no further than a bin
    nearest = np.abs(errors[:, None] - fewer[None, :]).min(axis=1)
    assert (nearest <= 2 * step * np.hypot(unit, off) + 1e-12).all()


@pytest.mark.parametrize("name", ["normal", *slow("gamma", "t3")])
@pytest.mark.parametrize("wrong", [0, 8])
def test_an_error_of_mass_two_is_two_errors(name, wrong):
    errors = drawn(name, n=150, wrong=wrong)
    mass = np.random.default_rng(1).integers(1, 4, size=150)
    weighed, repeated = explained(errors, mass.astype(float)), explained(errors.repeat(mass))
    assert_allclose(weighed.gain, repeated.gain, atol=0.1)  # starts of outliers do not weigh them
    assert weighed.honest.bell == repeated.honest.bell
    assert_allclose(weighed.honest.value, repeated.honest.value, rtol=1e-9)
    assert_allclose(weighed.honest.below, repeated.honest.below, rtol=1e-6)
    assert_allclose(weighed.honest.above, repeated.honest.above, rtol=1e-6)
    assert_allclose(weighed.wrong.scale, repeated.wrong.scale, rtol=0.01)


@pytest.mark.parametrize("name", ["normal", *slow("gamma", "t3")])
@pytest.mark.parametrize("exponent", [-60, *slow(1, 90)])
def test_the_unit_of_errors_shifts_likelihoods_and_leaves_the_evidence(name, exponent):
    errors, factor = drawn(name, wrong=6), 2.0**exponent
    here, there = explained(errors, floor=1e-12), explained(factor * errors, floor=factor * 1e-12)
    shift = -len(errors) * np.log(factor)
    assert_allclose(there.honest.value - here.honest.value, shift, rtol=1e-9)
    assert_allclose(there.wrong.value - here.wrong.value, shift, rtol=1e-9)
    assert_allclose(there.gain, here.gain, rtol=1e-6)
    assert_allclose(there.wrong.scale, factor * here.wrong.scale, rtol=1e-9)
    moved = explained(errors + 2.0**7, floor=1e-12)
    assert_allclose(moved.gain, here.gain, rtol=1e-6)


def test_errors_that_are_all_zero_have_an_explanation():
    found = explained(np.zeros(50))
    assert found.evidence < 0
    values = np.zeros(200)
    values[:10] = 1.0
    found = explained(values)
    assert found.evidence > 10
    assert_array_equal(found.wrong.log_odds(values) > 0, values > 0)


# -- Medians ---------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(-4, 4), st.integers(0, 4)), min_size=1, max_size=30).filter(
        lambda pairs: any(count for _, count in pairs)
    )
)
def test_the_weighted_median_is_that_of_repeated_values(pairs):
    values, counts = np.array(pairs).T
    expected = np.median(values.repeat(counts))
    for unit in (1.0, 0.1, 3e7):
        assert_allclose(weighted_median(values.astype(float), unit * counts), expected)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_the_median_of_equal_masses_is_the_usual_one(values):
    assert_allclose(weighted_median(np.array(values), np.ones(len(values))), np.median(values))


def test_what_is_as_good_as_zero_follows_the_spread_of_targets():
    y = np.random.default_rng(0).normal(size=101)
    ones = np.ones(101)
    assert_allclose(floor_of(y, ones), 1e-9 * np.median(np.abs(y - np.median(y))))
    assert_allclose(floor_of(1e6 * y, ones), 1e6 * floor_of(y, ones))
    assert floor_of(y + 1e9, ones) > 1e-4  # digits that targets far from zero have lost
    assert floor_of(np.zeros(5), np.ones(5)) > 0
