"""What we know about each data set: its file, its size, its names and its description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from types import MappingProxyType

PIXELS = (28, 28)


@dataclass(frozen=True)
class Part:
    """A file, the shape of the array in it, and the SHA-256 of the bytes of that array.

    Tables are hashed as float64 and images as uint8, row by row and in little-endian order. The
    hash does not depend on how a file is compressed or written.
    """

    file: str
    shape: tuple[int, ...]
    sha256: str


@dataclass(frozen=True)
class _Described:
    """A data set with a description in a text file."""

    name: str

    @property
    def text(self) -> str:
        """Where the data comes from and what to watch out for, on one line."""
        file = resources.files("sorr.datasets").joinpath("descr", f"{self.name}.md")
        return " ".join(file.read_text("utf-8").split()) + "\n"


@dataclass(frozen=True)
class Table(_Described):
    """A table of features and, in its last columns, labels."""

    file: str
    rows: int
    features: tuple[str, ...]
    target_names: tuple[str, ...]
    sha256: str
    n_labels: int = 1

    @property
    def part(self) -> Part:
        """The file in which it is stored."""
        return Part(self.file, (self.rows, len(self.features) + self.n_labels), self.sha256)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the last columns of the file."""
        return ("y",) if self.n_labels == 1 else _number("y", self.n_labels)


@dataclass(frozen=True)
class Images(_Described):
    """Images and their classes: one pair of files for training and one for the test."""

    train: tuple[Part, Part]
    test: tuple[Part, Part]
    target_names: tuple[str, ...]

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the pixels, row by row."""
        return tuple(f"pixel_{i}_{j}" for i in range(PIXELS[0]) for j in range(PIXELS[1]))


def _number(letter: str, count: int) -> tuple[str, ...]:
    """Return that many names: the letter and a number from 1."""
    return tuple(f"{letter}{i}" for i in range(1, count + 1))


def _images(name: str, hashes: tuple[str, ...], target_names: tuple[str, ...]) -> Images:
    """Return a set in the form of MNIST; hashes are of both training files, then both for test."""
    files = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
    shapes = ((60000, *PIXELS), (60000,), (10000, *PIXELS), (10000,))
    images, labels, test_images, test_labels = (
        Part(f"{name}/{file}-ubyte", shape, sha256)
        for file, shape, sha256 in zip(files, shapes, hashes, strict=True)
    )
    return Images(name, (images, labels), (test_images, test_labels), target_names)


_TABLES = (
    Table(
        name="monk",
        file="monk.csv",
        rows=432,
        features=_number("a", 6),
        target_names=("rule does not hold", "rule holds"),
        sha256="13ef4c2198f91731b4ae1a383939ac65f253d59952b5042a2b3623c1ee57e3b7",
    ),
    Table(
        name="australian",
        file="australian.csv",
        rows=690,
        features=_number("A", 14),
        target_names=("not approved", "approved"),
        sha256="31f7d2e7692d5104af56da9932714e0b15cef630655e02ce16cef97255297ca8",
    ),
    Table(
        name="australian-keel",
        file="australian_keel.csv",
        rows=690,
        features=_number("A", 14),
        target_names=("not approved", "approved"),
        sha256="7b9f4abf3567a5b86d2e46bc8f3ae78c6618e77d359f88f107aaee04ae54453f",
    ),
    Table(
        name="phoneme",
        file="phoneme.csv",
        rows=5404,
        features=_number("f", 5),
        target_names=("nasal", "oral"),
        sha256="b35e995260e7d29da473dc4113be03b80dea55e5d45a03ffcca8f4062d1defe8",
    ),
    Table(
        name="titanic",
        file="titanic_generated.csv",
        rows=2201,
        features=("Class", "Age", "Sex"),
        target_names=("died", "survived"),
        sha256="f76fc15e316100569f93558ca5b0353a54f8a750f7de3958bec64ce2a720e55d",
    ),
    Table(
        name="titanic-keel",
        file="titanic.csv",
        rows=2201,
        features=("Class", "Age", "Sex"),
        target_names=("died", "survived"),
        sha256="1b73a178ab35216ca5728c2155751b18c8ecd527f25eb91907859a3328b8d981",
    ),
    Table(
        name="splice",
        file="splice.csv",
        rows=3175,
        features=tuple(f"p{i}" for i in range(-30, 31) if i),
        target_names=("junction", "neither"),
        sha256="15b1ec5a766aa300779bd289492e15e9779c32d6c517e2f6a47f1d9ffb9af48f",
    ),
    Table(
        name="emotions",
        file="emotions.csv",
        rows=593,
        features=_number("f", 72),
        target_names=(
            "amazed-surprised",
            "happy-pleased",
            "relaxing-calm",
            "quiet-still",
            "sad-lonely",
            "angry-aggressive",
        ),
        sha256="82987586ae876314f41c05a37ea0db13dc33bd15130c99521340fafc22fa47dd",
        n_labels=6,
    ),
    Table(
        name="scene",
        file="scene.csv",
        rows=2407,
        features=_number("f", 294),
        target_names=("Beach", "Sunset", "FallFoliage", "Field", "Mountain", "Urban"),
        sha256="7cad42f7835863495d4fde58505a9d475f1bc0458ab3f6ca787f4572459db12f",
        n_labels=6,
    ),
    Table(
        name="yeast",
        file="yeast.csv",
        rows=2417,
        features=_number("f", 103),
        target_names=_number("Class", 14),
        sha256="d689391546fd6bba64c98918001616f2e3199d3f2459f18c9b194ada3c1efdc4",
        n_labels=14,
    ),
    Table(
        name="toy-balanced",
        file="toy_data4_1.csv",
        rows=200,
        features=("x1", "x2"),
        target_names=("blue", "red"),
        sha256="e5fa637e3398bfce991a9813255b95a9a2e4a6b15a496689b6664fdf663c94d2",
    ),
    Table(
        name="toy-imbalanced",
        file="toy_data6_1.csv",
        rows=200,
        features=("x1", "x2"),
        target_names=("blue", "red"),
        sha256="5cf870147b221d4f5a62afc1cd31fe62ecebcc77934ac88a04f8b9d595b01834",
    ),
)

_IMAGES = (
    _images(
        "mnist",
        (
            "741c988805d008ac6e4c904b69001ba184c24b2c540a4ef403f4c71b676cf757",
            "1feba77c54802fa5339a11837ea4b2866434b83314ec45192930f1df69120c13",
            "6d87418db22cc8025d05968bec9bd5c3932904b23485740db143a061a2c9d161",
            "ddeff807876a9661a1110d45c266c86239a3a1b7d37da0c3716a7a683c852ff5",
        ),
        tuple("0123456789"),
    ),
    _images(
        "fashion-mnist",
        (
            "2e487a6c89124f78f2d7521542223cafe96f7123c3ca13d447772ac6ecbb3012",
            "657fbd221bfc9f4198cc14b5619cc33ec57c58dd0e47af4d99d6650759e869a7",
            "c867c93ff95360594e8ec3287995350b824dd110b11595c0e13d5423f621867a",
            "3d0e6c6ea990b53b6f8f500a41cac93881d981b315f84578b7d915342ade01e9",
        ),
        (
            "T-shirt/top",
            "Trouser",
            "Pullover",
            "Dress",
            "Coat",
            "Sandal",
            "Shirt",
            "Sneaker",
            "Bag",
            "Ankle boot",
        ),
    ),
)

TABLES: Mapping[str, Table] = MappingProxyType({table.name: table for table in _TABLES})
IMAGES: Mapping[str, Images] = MappingProxyType({images.name: images for images in _IMAGES})
