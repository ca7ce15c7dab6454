"""Arguments of this room, checked: rows of values, the ranks to keep, weights that are masses."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray, Weight
from sorr.ranked.bounds import RankedRange
from sorr.ranked.narrow import is_long
from sorr.ranked.types import Ends

__all__ = ["as_values", "map_rows", "plain", "refuse_nan"]

Kernel: TypeAlias = Callable[[FloatArray, Ends, Weight | None], FloatArray]


def map_rows(
    kernel: Kernel,
    values: npt.ArrayLike,
    m: int | float,
    k: int | float | None,
    sample_weight: npt.ArrayLike | None,
    *,
    finds_nan: bool = False,
) -> FloatArray:
    """Check the arguments, express the ranks in rows or in mass, and apply `kernel` to every row.

    The kernel takes short rows all at once, under one shared weight. Long rows, and rows with
    weights of their own (hence with a total of their own), are passed one by one. With
    `finds_nan`, the kernel looks for NaN in a single long row by itself.
    """
    array = as_values(values)
    ranks = RankedRange(m, k)
    weight = None if sample_weight is None else _as_weight(sample_weight, array.shape)
    if array.ndim > 1 or not (finds_nan and is_long(array, weight)):
        refuse_nan(array)
    shared = weight is None or weight.ndim == 1
    if array.ndim == 1 or (shared and not is_long(array, weight)):
        return _apply(kernel, array, ranks, weight)
    rows = array.reshape(-1, array.shape[-1])
    weights = [weight] * len(rows) if weight is None or shared else weight.reshape(rows.shape)
    results = [_apply(kernel, row, ranks, mass) for row, mass in zip(rows, weights, strict=True)]
    return np.reshape(results, (*array.shape[:-1], *results[0].shape))


def _apply(
    kernel: Kernel, values: FloatArray, ranks: RankedRange, weight: Weight | None
) -> FloatArray:
    ranks = ranks.resolve(values.shape[-1] if weight is None else _total(weight))
    m, k = ranks.m, ranks.k
    assert k is not None
    if weight is None and (m % 1 or k % 1):
        weight = np.ones(values.shape[-1])  # parts of a value are a matter of mass
    if weight is None:
        return kernel(values, Ends(int(m), int(k)), None)
    return kernel(values, Ends.of_mass(m, k, values.shape[-1]), weight)


def plain(result: FloatArray) -> float | FloatArray:
    """Return what one row gives as a plain number."""
    return float(result) if result.ndim == 0 else result


def as_values(values: npt.ArrayLike) -> FloatArray:
    """Return `values` as float32 (if they are) or float64, refusing empty rows."""
    array = np.asarray(values)
    if array.dtype != np.float32:
        if array.dtype.kind not in "fiub":
            raise TypeError(f"values have dtype {array.dtype}; needed real numbers")
        array = array.astype(np.float64, copy=False)
    if array.ndim == 0 or array.size == 0:
        raise ValueError(
            f"values have shape {array.shape}; needed at least one value along the last axis"
        )
    return array


def refuse_nan(values: FloatArray) -> None:
    """Raise an error that tells where the first NaN is."""
    if np.isnan(values.min()):
        _refuse("values are NaN", np.isnan(values), "drop or repair them first")


def _as_weight(sample_weight: npt.ArrayLike, shape: tuple[int, ...]) -> Weight:
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape not in (shape, shape[-1:]):
        raise ValueError(
            f"sample_weight has shape {weight.shape}; needed {shape[-1:]}, one weight for each "
            f"value along the last axis, or the shape of the values, {shape}"
        )
    if not weight.min() >= 0 or weight.max() == np.inf:  # the negation also catches NaN
        wrong = ~(weight >= 0) | np.isinf(weight)
        _refuse("weights are NaN, infinite or negative", wrong, "a weight is a mass, such as 2.5")
    return weight


def _total(weight: Weight) -> float:
    with np.errstate(over="ignore"):
        total = float(weight.sum())
    if total == 0:
        raise ValueError(f"all {weight.size} weights are zero; needed at least one above zero")
    if total == np.inf:
        raise ValueError("the weights add up to infinity; needed a finite total: scale them down")
    return total


def _refuse(what: str, wrong: npt.NDArray[np.bool_], way_out: str) -> None:
    first = np.unravel_index(int(wrong.argmax()), wrong.shape)
    position = ", ".join(str(int(index)) for index in first)
    raise ValueError(
        f"{np.count_nonzero(wrong)} of {wrong.size} {what}, the first at index {position}; "
        f"{way_out}"
    )
