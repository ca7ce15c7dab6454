"""Arguments, checked in one place: a message says what was given, what was needed, the way out.

Any room may import this file. It needs NumPy, and imports SciPy and scikit-learn only where they
are used.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from sorr._typing import IntArray, Weight

_MAX_LISTED = 10  # classes that a message lists

# -- Names that come close -------------------------------------------------------------------------


def close_names(
    name: object, names: Iterable[object], *, most: int = 3, cutoff: float = 0.6
) -> list[str]:
    """Return up to `most` names that may have been meant, the closest first; case is ignored.

    Examples
    --------
    >>> close_names("LABLE", ["Label", "age", "label 2"])
    ['Label', 'label 2']
    """
    folded = {str(known).casefold(): str(known) for known in reversed(list(names))}
    close = difflib.get_close_matches(str(name).casefold(), folded, n=most, cutoff=cutoff)
    return [folded[known] for known in close]


def suggest(name: object, names: Sequence[object], *, most: int = 3, cutoff: float = 0.6) -> str:
    """Return the end of a message about an unknown name: what may be meant, or what there is.

    Examples
    --------
    >>> suggest("hing", ["hinge", "logistic"])
    "did you mean 'hinge'?"
    >>> suggest("cubic", ["hinge", "logistic"])
    "needed one of 'hinge', 'logistic'"
    """
    close = close_names(name, names, most=most, cutoff=cutoff) if isinstance(name, str) else []
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    return "needed one of " + ", ".join(map(repr, names))


def check_choice(name: str, given: object, choices: Sequence[str]) -> None:
    """Refuse what is none of the choices, and name those that come close."""
    if not (isinstance(given, str) and given in choices):
        raise ValueError(f"{name}={given!r} is not known; {suggest(given, choices)}")


# -- Single values ---------------------------------------------------------------------------------


def check_flag(name: str, given: object) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(given, bool | np.bool_):
        raise TypeError(f"{name}={given!r} is not a bool; needed True or False")


def check_verbose(given: object) -> None:
    """Refuse what is not a level of messages."""
    if isinstance(given, bool | np.bool_) or not isinstance(given, Integral):
        raise TypeError(f"verbose={given!r} is not an int; needed 0, 1 or 2")


def as_count(
    name: str, given: object, *, lowest: int = 1, highest: int | None = None, what: str = "a count"
) -> int:
    """Return a number of things as an int.

    Examples
    --------
    >>> as_count("k", np.int64(3), what="a number of labels")
    3
    """
    limits = f"{lowest} or more" if highest is None else f"from {lowest} to {highest}"
    message = f"{name}={given!r} is not {what}; needed an int, {limits}"
    if isinstance(given, bool | np.bool_) or not isinstance(given, Integral):
        raise TypeError(message)
    count = int(given)
    if count < lowest or (highest is not None and count > highest):
        raise ValueError(message)
    return count


def as_label_count(k: object, n_labels: int, what: str = "labels", hint: str = "") -> int:
    """Return how many labels are predicted: fewer than there are."""
    if isinstance(k, bool | np.bool_) or not isinstance(k, Integral):
        raise TypeError(
            f"k={k!r} is of type {type(k).__name__}; needed a number of {what}, an int such as k=1"
        )
    if not 1 <= int(k) < n_labels:
        raise ValueError(
            f"k={k} {what} cannot be chosen among {n_labels}; needed 1 <= k < {n_labels}: with all "
            f"of them every prediction is right{hint}"
        )
    return int(k)


def check_limits(tol: object, max_iter: object) -> None:
    """Refuse a tolerance or a number of iterations that cannot be used."""
    as_count("max_iter", max_iter)
    if isinstance(tol, bool) or not isinstance(tol, Real) or not float(tol) > 0:
        raise ValueError(f"tol={tol!r} is not a tolerance; needed a number above 0, such as 1e-6")


def as_inverse_ridge(C: object, name: str = "C") -> float:
    """Return C as a float, which has to be positive and may be infinite."""
    if isinstance(C, bool) or not isinstance(C, Real):
        raise TypeError(f"{name}={C!r} is of type {type(C).__name__}; needed a number")
    if not float(C) > 0:
        raise ValueError(
            f"{name}={C} is not positive; needed {name} > 0: the ridge is |w|^2 / (2 {name})"
        )
    return float(C)


# -- Arrays ----------------------------------------------------------------------------------------


def as_masses(sample_weight: npt.ArrayLike | None, n: int) -> Weight | None:
    """Return the mass of each of n rows in float64. None stays None: all rows count the same."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n,):
        raise ValueError(
            f"sample_weight has shape {weight.shape}; needed one weight for each of the {n} rows"
        )
    if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.sum() > 0):
        raise ValueError(
            "sample_weight holds a negative weight, NaN or infinity, or adds up to zero; "
            "needed finite weights that are not negative"
        )
    return weight


def as_indicator(name: str, y: Any, hint: str = "") -> Any:
    """Return an indicator of shape (n_samples, n_labels) in bool; a sparse one as a CSR array."""
    from scipy import sparse

    is_sparse = sparse.issparse(y)
    matrix: Any = sparse.csr_array(y) if is_sparse else np.asarray(y)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(
            f"{name} has shape {matrix.shape}; needed an indicator of shape (n_samples, n_labels)"
            + hint
        )
    if is_sparse and not matrix.has_canonical_format:
        matrix = matrix.copy()  # what was given stays as it is
        matrix.sum_duplicates()
    check_binary(name, matrix.data if is_sparse else matrix.ravel())
    return matrix.astype(bool)


def check_binary(name: str, entries: npt.NDArray[Any]) -> None:
    """Refuse entries of an indicator other than 0 and 1, and name the first of them."""
    if entries.dtype.kind == "c":
        raise TypeError(
            f"{name} is an indicator of numbers that are not real; needed 0 and 1: {name} != 0 "
            "marks the entries that are not 0"
        )
    if entries.dtype.kind in "fiub":
        is_binary = (entries == 0) | (entries == 1)
    else:
        numbers = bool | int | float | np.generic
        is_binary = np.array([isinstance(x, numbers) and bool(x in (0, 1)) for x in entries])
    if is_binary.all():
        return
    other = entries[is_binary.argmin()]
    other = other.item() if isinstance(other, np.generic) else other
    if isinstance(other, float) and np.isnan(other):
        raise ValueError(
            f"Input {name} contains NaN; needed 0 and 1 only: leave out rows without labels"
        )
    raise ValueError(
        f"{name} is an indicator and holds {other!r}; needed 0 and 1 only: {name} > 0 marks "
        "positive entries, and MultiLabelBinarizer of scikit-learn makes an indicator of names of "
        "labels"
    )


def classes_of(y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], IntArray]:
    """Return the classes, two at least, and for each row the index of its own."""
    from sklearn.utils.multiclass import check_classification_targets

    classes = np.unique(y) if y.dtype.kind in "iuf" and y.ndim == 1 else None
    if classes is None or len(classes) > 2 or np.any(classes % 1 != 0):
        check_classification_targets(y)  # two whole numbers are classes without a closer look
        classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(
            f"y holds one class only, {classes.tolist()[0]!r}, in the rows that count; needed two "
            "classes or more"
        )
    return classes, np.searchsorted(classes, y).astype(np.int32)  # many rows need much memory


def as_vector(name: str, y: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return one class for each row, without NaN."""
    array = np.asarray(y)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} has shape {array.shape}; needed one class for each row")
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise ValueError(f"{name} holds NaN; needed one class for each row")
    return array


def as_numbers(name: str, given: Any, n: int | None = None) -> npt.NDArray[np.float64]:
    """Return a vector of finite numbers, one for each of `n` rows if that is given."""
    vector = np.asarray(given.to_numpy() if hasattr(given, "to_numpy") else given)
    if vector.ndim == 2 and vector.shape[1] == 1:
        vector = vector[:, 0]
    if vector.ndim != 1:
        raise ValueError(f"{name} has shape {vector.shape}; needed one number for each row")
    try:
        numbers = vector.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{name} holds values that are no numbers ({error}); needed numbers"
        ) from None
    if (bad := ~np.isfinite(numbers)).any():
        raise ValueError(
            f"{name} has {int(bad.sum()):,} missing or infinite entries, the first in row "
            f"{int(bad.argmax())}; needed numbers, so leave these rows out"
        )
    if n is not None and len(numbers) != n:
        raise ValueError(f"{name} has {len(numbers):,} entries; needed one for each of {n:,} rows")
    return numbers


def class_index(
    labels: npt.NDArray[Any],
    classes: npt.NDArray[Any],
    name: str = "y",
    member: str = "a class of the fit",
) -> IntArray:
    """Return the position of each label among the classes.

    Examples
    --------
    >>> class_index(np.array(["no", "yes", "no"]), np.array(["no", "yes"]))
    array([0, 1, 0])
    """
    position = {known: j for j, known in enumerate(classes.tolist())}
    if len(position) < len(classes):
        raise ValueError("classes holds a class more than once; needed each of them once")
    given = labels.tolist()
    index = np.array([position.get(label, -1) for label in given], dtype=np.intp)
    if (index < 0).any():
        listed = ", ".join(map(repr, list(position)[:_MAX_LISTED]))
        rest = f" and {len(position) - _MAX_LISTED} more" if len(position) > _MAX_LISTED else ""
        raise ValueError(
            f"{name} holds {given[index.argmin()]!r}, which is not {member}; needed classes among "
            f"{listed}{rest}"
        )
    return index


def as_classes(
    name: str, labels: npt.NDArray[Any], classes: npt.ArrayLike | None
) -> tuple[npt.NDArray[Any], IntArray]:
    """Return the given classes, or the sorted ones in `labels`, and the position of each label."""
    present, index = np.unique(labels, return_inverse=True)
    if classes is None:
        return present, index
    known = as_vector("classes", classes)
    return known, class_index(present, known, name, "one of classes")[index]


# -- Seeds -----------------------------------------------------------------------------------------


def as_generator(random_state: int | np.random.Generator | None) -> np.random.Generator:
    """Return a generator: a new one, unless one is given."""
    return np.random.default_rng(random_state)


def as_seed(random_state: Any) -> int | np.random.Generator | None:
    """Return what solvers draw from; scikit-learn's generators give one number to begin with."""
    from sklearn.utils import check_random_state

    if random_state is None or isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, Integral):
        if not 0 <= int(random_state) < 2**32:
            check_random_state(random_state)  # refuses it
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def as_whole_seed(random_state: Any) -> int:
    """Return one number that stands for the random state; None gives a new one each time."""
    seed = as_seed(random_state)
    return seed if isinstance(seed, int) else int(as_generator(seed).integers(2**31))
