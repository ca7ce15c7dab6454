"""The data sets of the paper and Fashion-MNIST, in the form of scikit-learn's loaders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._checks import check_choice, suggest
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

_GENERATED = {"monk": make_monk, "titanic": make_titanic}


class LoadOptions(NamedTuple):
    """What all loaders take; `load_dataset` explains it."""

    as_pair: bool
    """Whether to return only data and target: `return_X_y`."""
    as_frame: bool
    data_home: Folder
    download: bool


def load_monk(
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: Folder = None,
    download: bool = True,
) -> Any:
    """Return Monk-3: all 432 combinations of six attributes, and a rule on four of them.

    The rows are generated from the rule, so no file is needed.

    Parameters
    ----------
    return_X_y, as_frame, data_home, download
        As for `load_dataset`; the last two have no effect.

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
    return load_table("monk", LoadOptions(return_X_y, as_frame, data_home, download))


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
        but 7 is 7. The paper does not say which copy it uses.
    return_X_y, as_frame, data_home, download
        As for `load_dataset`.

    Returns
    -------
    Bunch, or (data, target)
        Target: 1 = approved (307 rows), 0 = not (383).
    """
    check_choice("variant", variant, ("uci", "keel"))
    name = "australian" if variant == "uci" else "australian-keel"
    return load_table(name, LoadOptions(return_X_y, as_frame, data_home, download))


def load_phoneme(
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: Folder = None,
    download: bool = True,
) -> Any:
    """Return Phoneme: 5,404 vowels, five harmonics each, not scaled.

    Parameters
    ----------
    return_X_y, as_frame, data_home, download
        As for `load_dataset`.

    Returns
    -------
    Bunch, or (data, target)
        Target: 0 = nasal (3,818 rows), 1 = oral (1,586).
    """
    return load_table("phoneme", LoadOptions(return_X_y, as_frame, data_home, download))


def load_titanic(
    variant: str = "generated",
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: Folder = None,
    download: bool = True,
) -> Any:
    """Return Titanic: the class, age and sex of 2,201 people on board, and who survived.

    Parameters
    ----------
    variant : {"generated", "keel"}, default="generated"
        The order of the rows. "generated" makes them from the number of people of each kind,
        needs no file and spreads each kind evenly over the table. KEEL's file has the same rows in
        another order, which matters if you draw the same splits as someone else.
    return_X_y, as_frame, data_home, download
        As for `load_dataset`; the last two have no effect on generated rows.

    Returns
    -------
    Bunch, or (data, target)
        Target: 1 = survived (711 rows), -1 = died (1,490). Attributes are z-scores of codes, which
        the Bunch describes. There are only 14 different rows of attributes.

    Examples
    --------
    >>> X, y = load_titanic(return_X_y=True)
    >>> X.shape, int((y == 1).sum())
    ((2201, 3), 711)
    """
    check_choice("variant", variant, ("generated", "keel"))
    name = "titanic" if variant == "generated" else "titanic-keel"
    return load_table(name, LoadOptions(return_X_y, as_frame, data_home, download))


def load_splice(
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: Folder = None,
    download: bool = True,
) -> Any:
    """Return Splice: 3,175 sequences of 60 letters of DNA, coded A = 1, G = 2, C = 3, T = 4.

    Parameters
    ----------
    return_X_y, as_frame, data_home, download
        As for `load_dataset`.

    Returns
    -------
    Bunch, or (data, target)
        Target: 1 = no junction in the middle (1,648 rows), -1 = one of either kind (1,527).
    """
    return load_table("splice", LoadOptions(return_X_y, as_frame, data_home, download))


def load_emotions(
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: Folder = None,
    download: bool = True,
) -> Any:
    """Return Emotions: 593 pieces of music, 72 features, and which of 6 emotions each evokes.

    Parameters
    ----------
    return_X_y, as_frame, data_home, download
        As for `load_dataset`.

    Returns
    -------
    Bunch, or (data, target)
        Target: an indicator of shape (593, 6).
    """
    return load_table("emotions", LoadOptions(return_X_y, as_frame, data_home, download))


def load_scene(
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: Folder = None,
    download: bool = True,
) -> Any:
    """Return Scene: 2,407 photographs, 294 features, and which of 6 kinds of scenery each shows.

    Parameters
    ----------
    return_X_y, as_frame, data_home, download
        As for `load_dataset`.

    Returns
    -------
    Bunch, or (data, target)
        Target: an indicator of shape (2407, 6). The first 1,211 rows are the usual training part.
    """
    return load_table("scene", LoadOptions(return_X_y, as_frame, data_home, download))


def load_yeast(
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: Folder = None,
    download: bool = True,
) -> Any:
    """Return Yeast: 2,417 genes, 103 features, and which of 14 functional classes each has.

    Parameters
    ----------
    return_X_y, as_frame, data_home, download
        As for `load_dataset`.

    Returns
    -------
    Bunch, or (data, target)
        Target: an indicator of shape (2417, 14).
    """
    return load_table("yeast", LoadOptions(return_X_y, as_frame, data_home, download))


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
        The 60,000 images for training, the 10,000 for the test, or both in that order.
    return_X_y, as_frame, data_home, download
        As for `load_dataset`. Files are in a folder ``mnist`` of each place.

    Returns
    -------
    Bunch, or (data, target)
        Data: uint8 of shape (n_images, 784), the rows of each image one after another. Target: 0
        to 9.
    """
    options = LoadOptions(return_X_y, as_frame, data_home, download)
    return _load_images("mnist", subset, options)


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
        The 60,000 images for training, the 10,000 for the test, or both in that order.
    return_X_y, as_frame, data_home, download
        As for `load_dataset`. Files are in a folder ``fashion-mnist`` of each place.

    Returns
    -------
    Bunch, or (data, target)
        Data: uint8 of shape (n_images, 784), the rows of each image one after another. Target: 0
        to 9.
    """
    options = LoadOptions(return_X_y, as_frame, data_home, download)
    return _load_images("fashion-mnist", subset, options)


# -- By name, and the list of them -----------------------------------------------------------------


_LOADERS: dict[str, Callable[..., Any]] = {
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

DATASETS: tuple[str, ...] = tuple(_LOADERS)
"""The names that `load_dataset` knows."""


def load_dataset(name: str, **options: Any) -> Any:
    """Return a data set of the paper, or Fashion-MNIST, by its name.

    ``load_dataset("monk")`` is ``load_monk()``, and so on, with the same options.

    Parameters
    ----------
    name : str
        One of `DATASETS`.
    **options
        All loaders take these options:

        return_X_y : bool, default=False
            Return only ``(data, target)``.
        as_frame : bool, default=False
            Return data and target as pandas objects, and both together as `frame`.
        data_home : path-like, optional
            The folder to look in first. The next ones are the folder in the environment variable
            ``SORR_DATA``, then the cache: the folder in ``SORR_CACHE``, or ``~/.cache/sorr`` on
            Linux.
        download : bool, default=True
            If there is no file, fetch it from an official source and keep it in the cache.

        `load_australian` and `load_titanic` also take a `variant`, `load_mnist` and
        `load_fashion_mnist` a `subset`.

    Returns
    -------
    Bunch
        With `data` (n_samples, n_features), `target` (n_samples,) or, for label sets, an indicator
        (n_samples, n_labels), `feature_names`, `target_names`, `DESCR`, which says where the data
        comes from and what to watch out for, and `filename`, None if there is no file.

    Raises
    ------
    FileNotFoundError
        If there is no file and none could be fetched. The message says what to do.
    ValueError
        If a file does not hold the known data. It is not replaced.

    Examples
    --------
    >>> monk = load_dataset("monk")
    >>> monk.data.shape, monk.feature_names
    ((432, 6), ['a1', 'a2', 'a3', 'a4', 'a5', 'a6'])
    """
    if name not in DATASETS:
        hint = suggest(name.replace("_", "-") if isinstance(name, str) else name, DATASETS)
        raise ValueError(f"name={name!r} is not the name of a data set; {hint}")
    return _LOADERS[name](**options)


class Entry(NamedTuple):
    """What we know about a data set before it is loaded."""

    name: str
    rows: int
    columns: int
    """The number of features."""
    target: str
    """What to predict: a number of classes, or of labels if a row may have several."""
    place: str
    """Where the rows come from: generated, found in a folder, or still to be fetched."""
    text: str
    """Where the data comes from and what to watch out for."""


def inventory() -> list[Entry]:
    """Return what we know about each data set. Nothing is fetched.

    The numbers of images are those for training, which `load_mnist` returns by default.

    Examples
    --------
    >>> inventory()[0][:5]
    ('monk', 432, 6, '2 classes', 'generated')
    """
    return [_describe(IMAGES.get(name) or TABLES[name]) for name in DATASETS]


def _describe(known: Table | Images) -> Entry:
    name, kind, place = known.name, "classes", "generated"
    if isinstance(known, Images):
        rows, place = known.train[0].shape[0], _place(known.train, IMAGE_MIRRORS[name][0])
    else:
        rows, kind = known.rows, "classes" if known.n_labels == 1 else "labels"
        if name in SOURCES:
            place = _place([known.part], next(iter(SOURCES[name])))
    target = f"{len(known.target_names)} {kind}"
    return Entry(name, rows, len(known.features), target, place=place, text=known.text)


def _place(parts: Sequence[Part], source: str) -> str:
    """Return the folder that has all the files, or the source to fetch them from."""
    paths = [path for part in parts if (path := find_file(part, None)) is not None]
    if len(paths) < len(parts):
        return f"to be fetched from {source}"
    return f"found in {paths[0].parent}"


# -- From arrays to what loaders return ------------------------------------------------------------


def load_table(name: str, options: LoadOptions) -> Any:
    """Return a table as a Bunch, or only its features and its target."""
    known = TABLES[name]
    if name in _GENERATED:
        table, path = _GENERATED[name](), None
    else:
        table, path = get_table(name, options.data_home, options.download)
    X, labels = np.split(table, [len(known.features)], axis=1)
    y = labels[:, 0].astype(np.int64) if known.n_labels == 1 else labels.astype(np.int8)
    return _bunch(X.copy(), y, known, path, options)


def _load_images(name: str, subset: str, options: LoadOptions) -> Any:
    """Return images, a row each, as a Bunch, or only their pixels and their classes."""
    known = IMAGES[name]
    choices = {"train": [known.train], "test": [known.test], "all": [known.train, known.test]}
    check_choice("subset", subset, tuple(choices))
    parts = choices[subset]
    data_home, download = options.data_home, options.download
    images = [get_images(images, data_home, download) for images, _ in parts]
    classes = [get_images(classes, data_home, download)[0] for _, classes in parts]
    X = np.concatenate([pixels for pixels, _ in images]).reshape(-1, np.prod(PIXELS))
    y = np.concatenate(classes).astype(np.int64)
    return _bunch(X, y, known, images[0][1], options)


def _bunch(
    X: npt.NDArray[Any],
    y: npt.NDArray[Any],
    known: Table | Images,
    path: Path | None,
    options: LoadOptions,
) -> Any:
    """Return arrays or pandas objects in the form that was asked for."""
    parts: dict[str, Any] = {"data": X, "target": y}
    if options.as_frame:
        pd = _need_pandas()
        data = pd.DataFrame(X, columns=list(known.features))
        labels = ["y"] if y.ndim == 1 else list(known.target_names)
        target = pd.DataFrame(y.reshape(len(y), -1), columns=labels)
        frame = pd.concat([data, target], axis=1)
        parts = {"data": data, "target": target["y"] if y.ndim == 1 else target, "frame": frame}
    if options.as_pair:
        return parts["data"], parts["target"]
    from sklearn.utils import Bunch

    return Bunch(
        **parts,
        feature_names=list(known.features),
        target_names=list(known.target_names),
        DESCR=known.text,
        filename=None if path is None else str(path),
    )


def _need_pandas() -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "as_frame=True needs pandas, which is not installed: pip install pandas"
        ) from error
    return pd
