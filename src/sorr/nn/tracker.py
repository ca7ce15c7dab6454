"""The losses of all rows over the epochs: which rows to drop next, and which labels are wrong."""

from __future__ import annotations

import warnings
from dataclasses import astuple, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from sorr._checks import as_count
from sorr.nn.processes import Group, add_up, agree, gather_parts, resolve_group
from sorr.nn.reductions import average_weights, refuse_nan
from sorr.ranked import Mass, RankedRange
from sorr.share import Judgement, judge_labels

# Both were chosen on seeds 0 and 1 of the ten cells of `benchmarks/networks.py` with the MLP and
# 10,000 rows: mean accuracy 89.3. The benchmark reports other seeds.
CONFIDENT = 0.25
"""The share of the rows predicted to be a class that say how its labels go wrong: the most
confident ones. With 0.5: 89.2."""

MARGIN = 1.25
"""How many more rows are dropped than labels are estimated to be wrong. The estimate is low,
because the network has learned some of them. With 1: 88.3, with 1.5: 89.1."""


_ROWS = 65_536  # whose odds are computed at a time, in float64


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
    dropped. Without classes, rows are ranked by their losses.

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
        epoch is then a full turn of the window.
    process_group : ProcessGroup, False or None, default=None
        The processes that train together; all by default, False for each by itself.

    Attributes
    ----------
    epoch : int
        How many epochs are finished.
    dropped : Tensor of bool of shape (n_rows,)
        The rows without influence in this epoch.
    history : list of dict
        For each finished epoch how many rows the next one drops, and quantiles of the losses of
        dropped and of kept rows. `sorr.plots.DroppedLossDisplay` draws it.

    See Also
    --------
    RankedRangeLoss : The criterion that a tracker belongs to.

    Notes
    -----
    Everything is in buffers, so a checkpoint of the criterion resumes to the same bits. Rows may
    be visited in any order, several times, or not at all.

    Rows of a label are all kept as long as the network predicts no class that has it most often:
    it has not learned that class yet.

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
    log_probs: Tensor
    early_log_probs: Tensor
    kept: Tensor
    recent: Tensor
    _kept_share: Tensor
    _epoch: Tensor
    _visits: Tensor
    _changed: Tensor

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
        self.n_classes = (
            None
            if n_classes is None
            else as_count("n_classes", n_classes, lowest=2, what="a number of classes")
        )
        self.m, self.k = m, k
        ranks = RankedRange(0 if m == "auto" else m, k)
        ranks.resolve(self.n_rows)  # refuses what cannot be
        low, high = (float(end or 0.0) for end in astuple(ranks.resolve(float(self.n_rows))))
        self._low, self._high = low / self.n_rows, high / self.n_rows
        self.history: list[dict[str, float]] = []
        self.register_buffer("_epoch", torch.zeros((), dtype=torch.long))
        self.register_buffer("_visits", torch.zeros((), dtype=torch.long))
        if self.is_window:
            self.register_buffer("recent", torch.full((self.n_rows,), torch.nan))
            return
        n, K = self.n_rows, self.n_classes
        self.register_buffer("losses", torch.full((n,), torch.nan))
        self.register_buffer("kept", torch.ones(n, dtype=torch.bool))
        self.register_buffer("_kept_share", torch.ones(()))
        self.register_buffer("_changed", torch.zeros(n, dtype=torch.bool))
        if K is not None:
            self.register_buffer("labels", torch.full((n,), -1))
            self.register_buffer("log_probs", torch.zeros(n, K))
            self.register_buffer("early_log_probs", torch.zeros(n, K))

    # -- What it says

    @property
    def epoch(self) -> int:
        """How many epochs are finished."""
        return int(self._epoch)

    @property
    def dropped(self) -> Tensor:
        """The rows without influence in this epoch."""
        self._refuse_window("dropped")
        return ~self.kept

    def judge(self, classes: npt.ArrayLike | None = None) -> Judgement:
        """Judge the labels by the predictions that were recorded before each row's own update.

        The odds are the mean of two looks: at the last visit of each row, and in the first epoch
        that dropped rows. The evidence is that of the less certain one, because a network that
        did not learn from a row disagrees with it all the more.

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
        K = self._classes("judge()")
        names = np.arange(K) if classes is None else np.asarray(classes)
        if len(names) != K:
            raise ValueError(f"classes has {len(names)} names; needed one for each of {K} classes")
        if missing := int((self.labels < 0).sum()):
            raise ValueError(
                f"{missing:,} of {self.n_rows:,} rows have not been visited yet; needed every row "
                "at least once: judge after an epoch over all of them (drop_last=False)"
            )
        labels = names[self.labels.cpu().numpy()]
        looks = {"the network at the last visit": self.log_probs}
        if self.epoch > self.warmup:
            looks["the network in its first epoch with dropped rows"] = self.early_log_probs
        found = []
        for name, log_probs in looks.items():
            values = log_probs.cpu().double().numpy()
            judged = judge_labels(values, labels, classes=names, scores=True)
            found.append(replace(judged, models_=((name, judged.evidence_),)))
        return found[0] if len(found) == 1 else found[0].confirm(found[1])

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
        values = losses.detach().float()
        refuse_nan(values.cpu().numpy())
        if self.is_window:
            return self._weigh_in_window(values, group)
        index = self._as_index(index, len(values)).to(self.losses.device)
        n_batch = len(values)
        self.losses[index] = values.to(self.losses.device)
        self._changed[index] = True
        self._visits += n_batch
        if self.n_classes is not None:
            log_probs, labels = self._as_predictions(logits, targets, n_batch)
            self.log_probs[index] = log_probs
            self.labels[index] = labels
        if int(self._visits) > 3 * self.n_rows:
            warnings.warn(
                f"more than three times the {self.n_rows:,} rows were visited since the last "
                "RankTracker.step(); needed a call of step() after each epoch, which chooses the "
                "rows to drop",
                RuntimeWarning,
                stacklevel=4,
            )
        if group is not None:
            n_batch = int(add_up(torch.tensor([n_batch], device=losses.device), group))
        weights = self.kept[index] / (self._kept_share * max(n_batch, 1))
        return weights.to(losses.device)

    def step(self) -> None:
        """Finish an epoch: choose the rows that the next one drops. All processes have to call."""
        self._refuse_window("step()")
        group = resolve_group(self.process_group)
        if group is not None:
            self._merge(group)
        self._epoch += 1
        self._visits.zero_()
        self._changed.zero_()
        epoch = self.epoch
        if epoch == self.warmup + 1 and self.n_classes is not None:
            self.early_log_probs.copy_(self.log_probs)
        if epoch >= self.warmup:
            part = min(1.0, (epoch - self.warmup + 1) / self.ramp)
            self.kept.copy_(self._choose(part))
            if group is not None:
                agree(self.kept, group)
            self._kept_share.copy_(self.kept.float().mean())
        self.history.append(self._describe())

    # -- Which rows

    def _choose(self, part: float) -> Tensor:
        """Return the rows to keep, if only a part of the others are dropped yet."""
        kept = torch.ones(self.n_rows, dtype=torch.bool)
        losses = self.losses.cpu()
        rows = (~losses.isnan()).nonzero()[:, 0]
        most, values = self._low * len(rows), losses[rows]
        if self.n_classes is None:
            odds, may_go = values, torch.ones_like(values, dtype=torch.bool)
        else:
            log_probs, labels = self.log_probs.cpu()[rows], self.labels.cpu()[rows]
            predicted = log_probs.argmax(dim=1)
            transition = estimate_transition(log_probs, labels)
            sizes = torch.bincount(predicted, minlength=self.n_classes).double()
            if self.m == "auto":
                most = MARGIN * float(sizes @ (1 - transition.diagonal()))
            odds = wrong_odds(log_probs, labels, transition)
            may_go = (predicted != labels) & _is_learned(sizes[:, None] * transition)[labels]
        order = odds[may_go].argsort(descending=True, stable=True)
        kept[rows[may_go][order[: round(part * most)]]] = False
        n_easy = round(part * (1 - self._high) * len(rows))
        kept[rows[values.argsort(stable=True)[:n_easy]]] = False
        return kept.to(self.kept.device)

    def _describe(self) -> dict[str, float]:
        """Return a line of the history."""
        row: dict[str, float] = {"epoch": self.epoch, "n_dropped": int((~self.kept).sum())}
        seen = ~self.losses.isnan()
        for name, part in (("dropped", ~self.kept & seen), ("kept", self.kept & seen)):
            values = self.losses[part].double().cpu().numpy()
            values = values[np.isfinite(values)]
            if len(values):
                low, middle, high = np.quantile(values, [0.1, 0.5, 0.9]).tolist()
                row |= {f"{name}_10": low, f"{name}_50": middle, f"{name}_90": high}
        return row

    # -- Batches

    def _weigh_in_window(self, values: Tensor, group: Group | None) -> Tensor:
        """Return the weights of a batch that is ranked together with the last losses."""
        batch, own = (values, slice(None)) if group is None else gather_parts(values, group)
        batch = batch.to(self.recent.device)
        past = self.recent[: min(int(self._visits), self.n_rows)]
        whole = torch.cat([past, batch])
        epoch = self.epoch
        part = min(1.0, (epoch - self.warmup + 1) / self.ramp) if epoch >= self.warmup else 0.0
        n = float(len(whole))
        low, high = part * self._low * n, (1 - part * (1 - self._high)) * n
        weights = average_weights(whole, None, Mass(low), Mass(high))[len(past) :]
        places = (int(self._visits) + torch.arange(len(batch))) % self.n_rows
        self.recent[places[-self.n_rows :]] = batch[-self.n_rows :]
        self._visits += len(batch)
        self._epoch.copy_(self._visits // self.n_rows)
        return (weights[own] * (n / max(len(batch), 1))).to(values.device)

    def _as_index(self, index: Tensor | None, n: int) -> Tensor:
        """Return the numbers of the rows of a batch."""
        if index is None:
            raise ValueError(
                "index=None; needed the numbers of the rows in the training set, so that their "
                "losses can be remembered: let the data set return (number, x, y), and pass "
                "index=number. For a stream, use RankTracker(window=...)"
            )
        index = torch.as_tensor(index)
        if index.shape != (n,) or index.is_floating_point() or index.dtype == torch.bool:
            raise ValueError(
                f"index has shape {tuple(index.shape)} and dtype {index.dtype}; needed an int for "
                f"each of the {n} losses"
            )
        if n:
            low, high = (int(end) for end in index.aminmax())
            if low < 0 or high >= self.n_rows:
                raise ValueError(
                    f"index goes from {low} to {high}; needed row numbers from 0 to "
                    f"{self.n_rows - 1}, because n_rows={self.n_rows}"
                )
        return index

    def _as_predictions(
        self, logits: Tensor | None, targets: Tensor | None, n: int
    ) -> tuple[Tensor, Tensor]:
        """Return log probabilities and labels of a batch."""
        K = self._classes("logits and targets")
        if logits is None or targets is None:
            raise ValueError(
                f"the tracker has n_classes={K} and was given losses only; needed "
                "criterion(input, target, index=...), because it ranks rows by their predictions"
            )
        logits = logits.detach().to(self.log_probs.device)
        targets = targets.detach().to(self.labels.device)
        if K == 2 and logits.numel() == n:  # one logit, as binary cross-entropy takes it
            one = logits.reshape(n, 1)
            logits, targets = torch.cat([torch.zeros_like(one), one], dim=1), targets.reshape(n)
            targets = targets.long() if bool((targets % 1 == 0).all()) else targets
        if logits.shape != (n, K) or targets.shape != (n,) or targets.is_floating_point():
            raise ValueError(
                f"input has shape {tuple(logits.shape)}, target {tuple(targets.shape)} and dtype "
                f"{targets.dtype}; needed ({n}, {K}), because n_classes={K}, and an int for each "
                "row"
            )
        return logits.float().log_softmax(dim=1), targets

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

    def _merge(self, group: Group) -> None:
        """Take over the rows that any process has visited since the last step."""
        index = self._changed.nonzero()[:, 0]
        tables = (
            [self.losses] if self.n_classes is None else [self.losses, self.labels, self.log_probs]
        )
        every, _ = gather_parts(index, group)
        # If two processes visited a row, the later one counts, and it does so everywhere.
        _, first = np.unique(every.flip(0).cpu().numpy(), return_index=True)
        last = len(every) - 1 - torch.from_numpy(first).to(every.device)
        for table in tables:
            rows, _ = gather_parts(table[index], group)
            table[every[last]] = rows[last]

    def get_extra_state(self) -> dict[str, Any]:
        """Return what a checkpoint holds besides the buffers."""
        return {"history": [dict(row) for row in self.history]}

    def set_extra_state(self, state: Any) -> None:
        """Take over what a checkpoint holds besides the buffers."""
        self.history = [dict(row) for row in state["history"]]

    def extra_repr(self) -> str:
        """Return the parameters in short."""
        size = f"window={self.n_rows}" if self.is_window else f"n_rows={self.n_rows}"
        classes = "" if self.n_classes is None else f", n_classes={self.n_classes}"
        return f"{size}{classes}, m={self.m!r}, k={self.k!r}"


# -- How labels go wrong ---------------------------------------------------------------------------


def estimate_transition(log_probs: Tensor, labels: Tensor) -> Tensor:
    """Return the share of each label (columns) among the rows of each class (rows).

    It is that among the rows which the network predicts most confidently to be of the class.

    Parameters
    ----------
    log_probs : Tensor of shape (n_rows, n_classes)
        Predictions.
    labels : Tensor of int of shape (n_rows,)
        Labels as given.

    Returns
    -------
    Tensor of float64 of shape (n_classes, n_classes)
        Each row adds up to one; one label, spread over all classes, is added to each.
    """
    K = log_probs.shape[1]
    confidence, predicted = log_probs.max(dim=1)
    by_confidence = confidence.argsort(descending=True, stable=True)
    order = by_confidence[predicted[by_confidence].argsort(stable=True)]
    sizes = torch.bincount(predicted, minlength=K)
    place = torch.arange(len(order)) - (sizes.cumsum(0) - sizes)[predicted[order]]
    most = (CONFIDENT * sizes).ceil().long()[predicted[order]]
    chosen = order[place < most]
    counts = torch.bincount(predicted[chosen] * K + labels[chosen], minlength=K * K)
    shares = counts.reshape(K, K).double() + 1 / K
    return shares / shares.sum(dim=1, keepdim=True)


def wrong_odds(log_probs: Tensor, labels: Tensor, transition: Tensor) -> Tensor:
    """Return the log odds that each label is wrong, by predictions and the rates of mistakes."""
    log_rates = transition.log().T  # from the label to the class
    parts = []
    for values, given in zip(log_probs.split(_ROWS), labels.split(_ROWS), strict=True):
        joint = values.double() + log_rates[given]
        right = joint.gather(1, given[:, None])
        others = joint.scatter(1, given[:, None], -torch.inf)
        parts.append(others.logsumexp(dim=1) - right[:, 0])
    return torch.cat(parts)


def _is_learned(joint: Tensor) -> Tensor:
    """Return for each label whether the class that has it most often is its own."""
    return joint.argmax(dim=0) == torch.arange(len(joint))
