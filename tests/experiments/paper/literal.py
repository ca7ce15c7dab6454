"""A referee: top-k multi-label accuracy as the paper words it, row by row."""

import numpy as np


def literal_accuracy(Y, scores, k):
    """Return how often the k best labels are all true, or hold all that are."""
    right = 0
    for y, row in zip(Y, scores, strict=True):
        chosen, true = set(np.argsort(row)[-k:].tolist()), set(np.flatnonzero(y).tolist())
        right += chosen <= true or true <= chosen
    return right / len(Y)
