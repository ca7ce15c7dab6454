"""The best classifier of two classes whose distribution is known."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from sorr._typing import FloatArray
from sorr.datasets.files import Folder
from sorr.datasets.loaders import load_table
from sorr.datasets.noise import RandomState

__all__ = ["BayesClassifier", "Gaussian", "load_toy", "make_imbalanced", "make_multimodal"]

_DEVIATIONS = 8.0  # beyond which less than 1e-14 of a component lies
_STEPS = 400  # in each direction, of the grid on which probabilities are added up


class Gaussian(NamedTuple):
    """A round Gaussian in the plane: its class, its share of all rows, its centre and its width."""

    label: int
    share: float
    mean: tuple[float, float]
    deviation: float


@dataclass(frozen=True)
class BayesClassifier:
    """The classifier of least error for two classes, -1 and 1, that are mixtures of Gaussians.

    Parameters
    ----------
    components : tuple of Gaussian
        Of both classes; their shares add up to one.

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
        """Return, for each row, the logarithm of the odds of class 1; zero on the boundary."""
        return self._log_density(X, 1) - self._log_density(X, -1)

    def error(self) -> float:
        """Return the share of rows that it gets wrong: no classifier gets fewer wrong.

        Added up on a grid, whose error is less than a thousandth of the value.
        """
        means = np.array([component.mean for component in self.components])
        reach = _DEVIATIONS * np.array([[part.deviation] for part in self.components])
        low, high = (means - reach).min(axis=0), (means + reach).max(axis=0)
        steps = (high - low) / _STEPS
        lines = low + (np.arange(_STEPS)[:, np.newaxis] + 0.5) * steps
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


# -- Toy sets in the plane with outliers: like those of the paper, and its authors' own two --------


_ROWS = 200
_MOST_OUTLIERS = 50

# Estimated from the authors' files. Standard errors of deviations are 0.01 for large components,
# 0.04 for the minor one and 0.06 for the four rows; of means, 0.02, 0.08 and 0.1.
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
    """Return 200 rows of two classes of equal size, one of which is in two places, with outliers.

    The red class, 1, is 90 rows around (0, 0) and 10 around (1, 1), with deviations of 0.2 and
    0.25; the blue one, -1, is 100 rows around (2, 2), with a deviation of 0.22. A line parts
    them: what a line does not part is drawn again. Then outliers, which look blue and are labelled
    red, take the place of as many rows around (0, 0). The first one is at (2, 2.5), where the
    authors of the paper put theirs; the others are drawn as blue rows are.

    Parameters
    ----------
    n_outliers : int, default=1
        From 0 to 50.
    random_state : int, Generator or None, default=None
        Draws the rows. With the same seed, more outliers leave the first ones and all other rows
        as they are.

    Returns
    -------
    Bunch
        With `data` (200, 2), `target` in {-1, 1}, `outliers`, which is True for outliers, and
        `bayes`, the `BayesClassifier` of the distribution without outliers. Rows are in this
        order: outliers, the other red rows, blue rows.

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

    The red class, 1, is 196 rows around (0, 0) with a deviation of 0.23; the blue one, -1, is four
    rows around (1, 1) with a deviation of 0.21. A line parts them: what a line does not part is
    drawn again. Then outliers, which look blue and are labelled red, take the place of as many
    red rows. The first one is at (1, 1.15), where the authors of the paper put theirs; the others
    are drawn as blue rows are. More than three of them outnumber the blue rows.

    Parameters
    ----------
    n_outliers : int, default=1
        From 0 to 50.
    random_state : int, Generator or None, default=None
        Draws the rows. With the same seed, more outliers leave the first ones and all other rows
        as they are.

    Returns
    -------
    Bunch
        With `data` (200, 2), `target` in {-1, 1}, `outliers`, which is True for outliers, and
        `bayes`, the `BayesClassifier` of the distribution without outliers. Rows are in this
        order: outliers, the other red rows, blue rows.

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
    """Return one of the two toy sets of the paper's authors, which have one outlier each.

    Parameters
    ----------
    name : {"balanced", "imbalanced"}
    return_X_y, as_frame, data_home, download
        As for `load_dataset`.

    Returns
    -------
    Bunch, or (data, target)
        As of `load_dataset`, and with `outliers` and `bayes` as of `make_multimodal`; the latter
        from estimates, since the authors do not print their distribution.
    """
    components = {"balanced": _MULTIMODAL, "imbalanced": _IMBALANCED}
    if name not in components:
        raise ValueError(f"name={name!r}; needed 'balanced' or 'imbalanced'")
    toy = load_table(f"toy-{name}", return_X_y, as_frame, data_home, download)
    if not return_X_y:
        toy.outliers, toy.bayes = np.arange(_ROWS) == 0, BayesClassifier(components[name])
    return toy


def _make(
    components: tuple[Gaussian, ...],
    first_outlier: tuple[float, float],
    n_outliers: int,
    random_state: RandomState,
) -> Any:
    """Draw both classes, and put outliers in the place of the first red rows."""
    from sklearn.utils import Bunch

    count, rng = _as_count(n_outliers), np.random.default_rng(random_state)
    target = np.repeat([part.label for part in components], [_size(part) for part in components])
    data = _draw_all(components, rng)
    while not _are_parted(data, target):
        data = _draw_all(components, rng)
    if count:
        data[0], data[1:count] = first_outlier, _draw(components[-1], count - 1, rng)
    return Bunch(
        data=data,
        target=target,
        outliers=np.arange(_ROWS) < count,
        bayes=BayesClassifier(components),
        feature_names=["x1", "x2"],
        target_names=["blue", "red"],
    )


def _draw_all(
    components: tuple[Gaussian, ...], rng: np.random.Generator
) -> npt.NDArray[np.float64]:
    return np.concatenate([_draw(part, _size(part), rng) for part in components])


def _size(component: Gaussian) -> int:
    return round(component.share * _ROWS)


def _draw(component: Gaussian, count: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    return rng.normal(component.mean, component.deviation, size=(count, 2))


def _are_parted(data: npt.NDArray[np.float64], target: npt.NDArray[np.int64]) -> bool:
    """Return whether a line across the diagonal, on which all centres lie, parts the classes."""
    along = data.sum(axis=1)
    return bool(along[target == 1].max() < along[target == -1].min())


def _as_count(n_outliers: object) -> int:
    if isinstance(n_outliers, bool) or not isinstance(n_outliers, Integral):
        raise TypeError(
            f"n_outliers={n_outliers!r} is of type {type(n_outliers).__name__}; needed a count"
        )
    if not 0 <= int(n_outliers) <= _MOST_OUTLIERS:
        raise ValueError(f"n_outliers={n_outliers}; needed a count from 0 to {_MOST_OUTLIERS}")
    return int(n_outliers)
