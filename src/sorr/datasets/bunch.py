"""Data sets of the catalogue in scikit-learn's form."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sorr.datasets.catalogue import IMAGES, PIXELS, TABLES, Images, Table
from sorr.datasets.fetch import get_images, get_table
from sorr.datasets.rules import make_monk, make_titanic
from sorr.datasets.store import Folder

__all__ = ["load_images", "load_table"]

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
