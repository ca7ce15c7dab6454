"""From held-out probabilities to a judgement, whatever model they come from."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sorr._checks import as_classes, as_masses, as_vector, class_index
from sorr._typing import FloatArray, IntArray
from sorr.share.constants import (
    FEWEST_ROWS,
    FOLDS,
    LARGEST_FILL,
    LEAST_KNOWLEDGE,
    SMALLEST,
    TOO_GOOD,
)
from sorr.share.models import as_log_probabilities
from sorr.share.posterior import DIGITS, Posterior, posterior
from sorr.share.verdict import Judgement, conclude

_TOLERANCE = 1e-3  # of the sum of the probabilities of a row
_FIRST = 100  # rows that are looked at before all are


def judge_labels(
    probabilities: Any,
    y: npt.ArrayLike,
    *,
    classes: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    known: Mapping[int, Any] | npt.ArrayLike | None = None,
    scores: bool = False,
) -> Judgement:
    """Judge labels from held-out probabilities of any model.

    Parameters
    ----------
    probabilities : array-like or frame of shape (n_samples, n_classes)
        The probability of each class, by a model that has not seen the row: as
        `held_out_probabilities` or ``cross_val_predict(method="predict_proba")`` make them. The
        columns of a frame are matched by their names, if these are the classes.
    y : array-like of shape (n_samples,)
        Labels of any type.
    classes : array-like of shape (n_classes,), optional
        The label of each column. The default is the sorted labels.
    sample_weight : array-like of shape (n_samples,), optional
        The mass of each row: a row of weight two is two copies of it.
    known : mapping or array-like of shape (n_samples,), optional
        What somebody has checked: the right label by row number, or one entry for each row, with
        None or NaN where nobody looked. From 20 rows on, they tell how many rows are wrong that
        are only worth a look.
    scores : bool, default=False
        Whether decision values are given instead: one column for each class, or one for two
        classes.

    Returns
    -------
    Judgement

    Notes
    -----
    Wrong labels show where the model is certain and some labels contradict it all the same. Where
    classes overlap, or errors sit at the boundary, nothing in the probabilities tells them apart
    from right ones. So counts are lower limits, and no evidence does not mean that all labels are
    right.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=1000)
    >>> p = 1 / (1 + np.exp(-8 * x))
    >>> y = np.where(rng.random(1000) < p, "yes", "no")
    >>> y[:50] = np.where(y[:50] == "yes", "no", "yes")
    >>> judgement = judge_labels(np.column_stack([1 - p, p]), y)
    >>> judgement.verdict_, bool(judgement.flagged_[:50].mean() > 0.5)
    ('strong', True)
    """
    labels = as_vector("y", _as_array(y))
    names, columns = _named_columns(probabilities)
    values = as_log_probabilities(_moderate(columns)) if scores else _as_probabilities(columns)
    known_classes, index = _match_classes(labels, classes, names, values.shape[1])
    if classes is None and names is not None and set(names) == set(map(str, known_classes)):
        order = [names.index(name) for name in map(str, known_classes.tolist())]
        values = values[:, order]
    if len(values) != len(labels):
        raise ValueError(
            f"probabilities has {len(values):,} rows, y {len(labels):,}; needed one row for each "
            "label"
        )
    weight = as_masses(sample_weight, len(labels))
    if not scores:
        _warn_of_probabilities(values, index)
        values = as_log(values)
    return judge(values, index, known_classes, weight, known=known)


def judge(
    L: FloatArray,
    index: IntArray,
    classes: npt.NDArray[Any],
    weight: FloatArray | None = None,
    *,
    known: Any = None,
    model: str = "the model",
) -> Judgement:
    """Return the judgement from log probabilities that are checked already."""
    n = len(L)
    mass = np.ones(n) if weight is None else weight
    right = as_right_labels(known, classes, n)
    is_enough = mass.sum() >= FEWEST_ROWS and len(np.unique(index[mass > 0])) > 1
    post = posterior(L, index, mass, right) if is_enough else Posterior.unknown(np.exp(L))
    can_judge = post.knows >= LEAST_KNOWLEDGE
    evidence = post.evidence if can_judge else -np.inf
    log_odds = post.log_odds if can_judge else np.full(n, -np.inf)
    if can_judge:
        for part in _parts_of_known(L, index, right):
            taught = right.copy()
            taught[part] = -1
            log_odds[part] = posterior(L, index, mass, taught).log_odds[part]
    rows, others = np.arange(n), L.copy()
    others[rows, index] = -np.inf
    suggested = others.argmax(axis=1)
    return conclude(
        Judgement(
            classes_=classes,
            suggested_=classes[suggested],
            suggested_probability_=post.calibrated[rows, suggested],
            given_probability_=post.calibrated[rows, index],
            rates_=post.rates,
            evidence_=evidence,
            models_=((model, evidence),),
            index_=index,
            mass_=mass,
            right_=right,
            log_odds_=log_odds,
            spread_=post.spread,
            curve_=post.curve,
        )
    )


def _parts_of_known(L: FloatArray, index: IntArray, right: IntArray) -> list[IntArray]:
    """Return the known rows in parts: what is thought of a row, only other parts teach.

    Neither the order of rows and classes matters, nor whether copies are rows or weights.
    """
    known = np.flatnonzero(right >= 0)
    _, place = np.unique(np.round(L[known, index[known]], DIGITS), return_inverse=True)
    parts = [known[place % FOLDS == part] for part in range(FOLDS)]
    return [part for part in parts if len(part)]


def as_log(probabilities: FloatArray) -> FloatArray:
    """Return log probabilities; zeros become a number that rounding cannot tell from zero."""
    lowest = SMALLEST
    if (probabilities <= 0).any():
        lowest = min(0.5 * float(probabilities[probabilities > 0].min()), LARGEST_FILL)
        lowest = max(lowest, SMALLEST)  # half of the smallest number there is would be zero
    p = np.maximum(probabilities, lowest)
    return np.asarray(np.log(p / p.sum(axis=1, keepdims=True)))


# -- What is given ---------------------------------------------------------------------------------


def _as_array(y: Any) -> npt.NDArray[Any]:
    return np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)


def _named_columns(given: Any) -> tuple[list[str] | None, npt.NDArray[Any]]:
    """Return the names of columns, if there are any, and the columns."""
    names = None
    if hasattr(given, "columns"):
        names = [str(name) for name in given.columns]
        if names == [str(i) for i in range(len(names))]:
            names = None  # numbered, not named
    array = _as_array(given)
    try:
        array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"probabilities has entries of type {array.dtype}; needed numbers"
        ) from None
    if array.ndim not in (1, 2) or 0 in array.shape:
        raise ValueError(
            f"probabilities has shape {array.shape}; needed one row for each label and one column "
            "for each class"
        )
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array.reshape(len(array), -1)).all(axis=1))[0])
        raise ValueError(
            f"probabilities holds NaN or infinity, first in row {row}; needed a number for each "
            "row and class: leave out rows that were not scored, and their labels"
        )
    return names, array


def _moderate(scores: FloatArray) -> FloatArray:
    """Return scores that are no larger than log odds of probabilities; their unit is free."""
    if scores.ndim == 2 and scores.shape[1] > 1:
        scores = scores - scores.mean(axis=1, keepdims=True)
    most = max(float(np.abs(scores).max()), 1e-300)
    return np.asarray(scores * min(1.0, -np.log(SMALLEST) / most))


def _as_probabilities(array: FloatArray) -> FloatArray:
    if array.ndim == 1 or array.shape[1] == 1:
        raise ValueError(
            f"probabilities has shape {array.shape}; needed a column for each class: for two "
            "classes np.column_stack([1 - p, p]), or scores=True for decision values"
        )
    off = np.abs(array.sum(axis=1) - 1)
    if array.min() < 0 or off.max() > _TOLERANCE * array.shape[1]:
        row = int(off.argmax()) if array.min() >= 0 else int(array.min(axis=1).argmin())
        raise ValueError(
            f"probabilities of row {row} add up to {array[row].sum():.6g}, the smallest is "
            f"{array[row].min():.6g}; needed probabilities that add up to 1, or scores=True for "
            "decision values"
        )
    return array


def _match_classes(
    labels: npt.NDArray[Any], classes: Any, names: list[str] | None, n_columns: int
) -> tuple[npt.NDArray[Any], IntArray]:
    """Return the class of each column, and the column of each label."""
    if classes is None and names is not None:
        present = np.unique(labels)
        if set(map(str, present.tolist())) <= set(names):
            extra = [name for name in names if name not in set(map(str, present.tolist()))]
            found, index = as_classes("y", labels, None)
            if not extra:
                return found, index
            raise ValueError(
                f"probabilities has a column {extra[0]!r}, but no row has that label; pass "
                "classes, or leave the column out"
            )
    found, index = as_classes("y", labels, classes)
    if len(found) < 2:
        raise ValueError(
            f"y holds one class only, {found.tolist()[0]!r}; needed two classes or more"
        )
    if len(found) != n_columns:
        raise ValueError(
            f"probabilities has {n_columns} columns for {len(found)} classes; needed one for each "
            "class, or classes=... with the label of each column"
        )
    return found, index


def as_right_labels(known: Any, classes: npt.NDArray[Any], n: int) -> IntArray:
    """Return the position of the right label of each row that is known, and -1 of others."""
    right = np.full(n, -1, dtype=np.intp)
    if known is None:
        return right
    if isinstance(known, Mapping):
        rows = list(known)
        if bad := [
            row for row in rows if not isinstance(row, int | np.integer) or not 0 <= row < n
        ]:
            raise ValueError(f"known names row {bad[0]!r}; needed row numbers from 0 to {n - 1}")
        labels = np.array([known[row] for row in rows], dtype=object)
    else:
        given = known.to_numpy() if hasattr(known, "to_numpy") else known
        entries = np.array(given, dtype=object)
        if entries.shape != (n,):
            raise ValueError(
                f"known has shape {entries.shape}; needed one entry for each of the {n} rows, "
                "missing where nobody looked, or a mapping from row number to right label"
            )
        rows = [i for i, entry in enumerate(entries.tolist()) if not _is_missing(entry)]
        labels = entries[rows]
    if len(rows):
        right[np.array(rows, dtype=np.intp)] = class_index(labels, classes, "known", "a class")
    return right


def _is_missing(entry: Any) -> bool:
    try:
        return entry is None or bool(entry != entry)
    except TypeError:  # pandas.NA has no truth value
        return True


def _is_rounded(probabilities: FloatArray, decimals: int) -> bool:
    """Tell whether no probability has more decimals than that."""
    parts = (part * 10**decimals for part in (probabilities[:_FIRST], probabilities))
    return all(np.allclose(part, np.rint(part), rtol=0, atol=1e-7) for part in parts)


def _are_largest(probabilities: FloatArray, index: IntArray) -> bool:
    """Tell whether all labels have the highest probability of their rows."""
    rows, others = np.arange(len(index)), probabilities.copy()
    others[rows, index] = -np.inf
    return bool((probabilities[rows, index] > others.max(axis=1)).all())


def _warn_of_probabilities(probabilities: FloatArray, index: IntArray) -> None:
    """Warn where probabilities are rounded, or as good as only those of known rows can be."""
    if _is_rounded(probabilities, 2):
        warnings.warn(
            "The probabilities are rounded to two decimals or less, which hides wrong labels; "
            "needed three decimals or more.",
            stacklevel=3,
        )
    elif _is_rounded(probabilities, 3) and (sure := (probabilities >= 1).any(axis=1).mean()) > 0.5:
        warnings.warn(
            f"The probabilities have three decimals or less, and {sure:.0%} of the rows have one "
            "of 1. How sure the model is there cannot be told, which hides wrong labels; needed "
            "more decimals, or a model whose probabilities are not shares of a few votes.",
            stacklevel=3,
        )
    n, first = len(index), slice(_FIRST)
    are_best = n >= TOO_GOOD and _are_largest(probabilities[first], index[first])
    if are_best and _are_largest(probabilities, index):
        warnings.warn(
            f"All {n:,} labels have the highest probability of their row. If the model was "
            "trained on these rows, its probabilities say nothing about wrong labels: use "
            "held_out_probabilities.",
            stacklevel=3,
        )
