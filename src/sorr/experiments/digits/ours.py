"""Models of digits by our protocol: minimised accurately, with one ridge for all of them.

C = 1000 was the best of five for the plain softmax on a validation part of noisy training labels,
with 40 per cent flipped, and is used everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from sorr.baselines import MulticlassSVM, TopKSVMClassifier
from sorr.estimators import RankedRangeClassifier, TopKMultilabelClassifier
from sorr.experiments.cells import Cell, Measured
from sorr.experiments.digits.digits import Digits, Images, noise_of, noisy_digits
from sorr.metrics import class_wise_error, topk_accuracy

__all__ = [
    "MEASURES",
    "MODELS",
    "ORACLE",
    "PEER",
    "TOPS",
    "TRIMMED",
    "C",
    "measure_ours",
    "measures_of",
]

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
    model = RankedRangeClassifier("auto", C=C, certify=False, random_state=digits.seed)
    return model.fit(digits.X, digits.y)


def _known(digits: Digits) -> Any:
    true = dict(enumerate(digits.per_class(digits.wrong)))
    model = RankedRangeClassifier(true, C=C, certify=False, random_state=digits.seed)
    return model.fit(digits.X, digits.y)


MODELS: dict[str, Callable[[Digits], Any]] = {
    PEER: _softmax,
    "top-1 SVM": _top_1,
    "top-2 SVM": _top_2,
    "tkml": _tkml,
    TRIMMED: _estimated,
    ORACLE: _known,
}
"""Functions that fit a model. The oracle is told how many labels of each class are wrong."""


def measure_ours(cells: tuple[Cell, ...]) -> Iterator[tuple[Cell, Measured]]:
    """Yield top-k accuracies and class-wise errors of models fitted to the same labels."""
    first = cells[0]
    digits, images = noisy_digits(first.dataset, noise_of(first.setting), first.split)
    for cell in cells:
        model = MODELS[cell.model](digits)
        status = getattr(model, "status_", None)
        yield (
            cell,
            Measured(
                measures_of(images, model.decision_function(images.X_test)),
                _chosen(model),
                float(getattr(model, "objective_", np.nan)),
                float(getattr(model, "gap_", np.nan)),
                "" if status is None else status.name,
                digits.seed,
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
