"""The ranked range: which ranks to keep, what they add up to, how much each value counts.

Values are ranked along the last axis; the largest has rank 1. Everything else in `sorr` builds on
these functions.
"""

from sorr.ranked.bounds import Mass, RankedRange
from sorr.ranked.reduce import (
    Ranking,
    Thresholds,
    average_ranked_range,
    kth_largest,
    ranked_range_weights,
    share_ties,
    sum_ranked_range,
    sums_below,
    thresholds,
    top_sum,
)
from sorr.ranked.variational import truncate, variational_top_sum

__all__ = [
    "Mass",
    "RankedRange",
    "Ranking",
    "Thresholds",
    "average_ranked_range",
    "kth_largest",
    "ranked_range_weights",
    "share_ties",
    "sum_ranked_range",
    "sums_below",
    "thresholds",
    "top_sum",
    "truncate",
    "variational_top_sum",
]
