"""Which data sets there are, how large they are, and where each would come from."""

from __future__ import annotations

from typing import NamedTuple

from sorr.datasets.catalogue import IMAGES, PIXELS, TABLES, Part
from sorr.datasets.lookup import DATASETS
from sorr.datasets.sources import IMAGE_MIRRORS, SOURCES
from sorr.datasets.store import find_file

__all__ = ["Entry", "inventory"]


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
