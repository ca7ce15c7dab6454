"""A table of results read by one parameter: which cells belong together, the lowest of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sorr._typing import FloatArray

__all__ = ["Curve", "is_number", "place", "read_results", "same"]


class Curve(NamedTuple):
    """The lowest error at each value of a parameter, and what to compare it with."""

    values: list[Any]
    error: FloatArray
    spread: FloatArray | None
    average: float | None
    chosen: tuple[Any, float] | None


def read_results(
    results: Mapping[str, Any],
    parameter: str,
    fixed: Mapping[str, Any],
    best: Mapping[str, Any] | None,
) -> Curve:
    """Return the lowest error at each value of a parameter, the others fixed or free."""
    grid = {name[6:]: list(column) for name, column in results.items() if name[:6] == "param_"}
    if parameter not in grid or "mean_test_error" not in results:
        raise ValueError(
            f"the results hold {', '.join(map(repr, results))}; needed 'param_{parameter}' and "
            "'mean_test_error', as in cv_results_ of a RankedRangeClassifierCV"
        )
    if parameter in fixed:
        raise ValueError(
            f"{parameter!r} is to be drawn, and is in fixed={fixed!r}; needed one or the other"
        )
    error = np.asarray(results["mean_test_error"], dtype=np.float64)
    rows = _matching(grid, fixed, len(error))
    lowest: dict[Any, int] = {}
    for i in rows:
        key = same(grid[parameter][i])
        if not np.isnan(error[i]) and (key not in lowest or error[i] < error[lowest[key]]):
            lowest[key] = i
    if len(lowest) < 2:
        where = f" at {fixed}" if fixed else ""
        raise ValueError(
            f"there is no grid over {parameter}: values of it with an error{where}: "
            f"{len(lowest)}; a curve needs two or more: search over several values of {parameter}"
        )
    cells = list(lowest.values())
    spread = results.get("std_test_error")
    return Curve(
        [grid[parameter][i] for i in cells],
        error[cells],
        None if spread is None else np.asarray(spread, dtype=np.float64)[cells],
        _average(grid, error, fixed),
        _chosen(grid, error, rows, parameter, best),
    )


def same(value: Any) -> Any:
    """Return the value in a form that is equal for equal numbers, and hashable."""
    if is_number(value):
        return float(value)
    return value if value is None else str(value)


def _matching(grid: Mapping[str, list[Any]], fixed: Mapping[str, Any], n_cells: int) -> list[int]:
    """Return which cells have the fixed values."""
    rows = list(range(n_cells))
    for name, value in fixed.items():
        if name not in grid:
            raise ValueError(f"fixed names {name!r}; the grid is over {', '.join(grid)}")
        rows = [i for i in rows if same(grid[name][i]) == same(value)]
        if not rows:
            there = ", ".join(dict.fromkeys(map(str, grid[name])))
            raise ValueError(f"fixed {name}={value!r} is not in the grid; there are {there}")
    return rows


def _average(
    grid: Mapping[str, list[Any]], error: FloatArray, fixed: Mapping[str, Any]
) -> float | None:
    """Return the error of the average loss, the lowest over C unless that is fixed."""
    others = {name: value for name, value in fixed.items() if name not in ("m", "k")}
    if "m" not in grid or "k" not in grid:
        return None
    rows = _matching(grid, others, len(error))
    errors = error[[i for i in rows if _is_average(grid["m"][i], grid["k"][i])]]
    return None if np.isnan(errors).all() else float(np.nanmin(errors))


def _is_average(m: Any, k: Any) -> bool:
    return k is None and same(m) == 0.0


def _chosen(
    grid: Mapping[str, list[Any]],
    error: FloatArray,
    rows: list[int],
    parameter: str,
    best: Mapping[str, Any] | None,
) -> tuple[Any, float] | None:
    """Return the value that was chosen and its error, if that cell is one of these."""
    if best is None or parameter not in best:
        return None
    wanted = {name: same(best[name]) for name in grid if name in best}
    for i in rows:
        is_it = all(same(grid[name][i]) == value for name, value in wanted.items())
        if is_it and not np.isnan(error[i]):
            return best[parameter], float(error[i])
    return None


def place(
    values: Sequence[Any], n_samples: int | None = None
) -> tuple[FloatArray, list[str] | None]:
    """Return where ranks lie on an axis, and names for them where they have no common unit.

    Fractions are shares of the rows, and None is all of them. Counts among fractions become
    shares where the number of rows is known. Among counts, None is drawn past the largest.
    """
    numbers = [float(value) for value in values if is_number(value)]
    n_all = sum(value is None for value in values)
    fractions = [0 < number < 1 for number in numbers if number > 0]
    is_mixed = any(fractions) and not all(fractions)
    if len(numbers) + n_all < len(values) or (is_mixed and n_samples is None):
        names = ["all" if value is None else str(value) for value in values]
        return np.arange(len(values), dtype=np.float64), names
    if any(fractions) or not numbers:
        last, unit = 1.0, float(n_samples or 1)
    else:  # past the largest count by as much as the counts are apart
        step = np.ptp(numbers) / max(len(numbers) - 1, 1)
        last, unit = max(numbers) + (float(step) or 1.0), 1.0
    return np.array([last if v is None else v if v < 1 else v / unit for v in values]), None


def is_number(value: object) -> bool:
    """Return whether a value is a number; a bool is none."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
