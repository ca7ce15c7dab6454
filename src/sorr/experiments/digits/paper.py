"""Models of digits by the paper's protocol: the released loop, with the printed steps.

On MNIST it makes up to 54,000 steps over all training rows, which takes half an hour of one core
for each of 15 runs. The number of steps matters: accuracy rises with every outer one. So all of
them are made, but over fewer rows and in fewer directions: see `EFFORTS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sorr.experiments.cells import Cell, Measured, seed_of
from sorr.experiments.digits.digits import SMALL, Digits, noise_of, noisy_digits
from sorr.experiments.digits.ours import measures_of
from sorr.experiments.digits.released import Kept, Part, released_svm, released_tkml
from sorr.experiments.published import MNIST_SETTINGS, LoopSetting

__all__ = ["EFFORTS", "MODELS", "RANKED", "Effort", "K", "measure_paper"]

K = 2
"""As in the released script, and as the printed figures are; the text says 1."""
RANKED = "top-1 SVM, own label ranked"
MODELS = (RANKED, "top-1 SVM", "tkml")


class Effort(NamedTuple):
    """What a loop is given.

    Attributes
    ----------
    held : int
        How many training rows are held out, to tell which iterate to keep.
    trained : int or None
        Of how many others slopes are taken at most; None for all of them.
    directions : int or None
        In how many directions steps are made; None for all of them.
    """

    held: int
    trained: int | None
    directions: int | None


EFFORTS = {"mnist": Effort(10_000, 20_000, 200), SMALL: Effort(200, None, 40)}
"""By data set. ``Effort(10_000, None, None)`` is the whole loop: seven hours of a core on MNIST."""
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
        kept = _fit(cell.model, train, held, setting, effort.directions)
        chosen = {"held_out_accuracy": 100 * kept.accuracy, "step": kept.step}
        values = measures_of(images, kept.scores(images.X_test))
        yield cell, Measured(values, chosen, seed=digits.seed)


def _parts(digits: Digits, effort: Effort) -> tuple[Part, Part]:
    """Return rows to take slopes of, and rows that tell which iterate to keep: labels as given."""
    rng = np.random.default_rng(seed_of("held out", digits.seed))
    held, rest = np.split(rng.permutation(len(digits.y)), [effort.held])
    trained = rest[: effort.trained]
    return Part(digits.X[trained], digits.y[trained]), Part(digits.X[held], digits.y[held])


def _fit(model: str, train: Part, held: Part, setting: LoopSetting, directions: int | None) -> Kept:
    if model == "tkml":
        return released_tkml(train, held, K, setting, n_directions=directions)
    return released_svm(train, held, setting, ranks_own=model == RANKED, n_directions=directions)
