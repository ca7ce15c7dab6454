"""What is known of each data set: its file, its size, its names, and what to beware of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["IMAGES", "PIXELS", "TABLES", "Images", "Part", "Table"]

PIXELS = (28, 28)


@dataclass(frozen=True)
class Part:
    """A file, the shape of the array in it, and the SHA-256 of the bytes of that array.

    Tables are hashed as float64 and images as uint8, row by row, the lowest byte of a number
    first: files can be compressed or written in another way without changing that.
    """

    file: str
    shape: tuple[int, ...]
    sha256: str


@dataclass(frozen=True)
class Table:
    """A table of features and, in its last columns, labels."""

    file: str
    rows: int
    features: tuple[str, ...]
    target_names: tuple[str, ...]
    sha256: str
    text: str
    n_labels: int = 1

    @property
    def part(self) -> Part:
        """The file in which it is stored."""
        return Part(self.file, (self.rows, len(self.features) + self.n_labels), self.sha256)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the last columns of the file."""
        return ("y",) if self.n_labels == 1 else _numbered("y", self.n_labels)


@dataclass(frozen=True)
class Images:
    """Images and their classes, in one pair of files for training and one for the test."""

    train: tuple[Part, Part]
    test: tuple[Part, Part]
    target_names: tuple[str, ...]
    text: str


def _numbered(letter: str, count: int) -> tuple[str, ...]:
    return tuple(f"{letter}{i}" for i in range(1, count + 1))


def _images(folder: str, hashes: tuple[str, ...], names: tuple[str, ...], text: str) -> Images:
    parts = [
        Part(f"{folder}/{part}-{what}-ubyte", shape, sha256)
        for (part, what, shape), sha256 in zip(
            (
                ("train", "images-idx3", (60000, *PIXELS)),
                ("train", "labels-idx1", (60000,)),
                ("t10k", "images-idx3", (10000, *PIXELS)),
                ("t10k", "labels-idx1", (10000,)),
            ),
            hashes,
            strict=True,
        )
    ]
    return Images((parts[0], parts[1]), (parts[2], parts[3]), names, text)


_AUSTRALIAN = """\
Australian credit approval (Statlog): 690 applications for a credit card, 14 attributes without \
meaningful names, 1 = approved (307 rows), 0 = not approved (383). """

_TITANIC = """\
Titanic: 2201 people on board, 1 = survived (711), -1 = died (1490), and three attributes as \
z-scores of codes. Class: -1.87 first, -0.923 second, 0.0214 third, 0.965 crew. Age: -0.228 adult, \
4.38 child. Sex: 0.521 male, -1.92 female. Only 14 different rows of attributes occur, so that no \
model has less than 20.9 % of errors on the whole. """

TABLES: Mapping[str, Table] = MappingProxyType(
    {
        "monk": Table(
            "monk.csv",
            432,
            _numbered("a", 6),
            ("rule does not hold", "rule holds"),
            "13ef4c2198f91731b4ae1a383939ac65f253d59952b5042a2b3623c1ee57e3b7",
            """\
Monk-3: all 432 combinations of six attributes, 1 (228 rows) where (a5 = 3 and a4 = 1) or (a5 is \
not 4 and a2 is not 3), else 0 (204). Generated from that rule; row by row the file monks-3.test \
of the paper's authors. No label is wrong: the 5 % of noise that Monk-3 is known for is in its \
training file of 122 rows, which the authors' code does not read.
""",
        ),
        "australian": Table(
            "australian.csv",
            690,
            _numbered("A", 14),
            ("not approved", "approved"),
            "31f7d2e7692d5104af56da9932714e0b15cef630655e02ce16cef97255297ca8",
            _AUSTRALIAN
            + """\
Values as at UCI. Categories (A4, A5, A6, A12) are coded by numbers without an order. KEEL's copy, \
variant="keel", has other values in A2, A3 and A7; the paper names UCI and KEEL and does not say \
which of the two it took.
""",
        ),
        "australian-keel": Table(
            "australian_keel.csv",
            690,
            _numbered("A", 14),
            ("not approved", "approved"),
            "7b9f4abf3567a5b86d2e46bc8f3ae78c6618e77d359f88f107aaee04ae54453f",
            _AUSTRALIAN
            + """\
Values as at KEEL, where A2, A3 and A7 have lost their decimal points: 22.08 became 2208 and \
11.46 became 1146, but 7 stayed 7. That is no change of unit: the correlation with UCI's columns \
is 0.69, 0.40 and 0.30. Rows, labels and the other columns are those of UCI.
""",
        ),
        "phoneme": Table(
            "phoneme.csv",
            5404,
            _numbered("f", 5),
            ("nasal", "oral"),
            "b35e995260e7d29da473dc4113be03b80dea55e5d45a03ffcca8f4062d1defe8",
            """\
Phoneme (ELENA): vowels described by the amplitudes of five harmonics, 5404 rows, 0 = nasal \
(3818), 1 = oral (1586). Values as at KEEL, not scaled; OpenML's set 1489 has standardised \
columns, and is not used here. 55 rows are exact copies of another one.
""",
        ),
        "titanic": Table(
            "titanic_generated.csv",
            2201,
            ("Class", "Age", "Sex"),
            ("died", "survived"),
            "f76fc15e316100569f93558ca5b0353a54f8a750f7de3958bec64ce2a720e55d",
            _TITANIC
            + """\
Generated from the number of people of each kind: the rows of KEEL's file, variant="keel", in \
another order, in which each kind is spread evenly over the table.
""",
        ),
        "titanic-keel": Table(
            "titanic.csv",
            2201,
            ("Class", "Age", "Sex"),
            ("died", "survived"),
            "1b73a178ab35216ca5728c2155751b18c8ecd527f25eb91907859a3328b8d981",
            _TITANIC
            + """\
Rows in the order of KEEL's file.
""",
        ),
        "splice": Table(
            "splice.csv",
            3175,
            tuple(f"p{i}" for i in range(-30, 31) if i),
            ("junction", "neither"),
            "15b1ec5a766aa300779bd289492e15e9779c32d6c517e2f6a47f1d9ffb9af48f",
            """\
Splice junctions of primate genes (UCI): the 60 letters of DNA around each of 3175 points, coded \
A = 1, G = 2, C = 3, T = 4; 1 = no junction at that point (N, 1648 rows), -1 = one of either kind \
(EI or IE, 1527). The 15 of UCI's 3190 rows with ambiguous letters are left out. Rows 1 to 1000 \
are LIBSVM's training set in its order, the others follow in UCI's. The codes are numbers without \
an order. Sequences repeat: 2990 are different, and one of them has both labels.
""",
        ),
        "emotions": Table(
            "emotions.csv",
            593,
            _numbered("f", 72),
            (
                "amazed-surprised",
                "happy-pleased",
                "relaxing-calm",
                "quiet-still",
                "sad-lonely",
                "angry-aggressive",
            ),
            "82987586ae876314f41c05a37ea0db13dc33bd15130c99521340fafc22fa47dd",
            """\
Emotions (Mulan): 593 pieces of music, 72 features of rhythm and timbre, 1 to 3 of 6 emotions \
each, 1.868 on average. The paper prints an average of 1.81, which is that of Mulan's training \
part of 391 rows, beside the size of the full set.
""",
            n_labels=6,
        ),
        "scene": Table(
            "scene.csv",
            2407,
            _numbered("f", 294),
            ("Beach", "Sunset", "FallFoliage", "Field", "Mountain", "Urban"),
            "7cad42f7835863495d4fde58505a9d475f1bc0458ab3f6ca787f4572459db12f",
            """\
Scene (Mulan): 2407 photographs, 294 features of colour, 1 to 3 of 6 kinds of scenery each, 1.074 \
on average. Rows 1 to 1211 are Mulan's training part, the others its test part. The paper prints \
an average of 1.06, which is that of the training part, beside the size of the full set. The names \
of the kinds are Mulan's usual ones; the files that the table comes from do not say them.
""",
            n_labels=6,
        ),
        "yeast": Table(
            "yeast.csv",
            2417,
            _numbered("f", 103),
            tuple(f"Class{i}" for i in range(1, 15)),
            "d689391546fd6bba64c98918001616f2e3199d3f2459f18c9b194ada3c1efdc4",
            """\
Yeast (Mulan): 2417 genes, 103 features of expression and phylogeny, 1 to 11 of 14 functional \
classes each, 4.237 on average. The paper prints an average of 4.22, which is about that of the \
training part of 1500 rows, 4.228, beside the size of the full set.
""",
            n_labels=14,
        ),
        "toy-balanced": Table(
            "toy_data4_1.csv",
            200,
            ("x1", "x2"),
            ("blue", "red"),
            "e5fa637e3398bfce991a9813255b95a9a2e4a6b15a496689b6664fdf663c94d2",
            """\
The balanced toy set of the paper's authors (data4_1), 200 rows: 100 of label 1, of which the \
first is an outlier amid the other class, 89 are around (0, 0) and 10 around (1, 1); and 100 of \
label -1 around (2, 2). `make_multimodal` draws others like it.
""",
        ),
        "toy-imbalanced": Table(
            "toy_data6_1.csv",
            200,
            ("x1", "x2"),
            ("blue", "red"),
            "5cf870147b221d4f5a62afc1cd31fe62ecebcc77934ac88a04f8b9d595b01834",
            """\
The imbalanced toy set of the paper's authors (data6_1), 200 rows: 196 of label 1, of which the \
first is an outlier amid the other class and 195 are around (0, 0); and 4 of label -1 around \
(1, 1). `make_imbalanced` draws others like it.
""",
        ),
    }
)

IMAGES: Mapping[str, Images] = MappingProxyType(
    {
        "mnist": _images(
            "mnist",
            (
                "741c988805d008ac6e4c904b69001ba184c24b2c540a4ef403f4c71b676cf757",
                "1feba77c54802fa5339a11837ea4b2866434b83314ec45192930f1df69120c13",
                "6d87418db22cc8025d05968bec9bd5c3932904b23485740db143a061a2c9d161",
                "ddeff807876a9661a1110d45c266c86239a3a1b7d37da0c3716a7a683c852ff5",
            ),
            tuple("0123456789"),
            """\
MNIST: 70,000 handwritten digits of 28 x 28 grey values from 0 to 255, 60,000 of them for training \
and 10,000 for the test. Divide the values by 255 before a linear model is fitted.
""",
        ),
        "fashion-mnist": _images(
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
            """\
Fashion-MNIST (Zalando): 70,000 pictures of clothes of 28 x 28 grey values from 0 to 255 in ten \
classes, 60,000 of them for training and 10,000 for the test. It has the form of MNIST and is \
harder; the paper does not use it.
""",
        ),
    }
)
