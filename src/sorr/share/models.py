"""Models by name, combined models, and what estimators of all kinds are asked for."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.ensemble._forest import BaseForest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

from sorr._checks import suggest
from sorr._typing import FloatArray, IntArray
from sorr.share.constants import (
    LEAF,
    LEAVES_OF_BOOSTING,
    RIDGE_OF_BOOSTING,
    ROUNDS_OF_BOOSTING,
    SMALLEST_IN_STACK,
    STACK_PULL,
    STEPS_OF_LINE,
    TREES,
)
from sorr.share.posterior import calibrate

MODELS = ("auto", "forest", "linear", "boosting")
FOREST_STEP = "sorr_auto"  # of a pipeline that ends in "auto"
_LINE = ("fill", "scale", "line")  # the steps of the named line
_WORDS = {
    "auto": "a forest with a linear model",
    "forest": "a forest",
    "linear": "a linear model",
    "boosting": "boosting",
}


def is_named(estimator: Any) -> bool:
    """Tell whether a model is given by its name, and refuse a name that is not known."""
    if isinstance(estimator, str) and estimator not in MODELS:
        raise ValueError(f"estimator={estimator!r} is not known; {suggest(estimator, MODELS)}")
    return isinstance(estimator, str)


class GivenProbabilities(NamedTuple):
    """Held-out probabilities of a model that somebody else has trained, instead of a model."""

    values: FloatArray
    """Of shape (n_samples, n_classes)."""


def name_of(model: Any) -> str:
    """Return what a model is called in a sentence."""
    if isinstance(model, GivenProbabilities):
        return "the model of these probabilities"
    if isinstance(model, Pipeline) and model.steps[-1][0] == FOREST_STEP:
        model = "auto"
    return _WORDS[model] if is_named(model) else type(model).__name__


def make_single(
    estimator: Any,
    seed: int,
    n_jobs: int | None = None,
    *,
    is_sparse: bool = False,
    trees: int = TREES,
    is_classifier: bool = True,
) -> Any:
    """Return a model that is not fitted: of any name but "auto", or a copy of an estimator.

    Seeds that are None are set, so that the same seed gives the same model.
    """
    if not is_named(estimator):
        model = clone(estimator)
        free = [
            name
            for name, value in model.get_params().items()
            if value is None and (name == "random_state" or name.endswith("__random_state"))
        ]
        return model.set_params(**dict.fromkeys(free, seed % 2**32)) if free else model
    if estimator == "forest":
        return make_forest(trees, seed, n_jobs, is_classifier=is_classifier)
    if estimator == "linear":
        return make_line(is_sparse, is_classifier=is_classifier)
    if estimator != "boosting":
        raise ValueError(f"estimator={estimator!r} combines two models; needed a single one")
    kind = HistGradientBoostingClassifier if is_classifier else HistGradientBoostingRegressor
    return kind(
        max_iter=ROUNDS_OF_BOOSTING,
        max_leaf_nodes=LEAVES_OF_BOOSTING,
        l2_regularization=RIDGE_OF_BOOSTING,
        early_stopping=False,
        random_state=seed,
    )


def make_forest(
    trees: int, seed: int, n_jobs: int | None, *, is_classifier: bool = True
) -> ExtraTreesClassifier | ExtraTreesRegressor:
    """Return extra trees, each grown on a bootstrap sample, so that there are rows out of bag."""
    kind = ExtraTreesClassifier if is_classifier else ExtraTreesRegressor
    return kind(trees, min_samples_leaf=LEAF, bootstrap=True, random_state=seed, n_jobs=n_jobs)


def make_line(is_sparse: bool, *, is_classifier: bool = True) -> Pipeline:
    """Return a linear model of standardised columns; missing numbers become the mean."""
    steps = (
        SimpleImputer(keep_empty_features=True),
        StandardScaler(with_mean=not is_sparse),
        LogisticRegression(max_iter=STEPS_OF_LINE) if is_classifier else Ridge(),
    )
    return Pipeline(list(zip(_LINE, steps, strict=True)))


def is_line(model: Any) -> bool:
    """Tell whether a model is the named line."""
    return isinstance(model, Pipeline) and tuple(name for name, _ in model.steps) == _LINE


def as_scores(probabilities: FloatArray) -> FloatArray:
    """Return log probabilities less their mean over the classes; zeros are a small number."""
    L = np.log(np.maximum(probabilities, SMALLEST_IN_STACK))
    return np.asarray(L - L.mean(axis=1, keepdims=True))


def stack(
    parts: list[FloatArray], index: IntArray, weight: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return slopes, shift and probabilities of the best combination of held-out probabilities."""
    mass = np.ones(len(index)) if weight is None else weight
    found = calibrate(
        np.stack([as_scores(part) for part in parts]),
        index,
        mass,
        pull=STACK_PULL / mass.sum(),
        towards=1 / len(parts),
    )
    return found.slopes, found.shift, found.probabilities


def blend(one: FloatArray, other: FloatArray, y: FloatArray, weight: FloatArray | None) -> float:
    """Return the share of the first predictions in the mean with the smallest absolute errors."""
    mass = np.ones(len(y)) if weight is None else weight

    def error(share: float) -> float:
        return float(mass @ np.abs(y - share * one - (1 - share) * other))

    return float(minimize_scalar(error, bounds=(0.0, 1.0), method="bounded").x)


def has_bag(model: Any) -> bool:
    """Tell whether a model is a forest whose trees leave out rows."""
    return isinstance(model, BaseForest) and bool(model.bootstrap)


# -- What estimators of all kinds are asked for ----------------------------------------------------


def weight_argument(model: Any, weight: FloatArray) -> dict[str, FloatArray]:
    """Return the arguments of `fit` by which a model takes weights."""
    if is_line(model):
        return {f"{step}__sample_weight": weight for step in _LINE[1:]}
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        inner = weight_argument(last, weight)
        return {f"{name}__{key}": value for key, value in inner.items()}
    if has_fit_parameter(model, "sample_weight"):
        return {"sample_weight": weight}
    raise ValueError(
        f"{type(model).__name__} takes no sample_weight; needed a model whose fit takes it, "
        "or no weights"
    )


def probabilities_of(model: Any, X: Any, classes: npt.NDArray[Any]) -> FloatArray:
    """Return the probability of each of the classes; those that a model has not seen have none.

    Without `predict_proba`, decision values are taken for log odds.
    """
    if hasattr(model, "predict_proba"):
        known = np.asarray(model.predict_proba(X), dtype=np.float64)
    elif hasattr(model, "decision_function"):
        known = np.exp(as_log_probabilities(model.decision_function(X)))
    else:
        raise TypeError(
            f"{type(model).__name__} has neither predict_proba nor decision_function; needed a "
            "classifier with one of them"
        )
    if len(model.classes_) == len(classes):
        return known
    probabilities = np.zeros((len(known), len(classes)))
    probabilities[:, np.searchsorted(classes, model.classes_)] = known
    return probabilities


def as_log_probabilities(decision: npt.ArrayLike) -> FloatArray:
    """Return decision values as log probabilities: one column for two classes, or one for each."""
    raw = np.asarray(decision, dtype=np.float64)
    if raw.ndim == 1 or raw.shape[1] == 1:
        raw = np.column_stack([np.zeros(len(raw)), raw.ravel()])
    return np.asarray(log_softmax(raw, axis=1))
