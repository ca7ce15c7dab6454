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

from sorr._typing import BoolArray, FloatArray, IntArray, Report
from sorr.auditing.judges import Judge, as_judge
from sorr.auditing.preparation import RawColumns, Source, prepared_by, sources
from sorr.auditing.rows import Roles, Rows, labelled_rows
from sorr.auditing.table import Table, TableError
from sorr.auditing.target import Task
from sorr.estimators import RankedRangeClassifier, RankedRangeRegressor
from sorr.ranked import kth_largest
from sorr.share import (
    FEWEST_ROWS,
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
_TAKE_SPARSE = ("auto", "forest", "linear")  # models that take sparse rows
_MAX_TREE_ROWS = 50_000  # that a forest learns from: as many as judge, and a file of 30 MB


class HeldOut(NamedTuple):
    """Predictions for some rows, by models that have not seen them."""

    rows: IntArray
    predicted: npt.NDArray[Any]


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
    judge : Judge
        What judges the rows, and is fitted without those that are flagged.
    m : float, int or "auto"
        How many rows to drop, as given.
    dropped : ndarray of bool of shape (n_rows,)
        Which rows the model has not learned from.
    judgement : Judgement or TargetJudgement
        What models that have not seen a row say about its label or number.
    held_out : ndarray of shape (n_rows,)
        What such models predict for each row.
    without : HeldOut or None
        What such models predict if they have not seen the dropped rows either, for kept rows.
    notes : tuple of str
        The warnings of the fit.
    """

    rows: Rows
    pipeline: Pipeline
    X: Any = field(repr=False)
    judge: Judge
    m: Drop
    dropped: BoolArray = field(repr=False)
    judgement: Judgement | TargetJudgement
    held_out: npt.NDArray[Any] = field(repr=False)
    without: HeldOut | None = field(repr=False)
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.judge.name

    @property
    def model(self) -> Any:
        """The fitted estimator. None if only probabilities are known."""
        return self.pipeline[-1] if self.judge.has_model else None

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
        """A linear model of the kept rows. It says how much columns matter, for the map."""
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
            return np.searchsorted(self.judgement.classes_, self.rows.y)
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
    model: Any = "auto",
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
    model: Any = "auto",
    m: Drop = "auto",
    seed: int = 0,
    jobs: int = 1,
    progress: Report | None = None,
) -> Fitted:
    """Fit a model to rows, without those that look wrong."""
    m = as_drop(m)
    judge = as_judge(model, m)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        columns = RawColumns().use(rows.columns)
        is_dense = judge.has_model and judge.name not in _TAKE_SPARSE
        prepare = prepared_by(columns, is_dense=is_dense)
        X = prepare.fit_transform(columns.transform(rows.frame))
        # Threads of boosting that share busy cores wait for each other most of the time.
        threads = _get_threadpool_controller().limit(
            limits=effective_n_jobs(jobs), user_api="openmp"
        )
        work = _Work(judge, m, rows.fold_groups, seed, jobs, progress)
        with threads:
            if rows.task == "regression":
                found = _fit_numbers(X, rows, work)
            else:
                rare = columns.transform(rows.rare.frame)
                found = _fit_classes(X, rows, _Rare(prepare, rare, rows.rare.y), work)
    steps = [("columns", columns), ("prepare", prepare)]
    if found.model is not None:
        steps.append(("model", found.model))
    notes = tuple(dict.fromkeys(str(warning.message) for warning in caught))
    return Fitted(
        rows,
        Pipeline(steps),
        X,
        judge,
        m,
        found.dropped,
        found.judgement,
        found.held_out,
        found.without,
        notes,
    )


class _Found(NamedTuple):
    """A model, the rows it has not learned from, the judgement, and held-out predictions."""

    model: Any
    dropped: BoolArray
    judgement: Judgement | TargetJudgement
    held_out: npt.NDArray[Any]
    without: HeldOut | None = None


class _Work(NamedTuple):
    """What to do, and how."""

    judge: Judge
    m: Drop
    groups: IntArray | None
    seed: int
    jobs: int
    progress: Report | None

    def tell_the_last_step(self) -> None:
        """Report that the model is fitted."""
        if self.progress is not None:
            self.progress(0.9, 1.0, "the model without the flagged rows")

    @property
    def takes_all_rows(self) -> bool:
        """Whether the model learns from as many rows as there are."""
        return self.judge.name not in ("auto", "forest")


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


def _fit_classes(X: Any, rows: Rows, rare: _Rare, work: _Work) -> _Found:
    """Judge labels by a model, and fit it without the rows that are flagged.

    With a number of rows, a linear model drops those with the largest losses.
    """
    judge, seed, jobs, y = work.judge, work.seed, work.jobs, rows.y
    classes = np.unique(y)
    # Of a class whose rows were all relabelled nothing can be learned: as if they were given so.
    shown = np.where(np.isin(rows.given, classes), rows.given, y)
    given, index = (np.searchsorted(classes, it) for it in (shown, y))
    options: dict[str, Any] = {"seed": seed, "n_jobs": jobs}
    labelled = LabelledRows(
        X, shown, given, classes, None, report=_in_halves(work.progress), **options
    )
    known = dict(zip(np.flatnonzero(rows.known).tolist(), y[rows.known].tolist(), strict=True))
    judgement, probabilities, _ = judge_rows(
        labelled, judge.estimator, groups=work.groups, known=known
    )
    if len(y) < FEWEST_ROWS and judge.has_model:  # too few to be judged
        probabilities = labelled.hold_out(judge.estimator, groups=work.groups)
    held_out = classes[probabilities.argmax(axis=1)]
    if work.m != "auto":
        model = fit_linear(X, y, "classification", work.m, seed, jobs)
        groups = np.zeros(len(y), dtype=np.intp) if len(model.m_) == 1 else index
        dropped = largest(model.losses_, groups, np.rint(model.m_).astype(np.int64))
        return _Found(model, dropped, judgement, held_out)
    dropped = droppable(judgement.flagged_, index)
    if not judge.has_model:
        return _Found(None, dropped, judgement, held_out)
    kept = np.flatnonzero(~dropped)
    work.tell_the_last_step()
    if judge.name == "linear":  # it is compared with fits to parts of the rows with these classes
        model = fit_linear(X[kept], y[kept], "classification", 0, seed, jobs)
        return _Found(model, dropped, judgement, held_out)
    if not work.takes_all_rows:
        kept = take_rows(index, kept, _MAX_TREE_ROWS, seed)
    X, y = rare.add_to(X[kept], y[kept])
    classes, index = np.unique(y, return_inverse=True)
    part = LabelledRows(X, y, index, classes, None, **options)
    model, found = _fit_kept(part, kept, work, is_compared=bool(dropped.any()))
    without = None
    if found is not None:
        without = HeldOut(kept, classes[found[: len(kept)].argmax(axis=1)])
    return _Found(model, dropped, judgement, held_out, without)


def _fit_numbers(X: Any, rows: Rows, work: _Work) -> _Found:
    """Judge numbers by a model, and fit it without the rows that are flagged.

    A linear model is one that resists outliers. With a number of rows, it drops those with the
    largest losses.
    """
    judge, m, seed, jobs, y = work.judge, work.m, work.seed, work.jobs, rows.y
    known = dict(zip(np.flatnonzero(rows.known).tolist(), y[rows.known].tolist(), strict=True))
    if judge.name == "linear":
        model = fit_linear(X, y, "regression", "auto", seed, jobs)
        judgement = model.judgement_.know(known)
        dropped = model.outlier_mask_ & ~rows.known
        if m != "auto":
            model = fit_linear(X, y, "regression", m, seed, jobs)
            counts = np.rint(model.m_).astype(np.int64)
            dropped = largest(model.losses_, np.zeros(len(y), dtype=np.intp), counts)
        return _Found(model, dropped, judgement, judgement.suggested_)
    options: dict[str, Any] = {"seed": seed, "n_jobs": jobs}
    numbered = NumberedRows(X, rows.given, None, report=_in_halves(work.progress), **options)
    judgement, held_out, _ = judge_numbers(
        numbered, judge.estimator, groups=work.groups, known=known
    )
    dropped = judgement.flagged_
    work.tell_the_last_step()
    kept = np.flatnonzero(~dropped)
    if not work.takes_all_rows:
        kept = take_rows(np.zeros(len(y), dtype=np.intp), kept, _MAX_TREE_ROWS, seed)
    part = NumberedRows(X[kept], y[kept], None, **options)
    model, found = _fit_kept(part, kept, work, is_compared=bool(dropped.any()))
    without = None if found is None else HeldOut(kept, found[:, 0])
    return _Found(model, dropped, judgement, held_out, without)


def _fit_kept(
    part: LabelledRows | NumberedRows, kept: IntArray, work: _Work, *, is_compared: bool
) -> tuple[Any, FloatArray | None]:
    """Return a model of the kept rows, and if asked what held-out ones get without the dropped.

    A forest scores held-out rows on the way. Rows of small classes may stand behind the kept ones.
    """
    estimator = work.judge.estimator
    model = make_model(estimator, part.seed, part.n_jobs, is_classifier=part.is_classifier)
    everything = np.arange(len(part))
    if not is_compared:
        return part.fit_model(model, everything), None
    if work.groups is None and hasattr(model, "fit_held_out"):
        found = model.fit_held_out(part.X, part.y)
        return model, found
    if work.groups is None and work.judge.name == "forest":
        return model, part.hold_out(model, fitted=True)
    groups = None
    if work.groups is not None:
        alone = work.groups.max() + 1 + np.arange(len(part) - len(kept))
        groups = np.concatenate([work.groups[kept], alone])
    found = part.hold_out(estimator, groups=groups)
    return part.fit_model(model, everything), found


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
