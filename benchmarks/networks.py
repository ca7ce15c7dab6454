"""Networks on MNIST and Fashion-MNIST with wrong labels: accuracy, wrong labels found, costs.

`python -m benchmarks networks --help` lists what can be left out. A *cell* is a data set with one
kind of wrong labels, so a setting (network, number of rows) has ten. Every run has one thread,
Adam with a step of 0.001 and batches of 128; the MLP trains for 15 epochs, the CNN for 12. The
accuracy is that on the 10,000 clean test rows, on average over the last three epochs. With
``--out FILE`` every run is kept as a line of JSON; runs that are in the file already are not
repeated. ``--choose`` runs the settings of the peers on a seed that is not reported.
"""

from __future__ import annotations

import argparse
import copy
import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from joblib import Parallel, delayed
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.networks_board import CHOSEN, board
from benchmarks.rows import Row, append_row, print_progress, read_rows
from benchmarks.timing import ratios
from sorr.datasets import flip_by_transition, load_dataset
from sorr.nn import RankedRangeLoss, RankTracker, average_ranked_range
from sorr.share import Judgement, judge_labels

__all__ = ["report"]

SETS = {
    "MNIST": ("mnist", {2: 7, 3: 8, 5: 6, 6: 5, 7: 1}),
    "Fashion": ("fashion-mnist", {0: 6, 2: 4, 5: 7, 7: 5, 6: 3}),
}
NOISES = {"none": 0.0, "asym 20": 0.2, "asym 40": 0.4, "sym 20": 0.2, "sym 50": 0.5}
EPOCHS = {"mlp": 15, "cnn": 12}
BATCH, STEP, CLASSES = 128, 1e-3, 10
SEED_OF_CHOICE, SEEDS = 1, (2, 3, 4)


class Cell(NamedTuple):
    """Training rows with labels as given, the true ones, and clean test rows."""

    x: Tensor
    y: Tensor
    true: Tensor
    x_test: Tensor
    y_test: Tensor

    @property
    def wrong(self) -> Any:
        return (self.y != self.true).numpy()


@cache
def images(name: str) -> tuple[Tensor, Any, Tensor, Tensor]:
    train, test = (load_dataset(SETS[name][0], subset=part) for part in ("train", "test"))
    x = [torch.tensor(np.asarray(part.data, dtype=np.float32) / 255) for part in (train, test)]
    mean, spread = x[0].mean(), x[0].std()
    x = [(part - mean) / spread for part in x]
    y = [np.asarray(part.target, dtype=np.int64) for part in (train, test)]
    return x[0], y[0], x[1], torch.tensor(y[1])


def cell_of(name: str, noise: str, n: int, seed: int) -> Cell:
    x, y, x_test, y_test = images(name)
    rows = np.random.default_rng([seed, 77]).choice(len(y), n, replace=False)
    rate, flips = NOISES[noise], SETS[name][1]
    transition = np.eye(CLASSES)
    if noise.startswith("sym"):
        transition = (1 - rate) * transition + rate * (1 - transition) / (CLASSES - 1)
    elif rate:
        for source, target in flips.items():
            transition[source, source], transition[source, target] = 1 - rate, rate
    true = y[rows]
    given = flip_by_transition(true, transition, random_state=seed).y
    return Cell(x[rows], torch.tensor(given), torch.tensor(true), x_test, y_test)


def network(kind: str) -> nn.Module:
    if kind == "mlp":
        return nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, CLASSES))
    return nn.Sequential(
        nn.Unflatten(1, (1, 28, 28)),
        nn.Conv2d(1, 16, 5, stride=2, padding=2),
        nn.ReLU(),
        nn.Conv2d(16, 32, 5, stride=2, padding=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * 49, CLASSES),
    )


# -- Methods: each is told the cell, and then gives the loss of a batch ----------------------------


class CrossEntropy:
    def __init__(self, cell: Cell, epochs: int) -> None:
        self.cell, self.epochs = cell, epochs

    def start_epoch(self, epoch: int) -> None:
        """Nothing to do between epochs, except for those that say so."""

    def loss(self, logits: Tensor, y: Tensor, index: Tensor) -> Tensor:  # noqa: ARG002
        return functional.cross_entropy(logits, y)

    def judge(self) -> Any:
        return None


class GCE(CrossEntropy):
    """Zhang and Sabuncu (2018), generalized cross entropy: (1 - p_y^q) / q."""

    settings = (0.4, 0.7, 0.9)
    q = 0.7

    def loss(self, logits: Tensor, y: Tensor, index: Tensor) -> Tensor:  # noqa: ARG002
        log_p = logits.log_softmax(1).gather(1, y[:, None])[:, 0]
        return ((1 - (self.q * log_p).exp()) / self.q).mean()

    def set(self, value: Any) -> None:
        self.q = value


class SCE(CrossEntropy):
    """Wang et al. (2019), symmetric cross entropy: a CE + b (-A) (1 - p_y), with A = -4."""

    settings = ((0.01, 1.0), (0.1, 1.0), (0.5, 1.0))
    pair = (0.1, 1.0)

    def loss(self, logits: Tensor, y: Tensor, index: Tensor) -> Tensor:  # noqa: ARG002
        log_p = logits.log_softmax(1).gather(1, y[:, None])[:, 0]
        a, b = self.pair
        return (-a * log_p + 4 * b * (1 - log_p.exp())).mean()

    def set(self, value: Any) -> None:
        self.pair = tuple(value)


class ELR(CrossEntropy):
    """Liu et al. (2020), early-learning regularization: CE + c log(1 - <p, t>).

    The targets t are moving averages (0.7) of the predictions of each row.
    """

    settings = (1.0, 3.0, 7.0)
    strength = 3.0

    def __init__(self, cell: Cell, epochs: int) -> None:
        super().__init__(cell, epochs)
        self.targets = torch.zeros(len(cell.y), CLASSES)

    def loss(self, logits: Tensor, y: Tensor, index: Tensor) -> Tensor:
        p = logits.softmax(1).clamp(1e-4, 1 - 1e-4)
        now = p.detach()
        now = now / now.sum(1, keepdim=True)
        self.targets[index] = 0.7 * self.targets[index] + 0.3 * now
        inner = (self.targets[index] * p).sum(1)
        return functional.cross_entropy(logits, y) + self.strength * (1 - inner).log().mean()

    def set(self, value: Any) -> None:
        self.strength = value


class Batch(CrossEntropy):
    """Ours without a tracker: the true share is dropped from every batch."""

    def loss(self, logits: Tensor, y: Tensor, index: Tensor) -> Tensor:  # noqa: ARG002
        losses = functional.cross_entropy(logits, y, reduction="none")
        share = float(self.cell.wrong.mean())
        return average_ranked_range(losses, share if share else 0)


class Tracked(CrossEntropy):
    """Ours: nothing is told about the number of wrong labels."""

    def __init__(self, cell: Cell, epochs: int) -> None:
        super().__init__(cell, epochs)
        self.tracker = RankTracker(len(cell.y), CLASSES, m=self.m)
        self.criterion = RankedRangeLoss(tracker=self.tracker)

    @property
    def m(self) -> Any:
        return "auto"

    def start_epoch(self, epoch: int) -> None:
        if epoch:
            self.tracker.step()

    def loss(self, logits: Tensor, y: Tensor, index: Tensor) -> Tensor:
        loss: Tensor = self.criterion(logits, y, index=index)
        return loss

    def judge(self) -> Any:
        self.tracker.step()
        return self.tracker.judge()


class Known(Tracked):
    """Ours with the true share of wrong labels."""

    @property
    def m(self) -> Any:
        return float(self.cell.wrong.mean()) or 0


METHODS: dict[str, Any] = {
    "cross-entropy": CrossEntropy,
    "GCE": GCE,
    "SCE": SCE,
    "ELR": ELR,
    "co-teaching, true share": None,
    "sorr": Tracked,
    "sorr, true share": Known,
    "sorr in batches, true share": Batch,
}
"""Co-teaching trains two networks, and so has a function of its own."""
RAMPS = (5, 8, 10)
"""Settings of co-teaching: the number of epochs in which the dropped share grows."""
FOLDS, EARLY = ("held out", "held out, early"), 5
"""Networks of five folds, trained for as many epochs as all others, or for a few only."""
DEFAULT = ("cross-entropy", "GCE", "SCE", "ELR", "co-teaching, true share", "sorr")


# -- Training --------------------------------------------------------------------------------------


def batches(n: int, generator: torch.Generator) -> Sequence[Tensor]:
    return list(torch.randperm(n, generator=generator).split(BATCH))


def accuracy(model: nn.Module, cell: Cell) -> float:
    with torch.no_grad():
        predicted = [model(part).argmax(1) for part in cell.x_test.split(256)]
    return 100 * float((torch.cat(predicted) == cell.y_test).double().mean())


def train(kind: str, method: Any, cell: Cell, seed: int) -> list[float]:
    """Return the test accuracy after each epoch."""
    torch.manual_seed(1000 * seed + 5)
    model, epochs = network(kind), EPOCHS[kind]
    optimizer = torch.optim.Adam(model.parameters(), STEP)
    order, found = torch.Generator().manual_seed(1000 * seed + 6), []
    for epoch in range(epochs):
        method.start_epoch(epoch)
        for index in batches(len(cell.y), order):
            loss = method.loss(model(cell.x[index]), cell.y[index], index)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        found.append(accuracy(model, cell))
    return found


def co_teach(kind: str, cell: Cell, seed: int, ramp: int) -> list[float]:
    """Han et al. (2018), co-teaching: each network drops what the other finds hardest.

    It is told the true share of wrong labels. Return the mean accuracy of both networks.
    """
    torch.manual_seed(1000 * seed + 5)
    pair = [network(kind) for _ in range(2)]
    optimizers = [torch.optim.Adam(model.parameters(), STEP) for model in pair]
    order, found = torch.Generator().manual_seed(1000 * seed + 6), []
    share = float(cell.wrong.mean())
    for epoch in range(EPOCHS[kind]):
        kept = 1 - share * min(1, epoch / ramp)
        for index in batches(len(cell.y), order):
            losses = [
                functional.cross_entropy(model(cell.x[index]), cell.y[index], reduction="none")
                for model in pair
            ]
            chosen = [each.detach().argsort()[: math.ceil(kept * len(index))] for each in losses]
            for optimizer, own, others in zip(optimizers, losses, reversed(chosen), strict=True):
                optimizer.zero_grad()
                own[others].mean().backward()
                optimizer.step()
        found.append(float(np.mean([accuracy(model, cell) for model in pair])))
    return found


RANKINGS = {
    "self": "self_confidence",
    "margin": "normalized_margin",
    "adjusted": "normalized_margin",
}
"""Of cleanlab; in the last one, probabilities are adjusted for the classes."""


def held_out(kind: str, cell: Cell, seed: int, epochs: int) -> Any:
    """Return probabilities of networks that have not seen the row: five folds, cross-entropy."""
    found = np.zeros((len(cell.y), CLASSES))
    folds = StratifiedKFold(5, shuffle=True, random_state=seed).split(cell.y, cell.y)
    for number, (inside, outside) in enumerate(folds):
        part = cell._replace(x=cell.x[inside], y=cell.y[inside], true=cell.true[inside])
        torch.manual_seed(1000 * seed + number)
        model = network(kind)
        optimizer = torch.optim.Adam(model.parameters(), STEP)
        order = torch.Generator().manual_seed(1000 * seed + number)
        for _ in range(epochs):
            for index in batches(len(part.y), order):
                loss = functional.cross_entropy(model(part.x[index]), part.y[index])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        with torch.no_grad():
            found[outside] = model(cell.x[outside]).double().softmax(1).numpy()
    return found


class Run(NamedTuple):
    """What is run: everything that the numbers depend on."""

    kind: str
    rows: int
    name: str
    noise: str
    seed: int
    method: str
    setting: Any = None


def measure(run: Run) -> Row:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    cell = cell_of(run.name, run.noise, run.rows, run.seed)
    row: Row = {**run._asdict(), "share": float(cell.wrong.mean())}
    start = time.perf_counter()
    if run.method in FOLDS:
        epochs = EPOCHS[run.kind] if run.method == "held out" else EARLY
        probabilities = held_out(run.kind, cell, run.seed, epochs)
        row |= {
            f"cleanlab {name}": value for name, value in by_cleanlab(probabilities, cell).items()
        }
        judged = judge_labels(probabilities, cell.y.numpy(), classes=range(CLASSES))
        return row | {"seconds": time.perf_counter() - start, **found_by(judged, cell)}
    if run.method.startswith("co-teaching"):
        found = co_teach(run.kind, cell, run.seed, run.setting or RAMPS[-1])
        judgement = None
    else:
        method = METHODS[run.method](cell, EPOCHS[run.kind])
        if run.setting is not None:
            method.set(run.setting)
        found = train(run.kind, method, cell, run.seed)
        judgement = method.judge()
    row |= {"seconds": time.perf_counter() - start, "accuracy": float(np.mean(found[-3:]))}
    if judgement is not None:
        dropped = method.tracker.dropped.numpy()
        row |= {
            **found_by(judgement, cell),
            "dropped": int(dropped.sum()),
            "left": int(cell.wrong[~dropped].sum()),
        }
    return row


def found_by(judgement: Judgement, cell: Cell) -> Row:
    flagged = judgement.flagged_
    return {
        "evidence": judgement.evidence_,
        "count": judgement.total,
        "flagged": int(flagged.sum()),
        "rightly": int(cell.wrong[flagged].sum()),
        "precision": precision(cell, judgement.score_),
    }


def precision(cell: Cell, score: Any) -> float | None:
    if not cell.wrong.any():
        return None
    return 100 * float(average_precision_score(cell.wrong, score))


def by_cleanlab(probabilities: Any, cell: Cell) -> Row:
    """Return the average precision of the three rankings of cleanlab."""
    from cleanlab.rank import get_label_quality_scores

    return {
        name: precision(
            cell,
            -get_label_quality_scores(
                cell.y.numpy(), probabilities, method=way, adjust_pred_probs=name == "adjusted"
            ),
        )
        for name, way in RANKINGS.items()
    }


# -- Costs -----------------------------------------------------------------------------------------


def costs() -> Iterator[str]:
    torch.set_num_threads(1)
    yield "### Cost of the reduction, forward and backward, one thread"
    yield ""
    yield "| losses | mean, microseconds | ranked range adds | times the mean (rounds) |"
    yield "|---|---|---|---|"
    for n in (128, 1024, 10_000, 100_000, 1_000_000):
        losses = torch.rand(n, requires_grad=True)
        seconds, found = ratios(
            reduction(torch.mean, losses),
            {"range": reduction(partial(average_ranked_range, m=0.1, k=0.9), losses)},
            repeats=20 if n < 1e6 else 5,
        )
        ratio = found["range"]
        added = 1e6 * seconds * (ratio.best - 1)
        yield f"| {n:,} | {1e6 * seconds:.0f} | {added:,.0f} | {ratio} |"
    yield ""
    yield f"- The tracker in a training step of the MLP: {cost_of_tracker()}"
    yield f"- The suspects of the MLP: {cost_of_suspects()}"


def reduction(function: Callable[[Tensor], Tensor], losses: Tensor) -> Callable[[], object]:
    return lambda: torch.autograd.grad(function(losses), losses)


class Weighted(CrossEntropy):
    """A weighted sum of losses, as the criterion makes it, by weights that never change."""

    def loss(self, logits: Tensor, y: Tensor, index: Tensor) -> Tensor:
        losses = functional.cross_entropy(logits, y, reduction="none")
        return (losses * torch.full((len(index),), 1 / len(index))).sum()


def cost_of_tracker() -> str:
    """Return the time of an epoch with a tracker over those of epochs without."""
    cell = cell_of("MNIST", "none", 10_000, SEEDS[0])
    runs = {}
    for name, make in (("plain", CrossEntropy), ("weighted", Weighted), ("tracked", Tracked)):
        torch.manual_seed(0)
        model, method = network("mlp"), make(cell, 1)
        runs[name] = (model, method, torch.optim.Adam(model.parameters(), STEP))

    def epoch(name: str) -> Callable[[], None]:
        model, method, optimizer = runs[name]

        def run() -> None:
            for index in batches(len(cell.y), torch.Generator().manual_seed(0)):
                loss = method.loss(model(cell.x[index]), cell.y[index], index)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            method.start_epoch(1)

        return run

    seconds, found = ratios(
        epoch("plain"), {name: epoch(name) for name in ("weighted", "tracked")}, repeats=3
    )
    steps = math.ceil(len(cell.y) / BATCH)
    return (
        f"{1e3 * seconds / steps:.2f} ms with cross-entropy, times with a weighted sum of losses: "
        f"{found['weighted']}, with a tracker: {found['tracked']}"
    )


def cost_of_suspects() -> str:
    """Return the time of a training with a tracker and its judgement over that of five folds."""
    cell = cell_of("MNIST", "asym 40", 10_000, SEEDS[0])
    cell = cell._replace(x_test=cell.x_test[:1], y_test=cell.y_test[:1])

    def tracked() -> None:
        method = Tracked(cell, EPOCHS["mlp"])
        train("mlp", method, cell, SEEDS[0])
        method.judge()

    seconds, found = ratios(
        lambda: by_cleanlab(held_out("mlp", cell, SEEDS[0], EPOCHS["mlp"]), cell),
        {"tracked": tracked, "plain": lambda: train("mlp", CrossEntropy(cell, 15), cell, SEEDS[0])},
        rounds=3,
        repeats=1,
    )
    return (
        f"{seconds:.1f} s for the probabilities of five folds, times with a tracker and its "
        f"judgement: {found['tracked']}, times of one training without: {found['plain']}"
    )


# -- The report ------------------------------------------------------------------------------------


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks networks", description=__doc__)
    parser.add_argument("--kinds", nargs="+", choices=EPOCHS, default=list(EPOCHS))
    parser.add_argument("--rows", nargs="+", type=int, default=[10_000, 20_000])
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    names = [*METHODS, *FOLDS]
    parser.add_argument("--methods", nargs="+", choices=names, default=[*DEFAULT, "held out"])
    parser.add_argument("--choose", action="store_true", help="run all settings of the peers")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    parser.add_argument("--out", type=Path, help="file of all runs; a new run continues it")
    parser.add_argument("--draw", action="store_true", help="run nothing; draw what is in --out")
    parser.add_argument("--costs", action="store_true", help="measure the costs too")
    return parser.parse_args(arguments)


def plan(chosen: argparse.Namespace) -> list[Run]:
    runs = []
    for kind in chosen.kinds:
        for rows in chosen.rows:
            cells = [(name, noise) for name in SETS for noise in NOISES]
            if chosen.choose:
                for method in ("GCE", "SCE", "ELR", "co-teaching, true share"):
                    settings = RAMPS if METHODS[method] is None else METHODS[method].settings
                    runs += [
                        Run(kind, rows, *cell, SEED_OF_CHOICE, method, setting)
                        for setting in settings
                        for cell in cells
                    ]
                continue
            runs += [
                Run(kind, rows, *cell, seed, method, CHOSEN[kind].get(method))
                for seed in chosen.seeds
                for method in chosen.methods
                for cell in cells
            ]
    return runs


def key(row: Row | Run) -> str:
    values = copy.copy(row) if isinstance(row, dict) else row._asdict()
    return str([str(values[name]).replace("(", "[").replace(")", "]") for name in Run._fields])


def report(arguments: Sequence[str] = ()) -> Iterator[str]:
    chosen = options(arguments)
    found = {key(row): row for row in read_rows(chosen.out)}
    runs = plan(chosen)
    if not chosen.draw:
        waiting = [run for run in runs if key(run) not in found]
        work = Parallel(n_jobs=chosen.jobs, return_as="generator_unordered", batch_size=1)
        for number, row in enumerate(work(delayed(measure)(run) for run in waiting), 1):
            found[key(row)] = row
            append_row(chosen.out, row)
            print_progress(f"{number} of {len(waiting)}: {key(row)}")
    yield from board([found[key(run)] for run in runs if key(run) in found])
    if chosen.costs:
        yield from costs()
