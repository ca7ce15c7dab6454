"""What judges the rows: a model by name, an estimator of the user, or probabilities."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._checks import suggest
from sorr._typing import FloatArray
from sorr.auditing.table import Argument, TableError, quote, quote_bare
from sorr.auditing.table.values import listed, spell
from sorr.share import MODELS, GivenProbabilities, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pandas import DataFrame

    from sorr.auditing.rows import Rows

_TOLERANCE = 0.02  # of the sum of the probabilities of a row: two decimals for a few classes


class Judge(NamedTuple):
    """What judges the rows, and is fitted without those that are flagged."""

    name: str
    """One of the names of models, the place of an estimator, its class, or "probabilities"."""
    estimator: Any
    """A name, an estimator that is not fitted, or `GivenProbabilities`."""

    @property
    def is_named(self) -> bool:
        """Whether it is one of the named models, which can be saved."""
        return self.name in MODELS

    @property
    def has_model(self) -> bool:
        """Whether there is a model, and not only its probabilities."""
        return not isinstance(self.estimator, GivenProbabilities)

    @property
    def in_words(self) -> str:
        """What it is called in a sentence."""
        return name_of(self.estimator)


def as_judge(model: Any, m: Any = "auto") -> Judge:
    """Return the judge that is asked for, or refuse one that is not known or does not suit `m`.

    A text with a colon, such as ``"package.module:estimator"``, is imported, which runs its code.
    """
    if isinstance(model, Judge):
        return model
    if isinstance(model, str) and ":" in model:
        judge = Judge(model, _imported(model))
    elif isinstance(model, str) and model in MODELS:
        judge = Judge(model, model)
    elif not isinstance(model, str) and hasattr(model, "fit") and hasattr(model, "get_params"):
        judge = Judge(type(model).__name__, model)
    else:
        raise TableError(
            Argument("model", model if isinstance(model, str) else type(model).__name__),
            f" is not known; {suggest(str(model), MODELS)}; an estimator of your own is named by "
            "its place, as package.module:estimator",
        )
    if m != "auto" and judge.name != "linear":
        raise TableError(
            Argument("m", m),
            " needs a linear model, but the model is ",
            Argument("model", judge.name),
            ", which drops what looks wrong; needed ",
            Argument("model", "linear"),
            ", or no ",
            Argument("m"),
        )
    return judge


def _imported(place: str) -> Any:
    """Return the estimator at a place such as ``"package.module:estimator"``.

    A class is called without arguments. Modules in the current folder are found too.
    """
    module, _, path = place.partition(":")
    try:
        with _current_folder_first():
            found: Any = import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except Exception as error:  # the code of the module may raise anything
        raise TableError(
            Argument("model", place),
            f" cannot be imported ({type(error).__name__}: {quote_bare(error, 120)}); needed "
            "package.module:estimator, the place of an estimator of scikit-learn's form",
        ) from error
    if isinstance(found, type):
        try:
            found = found()
        except TypeError as error:
            raise TableError(
                Argument("model", place),
                f" cannot be made without arguments ({quote_bare(error, 120)}); needed an "
                "estimator that is made already, as in model = Estimator(...), and its name",
            ) from error
    if not (hasattr(found, "fit") and hasattr(found, "get_params") and hasattr(found, "predict")):
        raise TableError(
            Argument("model", place),
            f" is a {type(found).__name__}; needed an estimator with fit, predict and get_params",
        )
    return found


@contextmanager
def _current_folder_first() -> Iterator[None]:
    folder = os.getcwd()  # noqa: PTH109 - as Python does it for `python -m`
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


# -- Probabilities of a model that was trained elsewhere -------------------------------------------


def judge_by_probabilities(given: Any, rows: Rows, ids: Sequence[Any] | None = None) -> Judge:
    """Return a judge that knows the probabilities of each class, for each row of a table.

    Parameters
    ----------
    given : frame or array-like of shape (n_rows_of_the_table, n_classes)
        Columns named as the classes; an array has them in sorted order. Other columns of a frame
        are ignored.
    rows : Rows
        The rows to judge.
    ids : sequence, optional
        The identifier of each line of `given`, to match the rows by theirs.
    """
    if rows.task == "regression":
        raise TableError(
            Argument("probabilities"),
            f" cannot judge {quote(rows.roles.target)}, which is a number; needed classes",
        )
    classes = np.unique(rows.y).tolist()
    values = _columns_of_classes(given, classes)
    values = values[_places(values, rows, ids)]
    bad = ~np.isfinite(values).all(axis=1) | (values < 0).any(axis=1) | (values.sum(axis=1) <= 0)
    total = values.sum(axis=1)
    if values.shape[1] == _width(given):  # no column was left out
        bad |= np.abs(total - 1) > _TOLERANCE * len(classes)
    if bad.any():
        place = int(np.flatnonzero(bad)[0])
        written = ", ".join(f"{it:.6g}" for it in values[place][:8])
        raise TableError(
            Argument("probabilities"),
            f" of row {rows.numbers[place]} are {written}; needed numbers from 0 to 1 that add up "
            "to 1",
        )
    return Judge("probabilities", GivenProbabilities(values / total[:, None]))


def _width(given: Any) -> int:
    return len(given.columns) if hasattr(given, "columns") else int(np.shape(given)[1])


def _columns_of_classes(given: Any, classes: list[Any]) -> FloatArray:
    """Return a column of numbers for each class."""
    if not hasattr(given, "columns"):
        array = np.asarray(given, dtype=np.float64)
        if array.ndim != 2 or array.shape[1] != len(classes):
            raise TableError(
                Argument("probabilities"),
                f" has shape {array.shape}; needed a row for each row of the table, and a column "
                f"for each of the {len(classes)} classes",
            )
        return array
    frame: DataFrame = given.to_pandas() if hasattr(given, "to_pandas") else given
    names = {str(name).strip(): name for name in frame.columns}
    texts = [spell(it) for it in classes]
    if absent := [text for text in texts if text not in names]:
        raise TableError(
            Argument("probabilities"),
            f" has no column named {quote(absent[0])}, a class of the target; the columns are "
            f"{listed(list(names))}; needed a column for each class",
        )
    chosen = frame[[names[text] for text in texts]]
    try:
        return np.asarray(chosen.to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError) as error:
        raise TableError(
            Argument("probabilities"), f" holds values that are no numbers ({error}); needed them"
        ) from None


def _places(values: FloatArray, rows: Rows, ids: Sequence[Any] | None) -> npt.NDArray[np.intp]:
    """Return the line of the probabilities that belongs to each row, by order or by identifier."""
    if ids is None:
        if len(values) != rows.table.n_rows:
            raise TableError(
                Argument("probabilities"),
                f" has {len(values):,} rows, and the table {rows.table.n_rows:,}; needed the same "
                "rows in the same order, or a column of both that names rows, by ",
                Argument("id_column"),
            )
        return np.asarray(rows.numbers, dtype=np.intp)
    known: dict[str, int] = {}
    for place, name in enumerate(map(spell, ids)):
        if known.setdefault(name, place) != place:
            raise TableError(
                Argument("probabilities"),
                f" names {quote(name)} twice; needed identifiers that differ",
            )
    if rows.ids is None:
        raise TableError("rows are matched by ", Argument("id_column"), ", and none was named")
    wanted = [spell(it) for it in rows.ids]
    if absent := [name for name in wanted if name not in known]:
        raise TableError(
            Argument("probabilities"),
            f" has no row named {quote(absent[0])}; needed one for each row of the table",
        )
    return np.array([known[name] for name in wanted], dtype=np.intp)
