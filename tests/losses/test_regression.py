import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sorr.losses import Absolute, Huber, Squared


@pytest.mark.parametrize(
    ("loss", "residual", "value", "slope"),
    [
        (Squared(), -3.0, 9.0, -6.0),
        (Absolute(), -3.0, 3.0, -1.0),
        (Absolute(), 0.0, 0.0, 0.0),
        (Huber(2.0), 1.5, 2.25, 3.0),
        (Huber(2.0), 2.0, 4.0, 4.0),
        (Huber(2.0), -5.0, 16.0, -4.0),
    ],
)
def test_closed_form_values(loss, residual, value, slope):
    y = np.array([10.0])
    assert_array_equal(loss.value(y, y + residual), [value])
    assert_array_equal(loss.gradient(y, y + residual), [slope])


def test_huber_with_a_large_delta_is_the_squared_loss():
    y, f = np.random.default_rng(0).standard_normal((2, 100))
    assert_allclose(Huber(100.0).value(y, f), Squared().value(y, f), rtol=1e-14)
    assert_array_equal(Huber(100.0).gradient(y, f), Squared().gradient(y, f))


def test_huber_with_a_small_delta_tends_to_the_absolute_loss():
    y, f = np.random.default_rng(1).standard_normal((2, 100))
    delta = 1e-9
    assert_allclose(Huber(delta).value(y, f) / (2 * delta), Absolute().value(y, f), atol=delta)


def test_the_curvature_of_huber_is_that_of_the_piece_and_zero_at_the_corner():
    f = np.array([0.0, 0.5, 1.0, 2.0])
    assert_array_equal(Huber(1.0).curvature(np.zeros(4), f), [2, 2, 0, 0])


def test_a_numpy_delta_becomes_a_plain_number():
    loss = Huber(np.float64(2.0))
    assert type(loss.delta) is float
    assert loss.value(np.zeros(1), np.ones(1, np.float32)).dtype == np.float32


@pytest.mark.parametrize("delta", [0, -1.0, np.inf, np.nan])
def test_a_delta_that_is_no_distance_is_refused(delta):
    with pytest.raises(ValueError, match="needed 0 < delta < inf"):
        Huber(delta)


@pytest.mark.parametrize("delta", ["1", None, True])
def test_a_delta_that_is_no_number_is_refused(delta):
    with pytest.raises(TypeError, match=r"delta=.* needed a number"):
        Huber(delta)


def test_integer_targets_come_back_as_floats():
    target = Squared().check_target([1, 2])
    assert target.dtype == np.float64
    assert_array_equal(target, [1.0, 2.0])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0.0, np.nan, np.inf], "2 of 3 targets of squared are NaN or infinite, .* index 1; "),
        (["1.5"], r"dtype <U3; needed real numbers: y.astype\(float\)"),
        ([[1.0, 2.0]], r"shape \(1, 2\); needed one entry for each sample"),
    ],
)
def test_other_targets_are_refused_with_a_way_out(y, message):
    with pytest.raises(ValueError, match=message):
        Squared().check_target(y)
