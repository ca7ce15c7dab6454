"""The ranked range: which ranks to keep, what they add up to, how much each value counts.

Values along the last axis are ranked from the largest, rank 1, down. Everything else in `sorr`
rests on the functions of this room.
"""

from sorr.ranked.bounds import Mass, RankedRange
from sorr.ranked.reduce import (
    Thresholds,
    average_ranked_range,
    kth_largest,
    ranked_range_weights,
    sum_ranked_range,
    thresholds,
    top_sum,
)
from sorr.ranked.variational import truncate, variational_top_sum

__all__ = [
    "Mass",
    "RankedRange",
    "Thresholds",
    "average_ranked_range",
    "kth_largest",
    "ranked_range_weights",
    "sum_ranked_range",
    "thresholds",
    "top_sum",
    "truncate",
    "variational_top_sum",
]
