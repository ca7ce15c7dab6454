"""The models in the benchmark of quality: all linear, all with the same ridge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression, SGDClassifier

from sorr.estimators import RankedRangeClassifier

__all__ = ["CONTENDERS", "Contender", "Problem"]

Array = npt.NDArray[np.float64]


class Problem(NamedTuple):
    """Rows as given, which of them are wrong, and the same rows before they were spoiled."""

    X: Array
    y: npt.NDArray[np.intp]
    wrong: npt.NDArray[np.bool_]
    X_clean: Array
    y_clean: npt.NDArray[np.intp]
    seed: int

    def per_class(self, chosen: npt.NDArray[np.bool_]) -> list[int]:
        """Count chosen rows by the label that they were given."""
        n_classes = int(self.y_clean.max()) + 1
        return [int(count) for count in np.bincount(self.y[chosen], minlength=n_classes)]


class Contender(NamedTuple):
    """How to fit, and what to read from the fitted model besides predictions."""

    fit: Callable[[Problem], Any]
    suspicion: Callable[[Any, Problem], Array] | None = None
    details: Callable[[Any, Problem], dict[str, Any]] | None = None


def regression() -> LogisticRegression:
    return LogisticRegression(max_iter=1000)


def fit_plain(problem: Problem) -> Any:
    return regression().fit(problem.X, problem.y)


def fit_clean(problem: Problem) -> Any:
    return regression().fit(problem.X_clean, problem.y_clean)


def training_loss(model: Any, problem: Problem) -> Array:
    log_probability: Array = model.predict_log_proba(problem.X)
    return -log_probability[np.arange(len(problem.y)), problem.y]


def fit_huber(problem: Problem) -> Any:
    ridge = 1 / len(problem.y)  # of the average loss, where LogisticRegression has C=1 of the sum
    model = SGDClassifier(loss="modified_huber", alpha=ridge, random_state=problem.seed % 2**31)
    return model.fit(problem.X, problem.y)


def fit_cleanlab(problem: Problem) -> Any:
    from cleanlab.classification import CleanLearning

    model = CleanLearning(regression(), seed=problem.seed, find_label_issues_kwargs={"n_jobs": 1})
    return model.fit(problem.X, problem.y)


def cleanlab_suspicion(model: Any, _: Problem) -> Array:
    return -np.asarray(model.get_label_issues()["label_quality"])


def cleanlab_details(model: Any, problem: Problem) -> dict[str, Any]:
    is_issue = np.asarray(model.get_label_issues()["is_label_issue"])
    return {"count": problem.per_class(is_issue)}


def fit_auto(problem: Problem) -> Any:
    model = RankedRangeClassifier(C=len(problem.y), random_state=problem.seed % 2**31)
    return model.fit(problem.X, problem.y)


def auto_suspicion(model: Any, _: Problem) -> Array:
    return np.asarray(model.judgement_.score_)


def auto_details(model: Any, _: Problem) -> dict[str, Any]:
    judgement = model.judgement_
    return {
        "count": judgement.count_.tolist(),
        "interval": judgement.share_interval_.tolist(),
        "verdict": judgement.verdict_,
    }


def fit_oracle(problem: Problem) -> Any:
    true = dict(enumerate(problem.per_class(problem.wrong)))
    model = RankedRangeClassifier(m=true, C=len(problem.y), random_state=problem.seed % 2**31)
    return model.fit(problem.X, problem.y)


def oracle_suspicion(model: Any, problem: Problem) -> Array:
    return np.asarray(model.outlier_score(problem.X, problem.y))


CONTENDERS = {
    "LR": Contender(fit_plain, training_loss),
    "SGD": Contender(fit_huber),
    "cleanlab": Contender(fit_cleanlab, cleanlab_suspicion, cleanlab_details),
    "auto": Contender(fit_auto, auto_suspicion, auto_details),
    "oracle": Contender(fit_oracle, oracle_suspicion),
    "ceiling": Contender(fit_clean),
}
