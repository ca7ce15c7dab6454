"""Tables that follow from a rule or from counts, and so need no file."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["make_monk", "make_titanic"]

_MONK_SIZES = (3, 3, 2, 3, 4, 2)

# Values as in KEEL's file: class of passage, then age, then sex.
_CLASSES = (-1.87, -0.923, 0.0214, 0.965)  # first, second, third, crew
_ADULT, _CHILD = -0.228, 4.38
_MALE, _FEMALE = 0.521, -1.92
_PASSENGERS = (  # age, sex, and for each class of passage how many died and how many survived
    (_CHILD, _MALE, ((0, 5), (0, 11), (35, 13), (0, 0))),
    (_CHILD, _FEMALE, ((0, 1), (0, 13), (17, 14), (0, 0))),
    (_ADULT, _MALE, ((118, 57), (154, 14), (387, 75), (670, 192))),
    (_ADULT, _FEMALE, ((4, 140), (13, 80), (89, 76), (3, 20))),
)


def make_monk() -> npt.NDArray[np.float64]:
    """Return the third Monk problem: all 432 rows of its six attributes, and its rule.

    Returns
    -------
    ndarray of shape (432, 7)
        Attributes, counted from one, in lexicographic order; in the last column, 1 if (a5 = 3 and
        a4 = 1) or (a5 is not 4 and a2 is not 3), else 0.
    """
    rows = np.indices(_MONK_SIZES).reshape(len(_MONK_SIZES), -1) + 1
    _, a2, _, a4, a5, _ = rows
    holds = ((a5 == 3) & (a4 == 1)) | ((a5 != 4) & (a2 != 3))
    return np.vstack([rows, holds]).T.astype(np.float64)


def make_titanic() -> npt.NDArray[np.float64]:
    """Return the passengers of the Titanic from how many of each kind died and survived.

    Returns
    -------
    ndarray of shape (2201, 4)
        Class of passage, age, sex, and 1 for survived or -1 for died. The rows of each kind are
        spread evenly over the table, so that any part of it without gaps is like the whole.
    """
    kinds = [
        (passage, age, sex, outcome, count)
        for age, sex, columns in _PASSENGERS
        for passage, counts in zip(_CLASSES, columns, strict=True)
        for outcome, count in zip((-1, 1), counts, strict=True)
    ]
    counts = [kind[-1] for kind in kinds]
    rows = np.repeat([kind[:-1] for kind in kinds], counts, axis=0)
    places = np.concatenate([(np.arange(count) + 0.5) / max(count, 1) for count in counts])
    return rows[np.argsort(places, kind="stable")].astype(np.float64)
