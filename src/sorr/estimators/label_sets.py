"""Sets of labels as users give them, as an indicator with a column for each label."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_array, column_or_1d

from sorr.estimators.targets import classes_of
from sorr.losses.kinds import one_hot

__all__ = ["Kind", "Labels", "indicator_like", "labels_of"]

Kind: TypeAlias = Literal["multiclass", "indicator", "sparse", "sets"]
Indicator: TypeAlias = npt.NDArray[np.bool_]
_COLLECTIONS = (list, tuple, set, frozenset, np.ndarray)  # what the labels of a row may be


@dataclass(frozen=True)
class Labels:
    """The labels of each row."""

    indicator: Indicator
    """Of shape (n_samples, n_labels)."""
    classes: npt.NDArray[Any]
    """The names of the columns."""
    kind: Kind
    """What was given: one class for each row, an indicator, a sparse one, or sets."""

    @property
    def index(self) -> npt.NDArray[np.intp]:
        """The column of each row's class, where each row has one."""
        return np.asarray(self.indicator.argmax(axis=1))

    def take(self, places: npt.NDArray[np.intp] | None) -> Labels:
        """Return those of some rows: labels are theirs only, unless they are given as columns."""
        if places is None:
            return self
        indicator, classes = self.indicator[places], self.classes
        if self.kind in ("multiclass", "sets"):
            is_used = indicator.any(axis=0)
            indicator, classes = indicator[:, is_used], classes[is_used]
            _check_number(classes, self.kind)
        return Labels(indicator, classes, self.kind)


def labels_of(y: Any) -> Labels:
    """Return the labels of each row, whatever form they are given in.

    Parameters
    ----------
    y : array-like, frame, sparse matrix or list of sets
        One class for each row; or an indicator of shape (n_samples, n_labels) that holds 0 and 1
        only, dense or sparse, whose columns are the labels; or for each row a list, tuple or set
        of its labels, ints or strings, which may be empty. Lists or tuples of the same length, two
        at least, that hold nothing but 0 and 1 are the rows of an indicator.

    Returns
    -------
    Labels
    """
    if sparse.issparse(y):
        indicator = _from_sparse(y)
        return Labels(indicator, np.arange(indicator.shape[1]), "sparse")
    rows = _as_rows(y)
    if rows is not None and not _is_indicator(rows):
        return _from_sets(rows)
    array = _as_array(y) if rows is None else np.array([list(row) for row in rows])
    if array.ndim == 2 and array.shape[1] != 1:
        indicator = _from_dense(array)
        names = _columns(y)
        return Labels(
            indicator, np.arange(indicator.shape[1]) if names is None else names, "indicator"
        )
    classes, index = classes_of(_as_vector(array))
    return Labels(one_hot(index, len(classes)), classes, "multiclass")


def indicator_like(y: Any, classes: npt.NDArray[Any], kind: Kind) -> Indicator:
    """Return the indicator of the labels of new rows, in the columns of a fit.

    Parameters
    ----------
    y : array-like, frame, sparse matrix or list of sets
        One class for each row, if that is what the fit was given; else sets of labels in any form.
    classes : ndarray of shape (n_labels,)
        The labels of the fit.
    kind : {"multiclass", "indicator", "sparse", "sets"}
        What the fit was given.

    Returns
    -------
    ndarray of bool of shape (n_samples, n_labels)
    """
    rows = None if sparse.issparse(y) else _as_rows(y)
    if kind == "multiclass":
        if sparse.issparse(y) or rows is not None:
            raise ValueError(
                "y holds sets of labels, and the fit was given one class for each row; needed one "
                "class for each row here too"
            )
        return one_hot(_places(_as_vector(_as_array(y)).tolist(), classes), len(classes))
    if rows is not None and (kind == "sets" or not _is_indicator(rows)):
        return _spread([_as_set(row, i) for i, row in enumerate(rows)], classes)
    if sparse.issparse(y):
        indicator = _from_sparse(y)
    else:
        names = _columns(y)
        is_named = names is not None and kind != "sparse"  # whose fit knew columns by place only
        if names is not None and is_named and names.tolist() != classes.tolist():
            raise ValueError(
                f"y has the columns {_list(names)}; needed those of the fit, {_list(classes)}, in "
                "that order: an array has no names of columns, and is taken by place"
            )
        array = _as_array(y) if rows is None else np.array([list(row) for row in rows])
        if array.ndim != 2:
            raise ValueError(
                f"y has shape {array.shape}, and the fit was given sets of labels; needed sets of "
                f"labels, or an indicator with {len(classes)} columns"
            )
        indicator = _from_dense(array)
    if indicator.shape[1] != len(classes):
        raise ValueError(
            f"y has {indicator.shape[1]} columns, and the fit had {len(classes)} labels; needed "
            "one column for each label"
        )
    return indicator


# -- one class for each row, and indicators --------------------------------------------------------


def _as_array(y: Any) -> npt.NDArray[Any]:
    """Return y as an array of one or two dimensions."""
    array = np.asarray(y)
    if array.ndim == 0:
        raise TypeError(
            f"y is of type {type(y).__name__}; needed one class for each row, an indicator of "
            "shape (n_samples, n_labels), or a list with a set of labels for each row"
        )
    if array.ndim > 2 or array.size == 0:
        raise ValueError(
            f"y has shape {array.shape}; needed one class for each row, shape (n_samples,), or an "
            "indicator of shape (n_samples, n_labels)"
        )
    return array


def _as_vector(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return one class for each row; a column is taken for that, with scikit-learn's warning."""
    vector = column_or_1d(array, warn=True)
    check_array(vector, ensure_2d=False, dtype=None, input_name="y")  # refuses NaN and infinity
    return np.asarray(vector)


def _from_dense(array: npt.NDArray[Any]) -> Indicator:
    is_number = array.dtype.kind in "fiub" and bool(np.all((array == 0) | (array == 1)))
    if not (is_number or (array.dtype.kind == "O" and all(map(_is_zero_or_one, array.flat)))):
        _refuse_entries(array.flat)
    return array.astype(bool)


def _from_sparse(y: Any) -> Indicator:
    matrix = sparse.csr_array(y)
    if matrix.ndim != 2 or matrix.shape[0] == 0 or matrix.shape[1] < 2:
        raise ValueError(
            f"y is sparse and has shape {matrix.shape}; needed an indicator of shape (n_samples, "
            "n_labels) with two labels or more: y.toarray().ravel() is one class for each row"
        )
    if not matrix.has_canonical_format:
        matrix = matrix.copy()  # what was given stays as it is
        matrix.sum_duplicates()
    if matrix.dtype.kind not in "fiub" or not np.all((matrix.data == 0) | (matrix.data == 1)):
        _refuse_entries(matrix.data)
    return np.asarray(matrix.toarray()).astype(bool)


def _refuse_entries(entries: Iterable[Any]) -> None:
    """Say what an indicator holds that is neither 0 nor 1."""
    strange = next((e for e in entries if not _is_zero_or_one(e)), None)
    if strange is None:
        raise TypeError(
            "y is an indicator of numbers that are not real; needed 0 and 1: y != 0 marks the "
            "entries that are not 0"
        )
    if isinstance(strange, float | np.floating) and np.isnan(strange):
        raise ValueError("Input y contains NaN; needed 0 and 1 only: leave out rows not labelled")
    strange = strange.item() if isinstance(strange, np.generic) else strange
    raise ValueError(
        f"y is an indicator and holds {strange!r}; needed 0 and 1 only: y > 0 marks positive "
        "entries, and names of labels are given as a list with a set of them for each row"
    )


def _is_zero_or_one(entry: Any) -> bool:
    return isinstance(entry, bool | int | float | np.generic) and bool(entry in (0, 1))


def _columns(y: Any) -> npt.NDArray[Any] | None:
    """Return the names of the columns of a frame."""
    names = getattr(y, "columns", None)
    if names is None:
        return None
    found = list(names)
    if len(set(found)) < len(found):
        twice = next(name for name in found if found.count(name) > 1)
        raise ValueError(
            f"y has the column {twice!r} more than once; needed a name of its own for each label"
        )
    return np.asarray(names)


# -- sets of labels --------------------------------------------------------------------------------


def _as_rows(y: Any) -> list[Any] | None:
    """Return the labels of each row, if it is collections that y holds."""
    if isinstance(y, np.ndarray) and (y.ndim != 1 or y.dtype.kind != "O"):
        return None
    if not (isinstance(y, list | tuple | np.ndarray) or hasattr(y, "to_list")):
        return None
    rows = y.to_list() if hasattr(y, "to_list") else list(y)  # of a column of a frame
    is_set = [isinstance(row, _COLLECTIONS) and getattr(row, "ndim", 1) > 0 for row in rows]
    if not any(is_set):
        return None
    if not all(is_set):
        some, other = rows[is_set.index(True)], rows[is_set.index(False)]
        raise ValueError(
            f"y holds {some!r} for one row and {other!r} for another; needed a set of labels for "
            f"each row, such as [{other!r}], or one class for each row"
        )
    return rows


def _is_indicator(rows: list[Any]) -> bool:
    """Tell whether rows are those of an indicator: as long as each other, of 0 and 1 only."""
    if any(isinstance(row, set | frozenset) for row in rows):
        return False
    n_labels = len(rows[0])
    return n_labels > 1 and all(
        len(row) == n_labels and all(_is_zero_or_one(e) for e in row) for row in rows
    )


def _from_sets(rows: list[Any]) -> Labels:
    sets = [_as_set(row, i) for i, row in enumerate(rows)]
    names = set().union(*sets)
    if len({isinstance(name, str) for name in names}) > 1:
        some = [next(n for n in names if isinstance(n, str) is is_str) for is_str in (False, True)]
        raise TypeError(
            f"y holds labels that are ints and labels that are strings, such as {some[0]!r} and "
            f"{some[1]!r}; needed one type for all labels"
        )
    classes = np.array(sorted(names))
    _check_number(classes)
    return Labels(_spread(sets, classes), classes, "sets")


def _as_set(row: Any, i: int) -> set[Any]:
    """Return the labels of a row, each of them once."""
    labels = row.tolist() if isinstance(row, np.ndarray) else list(row)
    for label in labels:
        is_int = isinstance(label, Integral) and not isinstance(label, bool | np.bool_)
        if not (is_int or isinstance(label, str)):
            raise TypeError(
                f"row {i} of y holds {label!r}, of type {type(label).__name__}; needed labels that "
                "are ints or strings, or rows of equal length that hold 0 and 1 for an indicator"
            )
    found = {str(label) if isinstance(label, str) else int(label) for label in labels}
    if len(found) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise ValueError(
            f"row {i} of y holds the label {twice!r} more than once; needed each label once, or "
            "rows of equal length that hold 0 and 1 for an indicator"
        )
    return found


def _spread(sets: list[set[Any]], classes: npt.NDArray[Any]) -> Indicator:
    """Return the indicator of sets of known labels."""
    indicator = np.zeros((len(sets), len(classes)), dtype=bool)
    row = np.repeat(np.arange(len(sets)), [len(labels) for labels in sets])
    indicator[row, _places((label for labels in sets for label in labels), classes)] = True
    return indicator


def _places(labels: Iterable[Any], classes: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Return the column of each label, which has to be one of the fit."""
    column = {name: j for j, name in enumerate(classes.tolist())}
    try:
        return np.array([column[label] for label in labels], dtype=np.intp)
    except KeyError as error:
        raise ValueError(
            f"y holds {error.args[0]!r}, which is none of the labels of the fit; needed some of "
            f"{_list(classes)}"
        ) from None


def _check_number(classes: npt.NDArray[Any], kind: Kind = "sets") -> None:
    if len(classes) < 2:
        noun, nouns = ("class", "classes") if kind == "multiclass" else ("label", "labels")
        found = f"the {noun} {classes.tolist()[0]!r} only" if len(classes) else f"no {noun} at all"
        raise ValueError(
            f"y holds {found} in the rows that count; needed two {nouns} or more, since they are "
            "ranked against each other"
        )


def _list(names: npt.NDArray[Any]) -> str:
    shown = ", ".join(map(repr, names.tolist()[:10]))
    return shown if len(names) <= 10 else f"{shown} and {len(names) - 10} more"
