"""Data sets by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from sorr.datasets.images import load_fashion_mnist, load_mnist
from sorr.datasets.tables import (
    load_australian,
    load_emotions,
    load_monk,
    load_phoneme,
    load_scene,
    load_splice,
    load_titanic,
    load_yeast,
)

__all__ = ["DATASETS", "load_dataset"]

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
