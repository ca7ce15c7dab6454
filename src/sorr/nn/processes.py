"""The same ranks in every process of a training run: what is exchanged, and what if one ends."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

Group = Any
"""A process group, None for all processes, or False for each process by itself."""


def resolve_group(group: Group) -> Group | None:
    """Return the processes to rank with, or None if there are no others."""
    if group is False or not (dist.is_available() and dist.is_initialized()):
        return None
    group = dist.group.WORLD if group is None else group
    return group if dist.get_world_size(group) > 1 else None


def gather_parts(part: Tensor, group: Group) -> tuple[Tensor, slice]:
    """Return the rows of all processes in their order, and which are the own ones.

    Parts may differ in their number of rows, and be empty.
    """
    part = part.detach()
    with _explained(group):
        kind = [math.prod(part.shape[1:]), part.element_size()]
        own = torch.tensor([len(part), *kind], device=part.device)
        forms = [torch.zeros_like(own) for _ in range(dist.get_world_size(group))]
        dist.all_gather(forms, own, group=group)
        counts, *kinds = zip(*(form.tolist() for form in forms), strict=True)
        if any(len(set(each)) > 1 for each in kinds):
            raise ValueError(f"numbers for each row: {kinds[0]}, their bytes: {kinds[1]}")
        padded = part.new_zeros((max(counts), *part.shape[1:]))
        padded[: len(part)] = part
        parts = [torch.empty_like(padded) for _ in counts]
        dist.all_gather(parts, padded, group=group)
    start = sum(counts[: dist.get_rank(group)])
    whole = torch.cat([each[:count] for each, count in zip(parts, counts, strict=True)])
    return whole, slice(start, start + len(part))


def add_up(value: Tensor, group: Group) -> Tensor:
    """Return the sum over all processes."""
    total = value.detach().clone()
    with _explained(group):
        dist.all_reduce(total, group=group)
    return total


def agree(values: Tensor, group: Group) -> None:
    """Make all processes have the values of the first one."""
    with _explained(group):
        dist.broadcast(values, dist.get_global_rank(group, 0), group=group)


def as_whole(local: Tensor, group: Group) -> Tensor:
    """Return the sum of the parts of all processes, with a gradient for each that averages to it.

    Wrappers such as `DistributedDataParallel` average gradients over the processes.
    """
    whole = add_up(local, group)
    scale = dist.get_world_size(group)
    result: Tensor = _Whole.apply(local, whole, scale)
    return result


class _Whole(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, local: Tensor, whole: Tensor, scale: int) -> Tensor:  # noqa: ARG004
        ctx.scale = scale
        return whole.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return gradient * ctx.scale, None, None


@contextmanager
def _explained(group: Group) -> Iterator[None]:
    """Say what it means if another process cannot be reached."""
    try:
        yield
    except (RuntimeError, ValueError) as error:
        raise RuntimeError(
            f"losses cannot be exchanged among the {dist.get_world_size(group)} processes: "
            "another one has ended, did not answer in time, or had losses or weights of another "
            "kind. Start all processes again from the last checkpoint; each has to call the "
            "criterion and RankTracker.step() equally often. "
            f"The message of torch.distributed: {str(error).splitlines()[0]}"
        ) from error
