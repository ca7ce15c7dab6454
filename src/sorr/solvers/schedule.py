"""The last rank to keep, as a function of how well the training rows are predicted already."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

from sorr.objectives import Group, Groups

__all__ = ["KSchedule"]


@dataclass(frozen=True)
class KSchedule:
    """Which share of the rows k keeps, once the training accuracy reaches given levels.

    Below the first accuracy k keeps all rows. ``KSchedule.PAPER``, also the default, is that of
    the paper, section 4.1, after Kawaguchi and Lu: half of the rows from 70 % on, a quarter from
    80 %, an eighth from 90 %, a sixteenth from 95 %, and one in 32 from 99.5 %.

    Parameters
    ----------
    accuracies : tuple of float
        Increasing, each above 0 and at most 1.
    fractions : tuple of float
        As many, decreasing, strictly between 0 and 1: the share of the mass of each group.

    References
    ----------
    K. Kawaguchi, H. Lu, "Ordered SGD: a new stochastic optimization framework for empirical risk
    minimization", AISTATS 2020.

    Examples
    --------
    >>> groups = Groups.of(1000, m=20, k=None)
    >>> [KSchedule.PAPER.groups(groups, a).groups[0].k for a in (0.5, 0.7, 0.93, 1.0)]
    [1000.0, 500.0, 125.0, 31.0]
    """

    accuracies: tuple[float, ...] = (0.7, 0.8, 0.9, 0.95, 0.995)
    fractions: tuple[float, ...] = (1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32)

    PAPER: ClassVar[KSchedule]

    def __post_init__(self) -> None:
        if len(self.accuracies) != len(self.fractions):
            raise ValueError(
                f"{len(self.accuracies)} accuracies and {len(self.fractions)} fractions are "
                "given; needed a fraction for each accuracy"
            )
        levels = (0.0, *self.accuracies)
        if not all(low < high <= 1 for low, high in pairwise(levels)):
            raise ValueError(
                f"accuracies={self.accuracies} do not increase within 0 and 1; needed shares of "
                "the rows, as in (0.7, 0.9)"
            )
        shares = (1.0, *self.fractions)
        if not all(high > low > 0 for high, low in pairwise(shares)):
            raise ValueError(
                f"fractions={self.fractions} do not decrease between 1 and 0; needed shares of "
                "the rows, as in (0.5, 0.25)"
            )

    def fraction(self, accuracy: float) -> float:
        """Return the share of the rows that k keeps at that training accuracy."""
        return (1.0, *self.fractions)[bisect_right(self.accuracies, accuracy)]

    def groups(self, groups: Groups, accuracy: float) -> Groups:
        """Return the groups with the k of that training accuracy; m and their shares stay.

        Rows without weights are counted in whole numbers, rounded down as in the paper. Where k
        would fall to m or below, one row more than m is kept, of average mass.
        """
        fraction = self.fraction(accuracy)
        whole = groups.weight is None
        return replace(groups, groups=tuple(_cut(g, groups, fraction, whole) for g in groups))


def _cut(group: Group, groups: Groups, fraction: float, whole: bool) -> Group:
    wanted = fraction * group.mass
    n_rows = len(groups.masses[group.rows])
    k = max(float(math.floor(wanted)) if whole else wanted, group.m + group.mass / n_rows)
    k = min(k, group.mass)
    return group._replace(k=k, scale=group.scale * group.width / (k - group.m))


KSchedule.PAPER = KSchedule()
