"""The trees of a model as a few arrays for a file: small, and checked before they are used.

scikit-learn follows the numbers of a tree without a look at their bounds. So a tree that comes from
a file is made here from arrays, after a check that it is a tree.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.tree import ExtraTreeClassifier
from sklearn.tree._tree import Tree

from sorr._typing import BoolArray, FloatArray

Arrays = Mapping[str, npt.NDArray[Any]]
_LEAF = -2  # in place of a column
_MAX_BYTES = 2**32  # of all trees of a model, as scikit-learn holds them
_NO_CATEGORIES = np.zeros((0, 8), dtype=np.uint32)


class ModelError(ValueError):
    """A file is not a model of sorr, or a model cannot be written."""


def pack_trees(model: Any) -> None:
    """Replace the trees of a fitted forest, or of boosting, by arrays."""
    if isinstance(model, ExtraTreesClassifier):
        model.estimators_ = _pack_forest(model)
        del model.estimator  # what trees are made from: its constructor makes it again
        return
    model._predictors = _pack_boosting(model)  # noqa: SLF001 - there is no public way
    model._bin_mapper = copy.copy(model._bin_mapper)  # noqa: SLF001
    model._bin_mapper.bin_thresholds_ = []  # for training only  # noqa: SLF001
    model._bin_mapper.n_threads = 1  # noqa: SLF001
    model._bin_mapper.random_state = None  # noqa: SLF001


def unpack_trees(model: Any) -> None:
    """Replace the arrays by trees again, or refuse arrays that are no trees."""
    try:
        if isinstance(model, ExtraTreesClassifier):
            model.estimators_ = _unpack_forest(model, model.estimators_)
            model.n_classes_, model.n_outputs_ = len(model.classes_), 1
            model.estimator = ExtraTreeClassifier()
        else:
            model._predictors = _unpack_boosting(model, model._predictors)  # noqa: SLF001
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(
            f"holds trees that are damaged ({type(error).__name__}: {error}); needed a model file "
            "of sorr"
        ) from error


# -- Forests ---------------------------------------------------------------------------------------


def _pack_forest(forest: Any) -> dict[str, npt.NDArray[Any]]:
    states = [tree.tree_.__getstate__() for tree in forest.estimators_]
    nodes = np.concatenate([state["nodes"] for state in states])
    values = np.concatenate([state["values"][:, 0] for state in states])
    sizes = np.array([len(state["nodes"]) for state in states])
    is_leaf = nodes["left_child"] < 0
    own = np.arange(len(nodes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    of_leaves = values[is_leaf]
    rows, classes = np.nonzero(of_leaves)
    return {
        "sizes": sizes.astype(np.int32),
        "depths": np.array([state["max_depth"] for state in states], dtype=np.int32),
        "column": np.where(is_leaf, _LEAF, nodes["feature"]).astype(np.int32),
        "threshold": np.where(is_leaf, 0.0, _round_down(nodes["threshold"])).astype(np.float32),
        "left": np.where(is_leaf, 0, nodes["left_child"] - own).astype(np.int32),
        "right": np.where(is_leaf, 0, nodes["right_child"] - own).astype(np.int32),
        "missing_left": np.where(is_leaf, 0, nodes["missing_go_to_left"]).astype(np.uint8),
        "n_values": np.bincount(rows, minlength=len(of_leaves)).astype(np.uint8),
        "value_class": classes.astype(np.uint8),
        "value": of_leaves[rows, classes],
    }


def _round_down(thresholds: FloatArray) -> FloatArray:
    """Return the next smaller numbers of 32 bits.

    Trees see numbers of 32 bits. Such a number is at most a threshold exactly if it is at most the
    rounded one: predictions stay the same.
    """
    with np.errstate(over="ignore"):
        near = thresholds.astype(np.float32)
    below = np.nextafter(near, np.float32(-np.inf))
    return np.where(near.astype(np.float64) > thresholds, below, near).astype(np.float64)


def _unpack_forest(forest: Any, arrays: Any) -> list[ExtraTreeClassifier]:
    n_features, n_classes = int(forest.n_features_in_), len(forest.classes_)
    sizes, column = _whole(arrays, "sizes"), _whole(arrays, "column")
    left, right = _whole(arrays, "left"), _whole(arrays, "right")
    is_leaf = column == _LEAF
    _check_nodes(sizes, column, left, right, is_leaf, n_features)
    blank = Tree(n_features, np.array([n_classes], dtype=np.intp), 1)
    kind = blank.__getstate__()["nodes"].dtype
    if len(column) * (kind.itemsize + 8 * n_classes) > _MAX_BYTES:
        raise ModelError(f"holds trees of {len(column):,} nodes; a model has fewer")
    own = np.arange(len(column)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    nodes = np.zeros(len(column), dtype=kind)
    nodes["left_child"] = np.where(is_leaf, -1, own + left)
    nodes["right_child"] = np.where(is_leaf, -1, own + right)
    nodes["feature"] = column
    nodes["threshold"] = np.where(is_leaf, _LEAF, _numbers(arrays, "threshold", len(column)))
    nodes["missing_go_to_left"] = _whole(arrays, "missing_left", len(column)) > 0
    values = np.zeros((len(column), 1, n_classes))
    n_values = _whole(arrays, "n_values", int(is_leaf.sum()))
    classes = _whole(arrays, "value_class", int(n_values.sum()))
    leaves = np.repeat(np.flatnonzero(is_leaf), n_values)
    values[leaves, 0, classes] = _numbers(arrays, "value", len(classes))
    depths = _whole(arrays, "depths", len(sizes))
    ends = np.cumsum(sizes).tolist()
    return [
        _make_tree(forest, nodes[end - size : end], values[end - size : end], depth)
        for size, end, depth in zip(sizes.tolist(), ends, depths.tolist(), strict=True)
    ]


def _make_tree(
    forest: Any, nodes: npt.NDArray[Any], values: FloatArray, depth: int
) -> ExtraTreeClassifier:
    tree = Tree(int(forest.n_features_in_), np.array([values.shape[2]], dtype=np.intp), 1)
    tree.__setstate__(
        {
            "max_depth": depth,
            "node_count": len(nodes),
            "nodes": nodes.copy(),
            "values": values.copy(),
        }
    )
    made = ExtraTreeClassifier()
    made.tree_, made.n_outputs_, made.n_classes_ = tree, 1, values.shape[2]
    made.classes_ = np.arange(values.shape[2], dtype=np.float64)
    made.n_features_in_ = int(forest.n_features_in_)
    return made


# -- Boosting --------------------------------------------------------------------------------------


def _pack_boosting(model: Any) -> dict[str, npt.NDArray[Any]]:
    trees = [tree.nodes for group in model._predictors for tree in group]  # noqa: SLF001
    nodes = np.concatenate(trees)
    if nodes["is_categorical"].any():
        raise ModelError("holds boosting with columns of categories; needed numbers only")
    sizes = np.array([len(tree) for tree in trees])
    is_leaf = nodes["is_leaf"] > 0
    own = np.arange(len(nodes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    left, right = (nodes[name].astype(np.int64) - own for name in ("left", "right"))
    return {
        "sizes": sizes.astype(np.int32),
        "column": np.where(is_leaf, _LEAF, nodes["feature_idx"]).astype(np.int32),
        "threshold": np.where(is_leaf, 0.0, nodes["num_threshold"]),
        "left": np.where(is_leaf, 0, left).astype(np.int32),
        "right": np.where(is_leaf, 0, right).astype(np.int32),
        "missing_left": np.where(is_leaf, 0, nodes["missing_go_to_left"]).astype(np.uint8),
        "value": np.where(is_leaf, nodes["value"], 0.0),
    }


def _unpack_boosting(model: Any, arrays: Any) -> list[list[TreePredictor]]:
    sizes, column = _whole(arrays, "sizes"), _whole(arrays, "column")
    left, right = _whole(arrays, "left"), _whole(arrays, "right")
    is_leaf = column == _LEAF
    _check_nodes(sizes, column, left, right, is_leaf, int(model.n_features_in_))
    own = np.arange(len(column)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    nodes = np.zeros(len(column), dtype=PREDICTOR_RECORD_DTYPE)
    nodes["feature_idx"] = np.where(is_leaf, 0, column)
    nodes["num_threshold"] = _numbers(arrays, "threshold", len(column))
    nodes["left"], nodes["right"] = (np.where(is_leaf, 0, own + it) for it in (left, right))
    nodes["missing_go_to_left"] = _whole(arrays, "missing_left", len(column)) > 0
    nodes["value"], nodes["is_leaf"] = _numbers(arrays, "value", len(column)), is_leaf
    n_classes, each = len(model.classes_), int(model.n_trees_per_iteration_)
    if each != (1 if n_classes == 2 else n_classes) or len(sizes) % each:
        raise ModelError(f"holds boosting with {each} trees a round for {n_classes} classes")
    trees = [
        TreePredictor(nodes[end - size : end].copy(), _NO_CATEGORIES, _NO_CATEGORIES)
        for size, end in zip(sizes.tolist(), np.cumsum(sizes).tolist(), strict=True)
    ]
    return [trees[i : i + each] for i in range(0, len(trees), each)]


# -- What is read from a file ----------------------------------------------------------------------


def _check_nodes(
    sizes: npt.NDArray[np.int64],
    column: npt.NDArray[np.int64],
    left: npt.NDArray[np.int64],
    right: npt.NDArray[np.int64],
    is_leaf: BoolArray,
    n_features: int,
) -> None:
    """Refuse nodes whose children are not further on in the same tree, or columns out of range."""
    if not len(sizes) or sizes.min() < 1 or sizes.sum() != len(column):
        raise ModelError("holds trees whose sizes do not add up; needed a model file of sorr")
    room = np.repeat(np.cumsum(sizes), sizes) - np.arange(len(column))  # to the end of the tree
    inside = ~is_leaf
    is_right = (column >= 0) & (column < n_features)
    for child in (left, right):
        if len(child) != len(column):
            raise ModelError("holds trees whose arrays differ in length")
        is_right &= (child > 0) & (child < room)
    if not is_right[inside].all():
        raise ModelError("holds trees that lead nowhere; needed a model file of sorr")


def _whole(arrays: Arrays, name: str, length: int | None = None) -> npt.NDArray[np.int64]:
    """Return an array of whole numbers."""
    found = arrays[name]
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "iu" or found.ndim != 1:
        raise ModelError(f"holds trees whose {name} is no list of whole numbers")
    _check_length(name, found, length)
    return found.astype(np.int64)


def _numbers(arrays: Arrays, name: str, length: int) -> FloatArray:
    """Return an array of numbers."""
    found = arrays[name]
    if not isinstance(found, np.ndarray) or found.dtype.kind != "f" or found.ndim != 1:
        raise ModelError(f"holds trees whose {name} is no list of numbers")
    _check_length(name, found, length)
    return found.astype(np.float64)


def _check_length(name: str, found: npt.NDArray[Any], length: int | None) -> None:
    if length is not None and len(found) != length:
        raise ModelError(f"holds trees with {len(found):,} entries of {name}; needed {length:,}")
