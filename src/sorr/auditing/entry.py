"""An audit from beginning to end, of arrays, of a table from a file, or of an example."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone

from sorr._checks import as_whole_seed
from sorr._csv import to_csv
from sorr._typing import BoolArray, Report
from sorr.auditing.decisions import read_decisions
from sorr.auditing.fit import Drop, fit_rows
from sorr.auditing.judges import judge_by_probabilities
from sorr.auditing.report import AuditReport
from sorr.auditing.rows import Roles, Rows, labelled_rows
from sorr.auditing.table import Argument, Table, TableError, quote_bare
from sorr.auditing.table.values import Seal, fingerprint_frame
from sorr.auditing.variations import Variations, ignore_warnings, resample, sweep
from sorr.datasets import flip_symmetric, load_monk

if TYPE_CHECKING:
    from pandas import DataFrame


def audit_table(
    table: Table,
    roles: Roles | str,
    *,
    model: Any = "auto",
    m: Drop = "auto",
    task: str = "auto",
    decisions: Any = None,
    probabilities: Any = None,
    seed: int = 0,
    jobs: int = 1,
    progress: Report | None = None,
) -> AuditReport:
    """Audit a table that was read from a file.

    `roles` says what the columns are for; the name of the target alone will do. The other
    arguments are those of ``sorr audit``. With an `id_column`, a frame of probabilities is matched
    by its column of that name, if it has one.
    """
    given = Roles(roles) if isinstance(roles, str) else roles
    if progress is not None:
        progress(0.0, 1.0, "the columns")
    notes: tuple[str, ...] = ()
    known = None
    if decisions is not None:
        given.check([str(name) for name in table.frame.columns])
        matched = read_decisions(decisions).match(
            table, id_column=given.id_column, target=given.target
        )
        known, notes = matched.decisions, matched.notes
    rows = labelled_rows(table, given, task, seed, known)
    rows = replace(rows, notes=(*rows.notes, *notes))
    if probabilities is not None:
        if model != "auto" or m != "auto":
            raise TableError(
                Argument("probabilities"),
                " judge by themselves; needed no ",
                Argument("model"),
                " and no ",
                Argument("m"),
            )
        ids = None
        if given.id_column is not None and given.id_column in getattr(probabilities, "columns", ()):
            ids = list(probabilities[given.id_column])
        model = judge_by_probabilities(probabilities, rows, ids)
    report = audit_rows(rows, model=model, m=m, seed=seed, jobs=jobs, progress=progress)
    return replace(report, decisions=known)


def audit_example(
    *, model: str = "auto", seed: int = 0, jobs: int = 1, progress: Report | None = None
) -> AuditReport:
    """Audit the example, whose wrong labels are known."""
    table, wrong = example(seed)
    rows = labelled_rows(table, Roles(TARGET), seed=seed)
    return audit_rows(rows, model=model, seed=seed, jobs=jobs, progress=progress, is_wrong=wrong)


def audit_rows(
    rows: Rows,
    *,
    model: Any = "auto",
    m: Drop = "auto",
    seed: int = 0,
    jobs: int = 1,
    progress: Report | None = None,
    is_wrong: BoolArray | None = None,
) -> AuditReport:
    """Judge every row and fit; a linear fit is repeated with other numbers and on other rows."""
    tell = _teller(progress)
    tell(0.0)(0.0, "the targets" if rows.task == "regression" else "the labels")
    fitting = tell(0.0, 0.3 if isinstance(model, str) and model == "linear" else 1.0)
    fitted = fit_rows(
        rows,
        model=model,
        m=m,
        seed=seed,
        jobs=jobs,
        progress=lambda done, total, text: fitting(done / total, text),
    )
    linear = None
    if fitted.is_linear:
        tell(0.3)(0.0, "the plain fit")
        with ignore_warnings():
            options = {"m": 0, "C": float(len(rows))}
            plain = clone(fitted.model).set_params(**options).fit(fitted.X, rows.y)
        swept = sweep(fitted, seed, jobs, tell(0.35, 0.65))
        linear = Variations(plain, swept, resample(fitted, seed, jobs, tell(0.65, 1.0)))
    tell(1.0)(0.0, "")
    return AuditReport(fitted, linear, is_wrong)


def _teller(progress: Report | None) -> Callable[..., Callable[[float, str], None]]:
    """Return a function that reports the progress of a part as progress of the whole."""

    def part(begin: float, end: float = 1.0) -> Callable[[float, str], None]:
        def tell(done: float, label: str) -> None:
            if progress is not None:
                progress(begin + done * (end - begin), 1.0, label)

        return tell

    return part


# -- Rows and labels in memory ---------------------------------------------------------------------


def audit(
    X: Any,
    y: Any,
    *,
    model: Any = "auto",
    m: Drop = "auto",
    task: str = "auto",
    decisions: Any = None,
    probabilities: Any = None,
    id_column: str | None = None,
    ignore: Sequence[str] = (),
    group: Sequence[str] = (),
    group_folds: str | None = None,
    number: Sequence[str] = (),
    category: Sequence[str] = (),
    text: Sequence[str] = (),
    date: Sequence[str] = (),
    random_state: Any = 0,
    n_jobs: int = 1,
    progress: Report | None = None,
) -> AuditReport:
    """Find the labels that look wrong, and fit a model without them.

    Parameters
    ----------
    X : DataFrame or array-like of shape (n_samples, n_columns)
        A frame of pandas or polars, or an array. Its columns hold numbers, dates or texts, as they
        are: amounts such as $1,234 are numbers, identifiers are set aside, and values may be
        missing. `AuditReport.columns` says how each column was read.
    y : array-like of shape (n_samples,), or str
        Labels, or the name of the column of X that holds them. Rows without a label are not
        judged, but predicted.
    model : estimator, or "auto", "forest", "linear" or "boosting", default="auto"
        The model that judges the labels and is fitted without those that are flagged. "auto" is a
        forest combined with a linear model. An estimator of your own gets columns of numbers, made
        from those of X; ``"package.module:estimator"`` imports one.
    m : float, int or "auto", default="auto"
        How many rows to drop, for a linear model: a share of each class, or a number of all rows.
        "auto" drops the rows that are flagged.
    task : {"auto", "classification", "regression"}, default="auto"
        What to learn. Texts are classes, and so are up to 20 whole numbers that repeat.
    decisions : str, path-like, DataFrame or Decisions, optional
        What somebody decided in the last round: a file, or a table with its columns. Rows that were
        checked are known and not asked again, and the judge learns from them.
    probabilities : frame or array-like of shape (n_samples, n_classes), optional
        Probabilities of a model that was trained elsewhere and has not seen the rows. They judge
        instead of `model`, and nothing is fitted. A frame has columns named as the classes.
    id_column : str, optional
        The column that names rows. It is not learned from. The default is the first column that
        only tells rows apart.
    ignore : sequence of str, default=()
        Columns not to learn from.
    group : sequence of str, default=()
        Columns for which the report counts the dropped rows by value.
    group_folds : str, optional
        The column of entities, such as patients. Their rows are held out together, so that no row
        is judged by others of the same entity. It is not learned from.
    number, category, text, date : sequence of str, default=()
        Columns to read as such, where the audit reads them otherwise. A date may have its format
        behind it, as in ``date=["signed=%d/%m/%Y"]``.
    random_state : int, RandomState, Generator or None, default=0
        Seed for everything random. The same seed gives the same report, byte by byte.
    n_jobs : int, default=1
        Number of threads; -1 for one per core. The result does not depend on it.
    progress : callable, optional
        Called with the work done, all of it, and what is being done.

    Returns
    -------
    AuditReport
        The suspects, the model, and a report to read, which a notebook shows by itself.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> y = np.where(X @ [2, -1, 0] > 0, "spam", "ham")
    >>> wrong = np.arange(0, 400, 10)
    >>> y[wrong] = np.where(y[wrong] == "spam", "ham", "spam")
    >>> report = audit(X, y)
    >>> report.fitted.judgement.verdict_, bool(report.fitted.dropped[wrong].mean() > 0.5)
    ('strong', True)
    """
    seed = as_whole_seed(random_state)
    frame, target = _frame_and_target(X, y)
    n = len(frame)
    print_of = fingerprint_frame(frame)
    table = Table(frame, np.arange(n), None, n, (), "the rows given", fingerprint=print_of)
    lists = {"ignore": ignore, "group": group, "number": number, "category": category}
    lists |= {"text": text, "date": date}
    named = {option: _as_names(option, given) for option, given in lists.items()}
    roles = Roles(target, id_column, group_folds=group_folds, **named)
    report = audit_table(
        table,
        roles,
        model=model,
        m=m,
        task=task,
        decisions=decisions,
        probabilities=probabilities,
        seed=seed,
        jobs=n_jobs,
        progress=progress,
    )
    return replace(report, source=X if isinstance(y, str) and hasattr(X, "columns") else None)


def _as_names(option: str, given: Any) -> tuple[str, ...]:
    if isinstance(given, str):
        raise TypeError(
            f"{option}={given!r} is a single text; needed a list of names, such as [{given!r}]"
        )
    return tuple(map(str, given))


def _frame_and_target(X: Any, y: Any) -> tuple[DataFrame, str]:
    """Return X and y in one frame, and the name of the column of y."""
    import pandas as pd

    frame = _as_frame(X)
    if isinstance(y, str):
        return frame, y
    values = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if values.ndim != 1:
        raise TableError(f"y has shape {values.shape}; needed one label per row")
    labels = pd.Series(values)
    if len(labels) != len(frame):
        raise TableError(
            f"X has {len(frame)} rows, but y has {len(labels)}; needed one label per row"
        )
    name = str(getattr(y, "name", None) or "label")
    if name in frame.columns:
        if frame[name].reset_index(drop=True).equals(labels):
            raise TableError(
                f"X also holds the labels, in column {quote_bare(name)}; needed X without it, "
                f"or y={name!r}"
            )
        name += " (y)"
    return frame.assign(**{name: labels.to_numpy()}), name


def _as_frame(X: Any) -> DataFrame:
    import pandas as pd

    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if isinstance(X, pd.DataFrame):
        names = [str(name) for name in X.columns]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise TableError(f"X has two columns named {quote_bare(twice)}; needed different names")
        return X.set_axis(names, axis=1).reset_index(drop=True)
    values = X.toarray() if hasattr(X, "toarray") else X
    if np.ndim(values[:1]) != 2:
        raise TableError(f"X has shape {np.shape(values)}; needed rows and columns")
    frame = pd.DataFrame(values).infer_objects()
    return frame.set_axis([f"x{i}" for i in range(frame.shape[1])], axis=1)


# -- The example: robots, some with a wrong label on purpose ---------------------------------------


TARGET = "friendly"
_WRONG = 0.07  # of the labels
_SHAPES = ("round", "square", "octagon")
_VALUES = {
    "head": _SHAPES,
    "body": _SHAPES,
    "smiling": ("yes", "no"),
    "holding": ("sword", "balloon", "flag"),
    "jacket": ("red", "yellow", "green", "blue"),
    "tie": ("yes", "no"),
}


class Example(NamedTuple):
    """A table, and which of its labels are wrong."""

    table: Table
    wrong: BoolArray


def example(seed: int = 0) -> Example:
    """Return the robots of the third Monk's problem, 30 of 432 with the wrong label.

    A robot is friendly if its jacket is green and it holds a sword, or if neither its jacket is
    blue nor its body an octagon.
    """
    import pandas as pd

    codes, friendly = load_monk(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(friendly))
    codes, friendly = codes[order].astype(int), friendly[order]
    noisy = flip_symmetric(np.where(friendly == 1, "yes", "no"), _WRONG, random_state=seed)
    columns = {
        name: np.array(values, dtype=object)[codes[:, i] - 1]
        for i, (name, values) in enumerate(_VALUES.items())
    }
    frame = pd.DataFrame(columns | {TARGET: noisy.y})
    n = len(frame)
    text = to_csv(list(frame.columns), frame.to_numpy().tolist()).encode()
    seal = Seal()
    seal.add(text)
    table = Table(
        frame,
        np.arange(n),
        np.arange(2, n + 2),
        n,
        (),
        "robots.csv",
        separator=",",
        fingerprint=seal.fingerprint(n, len(frame.columns)),
        original=text,
    )
    return Example(table, noisy.wrong)
