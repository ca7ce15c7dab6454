"""The ranked range as a criterion, for losses of a batch or of all rows of an epoch."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from sorr._checks import suggest
from sorr.nn.processes import Group, as_whole, gather_parts, resolve_group
from sorr.nn.reductions import average_weights, check_losses, match_masses, weighted_sum
from sorr.nn.tracker import RankTracker
from sorr.ranked import RankedRange

LOSSES: dict[str, Callable[..., Tensor]] = {
    loss.__name__: loss
    for loss in (
        functional.cross_entropy,
        functional.binary_cross_entropy_with_logits,
        functional.nll_loss,
        functional.binary_cross_entropy,
        functional.mse_loss,
        functional.l1_loss,
        functional.smooth_l1_loss,
        functional.huber_loss,
    )
}
IGNORED = -100
"""The label of rows that have none, for the losses of torch that take class numbers."""


class RankedRangeLoss(nn.Module):
    r"""Average the losses ranked ``m + 1`` to ``k``: a criterion that ignores outliers.

    Without a tracker, the losses of a batch are ranked. That is right for large batches, and for
    outliers that are wrong in themselves. For wrong labels and batches below 1,000 rows, pass a
    `RankTracker`: it ranks all training rows.

    Parameters
    ----------
    m : int, float or Mass, default=0
        How many of the largest losses to drop: a count, or a share of the batch.
    k : int, float, Mass or None, default=None
        The last rank to keep. None keeps all down to the smallest.
    loss : str or callable, default="cross_entropy"
        The loss of ``criterion(input, target)``: the name of a function in
        `torch.nn.functional`, or a callable that returns one loss for each row.
    tracker : RankTracker, optional
        Chooses the rows to drop; `m` and `k` are then those of the tracker.
    process_group : ProcessGroup, False or None, default=None
        The processes whose losses are ranked together, if `torch.distributed` is initialised: all
        by default, False for each by itself. Each has to call the criterion equally often. Not
        with a tracker, which has its own.

    See Also
    --------
    average_ranked_range : The same as a function.
    RankTracker : Ranks over all training rows, and the list of suspects.

    Notes
    -----
    In evaluation mode (``criterion.eval()``), nothing is exchanged and nothing recorded, and a
    criterion with a tracker returns the mean of all losses.

    If rows have several losses, such as those of pixels, all are ranked together. A tracker ranks
    rows by the mean of their losses, and averages these means. With ``"cross_entropy"`` and
    ``"nll_loss"``, entries with the target -100 do not count; a tracker of classes refuses them.

    With several processes, each gets the loss of the whole batch, and gradients that average to
    its gradient, as `DistributedDataParallel` averages them.

    Examples
    --------
    >>> import torch
    >>> from sorr.nn import RankedRangeLoss
    >>> criterion = RankedRangeLoss(m=0.25)
    >>> logits = torch.tensor([[2.0, 0.0], [3.0, 0.0], [0.0, 1.0], [9.0, 0.0]])
    >>> labels = torch.tensor([0, 0, 1, 1])  # the last one looks wrong
    >>> round(criterion(logits, labels).item(), 3)
    0.163
    """

    def __init__(
        self,
        m: int | float = 0,
        k: int | float | None = None,
        *,
        loss: str | Callable[[Tensor, Tensor], Tensor] = "cross_entropy",
        tracker: RankTracker | None = None,
        process_group: Group = None,
    ) -> None:
        super().__init__()
        if isinstance(loss, str):
            if loss not in LOSSES:
                raise ValueError(f"loss={loss!r} is not known; {suggest(loss, list(LOSSES))}")
        elif not callable(loss):
            raise TypeError(
                f"loss is of type {type(loss).__name__}; needed a name or a callable that returns "
                "one loss for each row"
            )
        if tracker is not None:
            if not isinstance(tracker, RankTracker):
                raise TypeError(f"tracker={tracker!r}; needed a RankTracker, as made by its class")
            if m != 0 or k is not None or process_group is not None:
                raise ValueError(
                    f"m={m!r}, k={k!r} and process_group={process_group!r} beside a tracker; "
                    "needed them in one place: RankTracker(..., m=m, k=k)"
                )
        ranks = RankedRange(m, k)
        self.m, self.k, self.loss = ranks.m, ranks.k, loss
        self.tracker, self.process_group = tracker, process_group

    def forward(
        self,
        input: Tensor,  # noqa: A002, the name that torch gives it
        target: Tensor | None = None,
        *,
        index: Tensor | None = None,
        weight: Tensor | None = None,
    ) -> Tensor:
        """Return the average over the range.

        Parameters
        ----------
        input : Tensor
            Predictions, or unreduced losses if there is no target.
        target : Tensor, optional
            Labels, or what `loss` takes.
        index : Tensor of int of shape (batch,), optional
            The numbers of the rows in the training set. For a tracker.
        weight : Tensor, optional
            The mass of each row, or of each loss. Not with a tracker.

        Returns
        -------
        Tensor
            A single number.
        """
        losses = input if target is None else self._unreduced(input, target)
        check_losses(losses)
        if (tracker := self.tracker) is not None:  # looked up once: a module takes its time
            if weight is not None:
                raise ValueError("weight does not go with a tracker; needed one of them")
            if losses.ndim > 1 or tracker.n_classes is None or not self.training:
                losses, index = self._row_means(losses, target, index)
            if not self.training:
                return losses.mean() if len(losses) else losses.sum()
            predictions = None if target is None else self._as_logits(input)
            weights = tracker.weigh(losses, index, predictions, target)
            group = resolve_group(tracker.process_group)
        else:
            if index is not None:
                raise ValueError("index is for a tracker, and there is none; needed tracker=...")
            group = resolve_group(self.process_group) if self.training else None
            mass = None if weight is None else match_masses(_by_row(weight, losses), losses)
            if (counts := self._counts(target)) is not None:
                mass = counts if mass is None else mass * counts
            weights = self._weights(losses.detach().reshape(-1), mass, group)
            losses = losses.reshape(-1)
        local = weighted_sum(losses, weights)
        return local if group is None else as_whole(local, group)

    def _weights(self, values: Tensor, mass: Tensor | None, group: Group | None) -> Tensor:
        """Return the weights of the losses of this process among those of all."""
        own = slice(None)
        mass = None if mass is None else mass.reshape(-1)
        if group is not None:
            if mass is None:
                values, own = gather_parts(values, group)
            else:
                precise = torch.promote_types(values.dtype, torch.float32)
                pairs = torch.stack([values.to(precise), mass.to(values.device, precise)], dim=1)
                pairs, own = gather_parts(pairs, group)
                values, mass = pairs.unbind(dim=1)
        if len(values) == 0:
            raise ValueError("there is no loss in this batch; needed one at least")
        return average_weights(values, mass, self.m, self.k)[own]

    def _counts(self, target: Tensor | None) -> Tensor | None:
        """Return which targets are labels; None if the loss knows no others."""
        if target is None or self.loss not in ("cross_entropy", "nll_loss"):
            return None
        return None if target.is_floating_point() else target != IGNORED

    def _row_means(
        self, losses: Tensor, target: Tensor | None, index: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """Return the mean of the losses that count of each row, and the rows that have any."""
        n = len(losses)
        losses, counts = losses[:, None].flatten(1), self._counts(target)
        if counts is None:
            return losses.mean(dim=1), index
        counts = counts[:, None].flatten(1)
        n_counts = counts.sum(dim=1)
        rows = n_counts.nonzero()[:, 0]
        if isinstance(index, Tensor) and len(index) == n:
            index = index[rows.to(index.device)]
        precise = torch.promote_types(losses.dtype, torch.float32)  # for sums of many losses
        totals = torch.where(counts, losses, 0.0).sum(dim=1, dtype=precise)
        return (totals[rows] / n_counts[rows]).to(losses.dtype), index

    def _as_logits(self, predictions: Tensor) -> Tensor:
        """Return what the tracker takes for logits; two loss functions take other predictions."""
        if self.loss != "binary_cross_entropy":  # the logarithms that nll_loss takes are logits
            return predictions
        predictions = predictions.detach()
        return predictions.logit(eps=torch.finfo(predictions.dtype).eps)

    def _unreduced(self, input: Tensor, target: Tensor) -> Tensor:  # noqa: A002
        """Return one loss for each row, or for each entry."""
        if not isinstance(self.loss, str):
            losses = self.loss(input, target)
            if isinstance(losses, Tensor) and losses.ndim == 0:
                raise ValueError(
                    'loss returned a single number; needed one loss for each row: reduction="none"'
                )
            return losses
        return LOSSES[self.loss](input, target, reduction="none")

    def extra_repr(self) -> str:
        """Return the parameters in short."""
        name = repr(self.loss) if isinstance(self.loss, str) else "a callable"
        ranks = "" if self.tracker is not None else f"m={self.m!r}, k={self.k!r}, "
        return f"{ranks}loss={name}"


def _by_row(weight: Tensor, losses: Tensor) -> Tensor:
    """Return a weight for each row in a shape that goes with several losses of each."""
    if isinstance(weight, Tensor) and weight.ndim == 1 and len(weight) == len(losses):
        return weight.reshape(-1, *[1] * (losses.ndim - 1))
    return weight
