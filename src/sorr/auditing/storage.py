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

from sklearn.compose import ColumnTransformer
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.pipeline import Pipeline

from sorr import __version__
from sorr.auditing.trees import ModelError, pack_trees, unpack_trees
from sorr.estimators import RankedRangeClassifier, RankedRangeRegressor
from sorr.losses import LOSSES
from sorr.share import make_model

_HEADER = re.compile(rb"sorr model (\d{1,9}) sha256:([0-9a-f]{64})\n")
_FORMAT = 3
_PROTOCOL = 2  # of skops; how it loads older protocols was not reviewed here
_MAX_NAME = 100  # letters of the name of a type in a message; all listed names are shorter
_PACKAGES = ("scikit-learn", "numpy", "skops")
LIMIT = 2**28  # bytes of a file, and of its content: a hundred times a large model
SCHEMA = "schema.json"


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


_TREES = (ExtraTreesClassifier, HistGradientBoostingClassifier)
_ESTIMATORS: tuple[type, ...] = (
    RankedRangeClassifier,
    RankedRangeRegressor,
    *(type(make_model(name, 0)) for name in ("auto", "forest", "boosting")),
)
_FITTED = (
    *("coef_", "intercept_", "classes_", "_loss", "_levels"),
    *("n_features_in_", "feature_names_in_"),
    *("forest_", "line_", "slopes_", "shift_"),
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
        "sklearn._loss.link.LogitLink",
        "sklearn._loss.link.MultinomialLogit",
        "sklearn._loss.loss.HalfBinomialLoss",
        "sklearn._loss.loss.HalfMultinomialLoss",
        "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
        "sklearn.linear_model._logistic.LogisticRegression",
        "sklearn.preprocessing._data.StandardScaler",
        "sklearn.preprocessing._label.LabelEncoder",
        "sorr.auditing.preparation.RawColumns",
        "sorr.auditing.preparation.TypicalScaler",
        "sklearn.compose._column_transformer.ColumnTransformer",
        "sklearn.impute._base.MissingIndicator",
        "sklearn.impute._base.SimpleImputer",
        "sklearn.pipeline.Pipeline",
        "sklearn.preprocessing._encoders.OneHotEncoder",
    }
)
_LOSSES = frozenset(
    f"sklearn._loss._loss.{name}" for name in ("CyHalfBinomialLoss", "CyHalfMultinomialLoss")
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
        model of `TrimmedClassifier` that has a name.

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
        if type(step.forest_) is not ExtraTreesClassifier or type(step.line_) is not Pipeline:
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
    if "classes_" not in vars(last) and "coef_" not in vars(last):
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
