"""The tables of the paper, one function each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sorr.datasets.bunch import load_table
from sorr.datasets.store import Folder

__all__ = [
    "load_australian",
    "load_emotions",
    "load_monk",
    "load_phoneme",
    "load_scene",
    "load_splice",
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
