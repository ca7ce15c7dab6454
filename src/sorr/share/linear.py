"""What a linear model should not learn from: wrong labels, and rows far from all others.

A forest on a bounded sample is the referee: where a line has the wrong shape, its misfit looks like
wrong labels, and a forest does not share that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sorr._typing import BoolArray, FloatArray, IntArray
from sorr.objectives import centre_and_spread
from sorr.share.constants import (
    FAR,
    FEWEST_ROWS,
    LARGEST_SHARE_OF_FAR,
    REFEREE_ROWS,
    SURE_OF_FAR,
    TREES_OF_REFEREE,
)
from sorr.share.held_out import LabelledRows
from sorr.share.judging import as_log, judge
from sorr.share.models import name_of, probabilities_of
from sorr.share.verdict import Judgement, droppable

_SAMPLE = 2000  # rows that medians are taken of
_NORMAL = 1.4826  # from the median absolute deviation to the standard deviation of a normal
_BLOCK = 1 << 18


class LinearJudgement(NamedTuple):
    """The judgement of labels, and the rows that a linear model should not learn from."""

    judgement: Judgement
    leverage: BoolArray
    """Rows far from all others that contradict them."""

    @property
    def dropped(self) -> BoolArray:
        """Rows that are flagged, and leverage outliers."""
        return droppable(self.judgement.flagged_ | self.leverage, self.judgement.index_)


def judge_linear(
    X: Any,
    index: IntArray,
    classes: npt.NDArray[Any],
    weight: FloatArray | None,
    *,
    seed: int,
    n_jobs: int | None = None,
) -> LinearJudgement:
    """Judge labels by logistic regression with a small forest, and find leverage outliers.

    Both are trained on at most 10,000 rows, and score all others. With fewer than 50 rows nothing
    is dropped.
    """
    n, K = len(index), len(classes)
    mass = np.ones(n) if weight is None else weight
    leverage = np.zeros(n, dtype=bool)
    if mass.sum() < FEWEST_ROWS:
        L = np.full((n, K), -np.log(K))
        return LinearJudgement(judge(L, index, classes, weight), leverage)
    leverage = find_leverage(X, index, mass, seed)
    near = np.flatnonzero(~leverage)
    rows = LabelledRows(
        X[near] if leverage.any() else X,
        classes[index[near]],
        index[near],
        classes,
        None if weight is None else weight[near],
        seed=seed,
        n_jobs=n_jobs,
        trees=TREES_OF_REFEREE,
    )
    P = np.empty((n, K))
    P[near] = rows.hold_out("auto", limit=REFEREE_ROWS)
    if leverage.any():
        size = min(len(near), REFEREE_ROWS)
        line = rows.fit("linear", np.random.default_rng(seed).permutation(len(near))[:size])
        P[leverage] = probabilities_of(line, X[leverage], classes)
    left = np.where(leverage, 0.0, mass)
    judgement = judge(as_log(P), index, classes, left, model=name_of("auto"))
    if judgement.can_judge and judgement.rare_class is not None:
        judgement = judgement.ask_for_clear()
    return LinearJudgement(judgement, leverage)


def find_leverage(X: Any, index: IntArray, mass: FloatArray, seed: int) -> npt.NDArray[np.bool_]:
    """Return which rows are leverage outliers.

    A row is *far* if its size, each feature in units of its robust spread, is three robust
    standard deviations above the median size. Far rows are dropped only if a fit to (some of)
    the others gives their label a probability below 1 % (with more than two classes, less): good
    leverage stays in. So does a class most of which would go.
    """
    n, K, rng = len(index), int(index.max()) + 1, np.random.default_rng(seed)
    nobody = np.zeros(n, dtype=bool)
    sizes = row_sizes(X, rng)
    middle = np.median(sizes)
    spread = _NORMAL * np.median(np.abs(sizes - middle))
    far = (sizes > middle + FAR * spread) & (mass > 0)
    near = np.flatnonzero(~far & (mass > 0))
    if not far.any() or far.mean() > LARGEST_SHARE_OF_FAR or spread == 0:
        return nobody
    if np.bincount(index[near], minlength=K).min() < 2:
        return nobody
    limit = max(2 * _SAMPLE, 20 * X.shape[1])
    if len(near) > limit:
        near = np.sort(rng.choice(near, limit, replace=False))
    classes = np.arange(K)
    some = LabelledRows(X[near], index[near], index[near], classes, mass[near], seed=seed)
    rows = np.flatnonzero(far)
    p = probabilities_of(some.fit("linear", np.arange(len(near))), X[rows], classes)
    contradicts = nobody.copy()
    contradicts[rows] = p[np.arange(len(rows)), index[rows]] < SURE_OF_FAR / K
    by_class = [np.bincount(index, part, K) for part in (mass * contradicts, mass)]
    return contradicts & ~(by_class[0] > 0.5 * by_class[1])[index]


def row_sizes(X: Any, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Return the norm of each row, its features centred and scaled robustly.

    The spread of a feature is 1.4826 MAD, or the 80 % quantile of the deviations if that is
    larger: of a binary feature the MAD alone is zero. Where both are zero it is the standard
    deviation. Sparse rows are never made dense.
    """
    n = X.shape[0]
    part = X if n <= _SAMPLE else X[np.sort(rng.choice(n, _SAMPLE, replace=False))]
    if sparse.issparse(X):
        return _sparse_sizes(X, *_sparse_centre(part))
    centre, spread = centre_and_spread(part)
    sizes = np.empty(n)
    step = max(1, _BLOCK // max(1, X.shape[1]))
    shift, factor = centre.astype(X.dtype), (1 / spread).astype(X.dtype)
    for start in range(0, n, step):
        block = (X[start : start + step] - shift) * factor
        sizes[start : start + step] = np.sqrt(np.einsum("ij,ij->i", block, block))
    return sizes


def _sparse_centre(part: Any) -> tuple[FloatArray, FloatArray]:
    """Return the same for sparse rows: a column that is mostly zero has median and MAD zero."""
    n, d = part.shape
    columns = sparse.csc_array(part)
    stored = np.diff(columns.indptr)
    sums = np.asarray(columns.sum(axis=0)).ravel()
    squares = np.asarray(columns.multiply(columns).sum(axis=0)).ravel()
    centre = np.zeros(d)
    spread = np.sqrt(np.maximum(squares / n - (sums / n) ** 2, 0.0))
    spread[spread == 0] = np.inf
    full = np.flatnonzero(stored >= 0.19 * n)  # the others have a zero 80 % quantile
    step = max(1, _BLOCK // n)
    for start in range(0, len(full), step):
        block = full[start : start + step]
        centre[block], spread[block] = centre_and_spread(columns[:, block].toarray())
    return centre, spread


def _sparse_sizes(X: Any, centre: FloatArray, spread: FloatArray) -> npt.NDArray[np.float64]:
    shift = centre / spread
    rows = sparse.csr_array(X)
    scaled = rows.data / spread[rows.indices]
    change = scaled * (scaled - 2 * shift[rows.indices])
    owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    squares = np.bincount(owner, change, rows.shape[0]) + shift @ shift
    return np.sqrt(np.maximum(squares, 0.0))
