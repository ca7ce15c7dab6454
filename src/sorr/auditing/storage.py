"""Fitted models as files that can be read without running anything that is in them.

A file is a line with the digest of the rest, a line with the versions of the packages that made
it, and an archive of skops. The digest shows damage; it says nothing about the author. What keeps
a file from doing harm is that loading makes only objects of the types listed here.
"""

from __future__ import annotations

import copy
import hashlib
import importlib.metadata
import io
import json
import re
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from numbers import Integral
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.pipeline import Pipeline
from sklearn.tree import ExtraTreeClassifier, ExtraTreeRegressor
from sklearn.tree._tree import Tree

from sorr import __version__
from sorr._typing import BoolArray, FloatArray
from sorr.estimators import RankedRangeClassifier, RankedRangeRegressor
from sorr.losses import LOSSES
from sorr.share import make_model

_HEADER = re.compile(rb"sorr model (\d{1,9}) sha256:([0-9a-f]{64})\n")
_FORMAT = 4
_PROTOCOL = 2  # of skops; how it loads older protocols was not reviewed here
_MAX_NAME = 100  # letters of the name of a type in a message; all listed names are shorter
_PACKAGES = ("scikit-learn", "numpy", "skops")
LIMIT = 2**28  # bytes of a file, and of its content: a hundred times a large model
SCHEMA = "schema.json"
_LEAF = -2  # in place of a column
_MAX_BYTES = 2**32  # of all trees of a model, as scikit-learn holds them
_NO_CATEGORIES = np.zeros((0, 8), dtype=np.uint32)


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


_FORESTS = (ExtraTreesClassifier, ExtraTreesRegressor)
_TREES = (*_FORESTS, HistGradientBoostingClassifier, HistGradientBoostingRegressor)
_ESTIMATORS: tuple[type, ...] = (
    RankedRangeClassifier,
    RankedRangeRegressor,
    *(
        type(make_model(name, 0, is_classifier=is_classifier))
        for name in ("auto", "forest", "boosting")
        for is_classifier in (True, False)
    ),
)
_FITTED = (
    *("coef_", "intercept_", "classes_", "_loss", "_levels"),
    *("n_features_in_", "feature_names_in_"),
    *("forest_", "line_", "slopes_", "shift_", "share_"),
    *("estimators_", "n_classes_", "n_outputs_"),
    *("n_trees_per_iteration_", "is_categorical_", "_preprocessor", "_is_categorical_remapped"),
    *("_label_encoder", "_n_features", "_bin_mapper", "_baseline_prediction", "_predictors"),
)
"""What predictions need. Losses and weights of the training rows are not stored."""

_PLAIN = frozenset(f"builtins.{name}" for name in ("bool", "float", "int", "str"))
_NUMBERS = frozenset(
    f"numpy.{name}"
    for name in (
        *("bool", "bool_", "float32", "float64", "int8", "int16", "int32", "int64"),
        *("uint8", "uint16", "uint32", "uint64", "object_", "str_"),
    )
)
_OBJECTS = frozenset(
    {
        *map(_name, _ESTIMATORS),
        *map(_name, LOSSES.values()),
        "sklearn._loss.link.Interval",
        "sklearn._loss.link.IdentityLink",
        "sklearn._loss.link.LogitLink",
        "sklearn._loss.link.MultinomialLogit",
        "sklearn._loss.loss.HalfBinomialLoss",
        "sklearn._loss.loss.HalfMultinomialLoss",
        "sklearn._loss.loss.HalfSquaredError",
        "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
        "sklearn.linear_model._logistic.LogisticRegression",
        "sklearn.linear_model._ridge.Ridge",
        "sklearn.preprocessing._data.StandardScaler",
        "sklearn.preprocessing._label.LabelEncoder",
        "sorr.auditing.preparation.DateParts",
        "sorr.auditing.preparation.RawColumns",
        "sorr.auditing.preparation.TextEncoder",
        "sorr.auditing.preparation.TypicalScaler",
        "sklearn.compose._column_transformer.ColumnTransformer",
        "sklearn.impute._base.MissingIndicator",
        "sklearn.impute._base.SimpleImputer",
        "sklearn.pipeline.Pipeline",
        "sklearn.preprocessing._encoders.OneHotEncoder",
    }
)
_LOSSES = frozenset(
    f"sklearn._loss._loss.{name}"
    for name in ("CyHalfBinomialLoss", "CyHalfMultinomialLoss", "CyHalfSquaredError")
)
_TYPES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "ObjectNode": _OBJECTS,
        "DictNode": frozenset({"builtins.dict"}),
        "ListNode": frozenset({"builtins.list"}),
        "TupleNode": frozenset({"builtins.tuple"}),
        "SliceNode": frozenset({"builtins.slice"}),
        "JsonNode": _PLAIN,
        "TypeNode": _PLAIN | _NUMBERS,
        "DTypeNode": frozenset({"numpy.dtype"}),
        "NdArrayNode": _NUMBERS | {"numpy.ndarray"},
        "LossNode": _LOSSES,
    }
)
"""The types that a model may hold, by the way skops loads them."""


def dump_model(model: Pipeline) -> bytes:
    """Return the content of a file with the model.

    The same model gives the same bytes. The file holds no training rows, only what the model
    learned: coefficients, trees, medians, and the names of columns, categories and classes.

    Parameters
    ----------
    model : Pipeline
        A fitted pipeline that ends in a `RankedRangeClassifier`, a `RankedRangeRegressor`, or a
        model of `TrimmedClassifier` or `TrimmedRegressor` that has a name.

    Returns
    -------
    bytes

    Raises
    ------
    ModelError
        If it holds a type that `load_model` would refuse.
    """
    _check_model(model)
    members = numbered(unpack(_skops().dumps(_slim(model))))
    _check_types(members[SCHEMA])
    versions = {"sorr": __version__} | {it: importlib.metadata.version(it) for it in _PACKAGES}
    body = json.dumps(versions).encode("ascii") + b"\n" + pack(members, zipfile.ZIP_DEFLATED)
    digest = hashlib.sha256(body).hexdigest()
    return f"sorr model {_FORMAT} sha256:{digest}\n".encode("ascii") + body


def load_model(path: Path) -> Pipeline:
    """Return the model in a file.

    Parameters
    ----------
    path : Path

    Returns
    -------
    Pipeline

    Raises
    ------
    ModelError
        If the file was changed after it was written, or holds anything that is not part of such a
        model. None of it is run then.
    """
    try:
        with path.open("rb") as file:
            content = file.read(LIMIT + 1)
    except FileNotFoundError:
        raise ModelError(f"there is no file {path}; needed a model file of sorr") from None
    try:
        return read_model(content)
    except ModelError as error:
        raise ModelError(f"{path} {error}") from error.__cause__


def read_model(content: bytes) -> Pipeline:
    """Return the model in the content of a file. See `load_model`."""
    loads = _skops().loads
    versions, _, archive = _body(content).partition(b"\n")
    try:
        members = unpack(archive)
        _check_types(members[SCHEMA])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InconsistentVersionWarning)  # _compare warns once
            model = loads(pack(members), trusted=sorted(_OBJECTS | _LOSSES | {"numpy.dtype"}))
        _check_model(model)
        _restore(model[-1])
        _compare(json.loads(versions))
    except (ModelError, Warning):
        raise
    except Exception as error:  # any error is possible: it depends on the content
        raise ModelError(
            f"cannot be loaded: its archive is damaged ({type(error).__name__}: {error}); needed a "
            "model file of sorr"
        ) from error
    return model


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            'model files need skops, which is not installed: pip install "sorr[audit]"'
        ) from error
    return skops.io


def _slim(model: Pipeline) -> Pipeline:
    """Return the pipeline with only those attributes of its last step that predictions need."""
    name, step = model.steps[-1]
    slim = copy.copy(model)
    slim.steps = [*((key, _portable(part)) for key, part in model.steps[:-1]), (name, _small(step))]
    return slim


def _small(step: Any) -> Any:
    """Return a copy of an estimator for a file, with its trees as a few arrays."""
    small = type(step)(**step.get_params(deep=False))
    seed = small.random_state
    small.random_state = int(seed) if isinstance(seed, Integral) else None
    if hasattr(small, "n_jobs"):
        small.n_jobs = None
    vars(small).update({name: vars(step)[name] for name in _FITTED if name in vars(step)})
    if isinstance(step, _TREES):
        pack_trees(small)
    elif hasattr(small, "forest_"):
        small.forest_ = _small(step.forest_)
    return small


def _restore(step: Any) -> None:
    """Make trees again of the arrays of a file, if they are such as a fit could have made."""
    if isinstance(step, _TREES):
        unpack_trees(step)
    elif "forest_" in vars(step):
        if type(step.forest_) not in _FORESTS or type(step.line_) is not Pipeline:
            raise ModelError("holds a combined model without its parts; needed a forest and a line")
        unpack_trees(step.forest_)


def _portable(step: Any) -> Any:
    """Return a transformer with plain lists of columns: some versions have a type of their own."""
    if not (isinstance(step, ColumnTransformer) and hasattr(step, "_remainder")):
        return step
    made = copy.copy(step)
    name, part, columns = step._remainder  # noqa: SLF001 - there is no public way
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # raised when that type is read
        made._remainder = (name, part, list(columns))  # noqa: SLF001
    return made


def _check_model(model: Any) -> None:
    needed = " or ".join(kind.__name__ for kind in _ESTIMATORS)
    if not isinstance(model, Pipeline):
        raise ModelError(f"holds a {_name(type(model))}; needed a Pipeline that ends in a {needed}")
    last = model.steps[-1][1] if model.steps else None
    if type(last) not in _ESTIMATORS:
        raise ModelError(f"holds a Pipeline that ends in a {_name(type(last))}; needed a {needed}")
    if "n_features_in_" not in vars(last):
        raise ModelError("holds a Pipeline that is not fitted; call fit first")


def _body(content: bytes) -> bytes:
    """Return what follows the first line, if its digest is right."""
    if len(content) > LIMIT:
        raise ModelError(f"is larger than a model can be: {LIMIT:,} bytes")
    header = _HEADER.match(content)
    if header is None:
        raise ModelError(f"is {_guess(content)}, not a model file of sorr")
    number, digest = int(header[1]), header[2].decode("ascii")
    if number != _FORMAT:
        raise ModelError(
            f"has model format {number}, but sorr {__version__} reads format {_FORMAT}; "
            + (
                "its modules and parameters were renamed since: fit the model again, or use the "
                "version of sorr that wrote it"
                if number < _FORMAT
                else "use the version of sorr that wrote it"
            )
        )
    body = content[header.end() :]
    if hashlib.sha256(body).hexdigest() != digest:
        raise ModelError(
            "was changed or damaged after it was written, as its SHA-256 shows; copy it again, or "
            "fit the model again"
        )
    return body


def _guess(content: bytes) -> str:
    """Return what a file seems to be that is not a model file of sorr."""
    if not content:
        return "empty"
    if content.startswith(b"PK"):
        with_skops = SCHEMA.encode("ascii") in content
        return f"a zip archive{' of skops' * with_skops} without the first line of a sorr model"
    if content.startswith(b"\x80"):
        return "a pickle, which could run any code when loaded"
    if content.startswith(b"sorr model "):
        return "a sorr model with a damaged first line"
    return "a file of another kind"


def _check_types(schema: bytes) -> None:
    """Refuse an archive with a type that is not listed, or not for the way it is loaded."""
    tree = json.loads(schema)
    if not tree["protocol"] >= _PROTOCOL:
        raise ModelError(f"has protocol {tree['protocol']} of skops; needed {_PROTOCOL} or later")
    for node in nodes(tree):
        name = f"{node['__module__']}.{node['__class__']}"[:_MAX_NAME]
        if name not in _TYPES.get(node["__loader__"], ()):
            raise ModelError(
                f"holds a {name}, which is not part of a sorr model; nothing was loaded"
            )


def _compare(versions: Mapping[str, str]) -> None:
    """Warn if another version of scikit-learn made the model: it may behave differently."""
    then, now = versions["scikit-learn"], importlib.metadata.version("scikit-learn")
    if then.split(".")[:2] != now.split(".")[:2]:
        warnings.warn(
            f"the model was fitted with scikit-learn {then}, and {now} is installed; check some "
            "predictions, or fit the model again",
            stacklevel=4,  # the caller of load_model()
        )


# -- The archive of skops: its files, one of which holds the tree of types -------------------------


class ModelError(ValueError):
    """A file is not a model of sorr, or a model cannot be written."""


def unpack(archive: bytes) -> dict[str, bytes]:
    """Return the files of an archive, none longer than the archive declares."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        infos = opened.infolist()
        size = sum(info.file_size for info in infos)
        if size > LIMIT:
            raise ModelError(f"holds {size:,} bytes when unpacked; a model has {LIMIT:,} at most")
        members = {}
        for info in infos:
            with opened.open(info) as member:
                members[info.filename] = member.read(info.file_size + 1)
    if len(members) != len(infos) or SCHEMA not in members:
        raise ModelError("holds an archive that skops did not write; needed a model file of sorr")
    return members


def pack(members: Mapping[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """Return an archive of files, all with the same date."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, compression)
    return made.getvalue()


def numbered(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the archive with objects and files numbered, instead of named by memory address."""
    schema = json.loads(members[SCHEMA])
    objects: dict[int, int] = {}
    files: dict[str, str] = {}
    for node in nodes(schema):
        if "__id__" in node:
            node["__id__"] = objects.setdefault(node["__id__"], len(objects) + 1)
        if isinstance(node.get("file"), str):
            node["file"] = files.setdefault(node["file"], f"{len(files) + 1}.npy")
    kept = {new: members[old] for old, new in files.items()}
    return kept | {SCHEMA: json.dumps(schema, separators=(",", ":")).encode("ascii")}


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every part of a schema that skops could turn into an object."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if isinstance(part.get("__loader__"), str):
                yield part
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)


# -- Trees as a few arrays: small, and checked before they are used --------------------------------
#
# scikit-learn follows the numbers of a tree without a look at their bounds. So trees are not loaded
# by skops: they are made here from arrays, after a check that these are trees.

Arrays = Mapping[str, npt.NDArray[Any]]


def pack_trees(model: Any) -> None:
    """Replace the trees of a fitted forest, or of boosting, by arrays."""
    if isinstance(model, _FORESTS):
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
        if isinstance(model, _FORESTS):
            model.estimators_ = _unpack_forest(model, model.estimators_)
            model.n_outputs_, model.estimator = 1, _blank_tree(model)
            if isinstance(model, ExtraTreesClassifier):
                model.n_classes_ = len(model.classes_)
        else:
            model._predictors = _unpack_boosting(model, model._predictors)  # noqa: SLF001
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(
            f"holds trees that are damaged ({type(error).__name__}: {error}); needed a model file "
            "of sorr"
        ) from error


# Forests


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


def _blank_tree(forest: Any) -> ExtraTreeClassifier | ExtraTreeRegressor:
    is_classifier = isinstance(forest, ExtraTreesClassifier)
    return ExtraTreeClassifier() if is_classifier else ExtraTreeRegressor()


def _n_classes(model: Any) -> int:
    """Return the number of classes; of numbers it is one."""
    return len(getattr(model, "classes_", [0]))


def _unpack_forest(forest: Any, arrays: Any) -> list[ExtraTreeClassifier | ExtraTreeRegressor]:
    n_features, n_classes = int(forest.n_features_in_), _n_classes(forest)
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
) -> ExtraTreeClassifier | ExtraTreeRegressor:
    tree = Tree(int(forest.n_features_in_), np.array([values.shape[2]], dtype=np.intp), 1)
    tree.__setstate__(
        {
            "max_depth": depth,
            "node_count": len(nodes),
            "nodes": nodes.copy(),
            "values": values.copy(),
        }
    )
    made = _blank_tree(forest)
    made.tree_, made.n_outputs_, made.n_classes_ = tree, 1, values.shape[2]
    if isinstance(made, ExtraTreeClassifier):
        made.classes_ = np.arange(values.shape[2], dtype=np.float64)
    made.n_features_in_ = int(forest.n_features_in_)
    return made


# Boosting


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
    n_classes, each = _n_classes(model), int(model.n_trees_per_iteration_)
    if each != (1 if n_classes == 2 else n_classes) or len(sizes) % each:
        raise ModelError(f"holds boosting with {each} trees a round for {n_classes} classes")
    trees = [
        TreePredictor(nodes[end - size : end].copy(), _NO_CATEGORIES, _NO_CATEGORIES)
        for size, end in zip(sizes.tolist(), np.cumsum(sizes).tolist(), strict=True)
    ]
    return [trees[i : i + each] for i in range(0, len(trees), each)]


# What is read from a file


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
