"""The tables of the paper, one function each."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr.datasets.catalogue import IMAGES, PIXELS, TABLES, Images, Part, Table
from sorr.datasets.files import Folder, find_file
from sorr.datasets.sources import (
    IMAGE_MIRRORS,
    SOURCES,
    get_images,
    get_table,
    make_monk,
    make_titanic,
)

__all__ = [
    "DATASETS",
    "Entry",
    "inventory",
    "load_australian",
    "load_dataset",
    "load_emotions",
    "load_fashion_mnist",
    "load_images",
    "load_mnist",
    "load_monk",
    "load_phoneme",
    "load_scene",
    "load_splice",
    "load_table",
    "load_titanic",
    "load_yeast",
]


def load_monk(
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: Folder = None,
    download: bool = True,
) -> Any:
    """Return Monk-3: all 432 combinations of six attributes, and a rule on four of them.

    Generated from the rule, so that no file is needed.

    Parameters
    ----------
    return_X_y, as_frame, data_home, download
        As for `load_dataset`; the last two are of no effect.

    Returns
    -------
    Bunch, or (data, target)
        Target: 1 (228 rows) where (a5 = 3 and a4 = 1) or (a5 is not 4 and a2 is not 3), else 0.

    Examples
    --------
    >>> X, y = load_monk(return_X_y=True)
    >>> X.shape, int(y.sum())
    ((432, 6), 228)
    """
    return load_table("monk", return_X_y, as_frame, data_home, download)


def load_australian(
    variant: str = "uci",
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: Folder = None,
    download: bool = True,
) -> Any:
    """Return Australian: 690 applications for a credit card, 14 attributes.

    Parameters
    ----------
    variant : {"uci", "keel"}, default="uci"
        Whose copy. In KEEL's, three columns have lost their decimal points: 22.08 is 2208 there,
        and 7 is 7. The paper does not say which of the two it took.
    return_X_y, as_frame, data_home, download
        As for `load_dataset`.

    Returns
    -------
    Bunch, or (data, target)
        Target: 1 = approved (307 rows), 0 = not (383).
    """
    name = _named({"uci": "australian", "keel": "australian-keel"}, variant)
    return load_table(name, return_X_y, as_frame, data_home, download)


def load_phoneme(
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: Folder = None,
    download: bool = True,
) -> Any:
    """Return Phoneme: 5404 vowels, five harmonics each, not scaled.

    Parameters
    ----------
    return_X_y, as_frame, data_home, download
        As for `load_dataset`.

    Returns
    -------
    Bunch, or (data, target)
        Target: 0 = nasal (3818 rows), 1 = oral (1586).
    """
    return load_table("phoneme", return_X_y, as_frame, data_home, download)


def load_titanic(
    variant: str = "generated",
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: Folder = None,
    download: bool = True,
) -> Any:
    """Return Titanic: the class, age and sex of 2201 people on board, and who survived.

    Parameters
    ----------
    variant : {"generated", "keel"}, default="generated"
        In which order. Generated from the number of people of each kind, no file is needed, and
        each kind is spread evenly over the table. KEEL's file has the same rows in its own order,
        which matters to whoever draws the very splits of somebody else.
    return_X_y, as_frame, data_home, download
        As for `load_dataset`; the last two are of no effect if it is generated.

    Returns
    -------
    Bunch, or (data, target)
        Target: 1 = survived (711 rows), -1 = died (1490). Attributes are z-scores of codes, which
        the Bunch describes; 14 different rows of them occur.

    Examples
    --------
    >>> X, y = load_titanic(return_X_y=True)
    >>> X.shape, int((y == 1).sum())
    ((2201, 3), 711)
    """
    name = _named({"generated": "titanic", "keel": "titanic-keel"}, variant)
    return load_table(name, return_X_y, as_frame, data_home, download)


def load_splice(
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: Folder = None,
    download: bool = True,
) -> Any:
    """Return Splice: 3175 sequences of 60 letters of DNA, coded A = 1, G = 2, C = 3, T = 4.

    Parameters
    ----------
    return_X_y, as_frame, data_home, download
        As for `load_dataset`.

    Returns
    -------
    Bunch, or (data, target)
        Target: 1 = no junction in the middle (1648 rows), -1 = one of either kind (1527).
    """
    return load_table("splice", return_X_y, as_frame, data_home, download)


def load_emotions(
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: Folder = None,
    download: bool = True,
) -> Any:
    """Return Emotions: 593 pieces of music, 72 features, and which of 6 emotions each stirs.

    Parameters
    ----------
    return_X_y, as_frame, data_home, download
        As for `load_dataset`.

    Returns
    -------
    Bunch, or (data, target)
        Target: an indicator of shape (593, 6).
    """
    return load_table("emotions", return_X_y, as_frame, data_home, download)


def load_scene(
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: Folder = None,
    download: bool = True,
) -> Any:
    """Return Scene: 2407 photographs, 294 features, and which of 6 kinds of scenery each shows.

    Parameters
    ----------
    return_X_y, as_frame, data_home, download
        As for `load_dataset`.

    Returns
    -------
    Bunch, or (data, target)
        Target: an indicator of shape (2407, 6). The first 1211 rows are the usual training part.
    """
    return load_table("scene", return_X_y, as_frame, data_home, download)


def load_yeast(
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: Folder = None,
    download: bool = True,
) -> Any:
    """Return Yeast: 2417 genes, 103 features, and which of 14 functional classes each has.

    Parameters
    ----------
    return_X_y, as_frame, data_home, download
        As for `load_dataset`.

    Returns
    -------
    Bunch, or (data, target)
        Target: an indicator of shape (2417, 14).
    """
    return load_table("yeast", return_X_y, as_frame, data_home, download)


def _named(names: Mapping[str, str], variant: str) -> str:
    if variant not in names:
        raise ValueError(f"variant={variant!r}; needed {' or '.join(map(repr, names))}")
    return names[variant]


# -- MNIST and Fashion-MNIST -----------------------------------------------------------------------


def load_mnist(
    subset: str = "train",
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: Folder = None,
    download: bool = True,
) -> Any:
    """Return MNIST: handwritten digits of 28 x 28 grey values from 0 to 255.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        The 60,000 images for training, the 10,000 for the test, or the former and then the latter.
    return_X_y, as_frame, data_home, download
        As for `load_dataset`; files lie in a folder ``mnist`` of each place.

    Returns
    -------
    Bunch, or (data, target)
        Data: uint8 of shape (n_images, 784), row after row of each image. Target: 0 to 9.
    """
    return load_images("mnist", subset, return_X_y, as_frame, data_home, download)


def load_fashion_mnist(
    subset: str = "train",
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: Folder = None,
    download: bool = True,
) -> Any:
    """Return Fashion-MNIST: pictures of ten kinds of clothes in the form of MNIST.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        The 60,000 images for training, the 10,000 for the test, or the former and then the latter.
    return_X_y, as_frame, data_home, download
        As for `load_dataset`; files lie in a folder ``fashion-mnist`` of each place.

    Returns
    -------
    Bunch, or (data, target)
        Data: uint8 of shape (n_images, 784), row after row of each image. Target: 0 to 9.
    """
    return load_images("fashion-mnist", subset, return_X_y, as_frame, data_home, download)


# -- Data sets of the catalogue in scikit-learn's form ---------------------------------------------


_GENERATED = {"monk": make_monk, "titanic": make_titanic}


def load_table(
    name: str, return_X_y: bool, as_frame: bool, data_home: Folder, download: bool
) -> Any:
    """Return a table as a Bunch, or as its features and its target alone."""
    known = TABLES[name]
    if name in _GENERATED:
        table, path = _GENERATED[name](), None
    else:
        table, path = get_table(name, data_home, download)
    X, labels = np.split(table, [len(known.features)], axis=1)
    y = labels[:, 0].astype(np.int64) if known.n_labels == 1 else labels.astype(np.int8)
    columns = ("y",) if known.n_labels == 1 else known.target_names
    parts = _framed(X, y, known.features, columns) if as_frame else {"data": X.copy(), "target": y}
    return _bunch(parts, known.features, known, path, return_X_y)


def load_images(
    name: str, subset: str, return_X_y: bool, as_frame: bool, data_home: Folder, download: bool
) -> Any:
    """Return images, a row each, as a Bunch, or as their pixels and their classes alone."""
    known = IMAGES[name]
    choices = {"train": [known.train], "test": [known.test], "all": [known.train, known.test]}
    if subset not in choices:
        raise ValueError(f"subset={subset!r}; needed 'train', 'test' or 'all'")
    parts = choices[subset]
    images = [get_images(images, data_home, download) for images, _ in parts]
    classes = [get_images(classes, data_home, download)[0] for _, classes in parts]
    X = np.concatenate([pixels for pixels, _ in images]).reshape(-1, np.prod(PIXELS))
    y = np.concatenate(classes).astype(np.int64)
    names = [f"pixel_{i}_{j}" for i, j in np.ndindex(PIXELS)]
    arrays = _framed(X, y, names, ["y"]) if as_frame else {"data": X, "target": y}
    return _bunch(arrays, names, known, images[0][1], return_X_y)


def _bunch(
    arrays: dict[str, Any],
    features: Sequence[str],
    known: Table | Images,
    path: Path | None,
    return_X_y: bool,
) -> Any:
    if return_X_y:
        return arrays["data"], arrays["target"]
    from sklearn.utils import Bunch

    return Bunch(
        **arrays,
        feature_names=list(features),
        target_names=list(known.target_names),
        DESCR=known.text,
        filename=None if path is None else str(path),
    )


def _framed(
    X: npt.NDArray[Any], y: npt.NDArray[Any], features: Sequence[str], labels: Sequence[str]
) -> dict[str, Any]:
    """Return features and target as parts of one pandas DataFrame, and the whole of it."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "as_frame=True needs pandas, which is not installed: pip install pandas"
        ) from error
    data = pd.DataFrame(X, columns=list(features))
    target = pd.DataFrame(y.reshape(len(y), -1), columns=list(labels))
    frame = pd.concat([data, target], axis=1)
    return {"data": data, "target": target["y"] if y.ndim == 1 else target, "frame": frame}


# -- Data sets by name -----------------------------------------------------------------------------


_LOADERS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "monk": load_monk,
        "australian": load_australian,
        "phoneme": load_phoneme,
        "titanic": load_titanic,
        "splice": load_splice,
        "emotions": load_emotions,
        "scene": load_scene,
        "yeast": load_yeast,
        "mnist": load_mnist,
        "fashion-mnist": load_fashion_mnist,
    }
)

DATASETS: tuple[str, ...] = tuple(_LOADERS)
"""The names that `load_dataset` knows."""


def load_dataset(name: str, **options: Any) -> Any:
    """Return a data set of the paper, or Fashion-MNIST, by its name.

    ``load_dataset("monk")`` is ``load_monk()``, and so are the others, with their options.

    Parameters
    ----------
    name : str
        One of `DATASETS`.
    **options
        Those of the function of that name, which are for all of them:

        return_X_y : bool, default=False
            Return ``(data, target)`` alone.
        as_frame : bool, default=False
            Return data and target as pandas objects, and both together as `frame`.
        data_home : path-like, optional
            The folder to look in first. Then come the one that the environment variable
            ``SORR_DATA`` names, and the user's cache, ``~/.cache/sorr`` on Linux, or the folder
            that ``SORR_CACHE`` names.
        download : bool, default=True
            If no file is there, fetch it from an official source and keep it in the cache.

        Beside these, `load_australian` and `load_titanic` take a `variant`, and `load_mnist` and
        `load_fashion_mnist` a `subset`.

    Returns
    -------
    Bunch
        With `data` (n_samples, n_features), `target` (n_samples,) or, for label sets, an indicator
        (n_samples, n_labels), `feature_names`, `target_names`, `DESCR`, which says where the data
        is from and what to beware of, and `filename`, None if there is no file.

    Raises
    ------
    FileNotFoundError
        If there is no file and none could be fetched: the message says what to do.
    ValueError
        If a file holds other data than it should. It is not replaced.

    Examples
    --------
    >>> monk = load_dataset("monk")
    >>> monk.data.shape, monk.feature_names
    ((432, 6), ['a1', 'a2', 'a3', 'a4', 'a5', 'a6'])
    """
    if name not in DATASETS:
        close = difflib.get_close_matches(str(name).lower().replace("_", "-"), DATASETS)
        hint = f"did you mean {' or '.join(close)}?" if close else f"needed {', '.join(DATASETS)}"
        raise ValueError(f"name={name!r} is not the name of a data set; {hint}")
    return _LOADERS[name](**options)


# -- Which data sets there are, how large they are, and where each would come from -----------------


class Entry(NamedTuple):
    """What is known of a data set before it is loaded."""

    name: str
    rows: int
    columns: int
    """The number of features."""
    target: str
    """What there is to learn: so many classes, or labels of which a row may have several."""
    place: str
    """Where it is from: generated, found in a folder, or still to be fetched."""
    text: str
    """Where the data is from and what to beware of."""


def inventory() -> list[Entry]:
    """Return what is known of each data set. Nothing is fetched.

    Images are those for training: what `load_mnist` returns by default.

    Examples
    --------
    >>> inventory()[0][:5]
    ('monk', 432, 6, '2 classes', 'generated')
    """
    return [_of_images(name) if name in IMAGES else _of_table(name) for name in DATASETS]


def _of_table(name: str) -> Entry:
    known = TABLES[name]
    kind = "classes" if known.n_labels == 1 else "labels"
    target = f"{len(known.target_names)} {kind}"
    is_stored = name in SOURCES
    place = _place([known.part], next(iter(SOURCES[name]))) if is_stored else "generated"
    return Entry(name, known.rows, len(known.features), target, place, known.text)


def _of_images(name: str) -> Entry:
    known = IMAGES[name]
    target = f"{len(known.target_names)} classes"
    place = _place(known.train, IMAGE_MIRRORS[name][0])
    return Entry(name, known.train[0].shape[0], PIXELS[0] * PIXELS[1], target, place, known.text)


def _place(parts: list[Part] | tuple[Part, ...], source: str) -> str:
    paths = [find_file(part, None) for part in parts]
    if None in paths or paths[0] is None:
        return f"to be fetched from {source}"
    return f"found in {paths[0].parent}"
