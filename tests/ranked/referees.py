"""Slow and obvious: what a ranked range is, straight from its definition."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations

import numpy as np


def kept(values, m, k):
    """Sort, then cut."""
    return sorted(values, reverse=True)[m:k]


def top_sum_by_enumeration(values, k):
    """Return the largest sum of any k values."""
    return max(sum(subset) for subset in combinations(values, k))


def range_sum_by_enumeration(values, m, k):
    """Return the smallest top sum of k - m values left by any m that are taken away."""
    rows = range(len(values))
    return min(
        top_sum_by_enumeration([values[i] for i in rows if i not in dropped], k - m)
        for dropped in combinations(rows, m)
    )


def weights_by_tie_breaks(values, m, k):
    """Average the indicator of ranks m + 1 to k over every order that sorts the values."""
    orders = [
        order
        for order in permutations(range(len(values)))
        if all(values[i] >= values[j] for i, j in pairwise(order))
    ]
    total = np.zeros(len(values))
    for order in orders:
        total[list(order[m:k])] += 1
    return total / len(orders)


def segments(values, weight, m, k):
    """Lay the values end to end; return how much of each lies between mass m and mass k."""
    shares = np.zeros(len(values))
    start = 0.0
    for i in sorted(range(len(values)), key=lambda i: -values[i]):
        end = start + weight[i]
        shares[i] = max(min(end, k) - max(start, m), 0.0)
        start = end
    return shares
