import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sorr.losses import Hinge, Logistic, ModifiedHuber, SquaredHinge
from tests.losses.problems import BINARY

ONE = np.ones(1)


@pytest.mark.parametrize(
    ("loss", "margin", "value", "slope"),
    [
        (Logistic(), 0.0, np.log(2), -0.5),
        (Logistic(), -1000.0, 1000.0, -1.0),
        (Logistic(), 800.0, 0.0, 0.0),
        (Logistic(), 50.0, np.exp(-50.0), -np.exp(-50.0)),
        (Hinge(), -2.0, 3.0, -1.0),
        (Hinge(), 1.0, 0.0, 0.0),
        (Hinge(), 2.0, 0.0, 0.0),
        (SquaredHinge(), -2.0, 9.0, -6.0),
        (SquaredHinge(), 1.5, 0.0, 0.0),
        (ModifiedHuber(), 0.0, 1.0, -2.0),
        (ModifiedHuber(), -1.0, 4.0, -4.0),
        (ModifiedHuber(), -3.0, 12.0, -4.0),
        (ModifiedHuber(), 1.5, 0.0, 0.0),
    ],
)
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_closed_form_values(loss, margin, value, slope, sign):
    y, f = sign * ONE, sign * margin * ONE
    assert_allclose(loss.value(y, f), value, rtol=1e-14)
    assert_allclose(loss.gradient(y, f), sign * slope, rtol=1e-14)
    assert_allclose(loss.value_and_gradient(y, f), [[value], [sign * slope]], rtol=1e-14)


def test_the_curvature_at_a_corner_is_zero_as_beyond_it():
    at = np.array([-1.5, -1.0, 0.0, 1.0, 2.0])
    assert_array_equal(SquaredHinge().curvature(np.ones(5), at), [2, 2, 2, 0, 0])
    assert_array_equal(ModifiedHuber().curvature(np.ones(5), at), [0, 0, 2, 0, 0])


def test_the_modified_huber_loss_is_the_squared_hinge_between_minus_one_and_one():
    f = np.linspace(-1, 3, 41)
    assert_allclose(ModifiedHuber().value(np.ones(41), f), SquaredHinge().value(np.ones(41), f))


@pytest.mark.parametrize("loss", BINARY, ids=repr)
def test_targets_of_minus_one_and_one_come_back_as_floats(loss):
    target = loss.check_target([-1, 1, 1], n_outputs=1)
    assert target.dtype == np.float64
    assert_array_equal(target, [-1.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1, 1], r"hinge holds 0 and 1; needed -1 and \+1: pass 2.0 \* y - 1"),
        ([True, True], r"pass 2.0 \* y - 1"),
        ([1, 2], r"holds 1, 2; needed -1 and \+1: pass np.where"),
        (["a", "b"], r"holds a, b; needed -1 and \+1"),
        ([1.0, np.nan], "holds 1.0, nan; needed"),
        ([[1], [-1]], r"shape \(2, 1\); needed .* y.ravel\(\)"),
        ([], r"shape \(0,\); needed"),
    ],
)
def test_other_targets_are_refused_with_a_way_out(y, message):
    with pytest.raises(ValueError, match=message):
        Hinge().check_target(y)


def test_the_suggested_encoding_is_accepted():
    y = np.array([0, 1, 1])
    assert_array_equal(Hinge().check_target(2 * y - 1), [-1, 1, 1])


def test_several_outputs_are_refused():
    with pytest.raises(ValueError, match="logistic is given 3 outputs; needed one"):
        Logistic().check_target([-1, 1], n_outputs=3)
