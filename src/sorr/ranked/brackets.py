"""Guesses, from a sample, of the values at both ends of a range in a long row."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sorr._typing import FloatArray, Weight
from sorr.ranked.types import Ends

__all__ = ["Brackets", "enclose", "sample_of"]

_SIGMAS = 2.5  # about one row in a hundred then has an end outside of its bracket


class Bracket(NamedTuple):
    """Two values which should enclose the value at a rank."""

    low: float
    high: float


class Brackets(NamedTuple):
    """What encloses the two ends of a range; None for an end that cuts nothing off."""

    upper: Bracket | None
    lower: Bracket | None

    @property
    def overlap(self) -> bool:
        """Whether no value can be told to lie between the two ends."""
        upper, lower = self
        return upper is not None and lower is not None and upper.low <= lower.high


def sample_of(values: FloatArray) -> slice:
    """Pick rows at even distances: few enough to sort, enough to leave little undecided."""
    return slice(None, None, len(values) // int(2 * len(values) ** (2 / 3)) | 1)


def enclose(values: FloatArray, ends: Ends, weight: Weight | None) -> tuple[Brackets, FloatArray]:
    """Bracket the values at both ends of the range; return the sample that was looked at, too."""
    some = sample_of(values)
    sample = values[some].copy()
    if weight is None:
        total = size = float(len(sample))
        scale = total / len(values)
        negative = -sample

        def value_at(mass: float) -> float:
            negative.partition(int(mass))
            return -float(negative[int(mass)])

    else:
        # A row that alone outweighs the distance between two sampled rows is sampled anyway.
        heavy = weight > weight.mean() * some.step
        light = np.where(heavy[some], 0.0, weight[some]) * some.step
        looked_at = np.concatenate([sample, values[heavy]])
        masses = np.concatenate([light, weight[heavy]])
        order = np.argsort(-looked_at)
        reached = np.cumsum(masses[order])
        total = float(reached[-1])
        scale = total / float(weight.sum())
        light = light / max(float(light.max()), np.finfo(np.float64).tiny)
        squares = float(light @ light)
        size = max(1.0, float(light.sum()) ** 2 / squares) if squares > 0 else 1.0

        def value_at(mass: float) -> float:
            rank = int(np.searchsorted(reached, mass))
            return float(looked_at[order[min(rank, len(order) - 1)]])

    def bracket(end: float) -> Bracket | None:
        mass = end * scale
        if not 0 < mass < total:
            return None
        spread = _SIGMAS * (math.sqrt(mass * (total - mass) / size) + total / size)
        return Bracket(
            low=value_at(mass + spread) if mass + spread < total else -math.inf,
            high=value_at(mass - spread) if mass - spread > 0 else math.inf,
        )

    return Brackets(bracket(ends.m), bracket(ends.k)), sample
