import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch", reason="sorr.nn needs PyTorch")

from torch.nn import functional  # noqa: E402

from sorr.nn import RankedRangeLoss, RankTracker, average_ranked_range, trimmed_mean  # noqa: E402
from tests.nn.training import Run, blobs  # noqa: E402

tracing_warns = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")
"""The compiler looks at the gradients of intermediate results."""


def batch(n=12, K=3, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(n, K, generator=generator, dtype=torch.float64).to(dtype)
    return logits.requires_grad_(), torch.arange(n) % K


# -- What it computes ------------------------------------------------------------------------------


def test_losses_are_reduced_as_by_the_function():
    losses = torch.rand(20)
    assert RankedRangeLoss(0.1, 0.8)(losses) == average_ranked_range(losses, 0.1, 0.8)
    assert RankedRangeLoss()(losses).item() == pytest.approx(losses.mean().item())
    weight = torch.rand(20)
    expected = average_ranked_range(losses, 2, weight=weight)
    assert RankedRangeLoss(2)(losses, weight=weight) == expected


@pytest.mark.parametrize(
    ("name", "targets"),
    [
        ("cross_entropy", torch.tensor([0, 2, 1, 1])),
        ("nll_loss", torch.tensor([0, 2, 1, 1])),
        ("mse_loss", torch.rand(4, 3)),
        ("l1_loss", torch.rand(4, 3)),
        ("huber_loss", torch.rand(4, 3)),
        ("binary_cross_entropy_with_logits", torch.rand(4, 3)),
    ],
)
def test_losses_have_the_names_of_torch(name, targets):
    predictions = torch.randn(4, 3)
    losses = getattr(functional, name)(predictions, targets, reduction="none")
    found = RankedRangeLoss(0.3, loss=name)(predictions, targets)
    assert found == trimmed_mean(losses, 0.3)


def test_any_callable_may_be_the_loss():
    logits, labels = batch()

    def smooth(x, y):
        return functional.cross_entropy(x, y, label_smoothing=0.1, reduction="none")

    expected = trimmed_mean(smooth(logits, labels), 2)
    assert RankedRangeLoss(2, loss=smooth)(logits, labels) == expected


def test_one_logit_for_two_classes_goes_with_a_tracker():
    logits, labels = torch.randn(8, 1), torch.tensor([0.0, 1] * 4)
    tracker = RankTracker(8, 2)
    criterion = RankedRangeLoss(loss="binary_cross_entropy_with_logits", tracker=tracker)
    found = criterion(logits, labels[:, None], index=torch.arange(8))
    assert_allclose(
        found.item(), functional.binary_cross_entropy_with_logits(logits[:, 0], labels), rtol=1e-6
    )
    found = tracker.logits.log_softmax(1)[:, 1]
    assert_allclose(found, functional.logsigmoid(logits[:, 0]), rtol=1e-5)
    assert tracker.labels.tolist() == labels.tolist()


def test_several_outputs_of_a_row_are_averaged_for_a_tracker():
    tracker = RankTracker(4, m=1)
    predictions, targets = torch.randn(4, 3), torch.randn(4, 3)
    RankedRangeLoss(loss="mse_loss", tracker=tracker)(predictions, targets, index=torch.arange(4))
    torch.testing.assert_close(tracker.losses, ((predictions - targets) ** 2).mean(1))


def test_a_weight_for_each_row_goes_with_several_losses_of_it():
    losses = torch.tensor([[1.0, 1, 1], [2, 2, 2], [3, 3, 3]])
    assert RankedRangeLoss()(losses, weight=torch.tensor([1.0, 0, 0])) == 1
    inputs, targets = torch.randn(3, 3, 4, 4), torch.randint(0, 3, (3, 4, 4))
    mass = torch.rand(3, 4, 4)
    losses = functional.cross_entropy(inputs, targets, reduction="none")
    found = RankedRangeLoss(0.2)(inputs, targets, weight=mass)
    assert found == average_ranked_range(losses, 0.2, weight=mass)


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("shape", [(12,), (4, 3)])
def test_targets_to_ignore_do_not_count(shape, is_compiled):
    torch.compiler.reset()
    targets = torch.arange(12).reshape(shape) % 3
    targets[..., 1:] = -100
    inputs = torch.randn(shape[0], 3, *shape[1:])
    losses = functional.cross_entropy(inputs, targets, reduction="none")[targets >= 0]
    for m in (0, 0.3):
        criterion = RankedRangeLoss(m)
        if is_compiled:
            criterion = torch.compile(criterion, backend="aot_eager", fullgraph=True)
        torch.testing.assert_close(criterion(inputs, targets), average_ranked_range(losses, m))
    weight = torch.rand(shape)
    expected = average_ranked_range(losses, m, weight=weight[targets >= 0])
    torch.testing.assert_close(criterion(inputs, targets, weight=weight), expected)
    with pytest.raises(ValueError, match="zero"):
        criterion(inputs, torch.full_like(targets, -100))


def test_a_tracker_ranks_rows_by_the_losses_that_count():
    targets = torch.tensor([[0, 1, -100], [2, -100, -100], [-100, -100, -100]])
    inputs = torch.randn(3, 3, 3)
    losses = functional.cross_entropy(inputs, targets, reduction="none")
    criterion = RankedRangeLoss(tracker=RankTracker(3, m=1))
    found = criterion(inputs, targets, index=torch.arange(3))
    expected = [losses[0, :2].mean().item(), losses[1, 0].item(), math.nan]
    assert_allclose(criterion.tracker.losses, expected, rtol=1e-6)
    assert_allclose(found.item(), np.nanmean(expected), rtol=1e-6)
    assert_allclose(criterion.eval()(inputs, targets).item(), np.nanmean(expected), rtol=1e-6)


@pytest.mark.parametrize("options", [{"n_rows": 4}, {"window": 4}])
def test_rows_without_a_label_are_none_to_a_tracker_of_losses(options):
    logits, labels = batch(4)
    labels[1] = -100
    criterion = RankedRangeLoss(tracker=RankTracker(m=1, **options))
    index = torch.arange(4) if "n_rows" in options else None
    expected = functional.cross_entropy(logits, labels).item()
    assert_allclose(criterion(logits, labels, index=index).item(), expected, rtol=1e-6)
    assert_allclose(criterion.eval()(logits, labels).item(), expected, rtol=1e-6)
    nothing = torch.full((4,), -100)
    assert criterion.eval()(logits, nothing) == 0
    assert criterion.train()(logits, nothing, index=index) == 0


def test_means_of_many_losses_in_half_precision_are_finite():
    losses = torch.full((2, 80_000), 2.0, dtype=torch.float16)
    targets = torch.zeros(2, 80_000, dtype=torch.long)
    criterion = RankedRangeLoss(tracker=RankTracker(2, m=1))
    criterion._unreduced = lambda *_: losses  # of cross-entropy on large images
    assert criterion(losses, targets, index=torch.arange(2)) == 2
    assert criterion.tracker.losses.tolist() == [2, 2]
    assert criterion.eval()(torch.full((2000,), 100.0, dtype=torch.float16)) == 100


def test_probabilities_are_told_to_a_tracker_as_logits():
    probabilities, labels = torch.tensor([0.02, 0.1, 0.9, 1.0]), torch.tensor([0.0, 0, 1, 1])
    criterion = RankedRangeLoss(loss="binary_cross_entropy", tracker=RankTracker(4, 2))
    criterion(probabilities, labels, index=torch.arange(4))
    assert_allclose(criterion.tracker.logits.softmax(1)[:, 1], probabilities, rtol=1e-6)
    assert criterion.tracker.logits.isfinite().all()


def test_evaluation_records_nothing_and_drops_nothing():
    logits, labels = batch()
    tracker = RankTracker(12, 3, warmup=0)
    criterion = RankedRangeLoss(tracker=tracker).eval()
    expected = functional.cross_entropy(logits, labels).item()
    assert_allclose(criterion(logits, labels).item(), expected, rtol=1e-6)
    assert tracker.losses.isnan().all()
    assert RankedRangeLoss(3).eval()(logits, labels) == RankedRangeLoss(3)(logits, labels)


# -- Inside of what people train with --------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_trains(dtype):
    x, y, _ = blobs(300)
    run = Run(x, y)
    with torch.autocast("cpu", dtype=dtype):
        logits = run.model(x)
        assert logits.dtype == dtype
        loss = run.criterion(logits, y, index=torch.arange(300))
        in_batch = RankedRangeLoss(0.1)(logits, y)
    assert loss.dtype == in_batch.dtype == torch.float32  # cross-entropy is, under autocast
    exact = functional.cross_entropy(run.model(x), y)
    assert_allclose(loss.item(), exact.item(), rtol=2e-2)
    (loss + in_batch).backward()
    assert run.model.weight.grad.isfinite().all()


def test_a_scaled_loss_scales_the_gradient_and_keeps_the_ranks():
    losses = torch.rand(20, requires_grad=True)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    scaler.scale(RankedRangeLoss(0.2)(losses)).backward()
    scaled, losses.grad = losses.grad, None
    RankedRangeLoss(0.2)(losses).backward()
    torch.testing.assert_close(scaled, 1024 * losses.grad)


def test_accumulated_gradients_are_those_of_the_whole_batch():
    x, y, _ = blobs(240, wrong=0.4)
    run = Run(x, y).train(4)
    assert run.tracker.dropped.any()
    rows = torch.randperm(240)
    gradients = []
    for size in (240, 60):
        run.model.zero_grad()
        parts = rows.split(size)
        for index in parts:
            loss = run.criterion(run.model(x[index]), y[index], index=index)
            (loss / len(parts)).backward()
        gradients.append(run.model.weight.grad.clone())
    torch.testing.assert_close(*gradients)


@tracing_warns
def test_compiled_training_is_eager_training():
    x, y, _ = blobs(200, wrong=0.4)
    torch.compiler.reset()
    runs = Run(x, y), Run(x, y)
    runs[1].criterion = torch.compile(runs[1].criterion, backend="aot_eager")
    runs[1].model.compile(backend="aot_eager")
    for run in runs:
        run.train(5)
    torch.testing.assert_close(runs[0].model.weight, runs[1].model.weight)
    assert runs[0].tracker.dropped.equal(runs[1].tracker.dropped)
    assert runs[0].tracker.dropped.any()


@pytest.mark.filterwarnings("ignore")  # of the compiler itself
@pytest.mark.slow  # the default compiler of torch writes C++ and builds it
def test_the_default_compiler_returns_what_others_do():
    torch.compiler.reset()
    logits, labels = batch(40)
    criterion = RankedRangeLoss(0.1, 0.9)
    found = torch.compile(criterion)(logits, labels)
    found.backward()
    gradient, logits.grad = logits.grad, None
    expected = criterion(logits, labels)
    expected.backward()
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(gradient, logits.grad)


# -- What is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"loss": "cross_entrpy"}, ValueError, "did you mean 'cross_entropy'"),
        ({"loss": 3}, TypeError, "loss is of type int"),
        ({"m": 1, "tracker": RankTracker(9, m=1)}, ValueError, "needed them in one place"),
        ({"process_group": False, "tracker": RankTracker(9, m=1)}, ValueError, "in one place"),
        ({"tracker": RankTracker}, TypeError, "needed a RankTracker"),
        ({"m": "auto"}, TypeError, "m='auto' is of type str"),
        ({"m": 1.0}, ValueError, "1.0"),
        ({"m": 0.9, "k": 0.2}, ValueError, "needed m < k"),
    ],
)
def test_arguments_that_cannot_be_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        RankedRangeLoss(**options)


def test_batches_that_do_not_fit_are_refused():
    logits, labels = batch()
    with pytest.raises(ValueError, match="index is for a tracker"):
        RankedRangeLoss(1)(logits, labels, index=torch.arange(12))
    with pytest.raises(ValueError, match="loss returned a single number"):
        RankedRangeLoss(1, loss=functional.cross_entropy)(logits, labels)
    with pytest.raises(ValueError, match="no loss in this batch"):
        RankedRangeLoss()(torch.empty(0))
    tracked = RankedRangeLoss(tracker=RankTracker(12, 3))
    with pytest.raises(ValueError, match="weight does not go with a tracker"):
        tracked(logits, labels, index=torch.arange(12), weight=torch.ones(12))


def test_the_parameters_are_shown():
    assert "m=0.1, k=None, loss='mse_loss'" in repr(RankedRangeLoss(0.1, loss="mse_loss"))
    assert "(tracker): RankTracker(n_rows=9" in repr(RankedRangeLoss(tracker=RankTracker(9, 3)))
    assert "loss=a callable" in repr(RankedRangeLoss(loss=functional.mse_loss))
