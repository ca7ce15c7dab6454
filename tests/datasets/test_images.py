"""Images: rows of bytes, in the parts that are asked for."""

import gzip
import hashlib
from dataclasses import replace

import numpy as np
import pytest

from sorr.datasets import bunch, load_fashion_mnist, load_mnist
from sorr.datasets.catalogue import IMAGES, Part

from .test_formats import idx


@pytest.fixture
def mnist(monkeypatch, cache):
    """Let MNIST have three images for training and two for the test."""
    (cache / "mnist").mkdir(parents=True)
    parts = []
    for part, n in (("train", 3), ("t10k", 2)):
        pixels = np.random.default_rng(n).integers(0, 256, (n, 28, 28), dtype=np.uint8)
        for array, what in ((pixels, "images"), (np.arange(n, dtype=np.uint8), "labels")):
            sha256 = hashlib.sha256(array.tobytes()).hexdigest()
            parts.append(Part(f"mnist/{part}-{what}", array.shape, sha256))
            path = cache / "mnist" / f"{part}-{what}.gz"
            path.write_bytes(gzip.compress(idx(array)))
    small = replace(IMAGES["mnist"], train=tuple(parts[:2]), test=tuple(parts[2:]))
    monkeypatch.setattr(bunch, "IMAGES", {"mnist": small})


@pytest.mark.usefixtures("mnist")
def test_images_are_rows_of_pixels_in_parts(cache):
    train, test, both = (load_mnist(subset) for subset in ("train", "test", "all"))
    assert (train.data.shape, train.data.dtype) == ((3, 784), np.uint8)
    assert (test.target.tolist(), test.target.dtype) == ([0, 1], np.int64)
    np.testing.assert_array_equal(both.data, np.vstack([train.data, test.data]))
    np.testing.assert_array_equal(both.target, [0, 1, 2, 0, 1])
    expected = np.random.default_rng(3).integers(0, 256, (3, 28, 28), dtype=np.uint8)
    place = train.feature_names.index("pixel_2_5")
    np.testing.assert_array_equal(train.data[:, place], expected[:, 2, 5])
    assert train.filename == str(cache / "mnist" / "train-images.gz")
    train.data[0] = 0  # no buffer that must not be written to


@pytest.mark.usefixtures("mnist")
def test_images_can_be_frames():
    pytest.importorskip("pandas")
    found = load_mnist("test", as_frame=True)
    assert found.frame.shape == (2, 785)
    assert found.target.tolist() == [0, 1]


@pytest.mark.parametrize("load", [load_mnist, load_fashion_mnist])
def test_an_unknown_part_of_the_images_is_refused(load):
    with pytest.raises(ValueError, match="subset='valid'; needed 'train', 'test' or 'all'"):
        load("valid")


@pytest.mark.parametrize("load", [load_mnist, load_fashion_mnist])
def test_images_have_ten_classes(load, data_folder):
    if not (data_folder / "mnist").is_dir():
        pytest.skip("no images there")
    X, y = load("test", data_home=data_folder, download=False, return_X_y=True)
    assert (X.shape, X.max()) == ((10_000, 784), 255)
    assert len(load("test", data_home=data_folder).target_names) == 10
    assert np.unique(y).tolist() == list(range(10))
