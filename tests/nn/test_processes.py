import os
import signal
import time

import pytest

torch = pytest.importorskip("torch", reason="sorr.nn needs PyTorch")

import torch.distributed as dist  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

from sorr.nn import RankedRangeLoss, RankTracker, trimmed_mean  # noqa: E402
from sorr.nn.tracker import gather_batch  # noqa: E402
from tests.nn.launch import TIMEOUT, launch  # noqa: E402
from tests.nn.training import Run, blobs  # noqa: E402

pytestmark = [
    pytest.mark.skipif(not dist.is_available(), reason="PyTorch has no processes here"),
    pytest.mark.filterwarnings("ignore:You are using `torch.load`"),  # pickle, PyTorch 2.4
]

PARTS = {2: [(5, 7), (12, 0), (1, 11)], 3: [(4, 3, 5), (0, 12, 0), (6, 0, 6)]}
RANKS = [(0.15, 0.8), (2, None), (0, 0.33), (1, 5)]


def problem():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(12, 3, generator=generator, dtype=torch.float64)
    x[3] = x[4] = x[8]  # ties
    return x, torch.rand(12, generator=generator, dtype=torch.float64)


def gradient_of(x, weight, m, k, group):
    theta = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64, requires_grad=True)
    losses = (x @ theta - 1) ** 2
    value = RankedRangeLoss(m, k, process_group=group)(losses, weight=weight)
    (gradient,) = torch.autograd.grad(value, theta)
    return value.detach(), gradient


def share_batches(rank, world):
    """Compare the average over all processes with one process that has all rows."""
    (x, mass), worst = problem(), 0.0
    for sizes in PARTS[world]:
        for m, k in RANKS:
            for weight in (None, mass):
                if weight is not None and isinstance(k, int):
                    continue  # more rows than mass
                own = x.split(sizes)[rank]
                part = None if weight is None else weight.split(sizes)[rank]
                value, gradient = gradient_of(own, part, m, k, None)
                dist.all_reduce(gradient)
                expected, whole = gradient_of(x, weight, m, k, False)
                worst = max(worst, float((gradient / world - whole).abs().max()))
                worst = max(worst, float((value - expected).abs()))
    return worst


def share_windows(rank, world):
    """Return the weights that a window gives to the rows of this process."""
    tracker, losses = RankTracker(m=0.2, window=16, warmup=0, ramp=1), problem()[1]
    return [tracker.weigh(losses.split(sizes)[rank]) for sizes in PARTS[world]]


def refuse_nan(rank, world):  # noqa: ARG001
    losses = torch.tensor([1.0, float("nan") if rank == 1 else 2.0])
    try:
        RankedRangeLoss(1)(losses)
    except ValueError as error:
        return str(error)
    return None


def share_within_a_group(rank, world):
    """Rank in the last two processes alone; the second one has other records than the first."""
    group = dist.new_group([world - 2, world - 1])
    parts = problem()[1].split([5, 7])
    if rank < world - 2:
        return
    second = rank == world - 1
    value = RankedRangeLoss(0.2, process_group=group)(parts[second])
    assert value.item() == pytest.approx(trimmed_mean(problem()[1], 0.2).item(), rel=1e-12)
    for other in ({"weight": torch.ones(len(parts[1]))}, {}):  # weights, or float32, in one of them
        own = parts[second] if other or second else parts[0].float()
        with pytest.raises(RuntimeError, match="had losses or weights of another kind"):
            RankedRangeLoss(0.2, process_group=group)(own, **(other if second else {}))
    tracker = RankTracker(12, m=4, warmup=0, ramp=1, process_group=group)
    tracker.weigh(parts[second], torch.arange(12).split([5, 7])[second])
    expected = problem()[1].argsort(descending=True)[:4].sort().values
    if second:
        tracker.losses.neg_()
        evaluated = RankedRangeLoss(0.2, process_group=group).eval()(parts[1])  # without the other
        assert evaluated == trimmed_mean(parts[1], 0.2)
    tracker.step()
    assert tracker.dropped.nonzero()[:, 0].equal(expected)
    whole = gather_batch([torch.tensor([2**24 + 1 + second])], group)[0]
    assert whole.tolist() == [2**24 + 1, 2**24 + 2]  # single precision has no such number


def everything(rank, world):
    share_within_a_group(rank, world)
    return share_batches(rank, world), share_windows(rank, world), refuse_nan(rank, world)


@pytest.mark.parametrize("world", [2, 3])
def test_ranks_are_those_of_the_whole_batch(world, tmp_path):
    found = launch(everything, world, tmp_path)
    assert max(worst for worst, _, _ in found) < 1e-10
    alone, losses = RankTracker(m=0.2, window=16, warmup=0, ramp=1), problem()[1]
    for number in range(len(PARTS[world])):
        weights = torch.cat([windows[number] for _, windows, _ in found])
        torch.testing.assert_close(weights, alone.weigh(losses))
    assert all("losses holds NaN: 1 of" in message for _, _, message in found)


class SharedRun(Run):
    """The same run in several processes, each with its part of every batch."""

    def __init__(self, *data, rank, world):
        super().__init__(*data, ramp=1)
        self.rank, self.world = rank, world
        self.wrapped = DistributedDataParallel(self.model)

    def train_batch(self, index):
        # Batches of 50 are split into 33 and 17, or into 33, 17 and nothing.
        own = index.split([33, len(index) - 33, *[0] * (self.world - 2)])[self.rank]
        logits = self.wrapped(self.x[own])
        loss = self.criterion(logits, self.y[own], index=own)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def train_shared(rank, world):
    run = SharedRun(*blobs(wrong=0.4)[:2], rank=rank, world=world)
    run.train(5)
    return run.tracker.dropped, run.tracker.logits, run.model.weight.detach()


@pytest.mark.parametrize("world", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_the_tracker_drops_the_same_rows_everywhere(world, tmp_path):
    found = launch(train_shared, world, tmp_path)
    alone = Run(*blobs(wrong=0.4)[:2], ramp=1).train(5)
    for dropped, logits, weight in found:
        assert dropped.equal(found[0][0])
        assert logits.equal(found[0][1])
        assert dropped.any()
        assert (dropped != alone.tracker.dropped).float().mean() < 0.01  # but for rounding
        torch.testing.assert_close(weight, alone.model.weight, rtol=1e-3, atol=1e-4)


class Whole(torch.nn.Module):
    """A network with its criterion, as Lightning wraps them."""

    def __init__(self, run):
        super().__init__()
        self.network, self.criterion = run.model, run.criterion

    def forward(self, x, y, index):
        return self.criterion(self.network(x), y, index=index)


def train_within(rank, world):  # noqa: ARG001
    """Visit half of the rows in one epoch, and the others after a checkpoint of the first process.

    Return how many rows each process knows, and which ones it drops.
    """
    run = Run(*blobs(60, wrong=0.4)[:2], warmup=0, ramp=1)
    wrapped = DistributedDataParallel(Whole(run))
    for number, index in enumerate(torch.arange(60).split(15)):
        own = index.split([10, 5])[rank]
        run.optimizer.zero_grad()
        wrapped(run.x[own], run.y[own], own).backward()
        run.optimizer.step()
        if number == 1:
            state = [run.criterion.state_dict()]
            dist.broadcast_object_list(state)
            run.criterion.load_state_dict(state[0])
    run.tracker.step()
    return int(run.tracker.losses.isfinite().sum()), run.tracker.dropped


def test_ddp_around_the_criterion_and_checkpoints_of_one_process_lose_no_rows(tmp_path):
    found = launch(train_within, 2, tmp_path)
    assert [known for known, _ in found] == [60, 60]
    assert found[0][1].equal(found[1][1])


def train_until_one_dies(rank, world, folder, last):
    """Save after each epoch; in the fourth one, the last process is killed."""
    run = SharedRun(*blobs(wrong=0.4)[:2], rank=rank, world=world)
    first = 0
    if (folder / "checkpoint.pt").exists():
        run.load(folder / "checkpoint.pt")
        first = run.tracker.epoch
    for epoch in range(first, 5):
        for number, index in enumerate(run.order(epoch)):
            if (epoch, number) == last and rank == world - 1:
                os.kill(os.getpid(), signal.SIGKILL)
            start = time.monotonic()
            try:
                run.train_batch(index)
            except RuntimeError as error:
                return str(error), time.monotonic() - start
        run.tracker.step()
        if rank == 0:
            run.save(folder / "checkpoint.pt")
        dist.barrier()
    return run.tracker.dropped, run.tracker.history


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes cannot be killed here")
def test_a_process_that_dies_ends_the_others_and_the_run_resumes(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    message, seconds = launch(train_until_one_dies, 2, tmp_path, folder, (3, 4), fails=True)[0]
    assert "another one has ended, did not answer in time" in message
    assert "from the last checkpoint" in message
    assert seconds < TIMEOUT + 10
    resumed = launch(train_until_one_dies, 2, tmp_path, folder, None)
    folder = tmp_path / "whole"
    folder.mkdir()
    whole = launch(train_until_one_dies, 2, tmp_path, folder, None)
    for one, other in zip(resumed, whole, strict=True):
        assert one[0].equal(other[0])
        assert one[1] == other[1]
