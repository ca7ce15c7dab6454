"""Targets with labels as scikit-learn has them, turned into an indicator of all labels."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_array, column_or_1d

from sorr._checks import as_indicator, class_index, classes_of
from sorr._typing import BoolArray
from sorr.losses import one_hot

Kind: TypeAlias = Literal["multiclass", "indicator", "sparse"]

_SETS_GIVEN = (
    "y holds a collection of labels for each row; needed an indicator of shape (n_samples, "
    "n_labels), or one class for each row: MultiLabelBinarizer().fit_transform(y) of scikit-learn "
    "makes an indicator"
)


@dataclass(frozen=True)
class Labels:
    """The labels of each row."""

    indicator: BoolArray
    """An array of shape (n_samples, n_labels)."""
    classes: npt.NDArray[Any]
    """The names of the columns."""
    kind: Kind
    """The form of the target: one class for each row, an indicator, or a sparse one."""

    @property
    def index(self) -> npt.NDArray[np.intp]:
        """The column of each row's class, if each row has one class."""
        return np.asarray(self.indicator.argmax(axis=1))

    def take(self, places: npt.NDArray[np.intp] | None) -> Labels:
        """Return the labels of some rows. An indicator keeps all columns, unused classes go."""
        if places is None:
            return self
        indicator, classes = self.indicator[places], self.classes
        if self.kind == "multiclass":
            is_used = indicator.any(axis=0)
            indicator, classes = indicator[:, is_used], classes[is_used]
            if len(classes) < 2:
                raise ValueError(
                    f"y holds only the class {classes.tolist()[0]!r} in rows of positive weight; "
                    "needed two classes or more, since they are ranked against each other"
                )
        return Labels(indicator, classes, self.kind)


def labels_of(y: Any) -> Labels:
    """Return the labels of each row.

    The target is one class for each row, or an indicator of shape (n_samples, n_labels), dense or
    sparse, with a column of 0 and 1 for each label.
    """
    if sparse.issparse(y):
        indicator = _from_sparse(y)
        return Labels(indicator, np.arange(indicator.shape[1]), "sparse")
    array = _as_array(y)
    if _is_wide(array):
        names = _columns(y)
        classes = np.arange(array.shape[1]) if names is None else names
        return Labels(as_indicator("y", array), classes, "indicator")
    classes, index = classes_of(_as_vector(array))
    return Labels(one_hot(index, len(classes)), classes, "multiclass")


def indicator_like(y: Any, classes: npt.NDArray[Any], kind: Kind) -> BoolArray:
    """Return the indicator of the labels of new rows, in the columns of a fit.

    The target is one class for each row if the fit was given that, else an indicator, dense or
    sparse. `classes` and `kind` are those of the fit.
    """
    array = None if sparse.issparse(y) else _as_array(y)
    if kind == "multiclass":
        if array is None or _is_wide(array):
            raise ValueError(
                "y is an indicator, but the fit was given one class for each row; needed one class "
                "for each row"
            )
        return one_hot(class_index(_as_vector(array), classes), len(classes))
    if array is None:
        indicator = _from_sparse(y)
    else:
        names = _columns(y) if kind == "indicator" else None  # sparse matrices have no names
        if names is not None and names.tolist() != classes.tolist():
            raise ValueError(
                f"y has the columns {_list(names)}; needed those of the fit, {_list(classes)}, in "
                "that order, or an array without names"
            )
        if array.ndim != 2:
            raise ValueError(
                f"y has shape {array.shape}, but the fit was given an indicator; needed an "
                f"indicator with {len(classes)} columns"
            )
        indicator = as_indicator("y", array)
    if indicator.shape[1] != len(classes):
        raise ValueError(
            f"y has {indicator.shape[1]} columns, but the fit had {len(classes)} labels; needed "
            "one column for each label"
        )
    return indicator


def _as_array(y: Any) -> npt.NDArray[Any]:
    """Return y as an array of one or two dimensions."""
    try:
        array = np.asarray(y)
    except ValueError as error:  # lists of different lengths
        raise ValueError(_SETS_GIVEN) from error
    if array.ndim == 0:
        raise TypeError(
            f"y is of type {type(y).__name__}; needed one class for each row, or an indicator of "
            "shape (n_samples, n_labels)"
        )
    if array.ndim > 2 or array.size == 0:
        raise ValueError(
            f"y has shape {array.shape}; needed one class for each row, shape (n_samples,), or an "
            "indicator of shape (n_samples, n_labels)"
        )
    if array.ndim == 1 and array.dtype.kind == "O" and any(map(_is_collection, array)):
        raise ValueError(_SETS_GIVEN)
    return array


def _is_collection(entry: Any) -> bool:
    return isinstance(entry, Collection) and not isinstance(entry, str | bytes)


def _is_wide(array: npt.NDArray[Any]) -> bool:
    """Tell whether this is an indicator; a single column holds one class for each row."""
    return array.ndim == 2 and array.shape[1] != 1


def _as_vector(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return one class for each row. A column is accepted, with scikit-learn's warning."""
    vector = column_or_1d(array, warn=True)
    check_array(vector, ensure_2d=False, dtype=None, input_name="y")  # refuses NaN and infinity
    return np.asarray(vector)


def _from_sparse(y: Any) -> BoolArray:
    if y.ndim != 2 or y.shape[0] == 0 or y.shape[1] < 2:
        raise ValueError(
            f"y is sparse and has shape {y.shape}; needed an indicator of shape (n_samples, "
            "n_labels) with two labels or more: y.toarray().ravel() is one class for each row"
        )
    return np.asarray(as_indicator("y", y).toarray())


def _columns(y: Any) -> npt.NDArray[Any] | None:
    """Return the names of the columns of a frame, or None."""
    names = getattr(y, "columns", None)
    if names is None:
        return None
    columns = list(names)
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise ValueError(
            f"y has the column {twice!r} more than once; needed different names for the labels"
        )
    return np.asarray(names)


def _list(names: npt.NDArray[Any]) -> str:
    shown = ", ".join(map(repr, names.tolist()[:10]))
    return shown if len(names) <= 10 else f"{shown} and {len(names) - 10} more"
