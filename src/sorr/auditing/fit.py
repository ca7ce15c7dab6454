"""The fit to a table: prepare raw columns, judge the targets, and fit without those flagged."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import _get_threadpool_controller

from sorr._checks import suggest
from sorr._typing import BoolArray, FloatArray, IntArray, Report
from sorr.auditing.preparation import RawColumns, Source, prepared_by, sources
from sorr.auditing.rows import Roles, Rows, labelled_rows
from sorr.auditing.table import Argument, Table, TableError
from sorr.auditing.target import Task
from sorr.estimators import RankedRangeClassifier, RankedRangeRegressor
from sorr.ranked import kth_largest
from sorr.share import (
    FEWEST_ROWS,
    MODELS,
    Judgement,
    LabelledRows,
    NumberedRows,
    TargetJudgement,
    droppable,
    judge_numbers,
    judge_rows,
    make_model,
)

Drop = float | int | Literal["auto"]

_LARGEST_CURVATURE = 5e7  # entries (rows times classes squared) up to which a fit is certified
_MAX_TREE_ROWS = 50_000  # that a forest learns from: as many as judge, and a file of 30 MB


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model, and its rows.

    Attributes
    ----------
    rows : Rows
    pipeline : Pipeline
        From raw columns to predictions. Its last step is the model.
    X : ndarray or sparse matrix of shape (n_rows, n_columns)
        The columns as the last step sees them.
    name : {"auto", "forest", "linear", "boosting"}
        The kind of model.
    m : float, int or "auto"
        How many rows to drop, as given.
    dropped : ndarray of bool of shape (n_rows,)
        Which rows the model has not learned from.
    judgement : Judgement or TargetJudgement
        What models that have not seen a row say about its label or number.
    held_out : ndarray of shape (n_rows,)
        What such models predict for each row.
    notes : tuple of str
        The warnings of the fit.
    """

    rows: Rows
    pipeline: Pipeline
    X: Any = field(repr=False)
    name: str
    m: Drop
    dropped: BoolArray = field(repr=False)
    judgement: Judgement | TargetJudgement
    held_out: npt.NDArray[Any] = field(repr=False)
    notes: tuple[str, ...]

    @property
    def model(self) -> Any:
        """The fitted estimator."""
        return self.pipeline[-1]

    @property
    def is_linear(self) -> bool:
        """Whether the model is linear: then rows have losses, which rank them."""
        return self.name == "linear"

    @property
    def is_ranked(self) -> bool:
        """Whether the dropped rows are those with the largest losses, and not those flagged."""
        return self.m != "auto"

    @cached_property
    def line(self) -> Any:
        """A linear model of the kept rows. It explains why a label is suspect."""
        if self.is_linear:
            return self.model
        rows = take_rows(self.class_of_row, np.flatnonzero(~self.dropped), _MAX_TREE_ROWS, 0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fit_linear(
                self.X[rows], self.rows.y[rows], self.rows.task, 0, 0, 1, certify=False
            )

    @cached_property
    def losses(self) -> FloatArray:
        """The loss of each row in a linear model."""
        if self.is_ranked:
            return np.asarray(self.model.losses_)
        return np.asarray(self.model.row_losses(self.X, self.rows.y))

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many rows were dropped of each group that is ranked together."""
        return np.bincount(self.groups, self.dropped, self.groups.max() + 1).astype(np.int64)

    @cached_property
    def classes(self) -> list[Any]:
        """The classes. Empty for regression."""
        return self.judgement.classes_.tolist() if isinstance(self.judgement, Judgement) else []

    @cached_property
    def class_of_row(self) -> IntArray:
        """The index of the class of each row. Zero for regression."""
        if isinstance(self.judgement, Judgement):
            return self.judgement.index_
        return np.zeros(len(self.rows), dtype=np.intp)

    @property
    def is_pooled(self) -> bool:
        """Whether all rows are ranked together."""
        return not self.classes or (isinstance(self.m, int) and self.m > 0)

    @cached_property
    def groups(self) -> IntArray:
        """The group of each row that is ranked together: its class, or all rows."""
        return np.zeros(len(self.rows), dtype=np.intp) if self.is_pooled else self.class_of_row

    @cached_property
    def sources(self) -> list[Source]:
        """Where each column of X comes from."""
        return sources(self.pipeline.named_steps["prepare"])

    @cached_property
    def prediction(self) -> npt.NDArray[Any]:
        """The prediction for each row: of a linear model, or of models that have not seen it."""
        if self.is_linear:
            return np.asarray(self.model.predict(self.X))
        return self.held_out


def largest(losses: FloatArray, groups: IntArray, counts: npt.NDArray[np.int64]) -> BoolArray:
    """Return which rows have the largest losses of their group. Of equal losses, the first."""
    is_largest = np.zeros(len(losses), dtype=bool)
    for group, count in enumerate(counts.tolist()):
        if count == 0:
            continue
        rows = np.flatnonzero(groups == group)
        values = losses[rows]
        level = float(kth_largest(values, count))
        above = values > level
        is_largest[rows[above]] = True
        is_largest[rows[np.flatnonzero(values == level)[: count - int(above.sum())]]] = True
    return is_largest


def take_rows(class_of_row: IntArray, rows: IntArray, limit: int, seed: Any) -> IntArray:
    """Return at most `limit` of some rows at random, with at least two of each class."""
    if len(rows) <= limit:
        return rows
    chosen = np.random.default_rng(seed).choice(rows, limit, replace=False)
    labels = class_of_row[rows]
    few = np.flatnonzero(np.bincount(class_of_row[chosen], minlength=int(labels.max()) + 1) < 2)
    more = [rows[labels == label][:2] for label in few]
    return np.unique(np.concatenate([chosen, *more]))


def fit_table(
    table: Table,
    roles: Roles | str,
    *,
    model: str = "auto",
    m: Drop = "auto",
    task: str = "auto",
    seed: int = 0,
    jobs: int = 1,
    progress: Report | None = None,
) -> Fitted:
    """Fit a model to the labelled rows of a table, without those that look wrong.

    `roles` says what the columns are for; the name of the target alone will do.
    """
    given = Roles(roles) if isinstance(roles, str) else roles
    if progress is not None:
        progress(0.0, 1.0, "the columns")
    rows = labelled_rows(table, given, task, seed)
    return fit_rows(rows, model=model, m=m, seed=seed, jobs=jobs, progress=progress)


def fit_rows(
    rows: Rows,
    *,
    model: str = "auto",
    m: Drop = "auto",
    seed: int = 0,
    jobs: int = 1,
    progress: Report | None = None,
) -> Fitted:
    """Fit a model to rows, without those that look wrong."""
    m = as_drop(m)
    name = check_model(model, m)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        columns = RawColumns().use(rows.columns)
        prepare = prepared_by(columns, is_dense=name == "boosting")
        X = prepare.fit_transform(columns.transform(rows.frame))
        # Threads of boosting that share busy cores wait for each other most of the time.
        threads = _get_threadpool_controller().limit(
            limits=effective_n_jobs(jobs), user_api="openmp"
        )
        work = _Work(name, m, rows.fold_groups, seed, jobs, progress)
        with threads:
            if rows.task == "regression":
                found = _fit_numbers(X, rows.y, work)
            else:
                rare = columns.transform(rows.rare.frame)
                found = _fit_classes(X, rows.y, _Rare(prepare, rare, rows.rare.y), work)
    steps = [("columns", columns), ("prepare", prepare), ("model", found.model)]
    notes = tuple(dict.fromkeys(str(warning.message) for warning in caught))
    return Fitted(
        rows, Pipeline(steps), X, name, m, found.dropped, found.judgement, found.held_out, notes
    )


class _Found(NamedTuple):
    """A model, the rows it has not learned from, the judgement, and held-out predictions."""

    model: Any
    dropped: BoolArray
    judgement: Judgement | TargetJudgement
    held_out: npt.NDArray[Any]


class _Work(NamedTuple):
    """What to do, and how."""

    name: str
    m: Drop
    groups: IntArray | None
    seed: int
    jobs: int
    progress: Report | None

    def tell_the_last_step(self) -> None:
        """Report that the model is fitted."""
        if self.progress is not None:
            self.progress(0.9, 1.0, "the model without the flagged rows")


class _Rare(NamedTuple):
    """Rows of classes that are too small to be judged. The model learns from them."""

    prepare: Any
    frame: Any
    y: npt.NDArray[Any]

    def add_to(self, X: Any, y: npt.NDArray[Any]) -> tuple[Any, npt.NDArray[Any]]:
        """Return rows and labels with these behind them."""
        if not len(self.y):
            return X, y
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Found unknown categories")  # count as rare ones
            more = self.prepare.transform(self.frame)
        stack = sparse.vstack if sparse.issparse(X) else np.vstack
        return stack([X, more]), np.concatenate([y, self.y])


def _fit_classes(X: Any, y: npt.NDArray[Any], rare: _Rare, work: _Work) -> _Found:
    """Judge labels by a model of that name, and fit it without the rows that are flagged.

    With a number of rows, a linear model drops those with the largest losses.
    """
    name, seed, jobs = work.name, work.seed, work.jobs
    classes, index = np.unique(y, return_inverse=True)
    report = _in_halves(work.progress)
    rows = LabelledRows(X, y, index, classes, None, seed=seed, n_jobs=jobs, report=report)
    judgement, probabilities, _ = judge_rows(rows, name, groups=work.groups)
    if len(y) < FEWEST_ROWS:  # too few to be judged
        probabilities = rows.hold_out(name, groups=work.groups)
    held_out = classes[probabilities.argmax(axis=1)]
    if work.m != "auto":
        model = fit_linear(X, y, "classification", work.m, seed, jobs)
        groups = np.zeros(len(y), dtype=np.intp) if len(model.m_) == 1 else index
        dropped = largest(model.losses_, groups, np.rint(model.m_).astype(np.int64))
        return _Found(model, dropped, judgement, held_out)
    dropped = droppable(judgement.flagged_, index)
    kept = np.flatnonzero(~dropped)
    work.tell_the_last_step()
    if name == "linear":  # it is compared with fits to parts of the rows, which have these classes
        model = fit_linear(X[kept], y[kept], "classification", 0, seed, jobs)
        return _Found(model, dropped, judgement, held_out)
    if name != "boosting":
        kept = take_rows(index, kept, _MAX_TREE_ROWS, seed)
    X, y = rare.add_to(X[kept], y[kept])
    classes, index = np.unique(y, return_inverse=True)
    rows = LabelledRows(X, y, index, classes, None, seed=seed, n_jobs=jobs)
    model = rows.fit_model(make_model(name, seed, jobs), np.arange(len(y)))
    return _Found(model, dropped, judgement, held_out)


def _fit_numbers(X: Any, y: npt.NDArray[Any], work: _Work) -> _Found:
    """Judge numbers by a model of that name, and fit it without the rows that are flagged.

    A linear model is one that resists outliers. With a number of rows, it drops those with the
    largest losses.
    """
    name, m, seed, jobs = work.name, work.m, work.seed, work.jobs
    if name == "linear":
        model = fit_linear(X, y, "regression", "auto", seed, jobs)
        judgement, dropped = model.judgement_, model.outlier_mask_
        if m != "auto":
            model = fit_linear(X, y, "regression", m, seed, jobs)
            counts = np.rint(model.m_).astype(np.int64)
            dropped = largest(model.losses_, np.zeros(len(y), dtype=np.intp), counts)
        return _Found(model, dropped, judgement, judgement.suggested_)
    rows = NumberedRows(X, y, None, seed=seed, n_jobs=jobs, report=_in_halves(work.progress))
    judgement, held_out, _ = judge_numbers(rows, name, groups=work.groups)
    dropped = judgement.flagged_
    work.tell_the_last_step()
    kept = np.flatnonzero(~dropped)
    if name != "boosting":
        kept = take_rows(np.zeros(len(y), dtype=np.intp), kept, _MAX_TREE_ROWS, seed)
    model = rows.fit_model(make_model(name, seed, jobs, is_classifier=False), kept)
    return _Found(model, dropped, judgement, held_out)


def _in_halves(progress: Report | None) -> Report | None:
    """Return a report of steps of unknown number: each takes half of what is left."""
    if progress is None:
        return None
    begin, last = 0.0, 0.0

    def tell(done: float, total: float, text: str) -> None:
        nonlocal begin, last
        share = done / total if total else 1.0
        if share < last:
            begin += 0.5 * (0.9 - begin)
        last = share
        progress(begin + 0.5 * (0.9 - begin) * share, 1.0, text)

    return tell


def fit_linear(
    X: Any, y: npt.NDArray[Any], task: Task, m: Drop, seed: int, jobs: int, **options: Any
) -> Any:
    """Return a fitted linear model. The ridge is that of scikit-learn's `LogisticRegression`."""
    n_classes = 1 if task == "regression" else len(np.unique(y))
    options = {
        "C": float(len(y)) if task == "regression" else "auto",
        "certify": len(y) * n_classes**2 <= _LARGEST_CURVATURE,
        "random_state": seed,
        "n_jobs": jobs,
        "m": m,
        **options,
    }
    if task == "regression":
        return RankedRangeRegressor(**options).fit(X, y)
    if isinstance(m, int) and m:
        options["ranking"] = "pooled"  # a count is of all rows
    return RankedRangeClassifier(**options).fit(X, y)


def as_drop(m: Any) -> Drop:
    """Return how many rows to drop, as a Python number or "auto"."""
    if isinstance(m, str) and m == "auto":
        return "auto"
    if isinstance(m, str | bool | np.bool_) or not isinstance(m, Real):
        raise TableError(f"m={m!r} is not a number; needed 'auto', a share, or a number of rows")
    return int(m) if isinstance(m, Integral) else float(m)


def check_model(model: Any, m: Drop) -> str:
    """Return the name of the model, or refuse one that is not known or does not suit `m`."""
    if not isinstance(model, str) or model not in MODELS:
        raise TableError(Argument("model", model), f" is not known; {suggest(model, MODELS)}")
    if m != "auto" and model != "linear":
        raise TableError(
            Argument("m", m),
            " needs a linear model, but the model is ",
            Argument("model", model),
            ", which drops what looks wrong; needed ",
            Argument("model", "linear"),
            ", or no ",
            Argument("m"),
        )
    return model
