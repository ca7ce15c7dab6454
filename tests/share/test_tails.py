"""Outliers among residuals of a known bell: how many, which, and none where the bell explains."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sorr.share.tails import fit_tails

BELLS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "laplace": lambda rng, n: rng.laplace(size=n),
    "t3": lambda rng, n: rng.standard_t(3, size=n),
    "uniform": lambda rng, n: rng.uniform(-1, 1, size=n),
    "exponential": lambda rng, n: rng.exponential(size=n) - 1,
}


def residuals(bell, n=1000, share=0.0, seed=0):
    """Return residuals of which the first are 6 to 20 typical ones too large."""
    rng = np.random.default_rng(seed)
    found = BELLS[bell](rng, n)
    wrong = int(share * n)
    typical = 1.4826 * np.median(np.abs(found))
    found[:wrong] = typical * rng.uniform(6, 20, size=wrong) * rng.choice([-1, 1], size=wrong)
    return found, np.arange(n) < wrong


def tails_of(values, mass=None):
    return fit_tails(values, np.ones(len(values)) if mass is None else mass, 1e-9)


@pytest.mark.parametrize("bell", BELLS)
@pytest.mark.parametrize("n", [200, 5000])
def test_what_a_bell_explains_is_no_outlier(bell, n):
    values, _ = residuals(bell, n)
    tails = tails_of(values)
    assert tails.clean > 0.5
    assert (tails.suspicion(values) > 0.5).mean() <= 0.005


@pytest.mark.parametrize("bell", BELLS)
@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
def test_outliers_beyond_the_bell_are_counted_and_found(bell, share):
    values, wrong = residuals(bell, share=share)
    tails = tails_of(values)
    # the far end of a Laplace bell and a broad cloud of outliers differ by little in 1000 rows
    assert_allclose(tails.rate, share, atol=0.045 if bell in ("laplace", "t3") else 0.02)
    assert tails.interval[0] - 0.02 <= share <= tails.interval[1] + 0.02
    flagged = tails.suspicion(values) > 0.5
    assert flagged[wrong].mean() > 0.8
    assert flagged[~wrong].mean() < 0.06


def test_a_skewed_bell_has_a_cutoff_on_each_side():
    values, wrong = residuals("exponential", n=3000, share=0.1)
    below, above = tails_of(values).cutoffs
    assert below < 0.6 * above
    assert above < values[wrong].max()


def test_the_scale_is_that_of_the_rows_that_belong():
    values, _ = residuals("normal", n=5000, share=0.3)
    assert_allclose(tails_of(values).scale, 1.0, atol=0.05)


def test_heavy_tails_are_called_heavy():
    light, heavy = (tails_of(residuals(bell, 3000)[0]).heaviness for bell in ("normal", "t3"))
    assert_allclose(light, 1.0, atol=0.1)
    assert heavy > 1.4


def test_a_row_of_mass_two_is_two_rows():
    values, _ = residuals("t3", n=150, share=0.1)
    mass = np.random.default_rng(1).integers(1, 4, size=150)
    weighed, repeated = tails_of(values, mass.astype(float)), tails_of(values.repeat(mass))
    assert_allclose(weighed.rate, repeated.rate, rtol=1e-9)
    assert_allclose(weighed.cutoffs, repeated.cutoffs, rtol=1e-9)


@settings(deadline=None, max_examples=6)
@given(st.floats(-200, 200), st.integers(0, 5))
def test_the_unit_of_residuals_does_not_matter(exponent, seed):
    values, _ = residuals("laplace", n=120, share=0.05, seed=seed)
    factor = 2.0**exponent
    here, there = (
        fit_tails(values, np.ones(120), 1e-90),
        fit_tails(factor * values, np.ones(120), 1e-90),
    )
    assert_allclose(there.rate, here.rate, rtol=1e-3)
    assert_allclose(there.scale, factor * here.scale, rtol=1e-3)


def test_residuals_of_zero_and_absurd_ones_have_an_answer():
    values = np.zeros(200)
    values[:10] = 1e90
    tails = tails_of(values)
    assert_allclose(tails.rate, 0.05, atol=0.02)
    assert (tails.suspicion(values) > 0.5).sum() == 10
    assert tails_of(np.zeros(50)).clean > 0.5
