"""MNIST and Fashion-MNIST."""

from __future__ import annotations

from typing import Any

from sorr.datasets.bunch import load_images
from sorr.datasets.store import Folder

__all__ = ["load_fashion_mnist", "load_mnist"]


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
