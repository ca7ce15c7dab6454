"""What solvers ask of a loss beyond value, gradient and curvature."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sorr.losses import (
    Absolute,
    BinaryLoss,
    Hinge,
    Huber,
    Logistic,
    ModifiedHuber,
    MulticlassHinge,
    MulticlassLoss,
    MultilabelHinge,
    SmoothAbsolute,
    SmoothHinge,
    Softmax,
    Squared,
    TopKMultilabel,
    TopKSubset,
    TopKSVM,
)
from sorr.losses.base import STRAIGHT_CURVATURE
from sorr.losses.margins import Sided
from tests.losses.problems import (
    ALL,
    BOUNDED,
    GRID,
    MULTILABEL,
    N_LABELS,
    REGRESSION,
    difference,
    scores,
    targets,
)

every_loss = pytest.mark.parametrize("loss", ALL, ids=repr)
generic_and_ties = pytest.mark.parametrize("choices", [None, GRID], ids=["generic", "ties"])
dtypes = pytest.mark.parametrize("dtype", [np.float64, np.float32])


# -- order --------------------------------------------------------------------------------------


@every_loss
@generic_and_ties
@dtypes
def test_the_order_ranks_the_samples_as_their_losses_do(loss, choices, dtype):
    y, f = targets(loss), scores(loss, choices=choices).astype(dtype)
    order, value = loss.order(y, f), loss.value(y, f)
    assert order.shape == value.shape
    assert order.dtype == dtype
    # A loss that is larger by more than rounding never comes later.
    sorted_values = value[np.argsort(order, kind="stable")]
    assert np.all(np.diff(sorted_values) >= -4 * np.finfo(dtype).eps * sorted_values[1:])


@every_loss
def test_the_order_of_huge_scores_holds_no_nan(loss):
    y, f = targets(loss), scores(loss, choices=np.array([-1e308, -1.0, 0.0, 1.0, 1e308]))
    assert not np.isnan(loss.order(y, f)).any()


# -- total --------------------------------------------------------------------------------------


@every_loss
@generic_and_ties
@pytest.mark.parametrize("kind", ["any", "equal", "some zero", "mostly equal", "all zero"])
def test_the_total_is_the_weighted_sum(loss, choices, kind):
    y, f = targets(loss, n=1500), scores(loss, n=1500, choices=choices)
    random = np.random.default_rng(3)
    weights = {
        "any": random.random(1500),
        "equal": np.full(1500, 0.37),
        "some zero": random.random(1500) * (random.random(1500) < 0.3),
        "mostly equal": np.where(np.arange(1500) % 7 == 0, random.random(1500), 1.0),
        "all zero": np.zeros(1500),
    }[kind]
    total = loss.total(y, f, weights)
    assert type(total) is float
    assert_allclose(total, np.sum(weights * loss.value(y, f)), rtol=1e-12)


@every_loss
def test_samples_without_weight_may_have_any_loss(loss):
    y, f = targets(loss, n=1500), scores(loss, n=1500)
    weights = np.random.default_rng(4).integers(0, 2, 1500) / 3
    expected = weights @ loss.value(y, f)
    huge = np.where((weights > 0) if f.ndim == 1 else (weights > 0)[:, None], f, 1e300 * f)
    assert (np.abs(loss.value(y, huge)).max() > 1e299) == (loss not in BOUNDED)
    assert_allclose(loss.total(y, huge, weights), expected, rtol=1e-12)


@every_loss
def test_a_total_in_single_precision_is_close(loss):
    y, f = targets(loss, n=3000), scores(loss, n=3000).astype(np.float32)
    value = loss.value(y, f.astype(np.float64))
    for weights in (np.full(3000, 1 / 3000), np.random.default_rng(5).random(3000) / 3000):
        total = loss.total(y, f, weights.astype(np.float32))
        assert_allclose(total, weights @ value, rtol=1e-5)  # of float32


@pytest.mark.parametrize("margin", [30.0, 60.0, 700.0, -30.0, -700.0])
@pytest.mark.parametrize("n", [3, 511, 512, 513, 5000])
def test_the_logarithms_that_are_multiplied_keep_the_digits_of_tiny_and_of_large_losses(n, margin):
    margins = margin + np.random.default_rng(6).random(n)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    for weights in (np.full(n, 0.25), np.where(np.arange(n) % 5 == 0, 0.1, 0.25)):
        expected = weights @ Logistic().value(y, y * margins)
        assert_allclose(Logistic().total(y, y * margins, weights), expected, rtol=1e-10)


def test_one_loss_among_many_tiny_ones_is_not_lost_nor_are_they():
    n = 2000
    margins = np.full(n, 28.0)
    margins[7] = -1.0
    expected = float(np.log1p(np.exp(1.0)) + (n - 1) * np.log1p(np.exp(-28.0)))
    assert_allclose(Logistic().total(np.ones(n), margins, np.ones(n)), expected, rtol=1e-12)


# -- pieces -------------------------------------------------------------------------------------


def with_pieces(loss):
    known = ("hinge", "absolute", "multiclass_hinge", "multilabel_hinge")
    return loss.smooth or loss.name in known


@pytest.mark.parametrize("loss", [loss for loss in ALL if with_pieces(loss)], ids=repr)
@generic_and_ties
@dtypes
def test_the_loss_is_the_largest_of_its_pieces_or_the_floor(loss, choices, dtype):
    y, f = targets(loss), scores(loss, choices=choices).astype(dtype)
    values, gradients = loss.pieces(y, f)
    assert values.dtype == gradients.dtype == dtype
    assert gradients.shape == values.shape + f.shape[1:]
    largest = np.maximum(values.max(axis=1), loss.floor)
    assert_allclose(largest, loss.value(y, f), rtol=1e-6 if dtype == np.float32 else 1e-14)


@pytest.mark.parametrize("loss", [loss for loss in ALL if with_pieces(loss)], ids=repr)
def test_the_gradients_of_the_pieces_match_central_differences(loss):
    y, f = targets(loss), scores(loss)
    values, gradients = loss.pieces(y, f)
    for piece in range(values.shape[1]):
        slope = difference(lambda point, piece=piece: loss.pieces(y, point)[0][:, piece], f)
        assert_allclose(gradients[:, piece], slope, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("loss", [loss for loss in ALL if not with_pieces(loss)], ids=repr)
def test_a_loss_whose_pieces_are_not_known_says_so_by_name(loss):
    message = f"^{loss.name} is not smooth, and its pieces are not known; .*such as"
    with pytest.raises(TypeError, match=message):
        loss.pieces(targets(loss), scores(loss))


@every_loss
def test_a_loss_tells_whether_its_pieces_are_known(loss):
    assert loss.has_pieces == with_pieces(loss)


@every_loss
def test_the_floor_is_zero_for_hinges_and_none_for_the_others(loss):
    hinges = Hinge | MulticlassHinge | TopKMultilabel | TopKSubset | TopKSVM | MultilabelHinge
    assert loss.floor == (0 if isinstance(loss, hinges) else -np.inf)


# -- smooth neighbours --------------------------------------------------------------------------


def has_neighbour(loss):
    known = ("hinge", "absolute", "multiclass_hinge", "topk_svm")
    return loss.has_curvature or loss.name in known


@pytest.mark.parametrize("loss", [loss for loss in ALL if has_neighbour(loss)], ids=repr)
@pytest.mark.parametrize("width", [1e-3, 0.3, 2.0])
def test_the_smooth_neighbour_lies_at_most_half_its_width_below(loss, width):
    y, f = targets(loss, n=2000), scores(loss, n=2000)
    smooth = loss.smoothed(width)
    below = loss.value(y, f) - smooth.value(y, f)
    assert smooth.smooth
    assert smooth.has_curvature
    assert below.min() >= -1e-12
    assert below.max() <= width / 2 + 1e-12
    if loss.has_curvature:
        assert smooth is loss
    else:
        assert below.max() > 0.9 * width / 2


def test_the_neighbours_are_named_losses():
    assert Hinge().smoothed(0.2) == SmoothHinge(0.2)
    assert Absolute().smoothed(0.2) == SmoothAbsolute(0.2)


def without_neighbour(loss):
    return not has_neighbour(loss) and not isinstance(loss, Sided)


@pytest.mark.parametrize("loss", [loss for loss in ALL if without_neighbour(loss)], ids=repr)
def test_a_loss_without_a_smooth_neighbour_says_so_by_name(loss):
    with pytest.raises(TypeError, match=f"^{loss.name} has no smooth neighbour; .*such as"):
        loss.smoothed(0.1)


@every_loss
def test_the_flags_say_which_methods_are_defined(loss):
    y, f = targets(loss), scores(loss)
    assert loss.can_be_smoothed == (not without_neighbour(loss))
    assert loss.orders_by_value == (f.ndim > 1)
    if loss.orders_by_value:
        assert_array_equal(loss.order(y, f), loss.value(y, f))
    assert loss.has_bound == (with_pieces(loss) or isinstance(loss, Sided))
    assert loss.never_reaches_zero == (loss.name in ("logistic", "softmax"))


# -- classes ------------------------------------------------------------------------------------


@every_loss
def test_the_class_of_a_row_is_its_target_where_samples_have_one_each(loss):
    y = targets(loss)
    if isinstance(loss, BinaryLoss | MulticlassLoss):
        assert_array_equal(loss.class_of_row(y), y)
    else:
        assert loss.class_of_row(y) is None


@pytest.mark.parametrize("loss", [loss for loss in ALL if isinstance(loss, BinaryLoss)], ids=repr)
def test_a_prediction_is_right_on_its_side_of_zero(loss):
    y, f = np.array([1.0, 1.0, -1.0, -1.0, 1.0]), np.array([0.1, -0.1, -3.0, 3.0, 0.0])
    assert_array_equal(loss.is_right(y, f), [True, False, True, False, False])


@pytest.mark.parametrize(
    "loss", [loss for loss in ALL if isinstance(loss, MulticlassLoss)], ids=repr
)
def test_a_prediction_is_right_where_the_true_class_alone_scores_highest(loss):
    f = np.array([[2.0, 1.0, 0.0], [2.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    assert_array_equal(loss.is_right(np.array([0, 1, 0, 2]), f), [True, False, False, False])
    y, f = targets(loss), scores(loss)
    assert_array_equal(loss.is_right(y, f), f.argmax(axis=1) == y)
    assert 0 < loss.is_right(y, f).mean() < 1


@pytest.mark.parametrize("loss", [*REGRESSION, *MULTILABEL], ids=repr)
def test_without_classes_no_prediction_is_right(loss):
    with pytest.raises(TypeError, match=f"^{loss.name} predicts no class, .*; needed a loss over"):
        loss.is_right(targets(loss), scores(loss))


# -- probabilities ------------------------------------------------------------------------------


SMOOTH = [loss for loss in ALL if isinstance(loss, BinaryLoss | MulticlassLoss) and loss.smooth]


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_under_its_probabilities_a_raw_prediction_has_the_least_expected_loss(loss):
    f = scores(loss)
    p = loss.probability(f)
    assert_allclose(p.sum(axis=1), 1)
    labels = [-1.0, 1.0] if isinstance(loss, BinaryLoss) else range(N_LABELS)

    def expected(raw):
        rows = [loss.value(np.full(len(raw), label), raw) for label in labels]
        return (p * np.stack(rows, axis=1)).sum(axis=1)

    random = np.random.default_rng(0)
    for size in (1e-3, 0.1, 3.0):
        other = f + size * random.normal(size=f.shape)
        assert (expected(other) >= expected(f) - 1e-12).all()


@every_loss
def test_other_losses_have_no_probabilities(loss):
    assert loss.has_probability == (loss in SMOOTH)
    if not loss.has_probability:
        with pytest.raises(TypeError, match="do not stand for probabilities; needed a smooth loss"):
            loss.probability(scores(loss))


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_extreme_raw_predictions_are_certain(loss):
    f = np.array([-1e300, 1e300])
    f = f if isinstance(loss, BinaryLoss) else np.stack([-f, f], axis=1)
    assert_array_equal(loss.probability(f), [[1, 0], [0, 1]])


def test_shapes_that_do_not_fit_are_refused_here_too():
    y, f = np.zeros(4, dtype=np.intp), np.zeros((3, N_LABELS))
    for method in (Softmax().order, Softmax().is_right, Softmax().pieces):
        with pytest.raises(ValueError, match=r"^softmax is given .*; needed"):
            method(y, f)
    with pytest.raises(ValueError, match=r"^softmax is given .*; needed"):
        Softmax().total(y, f, np.ones(3))


STEPPING = [Logistic(), Squared(), Hinge(), Absolute(), Huber(), Huber(0.5), ModifiedHuber()]


@pytest.mark.parametrize("loss", STEPPING, ids=repr)
@pytest.mark.parametrize("width", [0.05, 0.7])
def test_a_step_model_is_that_of_the_rounded_loss_with_some_curvature_on_straight_pieces(
    loss, width
):
    y, f = targets(loss), scores(loss)
    slope, bend = loss.step_model(y, f, np.full(len(f), width))
    rounded = loss if loss.has_curvature else loss.smoothed(width)
    assert_allclose(slope, rounded.gradient(y, f), atol=1e-12)
    curvature = rounded.curvature(y, f)
    curved = curvature > 0
    assert_allclose(bend[curved], curvature[curved], rtol=1e-12)
    assert (bend > 0).all()


@pytest.mark.parametrize("loss", [Hinge(), Absolute(), Huber(), ModifiedHuber()], ids=repr)
def test_straight_pieces_get_a_part_of_the_curvature_of_a_parabola_above_the_loss(loss):
    y, f = targets(loss), scores(loss)
    width = np.full(len(f), 0.3)
    slope, bend = loss.step_model(y, f, width)
    rounded = loss if loss.has_curvature else loss.smoothed(0.3)
    straight = rounded.curvature(y, f) == 0
    assert straight.any()
    start = rounded.value(y, f)
    for step in np.linspace(-8, 8, 65):
        parabola = start + slope * step + bend / STRAIGHT_CURVATURE / 2 * step**2
        end = rounded.value(y, f + step)
        assert (end[straight] <= parabola[straight] + 1e-9).all()
