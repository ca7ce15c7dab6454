"""The losses of all rows over the epochs: which rows to drop next, and which labels are wrong."""

from __future__ import annotations

import json
import math
import sys
import warnings
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from sorr._checks import as_count
from sorr.nn.processes import Group, agree, gather_parts, resolve_group
from sorr.nn.reductions import average_weights, refuse_nan
from sorr.ranked import Mass, RankedRange

if TYPE_CHECKING:
    from sorr.share import Judgement

# Both were chosen on seeds 0 and 1 of the ten cells of `benchmarks/networks.py` with the MLP and
# 10,000 rows: mean accuracy 89.2. The benchmark reports other seeds.
CONFIDENT = 0.25
"""The share of the rows predicted to be a class that say how its labels go wrong: the most
confident ones. With half of it: 89.2, with twice as much: 89.0."""

MARGIN = 1.25
"""How many more rows are dropped than labels are estimated to be wrong. The estimate is low,
because the network has learned some of them. With 1: 88.3, with 1.5: 89.1, with half of it: 85.2,
with twice as much: 88.6."""


_LOWEST = math.log(sys.float_info.min)  # log probability
_ENTRIES = 1 << 20  # of a table that are looked at at a time, to save memory


class RankTracker(nn.Module):
    r"""Remember the loss of every training row, and choose after each epoch which rows to drop.

    Ranks in a mini-batch are rough. This one ranks all rows: after each epoch, it chooses the rows
    that have no influence on the next one. The forward pass of a dropped row goes on, so it can
    come back.

    Rows are ranked by the odds that their label is wrong. A few labels are usually mistaken for
    each other, so a confident prediction of another class counts more if that mistake is frequent:

    .. math:: \log \frac{\sum_{j \ne c} T_{jc} \, p_j}{T_{cc} \, p_c}

    with the label c, the predictions p, and the share :math:`T_{jc}` of label c among the most
    confident predictions of class j. A row that was predicted right at its last visit is never
    among the `m` that are dropped. Without classes, rows are ranked by their losses.

    Parameters
    ----------
    n_rows : int, optional
        Number of training rows. Each is named by its number, from 0, when its loss is computed.
    n_classes : int, optional
        Number of classes, for losses of predictions and labels. The tracker keeps two tables of
        ``n_rows * n_classes`` float32 numbers.
    m : int, float, Mass or "auto", default="auto"
        How many rows to drop: a count, a share of the rows, or as many as labels seem to be wrong,
        estimated after each epoch. "auto" needs `n_classes`. A guess that is a little too high is
        better than one that is too low.
    k : int, float, Mass or None, default=None
        The last rank to keep. None is right for wrong labels.
    warmup : int, default=2
        Number of epochs in which no row is dropped.
    ramp : int, default=3
        Number of epochs in which the number of dropped rows grows to `m`.
    window : int, optional
        For streams, whose rows have no number: rank each batch among that many last losses. An
        epoch is then that many losses.
    process_group : ProcessGroup, False or None, default=None
        The processes that train together; all by default, False for each by itself.

    Attributes
    ----------
    epoch : int
        How many epochs are finished.
    dropped : Tensor of bool of shape (n_rows,)
        The rows without influence in this epoch.
    losses, logits, labels : Tensor
        What was recorded at the last visit of each row, the last two with classes. Losses of rows
        that were not visited are NaN.
    history : list of dict
        For each finished epoch how many rows the next one drops, and quantiles of the losses of
        dropped and of kept rows. `sorr.plots.DroppedLossDisplay` draws it.

    See Also
    --------
    RankedRangeLoss : The criterion that a tracker belongs to.

    Notes
    -----
    A checkpoint of the criterion holds everything, so a run resumes to the same bits. Rows may be
    visited in any order, several times, or not at all. The tables move with the module to another
    device, and keep their precision.

    Rows of a class are all kept until the network has learned that class: until no other class has
    more rows with its label, by the confident predictions.

    Examples
    --------
    >>> import torch
    >>> from sorr.nn import RankedRangeLoss, RankTracker
    >>> _ = torch.manual_seed(0)
    >>> x = torch.randn(600, 2)
    >>> truth = (x[:, 0] > 0).long()
    >>> labels = torch.where(torch.arange(600) < 60, 1 - truth, truth)  # the first 60 are wrong
    >>> model = torch.nn.Linear(2, 2)
    >>> optimizer = torch.optim.Adam(model.parameters(), 0.05)
    >>> tracker = RankTracker(n_rows=600, n_classes=2)
    >>> criterion = RankedRangeLoss(tracker=tracker)
    >>> for epoch in range(8):
    ...     for index in torch.randperm(600).split(50):
    ...         loss = criterion(model(x[index]), labels[index], index=index)
    ...         optimizer.zero_grad()
    ...         loss.backward()
    ...         optimizer.step()
    ...     tracker.step()
    >>> bool(tracker.dropped[:60].float().mean() > 0.8)
    True
    """

    losses: Tensor
    labels: Tensor
    logits: Tensor
    _early_logits: Tensor
    _row_weights: Tensor
    _recent: Tensor

    def __init__(
        self,
        n_rows: int | None = None,
        n_classes: int | None = None,
        m: int | float | Literal["auto"] = "auto",
        k: int | float | None = None,
        *,
        warmup: int = 2,
        ramp: int = 3,
        window: int | None = None,
        process_group: Group = None,
    ) -> None:
        super().__init__()
        if (n_rows is None) == (window is None):
            raise ValueError(
                f"n_rows={n_rows!r} and window={window!r}; needed one of them: n_rows for a "
                "training set whose rows have numbers, window for a stream"
            )
        self.warmup = as_count("warmup", warmup, lowest=0, what="a number of epochs")
        self.ramp = as_count("ramp", ramp, what="a number of epochs")
        self.process_group = process_group
        self.n_rows = as_count(
            *(("n_rows", n_rows) if window is None else ("window", window)),
            lowest=2,
            what="a number of rows",
        )
        self.is_window = window is not None
        if n_classes is not None and self.is_window:
            raise ValueError(
                f"n_classes={n_classes!r} does not go with a window, which ranks losses; needed "
                "n_rows, or m as a share and no n_classes"
            )
        if isinstance(m, str):
            if m != "auto":
                raise ValueError(f"m={m!r} is not known; needed a count, a share, or 'auto'")
            if n_classes is None:
                raise ValueError(
                    "m='auto' needs the predictions of classes; needed n_classes, or m as a share "
                    "of the rows such as m=0.1"
                )
        if n_classes is not None:
            n_classes = as_count("n_classes", n_classes, lowest=2, what="a number of classes")
        self.n_classes, self.m, self.k = n_classes, m, k
        RankedRange(0 if m == "auto" else m, k).resolve(self.n_rows)  # for its messages
        self.epoch = 0
        self.history: list[dict[str, float]] = []
        self._visits = 0
        self._make_tables()

    def _make_tables(self, device: torch.device | None = None) -> None:
        """Make the tables of a tracker that has seen nothing.

        They are no buffers: `DistributedDataParallel` would send these with every batch.
        """

        def table(value: float, *columns: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.full((self.n_rows, *columns), value, dtype=dtype, device=device)

        if self.is_window:
            self._recent = table(torch.nan)
            return
        self.losses, self._row_weights = table(torch.nan), table(1.0)
        if (K := self.n_classes) is not None:
            self.labels = table(-1, dtype=torch.long)
            self.logits, self._early_logits = table(0.0, K), table(torch.nan, K)

    # -- What it says

    @property
    def dropped(self) -> Tensor:
        """The rows without influence in this epoch."""
        self._refuse_window("dropped")
        return self._row_weights == 0

    def judge(self, classes: npt.ArrayLike | None = None) -> Judgement:
        """Judge the labels by the predictions that were recorded before each row's own update.

        The odds are those at the last visit of each row. The evidence has to be there in the first
        epoch that dropped rows, too: a network that has not learned from a row for some epochs
        disagrees with it all the more, right or wrong.

        Parameters
        ----------
        classes : array-like of shape (n_classes,), optional
            Names of the classes. The default is their numbers.

        Returns
        -------
        Judgement
            As `sorr.judge_labels` makes it: probabilities, verdict, counts, and a table of
            suspects by its ``to_csv()``.
        """
        from sorr.share import judge_labels  # loads scikit-learn

        K = self._classes("judge()")
        names = np.arange(K) if classes is None else np.asarray(classes)
        if len(names) != K:
            raise ValueError(f"classes has {len(names)} names; needed one for each of {K} classes")
        if missing := int((self.labels < 0).sum()):
            raise ValueError(
                f"{missing:,} of {self.n_rows:,} rows have not been visited yet; needed every row "
                "at least once: number the training rows from 0, without those for validation, and "
                "judge after an epoch over all of them (drop_last=False)"
            )
        labels = names[self.labels.cpu().numpy()]
        looks = {"the network at the last visit": self.logits}
        if self.epoch >= self._early:
            early = torch.where(self._early_logits.isnan(), self.logits, self._early_logits)
            looks["the network in its first epoch with dropped rows"] = early
        found = []
        for name, logits in looks.items():
            values = logits.cpu().double()
            if values.isinf().any():  # of classes that are masked
                values = values.log_softmax(dim=1).clamp(min=_LOWEST)
            judged = judge_labels(values.numpy(), labels, classes=names, scores=True)
            found.append(replace(judged, models_=((name, judged.evidence_),)))
        return found[0] if len(found) == 1 else found[0].confirm(found[1], keep_odds=True)

    # -- What the criterion asks

    @torch.compiler.disable
    def weigh(
        self,
        losses: Tensor,
        index: Tensor | None = None,
        logits: Tensor | None = None,
        targets: Tensor | None = None,
    ) -> Tensor:
        """Record a batch, and return the weight of each loss in the average over the kept rows.

        Parameters
        ----------
        losses : Tensor of shape (batch,)
            Losses of rows.
        index : Tensor of int of shape (batch,)
            Their numbers in the training set. Not for a window.
        logits : Tensor of shape (batch, n_classes), optional
            Predictions before the softmax. Needed with classes.
        targets : Tensor of int of shape (batch,), optional
            Labels. Needed with classes.

        Returns
        -------
        Tensor of shape (batch,)
            Of all processes together, the weights add up to about one.
        """
        group = resolve_group(self.process_group)
        values = losses.detach()
        if math.isnan(values.sum().item()):
            refuse_nan(values.float().cpu().numpy())
        if self.is_window:
            return self._weigh_in_window(values.to(self._recent), group).to(losses.device)
        n = len(values)
        index = self._as_index(index, n)
        weights = self._weights_of(index)
        tables, batch = [self.losses], [values.to(self.losses)]
        if self.n_classes is not None:
            tables += self.logits, self.labels
            batch += self._as_predictions(logits, targets, n)
            if self._visits == 0 and self.epoch > 0:
                self._compare_labels(index, batch[-1])
        if group is not None:
            index, *batch = gather_batch([index, *batch], group)
            n = len(index)
        for table, part in zip(tables, batch, strict=True):
            table.index_copy_(0, index, part)
        self._visits += n
        if self.epoch == 0 and self._visits > 3 * self.n_rows:
            warnings.warn(
                f"more than three times the {self.n_rows:,} rows were visited without a call of "
                "RankTracker.step(); needed one after each epoch: it chooses the rows to drop",
                RuntimeWarning,
                stacklevel=6,  # the caller of the criterion
            )
        return weights.div_(n).to(losses.device)

    def step(self) -> None:
        """Finish an epoch: choose the rows that the next one drops. All processes have to call."""
        self._refuse_window("step()")
        if self._visits == 0:
            warnings.warn(
                "no row was visited in this epoch, so nothing new is known; needed the criterion "
                "in training mode: call criterion.train() after criterion.eval()",
                RuntimeWarning,
                stacklevel=2,
            )
        self.epoch += 1
        self._visits = 0
        if self.epoch == self._early and self.n_classes is not None:
            self._early_logits.copy_(self.logits)
            self._early_logits[self.labels < 0] = torch.nan
        if part := self._part:
            self._row_weights.copy_(self._choose(part))
            if (group := resolve_group(self.process_group)) is not None:
                agree(self._row_weights, group)
        self.history.append(self._describe())

    @property
    def _early(self) -> int:
        """Return the first epoch with dropped rows: before it, something has to be recorded."""
        return max(self.warmup, 1) + 1

    @property
    def _part(self) -> float:
        """Return the part of the rows to drop that are dropped already."""
        return min(1.0, max(0.0, (self.epoch - self.warmup + 1) / self.ramp))

    def _ends(self) -> tuple[float, float]:
        """Return the share of rows above the range, and down to its end."""
        n = self.n_rows
        ends = RankedRange(0 if self.m == "auto" else self.m, self.k).resolve(float(n))
        assert ends.k is not None  # resolved
        return float(ends.m) / n, float(ends.k) / n

    # -- Which rows

    def _choose(self, part: float) -> Tensor:
        """Return the weight of each row, if only a part of those to drop are dropped yet."""
        kept = torch.ones(self.n_rows, device="cpu")
        low, high = self._ends()
        losses = self.losses.cpu()
        rows = (~losses.isnan()).nonzero()[:, 0]
        n = len(rows)
        if n == 0:
            return kept
        losses = losses[rows]
        if self.n_classes is None:
            suspects, odds, n_wrong = rows, losses, low * n
        else:
            visited = slice(None) if n == self.n_rows else rows
            logits, labels = self.logits.cpu()[visited], self.labels.cpu()[visited]
            predicted, confidence = _predict(logits)
            transition = estimate_transition(predicted, confidence, labels, self.n_classes)
            sizes = torch.bincount(predicted, minlength=self.n_classes).double()
            share = float(sizes @ (1 - transition.diagonal())) / n
            n_wrong = n * (MARGIN * share if self.m == "auto" else low)
            is_learned = _is_learned(sizes[:, None] * transition)
            places = ((predicted != labels) & is_learned[labels]).nonzero()[:, 0]
            suspects, odds = rows[places], wrong_odds(logits[places], labels[places], transition)
        order = odds.argsort(descending=True, stable=True)
        dropped = suspects[order[: min(round(part * n_wrong), n - 1)]]
        kept[dropped] = 0
        n_easy = min(round(part * (1 - high) * n), n - len(dropped) - 1)
        if n_easy:
            easiest = torch.where(kept[rows] > 0, losses, torch.inf).argsort(stable=True)
            kept[rows[easiest[:n_easy]]] = 0
        return kept / kept[rows].mean()

    def _describe(self) -> dict[str, float]:
        """Return a line of the history."""
        losses, dropped = self.losses.cpu().numpy(), self.dropped.cpu().numpy()
        row: dict[str, float] = {"epoch": self.epoch, "n_dropped": int(dropped.sum())}
        known = np.isfinite(losses)
        for name, part in (("dropped", dropped & known), ("kept", ~dropped & known)):
            values = losses[part]
            if len(values):
                low, middle, high = np.quantile(values, [0.1, 0.5, 0.9]).tolist()
                row |= {f"{name}_10": low, f"{name}_50": middle, f"{name}_90": high}
        return row

    # -- Batches

    def _weigh_in_window(self, values: Tensor, group: Group | None) -> Tensor:
        """Return the weights of a batch that is ranked together with the last losses."""
        batch, own = (values, slice(None)) if group is None else gather_parts(values, group)
        if len(batch) == 0:
            return values
        past = self._recent[: min(self._visits, self.n_rows)]
        whole = torch.cat([past, batch])
        (low, high), part, n = self._ends(), self._part, float(len(whole))
        ends = Mass(part * low * n), Mass((1 - part * (1 - high)) * n)
        weights = average_weights(whole, None, *ends)[len(past) :][own]
        places = (self._visits + torch.arange(len(batch), device=batch.device)) % self.n_rows
        self._recent[places[-self.n_rows :]] = batch[-self.n_rows :]
        self._visits += len(batch)
        self.epoch = self._visits // self.n_rows
        return weights * (n / len(batch))

    def _as_index(self, index: Tensor | None, n: int) -> Tensor:
        """Return the numbers of the rows of a batch."""
        if index is None:
            raise ValueError(
                "index=None; needed the numbers of the rows in the training set, so that their "
                "losses can be remembered: let the data set return (number, x, y), and pass "
                "index=number. For validation, call criterion.eval() first. For a stream, use "
                "RankTracker(window=...)"
            )
        index = torch.as_tensor(index, device=self.losses.device)
        if index.shape != (n,) or index.is_floating_point() or index.dtype == torch.bool:
            raise ValueError(
                f"index has shape {tuple(index.shape)} and dtype {index.dtype}; needed an int for "
                f"each of the {n} losses"
            )
        return index.long()

    def _weights_of(self, index: Tensor) -> Tensor:
        """Return the weights of rows, whose numbers have to be those of training rows."""
        with suppress(IndexError):  # the lookup on a processor checks them in less time
            if index.is_cpu or self._are_rows(index):
                return self._row_weights.index_select(0, index)
        low, high = (int(end) for end in index.aminmax())
        raise ValueError(
            f"index goes from {low} to {high}; needed row numbers from 0 to {self.n_rows - 1}, "
            f"because n_rows={self.n_rows}"
        )

    def _are_rows(self, index: Tensor) -> bool:
        return bool(((index >= 0) & (index < self.n_rows)).all())

    def _as_predictions(
        self, logits: Tensor | None, targets: Tensor | None, n: int
    ) -> list[Tensor]:
        """Return logits and labels of a batch."""
        K = self.n_classes
        assert K is not None
        if logits is None or targets is None:
            raise ValueError(
                f"the tracker has n_classes={K} and was given losses only; needed "
                "criterion(input, target, index=...), because it ranks rows by their predictions"
            )
        logits, targets = logits.detach().to(self.logits), targets.detach().to(self.labels.device)
        if K == 2 and logits.numel() == n:  # one logit, as binary cross-entropy takes it
            one = logits.reshape(n, 1)
            logits, targets = torch.cat([torch.zeros_like(one), one], dim=1), targets.reshape(n)
            targets = targets.long() if bool((targets % 1 == 0).all()) else targets
        if logits.shape != (n, K) or targets.shape != (n,) or targets.is_floating_point():
            raise ValueError(
                f"input has shape {tuple(logits.shape)}, target {tuple(targets.shape)} and dtype "
                f"{targets.dtype}; needed ({n}, {K}), because n_classes={K}, and an int for each "
                "row. For other targets, use RankTracker(n_rows, m=0.1), which ranks losses"
            )
        low, high = (end.item() for end in targets.aminmax()) if n else (0, 0)
        if low < 0 or high >= K:
            raise ValueError(
                f"target goes from {low} to {high}; needed labels from 0 to {K - 1}, because "
                f"n_classes={K}: leave out rows without a label"
            )
        return [logits, targets.long()]

    def _compare_labels(self, index: Tensor, labels: Tensor) -> None:
        """Warn if labels are not those of the last visit: the numbers may be of other rows."""
        before = self.labels.index_select(0, index)
        changed = int(((before != labels) & (before >= 0)).sum())
        if changed:
            warnings.warn(
                f"{changed} of {len(index)} rows have another label than at their last visit; "
                "needed the same number for the same row in every epoch: its place in the "
                "training set, not in the shuffled epoch. If labels were corrected, this is right",
                RuntimeWarning,
                stacklevel=7,  # the caller of the criterion
            )

    def _classes(self, caller: str) -> int:
        if self.n_classes is None:
            raise ValueError(
                f"{caller} needs predictions of classes; needed RankTracker(n_rows, n_classes)"
            )
        return self.n_classes

    def _refuse_window(self, caller: str) -> None:
        if self.is_window:
            raise ValueError(
                f"{caller} is not for a window, which ranks a stream batch by batch; needed "
                "RankTracker(n_rows)"
            )

    # -- Processes and checkpoints

    def _apply(self, fn: Any, *args: Any, **options: Any) -> RankTracker:
        """Move the tables to another device. Their precision does not change."""
        super()._apply(fn, *args, **options)
        for name, table in self._state().items():
            device = fn(table.new_empty(0)).device
            if table.is_meta and device.type != "meta":
                self._make_tables(device)
                break
            setattr(self, name, table.to(device))
        return self

    def _state(self) -> dict[str, Tensor]:
        """Return all tables by name."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Tensor)}

    def get_extra_state(self) -> dict[str, Any]:
        """Return what a checkpoint holds."""
        # One text, because `torch.distributed.checkpoint` expects as many entries as it finds.
        history = json.dumps(self.history)
        state = {"epoch": self.epoch, "visits": self._visits, "history": history}
        return {**state, "tables": self._state()}

    def set_extra_state(self, state: Any) -> None:
        """Take over what a checkpoint holds."""
        own = self._state()
        saved = state.get("tables", {}) if isinstance(state, dict) else {}
        given, needed = (
            {name: tuple(table.shape) for name, table in tables.items()} for tables in (saved, own)
        )
        if given != needed:
            raise ValueError(
                f"the checkpoint is of another RankTracker: it has tables of the shapes {given}; "
                f"needed {needed}, as in {self}"
            )
        for name, table in own.items():
            table.copy_(saved[name])
        self.epoch, self._visits = state["epoch"], state["visits"]
        self.history = json.loads(state["history"])

    def extra_repr(self) -> str:
        """Return the parameters in short."""
        size = f"window={self.n_rows}" if self.is_window else f"n_rows={self.n_rows}"
        classes = "" if self.n_classes is None else f", n_classes={self.n_classes}"
        return f"{size}{classes}, m={self.m!r}, k={self.k!r}"


def gather_batch(batch: list[Tensor], group: Group) -> list[Tensor]:
    """Return the batches of all processes together: float64 holds whatever is recorded."""
    columns = [part.double().reshape(len(part), *part.shape[1:] or (1,)) for part in batch]
    whole, _ = gather_parts(torch.cat(columns, dim=1), group)
    parts = whole.split([column.shape[1] for column in columns], dim=1)
    return [
        part.reshape(len(whole), *given.shape[1:]).to(given.dtype)
        for part, given in zip(parts, batch, strict=True)
    ]


# -- How labels go wrong ---------------------------------------------------------------------------


def estimate_transition(
    predicted: Tensor, confidence: Tensor, labels: Tensor, n_classes: int
) -> Tensor:
    """Return the share of each label (columns) among the rows of each class (rows).

    It is that among the rows which the network predicts most confidently to be of the class.

    Parameters
    ----------
    predicted : Tensor of int of shape (n_rows,)
        The most probable class of each row.
    confidence : Tensor of shape (n_rows,)
        Its probability, or what grows with it.
    labels : Tensor of int of shape (n_rows,)
        Labels as given.
    n_classes : int
        Number of classes.

    Returns
    -------
    Tensor of float64 of shape (n_classes, n_classes)
        Each row adds up to one; one label, spread over all classes, is added to each.
    """
    classes = predicted.numpy().astype(np.min_scalar_type(n_classes))  # small ints sort faster
    values = confidence.numpy()
    ends = np.bincount(classes, minlength=n_classes).cumsum()
    by_class = np.split(values[classes.argsort(kind="stable")], ends[:-1])
    lowest = np.array([_lowest_of_most(part) for part in by_class], dtype=values.dtype)
    chosen = torch.from_numpy(values >= lowest[classes])
    pairs = predicted[chosen] * n_classes + labels[chosen]
    counts = torch.bincount(pairs, minlength=n_classes**2).reshape(n_classes, n_classes)
    shares = counts.double() + 1 / n_classes
    return shares / shares.sum(dim=1, keepdim=True)


def _lowest_of_most(values: npt.NDArray[Any]) -> float:
    """Return the lowest confidence that is among the most confident ones."""
    if not len(values):
        return math.inf
    rank = len(values) - math.ceil(CONFIDENT * len(values))
    return float(np.partition(values, rank)[rank])


def wrong_odds(logits: Tensor, labels: Tensor, transition: Tensor) -> Tensor:
    """Return the log odds that each label is wrong, by predictions and the rates of mistakes."""
    log_rates = transition.log().T  # from the label to the class
    parts = []
    size = max(1, _ENTRIES // logits.shape[1])
    for values, given in zip(logits.split(size), labels.split(size), strict=True):
        joint = values.double() + log_rates[given]
        right = joint.gather(1, given[:, None])
        others = joint.scatter(1, given[:, None], -torch.inf)
        parts.append(others.logsumexp(dim=1) - right[:, 0])
    return torch.cat(parts)


def _predict(logits: Tensor) -> tuple[Tensor, Tensor]:
    """Return the most probable class of each row, and the logarithm of its probability."""
    parts = []
    for values in logits.split(max(1, _ENTRIES // logits.shape[1])):
        highest, predicted = values.max(dim=1)
        parts.append((predicted, highest - values.logsumexp(dim=1)))
    predicted, confidence = (torch.cat(part) for part in zip(*parts, strict=True))
    return predicted, confidence


def _is_learned(joint: Tensor) -> Tensor:
    """Return for each label whether it is most frequent in its own class, of all classes."""
    return joint.argmax(dim=0) == torch.arange(len(joint), device=joint.device)
