"""Handwritten digits with wrong labels, by our protocol and by the paper's.

The data is MNIST, or small digits for quick runs. Ours: models are minimised accurately, all with
the same ridge. The paper's: the released loop with the printed steps.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from sorr._typing import BoolArray, FloatArray, IntArray
from sorr.baselines import MulticlassSVM, TopKSVMClassifier
from sorr.datasets import MNIST_FLIPS, flip_pairs, load_dataset
from sorr.estimators import RankedRangeClassifier, TopKMultilabelClassifier
from sorr.experiments.experiment import Cell, Measured, seed_of
from sorr.experiments.paper.released import DigitsResult, Part, run_digits_loop, run_svm_loop
from sorr.experiments.published import MNIST_SETTINGS, LoopSetting
from sorr.metrics import class_wise_error, topk_accuracy
from sorr.share import judge_labels

SMALL = "digits"
"""The name of scikit-learn's 1,797 digits of 8 x 8 pixels, which need no file."""
_N_SMALL_TEST = 500


class Images(NamedTuple):
    """Images as rows of pixels from 0 to 1, for training and testing, and the digits they show."""

    X: FloatArray
    y: IntArray
    X_test: FloatArray
    y_test: IntArray


class Digits(NamedTuple):
    """Training images, their given labels, which of these are wrong, and the right labels."""

    X: FloatArray
    y: IntArray
    wrong: BoolArray
    y_clean: IntArray
    seed: int

    def per_class(self, chosen: BoolArray) -> list[int]:
        """Count chosen rows by their given label."""
        return [int(count) for count in np.bincount(self.y[chosen], minlength=10)]


def noisy_digits(dataset: str, noise: int, run: int) -> tuple[Digits, Images]:
    """Return training images with `noise` per cent of five digits flipped, and all images.

    Test labels are not flipped. The flips depend on the names and the number of the run only.

    Examples
    --------
    >>> digits, _ = noisy_digits("digits", 20, 0)
    >>> digits.wrong.sum() == (digits.y != digits.y_clean).sum()
    np.True_
    """
    images = images_of(dataset, run)
    seed = seed_of(dataset, noise, run) % 2**31
    flipped = flip_pairs(images.y, MNIST_FLIPS, noise / 100, seed)
    return Digits(images.X, flipped.y, flipped.wrong, images.y, seed), images


def images_of(dataset: str, run: int = 0) -> Images:
    """Return the images of MNIST in its own two parts, or small ones in two random parts."""
    return _small(run) if dataset == SMALL else _mnist()


@cache
def _mnist() -> Images:
    train, test = (load_dataset("mnist", subset=part) for part in ("train", "test"))
    scale = np.float32(255)
    return Images(
        train.data.astype(np.float32) / scale,
        train.target.astype(np.intp),
        test.data.astype(np.float32) / scale,
        test.target.astype(np.intp),
    )


@cache
def _small(run: int) -> Images:
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed_of(SMALL, run)).permutation(len(y))
    X, y = (X[order] / 16).astype(np.float32), y[order].astype(np.intp)
    n = _N_SMALL_TEST
    return Images(X[n:], y[n:], X[:n], y[:n])


def setting_of(noise: int) -> str:
    """Return the setting of a cell with `noise` per cent of some digits flipped.

    Examples
    --------
    >>> setting_of(20), noise_of("noise=0.2")
    ('noise=0.2', 20)
    """
    return f"noise={noise / 100:g}"


def noise_of(setting: str) -> int:
    """Return the per cent of flipped labels in a setting."""
    return round(100 * float(setting.removeprefix("noise=")))


# -- Our protocol ----------------------------------------------------------------------------------


C = 1e3
PEER = "softmax"
TRIMMED = "trimmed, share estimated"
ORACLE = "trimmed, share known"
TOPS = (1, 2, 3, 4, 5)
MEASURES = (*(f"top{k}" for k in TOPS), *(f"class{digit}" for digit in range(10)))
"""Top-k accuracies, and the error of each class, in per cent."""


def _softmax(digits: Digits) -> Any:
    model = LogisticRegression(C=C / len(digits.y), max_iter=2000)
    return model.fit(digits.X, digits.y)


def _top_1(digits: Digits) -> Any:
    return MulticlassSVM(C=C).fit(digits.X, digits.y)


def _top_2(digits: Digits) -> Any:
    return TopKSVMClassifier(2, C=C).fit(digits.X, digits.y)


def _tkml(digits: Digits) -> Any:
    model = TopKMultilabelClassifier(1, loss="tkml", C=C, random_state=digits.seed)
    return model.fit(digits.X, digits.y)


def _estimated(digits: Digits) -> Any:
    """Drop as many rows of each digit as the scores of tkml call wrong; it does not chase them."""
    scores = _tkml(digits).decision_function(digits.X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the scores are of rows that were learned from
        wrong = judge_labels(scores, digits.y, scores=True).count_
    m = dict(enumerate(np.rint(wrong).astype(int).tolist()))
    model = RankedRangeClassifier(m, C=C, certify=False, random_state=digits.seed)
    return model.fit(digits.X, digits.y)


def _known(digits: Digits) -> Any:
    true = dict(enumerate(digits.per_class(digits.wrong)))
    model = RankedRangeClassifier(true, C=C, certify=False, random_state=digits.seed)
    return model.fit(digits.X, digits.y)


OUR_MODELS: dict[str, Callable[[Digits], Any]] = {
    PEER: _softmax,
    "top-1 SVM": _top_1,
    "top-2 SVM": _top_2,
    "tkml": _tkml,
    TRIMMED: _estimated,
    ORACLE: _known,
}
"""Functions that fit a model. The oracle knows how many labels of each class are wrong."""


def measure_ours(cells: tuple[Cell, ...]) -> Iterator[tuple[Cell, Measured]]:
    """Yield top-k accuracies and class-wise errors of models fitted to the same labels."""
    first = cells[0]
    digits, images = noisy_digits(first.dataset, noise_of(first.setting), first.split)
    for cell in cells:
        model = OUR_MODELS[cell.model](digits)
        status = getattr(model, "status_", None)
        yield (
            cell,
            Measured(
                measures_of(images, model.decision_function(images.X_test)),
                chosen=_chosen(model),
                objective=float(getattr(model, "objective_", np.nan)),
                gap=float(getattr(model, "gap_", np.nan)),
                status="" if status is None else status.name,
                seed=digits.seed,
            ),
        )


def _chosen(model: Any) -> dict[str, Any]:
    if not isinstance(model, RankedRangeClassifier):
        return {"C": C}
    return {"C": C, "dropped": int(model.outlier_mask_.sum())}


def measures_of(images: Images, scores: npt.NDArray[Any]) -> dict[str, float]:
    """Return all measures of the scores of test images, a column for each digit."""
    tops = topk_accuracy(images.y_test, scores, TOPS, classes=range(10))
    errors = class_wise_error(images.y_test, np.argmax(scores, axis=1), classes=range(10))
    return {
        name: 100 * float(value) for name, value in zip(MEASURES, [*tops, *errors], strict=True)
    }


# -- The paper's protocol --------------------------------------------------------------------------


K = 2
"""As in the released script, which agrees with the printed figures. The text says 1."""
RANKED = "top-1 SVM, own label ranked"
PAPER_MODELS = (RANKED, "top-1 SVM", "tkml")


class Effort(NamedTuple):
    """How much of the data a loop uses.

    Attributes
    ----------
    held : int
        The number of training rows that are held out to choose the iterate.
    trained : int or None
        The largest number of other rows whose slopes are taken. None stands for all of them.
    directions : int or None
        The number of directions in which steps are made. None stands for all of them.
    """

    held: int
    trained: int | None
    directions: int | None


EFFORTS = {"mnist": Effort(10_000, 20_000, 200), SMALL: Effort(200, None, 40)}
"""By data set. ``Effort(10_000, None, None)`` is the complete loop: 7 core hours on MNIST."""
_QUICK = LoopSetting(None, 3, 100, 0.1)


def measure_paper(cells: tuple[Cell, ...]) -> Iterator[tuple[Cell, Measured]]:
    """Yield top-k accuracies and class-wise errors of models fitted to the same labels."""
    first = cells[0]
    noise = noise_of(first.setting)
    digits, images = noisy_digits(first.dataset, noise, first.split)
    effort = EFFORTS[first.dataset]
    train, held = _parts(digits, effort)
    setting = _QUICK if first.dataset == SMALL else MNIST_SETTINGS[noise]
    for cell in cells:
        result = _fit(cell.model, train, held, setting, effort.directions)
        chosen = {"held_out_accuracy": 100 * result.accuracy, "step": result.step}
        values = measures_of(images, result.scores(images.X_test))
        yield cell, Measured(values, chosen, seed=digits.seed)


def _parts(digits: Digits, effort: Effort) -> tuple[Part, Part]:
    """Return the rows to take slopes of, and the rows to choose the iterate, with given labels."""
    rng = np.random.default_rng(seed_of("held out", digits.seed))
    held, rest = np.split(rng.permutation(len(digits.y)), [effort.held])
    trained = rest[: effort.trained]
    return Part(digits.X[trained], digits.y[trained]), Part(digits.X[held], digits.y[held])


def _fit(
    model: str, train: Part, held: Part, setting: LoopSetting, directions: int | None
) -> DigitsResult:
    if model == "tkml":
        return run_digits_loop(train, held, K, setting, n_directions=directions)
    return run_svm_loop(train, held, setting, ranks_own=model == RANKED, n_directions=directions)
