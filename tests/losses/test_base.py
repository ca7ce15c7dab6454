import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sorr.losses import BinaryLoss, RegressionLoss
from tests.losses.problems import ALL, BOUNDED, GRID, difference, scores, targets

every_loss = pytest.mark.parametrize("loss", ALL, ids=repr)


@every_loss
def test_the_gradient_matches_central_differences_in_general_position(loss):
    y, f = targets(loss), scores(loss)
    slope = difference(lambda point: loss.value(y, point), f)
    assert_allclose(loss.gradient(y, f), slope, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("loss", [loss for loss in ALL if loss.has_curvature], ids=repr)
def test_the_curvature_matches_central_differences_of_the_gradient(loss):
    y, f = targets(loss), scores(loss)
    bend = difference(lambda point: loss.gradient(y, point), f)
    assert_allclose(loss.curvature(y, f), bend, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("loss", [loss for loss in ALL if not loss.has_curvature], ids=repr)
def test_a_loss_without_curvature_says_so_by_name(loss):
    with pytest.raises(TypeError, match=f"^{loss.name} has no curvature.*such as"):
        loss.curvature(targets(loss), scores(loss))


@pytest.mark.parametrize("loss", [loss for loss in ALL if loss.convex], ids=repr)
def test_the_tangent_at_any_point_lies_below_a_convex_loss(loss):
    y = targets(loss, n=3000)
    for seed in range(3):
        at = scores(loss, n=3000, seed=seed, choices=GRID)
        other = scores(loss, n=3000, seed=seed + 10, choices=None if seed else GRID)
        step = loss.gradient(y, at) * (other - at)
        rise = step if step.ndim == 1 else step.sum(axis=1)
        assert np.all(loss.value(y, other) >= loss.value(y, at) + rise - 1e-12)


@every_loss
def test_a_midpoint_above_the_chord_exists_exactly_where_the_loss_is_not_convex(loss):
    y = targets(loss, n=3000)
    left, right = scores(loss, n=3000, seed=3), scores(loss, n=3000, seed=4)
    chord = (loss.value(y, left) + loss.value(y, right)) / 2
    excess = loss.value(y, (left + right) / 2) - chord
    assert (excess.max() > 0.1) == (not loss.convex)
    assert (excess.max() <= 1e-12) == loss.convex


@every_loss
def test_the_gradient_jumps_exactly_where_the_loss_is_not_smooth(loss):
    y, f = targets(loss, n=2000), scores(loss, n=2000, choices=GRID)
    step = 1e-7 * np.random.default_rng(5).standard_normal(f.shape)
    jump = np.abs(loss.gradient(y, f + step) - loss.gradient(y, f - step)).max()
    assert (jump < 1e-4) == loss.smooth
    assert (jump > 0.1) == (not loss.smooth)


@every_loss
def test_a_monotone_loss_falls_with_the_margin_and_the_others_do_not(loss):
    assert loss.monotone == isinstance(loss, BinaryLoss)
    if not isinstance(loss, BinaryLoss | RegressionLoss):
        return
    y = np.repeat([-1.0, 1.0], 101)
    f = np.tile(np.linspace(-5, 5, 101), 2)
    values = loss.value(y, f)[np.argsort(y * f, kind="stable")]
    assert (np.all(np.diff(values) <= 1e-15)) == loss.monotone


@every_loss
def test_losses_are_never_negative_and_one_for_each_sample(loss):
    y, f = targets(loss), scores(loss)
    value = loss.value(y, f)
    assert value.shape == (200,)
    assert value.min() >= 0
    assert value.max() > 0
    assert loss.gradient(y, f).shape == f.shape


@every_loss
@pytest.mark.parametrize("choices", [None, GRID], ids=["generic", "ties"])
def test_value_and_gradient_equals_the_two_calls(loss, choices):
    y, f = targets(loss), scores(loss, choices=choices)
    value, gradient = loss.value_and_gradient(y, f)
    assert_allclose(value, loss.value(y, f), rtol=1e-14)
    assert_allclose(gradient, loss.gradient(y, f), rtol=1e-14)


@every_loss
def test_float32_stays_float32_and_close_to_float64(loss):
    y, f = targets(loss), scores(loss).astype(np.float32)
    narrow = [loss.value(y, f), loss.gradient(y, f), *loss.value_and_gradient(y, f)]
    f64 = f.astype(np.float64)
    wide = [loss.value(y, f64), loss.gradient(y, f64), *loss.value_and_gradient(y, f64)]
    if loss.has_curvature:
        narrow.append(loss.curvature(y, f))
        wide.append(loss.curvature(y, f64))
    for one, other in zip(narrow, wide, strict=True):
        assert one.dtype == np.float32
        assert other.dtype == np.float64
        # a few units in the last place of float32, of scores of size ten
        assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@every_loss
@pytest.mark.parametrize(("dtype", "huge"), [(np.float64, 1e300), (np.float32, 3e38)])
def test_huge_scores_give_no_nan_and_a_loss_too_large_for_a_float_is_infinite(loss, dtype, huge):
    y = targets(loss, n=1000)
    f = scores(loss, n=1000, choices=np.array([-huge, -1.0, 0.0, 1.0, huge])).astype(dtype)
    value, gradient = loss.value_and_gradient(y, f)
    assert_allclose(value, loss.value(y, f), rtol=1e-6)
    assert_allclose(gradient, loss.gradient(y, f), rtol=1e-6)
    assert not np.isnan(value).any()
    assert value.min() >= 0
    assert (value.max() >= 0.5 * huge) == (loss not in BOUNDED)
    assert not np.isnan(gradient).any()
    if dtype == np.float64:
        assert np.isfinite(gradient).all()
        assert np.isinf(value).any() == (loss.name in ("squared", "squared_hinge"))
    if loss.has_curvature:
        assert np.isfinite(loss.curvature(y, f)).all()


@pytest.mark.parametrize("loss", [loss for loss in ALL if loss.has_curvature], ids=repr)
def test_a_hessian_is_symmetric_and_positive_semidefinite(loss):
    bend = loss.curvature(targets(loss), scores(loss))
    if bend.ndim == 1:
        assert bend.min() >= 0
    else:
        assert_allclose(bend, bend.transpose(0, 2, 1), rtol=1e-14)
        assert np.linalg.eigvalsh(bend).min() > -1e-12


@every_loss
def test_losses_are_frozen_comparable_hashable_and_survive_pickling(loss):
    copy = pickle.loads(pickle.dumps(loss))
    assert copy == loss
    assert hash(copy) == hash(loss)
    assert sum(loss == other for other in ALL) == 1
    assert repr(loss).startswith(type(loss).__name__ + "(")
    with pytest.raises((FrozenInstanceError, AttributeError)):
        loss.k = 7


@every_loss
def test_evaluating_leaves_the_arguments_untouched(loss):
    y, f = targets(loss), scores(loss)
    y_before, f_before = y.copy(), f.copy()
    loss.value_and_gradient(y, f)
    loss.value(y, f)
    assert_array_equal(y, y_before)
    assert_array_equal(f, f_before)


@every_loss
def test_whole_number_scores_are_scores(loss):
    y, f = targets(loss), scores(loss, choices=np.arange(-3, 4))
    assert f.dtype.kind == "i"
    value, gradient = loss.value_and_gradient(y, f)
    assert_array_equal(value, loss.value(y, f.astype(float)))
    assert_array_equal(gradient, loss.gradient(y, f.astype(float)))


@every_loss
def test_shapes_that_do_not_fit_are_refused(loss):
    y, f = targets(loss), scores(loss)
    for wrong in (f[:-1], f[..., None], f.T[:1]):
        with pytest.raises(ValueError, match=f"^{loss.name} is given .* shape .*; needed"):
            loss.value(y, wrong)
