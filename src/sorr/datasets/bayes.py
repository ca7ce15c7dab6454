"""The best classifier of two classes whose distribution is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from sorr._typing import FloatArray

__all__ = ["BayesClassifier", "Gaussian"]

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
