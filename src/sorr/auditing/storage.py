"""Fitted models as files that can be read without running anything that is in them.

A file is a line with the digest of all that follows, a line with the versions it was made by, and
the archive of skops. The digest tells damage, not the author: what keeps a file from doing harm is
that nothing but the types listed here is ever made of it.
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
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.pipeline import Pipeline

from sorr import __version__
from sorr.estimators import RankedRangeClassifier, RankedRangeRegressor
from sorr.losses import LOSSES

__all__ = [
    "LIMIT",
    "SCHEMA",
    "ModelError",
    "dump_model",
    "load_model",
    "nodes",
    "numbered",
    "pack",
    "read_model",
    "unpack",
]

_HEADER = re.compile(rb"sorr model (\d{1,9}) sha256:([0-9a-f]{64})\n")
_FORMAT = 1
_PROTOCOL = 2  # of skops: the ways to load of the ones before were looked at by nobody here
_LONGEST = 100  # letters of the name of a type: those that are listed have fewer
_PACKAGES = ("scikit-learn", "numpy", "skops")


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


_ESTIMATORS = (RankedRangeClassifier, RankedRangeRegressor)
_FITTED = (
    *("coef_", "intercept_", "classes_", "_loss", "_levels"),
    *("n_features_in_", "feature_names_in_"),
)
"""What predictions are made with. Losses and weights of the training rows stay behind."""

_PLAIN = frozenset(f"builtins.{name}" for name in ("bool", "float", "int", "str"))
_NUMBERS = frozenset(
    f"numpy.{name}"
    for name in ("bool", "bool_", "float32", "float64", "int8", "int32", "int64", "object_", "str_")
)
_OBJECTS = frozenset(
    {
        *map(_name, _ESTIMATORS),
        *map(_name, LOSSES.values()),
        "sorr.auditing.preparation.RawColumns",
        "sorr.auditing.preparation.TypicalScaler",
        "sklearn.compose._column_transformer.ColumnTransformer",
        "sklearn.impute._base.MissingIndicator",
        "sklearn.impute._base.SimpleImputer",
        "sklearn.pipeline.Pipeline",
        "sklearn.preprocessing._encoders.OneHotEncoder",
    }
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
    }
)
"""By the way skops loads them, the types that a model may be made of."""


def dump_model(model: Pipeline) -> bytes:
    """Return the content of a file that predicts as the model does.

    The same model gives the same bytes. Of the training rows there is nothing in it beyond what
    the model learned: coefficients, medians, and the names of columns, categories and classes.

    Parameters
    ----------
    model : Pipeline
        Fitted, its last step a `RankedRangeClassifier` or a `RankedRangeRegressor`.

    Returns
    -------
    bytes

    Raises
    ------
    ModelError
        If any part of it is of a type that `load_model` would refuse.
    """
    _check_model(model)
    members = numbered(unpack(_skops().dumps(_slim(model))))
    _check_types(members[SCHEMA])
    versions = {"sorr": __version__} | {it: importlib.metadata.version(it) for it in _PACKAGES}
    body = json.dumps(versions).encode("ascii") + b"\n" + pack(members, zipfile.ZIP_DEFLATED)
    digest = hashlib.sha256(body).hexdigest()
    return f"sorr model {_FORMAT} sha256:{digest}\n".encode("ascii") + body


def load_model(path: Path) -> Pipeline:
    """Return the model in a file, or refuse it.

    Parameters
    ----------
    path : Path

    Returns
    -------
    Pipeline

    Raises
    ------
    ModelError
        If a single byte is not as it was written, or anything in it is no part of such a model.
        None of it has been run then.
    """
    try:
        with path.open("rb") as file:
            content = file.read(LIMIT + 1)
    except FileNotFoundError:
        raise ModelError(
            f"there is no file {path}; needed a model that sorr fit or sorr audit wrote"
        ) from None
    try:
        return read_model(content)
    except ModelError as error:
        raise ModelError(f"{path} {error}") from error.__cause__


def read_model(content: bytes) -> Pipeline:
    """Return the model in the content of a file; see `load_model`."""
    loads = _skops().loads
    versions, _, archive = _body(content).partition(b"\n")
    try:
        members = unpack(archive)
        _check_types(members[SCHEMA])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InconsistentVersionWarning)  # said once, below
            model = loads(pack(members), trusted=sorted(_OBJECTS | {"numpy.dtype"}))
        _check_model(model)
        _compare(json.loads(versions))
    except (ModelError, Warning):
        raise
    except Exception as error:  # what is in the file decides which of all there are
        raise ModelError(
            f"cannot be loaded, since its archive is faulty ({type(error).__name__}: {error}); "
            "needed a model that sorr fit or sorr audit wrote"
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
    """Return the pipeline with no more of its last step than predictions need."""
    name, step = model.steps[-1]
    small = type(step)(**step.get_params(deep=False))
    seed = small.random_state
    small.random_state = int(seed) if isinstance(seed, Integral) else None
    small.n_jobs = None
    vars(small).update({name: vars(step)[name] for name in _FITTED if name in vars(step)})
    whole = copy.copy(model)
    whole.steps = [*((it, _portable(part)) for it, part in model.steps[:-1]), (name, small)]
    return whole


def _portable(step: Any) -> Any:
    """Return a preparation with plain lists of columns: some scikit-learns have their own kind."""
    if not (isinstance(step, ColumnTransformer) and hasattr(step, "_remainder")):
        return step
    made = copy.copy(step)
    name, part, columns = step._remainder  # noqa: SLF001 - nothing public leads to it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # which that kind gives when it is looked at
        made._remainder = (name, part, list(columns))  # noqa: SLF001
    return made


def _check_model(model: Any) -> None:
    needed = " or ".join(kind.__name__ for kind in _ESTIMATORS)
    if not isinstance(model, Pipeline):
        raise ModelError(f"holds a {_name(type(model))}; needed a Pipeline that ends in a {needed}")
    last = model.steps[-1][1] if model.steps else None
    if type(last) not in _ESTIMATORS:
        raise ModelError(f"holds a Pipeline that ends in a {_name(type(last))}; needed a {needed}")
    if "coef_" not in vars(last):
        raise ModelError("holds a Pipeline that is not fitted; call fit first")


def _body(content: bytes) -> bytes:
    """Return what comes after the first line, if it is what that line says."""
    if len(content) > LIMIT:
        raise ModelError(f"is larger than a model can be: {LIMIT:,} bytes")
    header = _HEADER.match(content)
    if header is None:
        raise ModelError(
            f"is {_guess(content)}, and no model of sorr; needed one that sorr fit or sorr audit "
            "wrote"
        )
    number, digest = int(header[1]), header[2].decode("ascii")
    if number != _FORMAT:
        raise ModelError(
            f"is a model of format {number}, and sorr {__version__} reads format {_FORMAT}; needed "
            "the version of sorr that wrote it"
        )
    body = content[header.end() :]
    if hashlib.sha256(body).hexdigest() != digest:
        raise ModelError(
            "was altered or damaged after it was written, as its SHA-256 says; needed it unchanged:"
            " copy it again, or fit it anew"
        )
    return body


def _guess(content: bytes) -> str:
    """Return what a file that is no model of ours seems to be."""
    if not content:
        return "empty"
    if content.startswith(b"PK"):
        with_skops = SCHEMA.encode("ascii") in content
        return (
            f"a zip archive{', as skops writes them,' * with_skops} without the first line of ours"
        )
    if content.startswith(b"\x80"):
        return "a pickle, which could run anything when loaded"
    if content.startswith(b"sorr model "):
        return "begun like one with another first line"
    return "a file of another kind"


def _check_types(schema: bytes) -> None:
    """Refuse an archive with any type that is not listed, or listed for another way to load it."""
    tree = json.loads(schema)
    if not tree["protocol"] >= _PROTOCOL:
        raise ModelError(f"is of protocol {tree['protocol']} of skops; needed {_PROTOCOL} or later")
    for node in nodes(tree):
        name = f"{node['__module__']}.{node['__class__']}"[:_LONGEST]
        if name not in _TYPES.get(node["__loader__"], ()):
            raise ModelError(
                f"holds a {name}, which is no part of a model of sorr; nothing of it was loaded. "
                "Needed a model that sorr fit or sorr audit wrote"
            )


def _compare(versions: Mapping[str, str]) -> None:
    """Say so where another scikit-learn made the model, which may have meant something else."""
    then, now = versions["scikit-learn"], importlib.metadata.version("scikit-learn")
    if then.split(".")[:2] != now.split(".")[:2]:
        warnings.warn(
            f"the model was fitted with scikit-learn {then} and is used with {now}: compare some "
            "predictions, or fit it anew",
            stacklevel=4,  # the caller of load_model()
        )


# -- The archive that skops makes of an object: its files, and the tree of types in one of them ----


LIMIT = 2**28  # bytes of a file, and of what it holds: some hundred times a large model
SCHEMA = "schema.json"


class ModelError(ValueError):
    """A file is not a model of ours, or a model cannot become a file."""


def unpack(archive: bytes) -> dict[str, bytes]:
    """Return the files of an archive, each no longer than it says."""
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
        raise ModelError("holds another archive than skops writes; needed one that sorr wrote")
    return members


def pack(members: Mapping[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """Return the archive of these files, all of them of the same day."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, compression)
    return made.getvalue()


def numbered(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the same archive with objects and files counted, not named by where they lay."""
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
    """Yield every part of a schema that skops could make an object of."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if isinstance(part.get("__loader__"), str):
                yield part
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
