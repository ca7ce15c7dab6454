"""Toy sets in the plane with outliers, and the best classifier of their distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from sorr._checks import as_count, as_generator, check_choice
from sorr._typing import FloatArray
from sorr.datasets.files import Folder
from sorr.datasets.loaders import LoadOptions, load_table
from sorr.datasets.noise import RandomState

_N_ROWS = 200
_MAX_OUTLIERS = 50
_MAX_DEVIATIONS = 8.0  # beyond which less than 1e-14 of a component lies
_N_STEPS = 400  # in each direction, of the grid on which probabilities are added up


class Gaussian(NamedTuple):
    """A round Gaussian in the plane: class, share of all rows, centre and standard deviation."""

    label: int
    share: float
    mean: tuple[float, float]
    deviation: float


@dataclass(frozen=True)
class BayesClassifier:
    """The classifier with the lowest error for two classes, -1 and 1, of Gaussian mixtures.

    Parameters
    ----------
    components : tuple of Gaussian
        The components of both classes. Their shares add up to one.

    Examples
    --------
    >>> halves = Gaussian(-1, 0.5, (0.0, 0.0), 1.0), Gaussian(1, 0.5, (2.0, 0.0), 1.0)
    >>> bayes = BayesClassifier(halves)
    >>> bayes([[0.9, 5.0], [1.1, -5.0]])
    array([-1,  1])
    >>> round(bayes.error(), 3)
    0.159
    """

    components: tuple[Gaussian, ...]

    def __call__(self, X: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return the more likely class of each row, as `predict` does."""
        return self.predict(X)

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return the more likely class of each row, -1 or 1."""
        return np.where(self.decision_function(X) > 0, 1, -1)

    def decision_function(self, X: npt.ArrayLike) -> FloatArray:
        """Return the log odds of class 1 for each row; zero on the boundary."""
        return self._log_density(X, 1) - self._log_density(X, -1)

    def error(self) -> float:
        """Return the share of rows that it gets wrong; no classifier has a lower one.

        The share is summed on a grid, with an error of less than a thousandth of the value.
        """
        means = np.array([component.mean for component in self.components])
        reach = _MAX_DEVIATIONS * np.array([[part.deviation] for part in self.components])
        low, high = (means - reach).min(axis=0), (means + reach).max(axis=0)
        steps = (high - low) / _N_STEPS
        lines = low + (np.arange(_N_STEPS)[:, np.newaxis] + 0.5) * steps
        X = np.stack(np.meshgrid(*lines.T, indexing="ij"), axis=-1).reshape(-1, 2)
        less_likely = np.minimum(self._log_density(X, 1), self._log_density(X, -1))
        return float(np.exp(less_likely).sum() * steps.prod())

    def _log_density(self, X: npt.ArrayLike, label: int) -> FloatArray:
        rows = np.asarray(X, dtype=np.float64)
        logs = [
            np.log(share / (2 * np.pi * deviation**2))
            - ((rows - mean) ** 2).sum(axis=1) / (2 * deviation**2)
            for owner, share, mean, deviation in self.components
            if owner == label
        ]
        return np.asarray(logsumexp(logs, axis=0), dtype=np.float64)


# -- Toy sets --------------------------------------------------------------------------------------

# Estimated from the authors' files. The standard errors of the deviations are 0.01 for large
# components, 0.04 for the small one and 0.06 for the four rows; of the means 0.02, 0.08 and 0.1.
_MULTIMODAL = (
    Gaussian(1, 0.45, (0.0, 0.0), 0.2),
    Gaussian(1, 0.05, (1.0, 1.0), 0.25),
    Gaussian(-1, 0.5, (2.0, 2.0), 0.22),
)
_IMBALANCED = (
    Gaussian(1, 0.98, (0.0, 0.0), 0.23),
    Gaussian(-1, 0.02, (1.0, 1.0), 0.21),
)


def make_multimodal(n_outliers: int = 1, *, random_state: RandomState = None) -> Any:
    """Return 200 rows of two classes of equal size, one of them in two places, with outliers.

    The red class, 1, has 90 rows around (0, 0) and 10 around (1, 1), with deviations of 0.2 and
    0.25. The blue class, -1, has 100 rows around (2, 2), with a deviation of 0.22. A line separates
    the classes; rows are drawn again until it does. Then outliers, which look blue and are labelled
    red, replace as many rows around (0, 0). The first one is at (2, 2.5), where the authors of the
    paper put theirs. The others are drawn like blue rows.

    Parameters
    ----------
    n_outliers : int, default=1
        The number of outliers, from 0 to 50.
    random_state : int, Generator or None, default=None
        Seed for the rows. With the same seed, more outliers change neither the first ones nor the
        other rows.

    Returns
    -------
    Bunch
        With `data` (200, 2), `target` in {-1, 1}, `outliers`, which is True for outliers, and
        `bayes`, the `BayesClassifier` of the distribution without outliers. The order of the rows:
        outliers, the other red rows, blue rows.

    References
    ----------
    S. Hu, Y. Ying, X. Wang, S. Lyu, "Learning by minimizing the sum of ranked range", NeurIPS
    2020, section 3 and appendix: toy examples with more outliers.

    Examples
    --------
    >>> toy = make_multimodal(n_outliers=20, random_state=0)
    >>> toy.data.shape, int((toy.target == 1).sum()), int(toy.outliers.sum())
    ((200, 2), 100, 20)
    >>> int((toy.bayes(toy.data) != toy.target).sum())
    20
    """
    return _make(_MULTIMODAL, (2.0, 2.5), n_outliers, random_state)


def make_imbalanced(n_outliers: int = 1, *, random_state: RandomState = None) -> Any:
    """Return 200 rows, all but four of them of one class, with outliers.

    The red class, 1, has 196 rows around (0, 0) with a deviation of 0.23. The blue class, -1, has
    four rows around (1, 1) with a deviation of 0.21. A line separates the classes; rows are drawn
    again until it does. Then outliers, which look blue and are labelled red, replace as many red
    rows. The first one is at (1, 1.15), where the authors of the paper put theirs. The others are
    drawn like blue rows. Five or more outnumber the blue rows.

    Parameters
    ----------
    n_outliers : int, default=1
        The number of outliers, from 0 to 50.
    random_state : int, Generator or None, default=None
        Seed for the rows. With the same seed, more outliers change neither the first ones nor the
        other rows.

    Returns
    -------
    Bunch
        With `data` (200, 2), `target` in {-1, 1}, `outliers`, which is True for outliers, and
        `bayes`, the `BayesClassifier` of the distribution without outliers. The order of the rows:
        outliers, the other red rows, blue rows.

    References
    ----------
    S. Hu, Y. Ying, X. Wang, S. Lyu, "Learning by minimizing the sum of ranked range", NeurIPS
    2020, section 3.

    Examples
    --------
    >>> toy = make_imbalanced(random_state=0)
    >>> toy.target.tolist().count(-1), toy.data[toy.outliers].tolist()
    (4, [[1.0, 1.15]])
    """
    return _make(_IMBALANCED, (1.0, 1.15), n_outliers, random_state)


def load_toy(
    name: str,
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: Folder = None,
    download: bool = True,
) -> Any:
    """Return one of the two toy sets of the paper's authors, each with one outlier.

    Parameters
    ----------
    name : {"balanced", "imbalanced"}
    return_X_y, as_frame, data_home, download
        As for `load_dataset`.

    Returns
    -------
    Bunch, or (data, target)
        As from `load_dataset`, with `outliers` and `bayes` as from `make_multimodal`. `bayes` is
        estimated, since the authors do not print their distribution.
    """
    components = {"balanced": _MULTIMODAL, "imbalanced": _IMBALANCED}
    check_choice("name", name, tuple(components))
    options = LoadOptions(return_X_y, as_frame, data_home, download)
    toy = load_table(f"toy-{name}", options)
    if not return_X_y:
        toy.outliers, toy.bayes = np.arange(_N_ROWS) == 0, BayesClassifier(components[name])
    return toy


def _make(
    components: tuple[Gaussian, ...],
    first_outlier: tuple[float, float],
    n_outliers: int,
    random_state: RandomState,
) -> Any:
    """Draw both classes, and put outliers in the place of the first red rows."""
    from sklearn.utils import Bunch

    count = as_count("n_outliers", n_outliers, lowest=0, highest=_MAX_OUTLIERS)
    rng = as_generator(random_state)
    sizes = [round(part.share * _N_ROWS) for part in components]
    target = np.repeat([part.label for part in components], sizes)
    while True:
        parts = zip(components, sizes, strict=True)
        data = np.concatenate([_draw(part, size, rng) for part, size in parts])
        along = data.sum(axis=1)  # the diagonal, on which all centres lie
        if along[target == 1].max() < along[target == -1].min():
            break
    if count:
        data[0], data[1:count] = first_outlier, _draw(components[-1], count - 1, rng)
    return Bunch(
        data=data,
        target=target,
        outliers=np.arange(_N_ROWS) < count,
        bayes=BayesClassifier(components),
        feature_names=["x1", "x2"],
        target_names=["blue", "red"],
    )


def _draw(component: Gaussian, count: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    return rng.normal(component.mean, component.deviation, size=(count, 2))
