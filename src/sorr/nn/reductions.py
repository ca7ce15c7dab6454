"""Ranked ranges of unreduced losses as functions: use one where a loss is averaged."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from sorr._checks import as_label_count
from sorr.ranked import Mass, RankedRange, ranked_range_weights

_HALF = (torch.float16, torch.bfloat16)
_SHORT = 1024  # losses: up to here, a scalar product rounds no more than a sum, and is faster


def average_ranked_range(
    losses: Tensor,
    m: int | float = 0,
    k: int | float | None = None,
    *,
    weight: Tensor | None = None,
    dim: int | None = None,
) -> Tensor:
    r"""Average the losses ranked ``m + 1`` to ``k``. The largest loss has rank 1.

    .. math:: \frac{1}{k - m} \sum_{i=m+1}^{k} s_{[i]}, \quad s_{[1]} \ge \dots \ge s_{[n]}

    The `m` largest losses, those of outliers and wrong labels, have no influence on the gradient.

    Parameters
    ----------
    losses : Tensor
        Unreduced losses, as with ``reduction="none"``, of any shape and without NaN. Infinite
        losses above rank `m` leave the value and the gradient finite. The logits behind them have
        to be finite: the derivative of an infinite loss is often NaN, and zero times NaN is NaN.
    m, k : int, float or Mass
        The ranks to keep. An int is a count. A float strictly between 0 and 1 is that share of the
        losses and is not rounded: of ten losses, ``m=0.25`` drops two and counts half of the
        third. ``k=None`` keeps all down to the smallest.
    weight : Tensor, optional
        The mass of each loss, of a shape that broadcasts to `losses`: a loss of weight 2 is two
        copies of it. Ranks are then amounts of mass. Gradients do not flow into weights.
    dim : int, optional
        The dimension along which losses are ranked and averaged. By default, all losses are
        ranked together.

    Returns
    -------
    Tensor
        A single number, or with `dim` one for each set of losses.

    See Also
    --------
    sorr.ranked.average_ranked_range : The same for NumPy arrays.

    Notes
    -----
    Losses with equal values at an end of the range share its weight equally, in value and
    gradient. Losses in half precision are ranked and added up in float32: many are equal in half
    precision. The result has the dtype of the losses.

    In a mini-batch, ranks are those of the batch. Their thresholds vary from batch to batch, which
    weakens trimming in small batches late in training; see `RankTracker`.

    Examples
    --------
    >>> import torch
    >>> from sorr.nn import average_ranked_range
    >>> losses = torch.tensor([0.2, 9.0, 0.4, 0.6], requires_grad=True)
    >>> value = average_ranked_range(losses, m=0.25)
    >>> value.backward()
    >>> round(value.item(), 6), losses.grad.tolist()
    (0.4, [0.3333333432674408, 0.0, 0.3333333432674408, 0.3333333432674408])
    """
    check_losses(losses)
    mass = None if weight is None else match_masses(weight, losses)
    if dim is None:
        rows = losses.reshape(-1)
        mass = None if mass is None else mass.reshape(-1)
    else:
        rows = losses.movedim(dim, -1)
        mass = None if mass is None else mass.movedim(dim, -1)
    if rows.shape[-1] == 0:
        raise ValueError(
            f"losses has shape {tuple(losses.shape)}; needed at least one loss in each set"
        )
    if rows.numel() == 0:  # no set at all
        return rows.sum(dim=-1)
    return weighted_sum(rows, average_weights(rows.detach(), mass, m, k))


def average_top_k(
    losses: Tensor, k: int | float, *, weight: Tensor | None = None, dim: int | None = None
) -> Tensor:
    """Average the `k` largest losses: learn from the hardest rows.

    Parameters
    ----------
    losses : Tensor
        Unreduced losses without NaN.
    k : int, float or Mass
        How many: a count, or a share of the losses; see `average_ranked_range`.
    weight : Tensor, optional
        The mass of each loss.
    dim : int, optional
        The dimension to average over; all by default.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import torch
    >>> from sorr.nn import average_top_k
    >>> average_top_k(torch.tensor([1.0, 5.0, 3.0]), k=2)
    tensor(4.)
    """
    return average_ranked_range(losses, 0, k, weight=weight, dim=dim)


def trimmed_mean(
    losses: Tensor, m: int | float, *, weight: Tensor | None = None, dim: int | None = None
) -> Tensor:
    """Average all losses but the `m` largest: leave out rows that look like outliers.

    Parameters
    ----------
    losses : Tensor
        Unreduced losses without NaN.
    m : int, float or Mass
        How many to drop: a count, or a share of the losses; see `average_ranked_range`.
    weight : Tensor, optional
        The mass of each loss.
    dim : int, optional
        The dimension to average over; all by default.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import torch
    >>> from sorr.nn import trimmed_mean
    >>> trimmed_mean(torch.tensor([1.0, 50.0, 3.0]), m=1)
    tensor(2.)
    """
    return average_ranked_range(losses, m, None, weight=weight, dim=dim)


# -- Losses over sets of labels --------------------------------------------------------------------


def top_k_multilabel_loss(scores: Tensor, targets: Tensor, k: int) -> Tensor:
    r"""Return for each row by how much its true labels miss the top k: the TKML loss of the paper.

    .. math:: \big[ 1 + f_{[k+1]} - \min_{y \in Y} f_y \big]_+

    It is zero if all true labels :math:`Y` score at least 1 above the label at rank k + 1. With
    more than `k` true labels it cannot be; use `top_k_subset_loss` there.

    Parameters
    ----------
    scores : Tensor of shape (n_samples, n_labels)
        A score for each label, such as logits.
    targets : Tensor of shape (n_samples, n_labels) or (n_samples,)
        True where the label is true, or the number of the one true label. The loss of a row
        without true labels is zero.
    k : int
        Number of labels that will be predicted; fewer than there are.

    Returns
    -------
    Tensor of shape (n_samples,)
        Unreduced losses, for `average_ranked_range`, `RankedRangeLoss` or ``.mean()``.

    Notes
    -----
    From random starting weights it may train poorly, because it says nothing about the order within
    the top k. A few epochs of cross-entropy first remedy that.

    Examples
    --------
    >>> import torch
    >>> from sorr.nn import top_k_multilabel_loss
    >>> targets = torch.tensor([[True, True, False, False]])
    >>> top_k_multilabel_loss(torch.tensor([[3.0, 0.5, 1.0, 0.0]]), targets, k=2)
    tensor([1.])
    """
    scores, true = _as_label_sets(scores, targets, k)
    next_rank = torch.full_like(true[:, 0], k + 1, dtype=torch.long)
    next_best = _score_at_rank(scores, torch.ones_like(true), next_rank)
    lowest_true = _score_at_rank(scores, true, true.sum(dim=1))
    return _missed_margin(scores, next_best, lowest_true)


def top_k_subset_loss(scores: Tensor, targets: Tensor, k: int) -> Tensor:
    r"""Return for each row by how much it misses a right top k: only true labels, or all of them.

    .. math:: \big[ 1 + f^F_{[k-r+1]} - f^Y_{[r]} \big]_+, \qquad r = \min(k, |Y|),

    where :math:`f^Y` and :math:`f^F` are the scores of the true labels and of the others.

    Parameters
    ----------
    scores : Tensor of shape (n_samples, n_labels)
        A score for each label, such as logits.
    targets : Tensor of shape (n_samples, n_labels) or (n_samples,)
        True where the label is true, or the number of the one true label. The loss of a row
        without true labels is zero.
    k : int
        Number of labels that will be predicted; fewer than there are.

    Returns
    -------
    Tensor of shape (n_samples,)
        Unreduced losses, for `average_ranked_range`, `RankedRangeLoss` or ``.mean()``.

    Examples
    --------
    >>> import torch
    >>> from sorr.nn import top_k_subset_loss
    >>> targets = torch.tensor([[True, True, False, False]])
    >>> top_k_subset_loss(torch.tensor([[3.0, 0.5, 1.0, 0.0]]), targets, k=1)
    tensor([0.])
    """
    scores, true = _as_label_sets(scores, targets, k)
    r = true.sum(dim=1).clamp(max=k)
    best_false = _score_at_rank(scores, ~true, k - r + 1)
    worst_true = _score_at_rank(scores, true, r)
    return _missed_margin(scores, best_false, worst_true)


def _missed_margin(scores: Tensor, unwanted: Tensor, wanted: Tensor) -> Tensor:
    """Return by how much one score is not 1 below another; NaN if any score of the row is."""
    missed = torch.relu(1 + unwanted - wanted)
    return torch.where(scores.detach().isnan().any(dim=1), torch.nan, missed)


def _as_label_sets(scores: Tensor, targets: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return scores, and which labels are true."""
    for name, given in (("scores", scores), ("targets", targets)):
        if not isinstance(given, Tensor):
            raise TypeError(f"{name} is of type {type(given).__name__}; needed a tensor")
    if scores.ndim != 2 or not scores.is_floating_point():
        raise ValueError(
            f"scores has shape {tuple(scores.shape)} and dtype {scores.dtype}; needed floats of "
            "shape (n_samples, n_labels)"
        )
    n, n_labels = scores.shape
    as_label_count(k, n_labels)
    if targets.shape == (n,) and not targets.is_floating_point() and targets.dtype != torch.bool:
        return scores, torch.nn.functional.one_hot(targets.long(), n_labels).bool()
    if targets.shape != scores.shape:
        raise ValueError(
            f"targets has shape {tuple(targets.shape)} and dtype {targets.dtype}; needed "
            f"{tuple(scores.shape)}, true where a label is true, or an int for each of the {n} rows"
        )
    return scores, targets > 0


def _score_at_rank(scores: Tensor, among: Tensor, rank: Tensor) -> Tensor:
    """Return the score at a rank among some labels of each row; equal scores share the gradient.

    Ranks that do not exist have minus infinity: rank zero plus infinity, so that a margin with such
    a score is never missed.
    """
    infinity = math.inf
    known = scores.detach()
    ordered = known.masked_fill(~among, -infinity).sort(dim=1, descending=True).values
    exists = (rank >= 1) & (rank <= among.sum(dim=1))
    place = (rank - 1).clamp(0, scores.shape[1] - 1)
    cut = ordered.gather(1, place[:, None])
    tied = (known == cut) & among & exists[:, None]
    shares = tied.to(scores.dtype) / tied.sum(dim=1, keepdim=True).clamp(min=1)
    # The differences are zero: they carry the gradient, and no rounding error.
    offset = torch.where(tied & cut.isfinite(), scores - cut, 0.0)
    value = cut[:, 0] + (offset * shares).sum(dim=1)
    missing = torch.where(rank >= 1, -infinity, infinity).to(scores.dtype)
    return torch.where(exists, value, missing)


# -- Weights: which ranks count, by the rules of `sorr.ranked` ------------------------------------


def average_weights(
    values: Tensor, mass: Tensor | None, m: int | float, k: int | float | None
) -> Tensor:
    """Return the weight of each value in the average over the range along the last dimension."""
    if torch.compiler.is_compiling():
        units = isinstance(m, Mass), isinstance(k, Mass)
        low = float(m) if isinstance(m, Mass) else m
        high = float(k) if isinstance(k, Mass) else k
        weights: Tensor = torch.ops.sorr.range_weights(values, mass, low, high, *units)
        return weights
    return _average_weights(values, mass, m, k)


def _average_weights(
    values: Tensor, mass: Tensor | None, m: int | float, k: int | float | None
) -> Tensor:
    array = (values.float() if values.dtype in _HALF else values).cpu().numpy()
    refuse_nan(array)
    if mass is None or bool((mass == 1).all()):
        low, high = _ends(m, k, array.shape[-1])
        weights = ranked_range_weights(array, Mass(low), Mass(high))
        weights /= high - low
    else:
        masses = mass.cpu().double().numpy()
        weights = ranked_range_weights(array.astype(np.float64), m, k, sample_weight=masses)
        weights /= weights.sum(axis=-1, keepdims=True)
    return torch.from_numpy(weights.astype(array.dtype, copy=False)).to(values.device)


def _ends(m: int | float, k: int | float | None, n: int) -> tuple[float, float]:
    """Return both ends of the range as amounts out of n, fractions unrounded."""
    ranks = RankedRange(m, k)
    ranks.resolve(n)  # for its messages, which speak of values
    ends = ranks.resolve(float(n))
    assert ends.k is not None  # resolved
    return float(ends.m), float(ends.k)


@torch.library.custom_op(  # the compiler does not look into it
    "sorr::range_weights",
    mutates_args=(),
    schema="(Tensor values, Tensor? mass, Scalar m, Scalar? k, bool m_is_mass, bool k_is_mass)"
    " -> Tensor",
)
def _range_weights(
    values: Tensor,
    mass: Tensor | None,
    m: int | float,
    k: int | float | None,
    m_is_mass: bool,
    k_is_mass: bool,
) -> Tensor:
    low = Mass(m) if m_is_mass else m
    high = Mass(k) if k_is_mass and k is not None else k
    return _average_weights(values, mass, low, high)


@_range_weights.register_fake
def _range_weights_shape(values: Tensor, *_: Any) -> Tensor:
    return values.new_empty(
        values.shape, dtype=torch.float32 if values.dtype in _HALF else values.dtype
    )


def match_masses(weight: Tensor, losses: Tensor) -> Tensor:
    """Return one mass for each loss."""
    if not isinstance(weight, Tensor):
        raise TypeError(f"weight is of type {type(weight).__name__}; needed a tensor")
    try:
        return weight.detach().broadcast_to(losses.shape)
    except RuntimeError:
        raise ValueError(
            f"weight has shape {tuple(weight.shape)}; needed one that broadcasts to the losses, "
            f"{tuple(losses.shape)}"
        ) from None


def refuse_nan(values: npt.NDArray[Any]) -> None:
    """Raise an error that names the first NaN."""
    missing = np.isnan(values)
    if not missing.any():
        return
    position = tuple(np.argwhere(missing)[0].tolist())
    place = position[0] if len(position) == 1 else position
    raise ValueError(
        f"losses holds NaN: {int(missing.sum()):,} of {values.size:,}, the first at position "
        f"{place}; needed numbers: a learning rate that is too high, a division by zero or a "
        "logarithm of zero makes NaN"
    )


# -- The weighted sum ------------------------------------------------------------------------------


def check_losses(losses: Any) -> None:
    """Refuse what is not a tensor of unreduced losses."""
    if not isinstance(losses, Tensor):
        raise TypeError(f"losses is of type {type(losses).__name__}; needed a tensor")
    if not losses.is_floating_point():
        raise TypeError(f"losses has dtype {losses.dtype}; needed floats")
    if losses.ndim == 0:
        raise ValueError(
            "losses is a single number; needed one loss for each row: compute the loss with "
            'reduction="none"'
        )


def weighted_sum(losses: Tensor, weights: Tensor) -> Tensor:
    """Return the sum of losses times weights along the last dimension; weights are constants.

    Losses of weight zero may be infinite.
    """
    if not torch.compiler.is_compiling():
        is_short = losses.ndim == 1 and len(losses) <= _SHORT and losses.dtype == weights.dtype
        value = losses.dot(weights) if is_short else (losses * weights).sum(dim=-1)
        is_single = value.ndim == 0
        if math.isfinite(value.item()) if is_single else bool(value.detach().isfinite().all()):
            return value if value.dtype == losses.dtype else value.to(losses.dtype)
    kept = torch.where(weights > 0, losses, torch.zeros_like(losses))
    return (kept * weights).sum(dim=-1).to(losses.dtype)
