"""Labels of the judge's own kind: drawn from probabilities, and then wrong at random."""

import numpy as np
from scipy.special import softmax


def probabilities(n, K=2, scale=4.0, seed=0):
    """Return the true probabilities of n rows: normal scores, wider ones overlap less."""
    rng = np.random.default_rng(seed)
    return softmax(scale * rng.normal(size=(n, K)) / np.sqrt(2), axis=1)


def draw(P, seed=0):
    """Return a class for each row, drawn from its probabilities."""
    at = np.random.default_rng(seed + 1000).random(len(P))
    return np.minimum((at[:, None] > np.cumsum(P, axis=1)).sum(axis=1), P.shape[1] - 1)


def spoil(y, rates, seed=0):
    """Return labels, of each class as many wrong as its row of the rates says, on average."""
    chances = np.asarray(rates)[y]
    return draw(chances, seed + 2000)


def symmetric(K, rate):
    """Return rates at which a label becomes any other with the same probability."""
    rates = np.full((K, K), rate / (K - 1))
    np.fill_diagonal(rates, 1 - rate)
    return rates


def one_class(K, rate, source=1, target=0):
    """Return rates at which only labels of one class become another."""
    rates = np.eye(K)
    rates[source, [source, target]] = 1 - rate, rate
    return rates


def labelled(n, K=2, rate=0.05, scale=4.0, seed=0, rates=None):
    """Return probabilities, labels, and which of these are wrong."""
    P = probabilities(n, K, scale, seed)
    truth = draw(P, seed)
    y = spoil(truth, symmetric(K, rate) if rates is None else rates, seed)
    return P, y, y != truth
