"""Probabilities and predictions of rows by models that have not seen them, for any estimator."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble._forest import BaseForest
from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params, indexable

from sorr._checks import as_count, as_masses, as_numbers, as_vector, as_whole_seed, classes_of
from sorr._progress import print_reports
from sorr._typing import BoolArray, FloatArray, IntArray, Report
from sorr.share.constants import (
    FEWEST_TREES,
    FOLDS,
    LARGEST_DENSE,
    LARGEST_SAMPLE,
    TREES,
)
from sorr.share.models import (
    blend,
    has_bag,
    is_line,
    is_named,
    make_single,
    probabilities_of,
    stack,
    weight_argument,
)
from sorr.share.row_values import (
    EqualRows,
    as_pandas,
    assign_folds,
    find_equal_rows,
    is_numeric,
    is_sparse,
    merge_groups,
)

_CHUNK = 1 << 22  # entries of X that are scored at a time
_STORED = 1 << 7  # entries of a row that is sparse, or a list


def held_out_probabilities(
    estimator: Any,
    X: Any,
    y: npt.ArrayLike,
    *,
    cv: Any = None,
    groups: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    max_train_rows: int = LARGEST_SAMPLE,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> FloatArray:
    """Return the probability of each class, for each row, by models that have not seen the row.

    Parameters
    ----------
    estimator : classifier, or "auto", "forest", "linear" or "boosting"
        Any classifier of scikit-learn, a pipeline or a search. "auto" combines extra trees with
        logistic regression, "forest" is the trees alone, "linear" is logistic regression on
        standardised columns, and "boosting" is `HistGradientBoostingClassifier`. Without
        `predict_proba`, decision values are taken for log odds.
    X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        What the estimator takes. Named models take numbers, which may be missing.
    y : array-like of shape (n_samples,)
        Labels, two different ones at least.
    cv : int, splitter or iterable, default=None
        Folds, as in scikit-learn: each row has to be held out once. None takes the out-of-bag
        rows of a forest, and else five stratified folds.
    groups : array-like of shape (n_samples,), optional
        Rows of a group are always held out together.
    sample_weight : array-like of shape (n_samples,), optional
        The mass of each row.
    max_train_rows : int, default=50_000
        With more rows, the model is trained on a sample of this size and scores all others. A
        second sample scores the first.
    random_state : int, RandomState, Generator or None, default=None
        Seed for everything random. The same seed gives the same result.
    n_jobs : int or None, default=None
        Number of threads. The result does not depend on it.
    verbose : int, default=0
        1 prints progress to standard error every two seconds, 2 prints every step.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        One column for each class, in the order of ``np.unique(y)``.

    Notes
    -----
    Copies of a row are always held out together, since a copy would give the label away. Values
    that ten or more rows share are a category, not copies; its rows share the mean of their
    probabilities, because the model of each has seen all labels of the category but its own, and
    leans against it. With a splitter of your own, you decide.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = np.where(X[:, 0] > 0, "yes", "no")
    >>> held_out_probabilities("linear", X, y, random_state=0).shape
    (300, 2)
    """
    labels = as_vector("y", y)
    X, labels = indexable(X, labels)
    weight = as_masses(sample_weight, len(labels))
    classes, index = classes_of(labels if weight is None else labels[weight > 0])
    if weight is not None and not weight.all():
        index = np.searchsorted(classes, labels)  # rows without weight are scored too
        index = np.minimum(index, len(classes) - 1)
    rows = LabelledRows(
        X,
        labels,
        index,
        classes,
        weight,
        seed=as_whole_seed(random_state),
        n_jobs=n_jobs,
        report=print_reports("held_out_probabilities", verbose),
    )
    limit = as_count("max_train_rows", max_train_rows, lowest=2, what="a number of rows")
    rows.refuse_texts(estimator)
    return rows.hold_out(estimator, cv=cv, groups=groups, limit=limit)


def held_out_predictions(
    estimator: Any,
    X: Any,
    y: npt.ArrayLike,
    *,
    cv: Any = None,
    groups: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    max_train_rows: int = LARGEST_SAMPLE,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> FloatArray:
    """Return the prediction of the number of each row, by models that have not seen the row.

    Parameters
    ----------
    estimator : regressor, or "auto", "forest", "linear" or "boosting"
        Any regressor of scikit-learn, a pipeline or a search. "auto" combines extra trees with
        ridge regression, "forest" is the trees alone, "linear" is ridge regression on standardised
        columns, and "boosting" is `HistGradientBoostingRegressor`.
    X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        What the estimator takes. Named models take numbers, which may be missing.
    y : array-like of shape (n_samples,)
        Numbers.
    cv, groups, sample_weight, max_train_rows, random_state, n_jobs, verbose
        As in `held_out_probabilities`.

    Returns
    -------
    ndarray of shape (n_samples,)

    Notes
    -----
    Copies of a row are always held out together, since a copy would give the number away. Values
    that ten or more rows share are a category, not copies; its rows share the mean of their
    predictions. With a splitter of your own, you decide.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> p = held_out_predictions("linear", X, X @ [1.0, 2.0], random_state=0)
    >>> bool(np.abs(p - X @ [1.0, 2.0]).max() < 0.1)
    True
    """
    target = as_numbers("y", y)
    X, target = indexable(X, target)
    rows = NumberedRows(
        X,
        target,
        as_masses(sample_weight, len(target)),
        seed=as_whole_seed(random_state),
        n_jobs=n_jobs,
        report=print_reports("held_out_predictions", verbose),
    )
    limit = as_count("max_train_rows", max_train_rows, lowest=2, what="a number of rows")
    rows.refuse_texts(estimator)
    return rows.hold_out(estimator, cv=cv, groups=groups, limit=limit)[:, 0]


# -- Rows, and how they are held out ---------------------------------------------------------------


class TableRows(ABC):
    """Rows with targets of some kind, and models of them that have not seen some.

    Parameters
    ----------
    X, y : what estimators are given
    strata : ndarray of shape (n_samples,)
        Numbers of groups of rows that folds hold alike parts of.
    n_outputs : int
        How many numbers a model gives for a row.
    weight : ndarray of shape (n_samples,) or None
    seed : int
    n_jobs : int or None
    report : callable or None
        Called with the work done, all of it, and what is being done.
    trees : int
        Of a forest that is given by name.
    extra : mapping or None
        Further arguments of `fit`; those with an entry for each row are cut like the rows.
    """

    def __init__(
        self,
        X: Any,
        y: npt.NDArray[Any],
        strata: IntArray,
        n_outputs: int,
        weight: FloatArray | None,
        *,
        seed: int,
        n_jobs: int | None = None,
        report: Report | None = None,
        trees: int = TREES,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self.X = X.tocsr() if is_sparse(X) else X
        self.y = y
        self.strata = strata
        self.n_outputs = n_outputs
        self.weight = weight
        self.seed = seed
        self.n_jobs = n_jobs
        self.report = report
        self.trees = trees
        self.extra = extra or {}
        self._equal_rows: EqualRows | None = None

    def __len__(self) -> int:
        return len(self.y)

    # What labels and numbers differ in

    is_classifier: bool
    """Whether models are classifiers."""

    @abstractmethod
    def make(self, estimator: Any, n_jobs: int | None) -> Any:
        """Return a model that is not fitted: of any name but "auto", or a copy of an estimator."""

    @abstractmethod
    def outputs(self, model: Any, X: Any) -> FloatArray:
        """Return the numbers that a model gives for rows."""

    @abstractmethod
    def tree_outputs(self, forest: Any, tree: Any, X: Any) -> FloatArray:
        """Return the same of a tree of a forest."""

    @abstractmethod
    def combine(self, parts: list[FloatArray]) -> FloatArray:
        """Return the best combination of held-out numbers of several models."""

    @abstractmethod
    def constant(self, train: IntArray) -> FloatArray | None:
        """Return the only answer that there is to learn from some rows; None if there are more."""

    # Models of some of the rows

    @property
    def mass(self) -> FloatArray:
        """The mass of each row."""
        return np.ones(len(self)) if self.weight is None else self.weight

    def take(self, rows: IntArray) -> Self:
        """Return some of the rows."""
        part = copy(self)
        part.X, part.y, part.strata = _safe_indexing(self.X, rows), self.y[rows], self.strata[rows]
        part.weight = None if self.weight is None else self.weight[rows]
        part.extra = dict(_check_method_params(self.X, self.extra, rows)) if self.extra else {}
        part._equal_rows = None  # noqa: SLF001 - of a copy of this
        return part

    @property
    def has_zero_weights(self) -> bool:
        """Whether rows without weight are scored too."""
        return self.weight is not None and not self.weight.all()

    @property
    def has_numbers(self) -> bool:
        """Whether the rows are numbers, which a named model takes."""
        if hasattr(self.X, "columns"):
            return all(map(is_numeric, as_pandas(self.X).dtypes))
        if is_sparse(self.X):
            return True
        try:
            array = np.asarray(self.X)
        except ValueError:  # lists of different lengths
            return False
        return array.ndim == 2 and array.dtype.kind in "fiub"

    def refuse_texts(self, estimator: Any) -> None:
        """Refuse rows that are no numbers if a model is named, with a way out.

        Boosting takes the categories of a frame, too.
        """
        takes_categories = hasattr(self.X, "columns") and estimator == "boosting"
        if not is_named(estimator) or takes_categories or self.has_numbers:
            return
        try:
            np.asarray(self.X, dtype=np.float64)
        except ValueError as error:
            raise ValueError(
                f"X holds values that are no numbers ({error}), and {estimator!r} takes numbers "
                "only; needed numbers, or a pipeline that makes numbers of X as the estimator"
            ) from None

    def fit(self, estimator: Any, rows: IntArray) -> Any:
        """Return a model of some of the rows."""
        return self.fit_model(self.make(estimator, self.n_jobs), rows)

    def fit_model(self, model: Any, rows: IntArray) -> Any:
        """Fit a model to those of some rows that have weight."""
        weights: dict[str, FloatArray] = {}
        if self.weight is not None:
            rows = rows[self.weight[rows] > 0]
            weights = weight_argument(model, self.weight[rows])
        X, y = self._rows_for(model, rows), self.y[rows]
        if self.extra:  # by the routing of metadata, which the model's own requests decide
            extra = dict(_check_method_params(self.X, self.extra, rows))
            if self.weight is not None:
                extra["sample_weight"] = self.weight[rows]
            return model.fit(X, y, **extra)
        with warnings.catch_warnings(), config_context(enable_metadata_routing=False):
            if is_line(model):  # scores of a line that has not converged are good enough
                warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(X, y, **weights)

    def score(self, model: Any, rows: IntArray) -> FloatArray:
        """Return the numbers that a model gives for some rows, a part of them at a time.

        A forest scores parts in threads: by its own threads, sums of trees depend on who is first.
        """
        is_table = len(getattr(self.X, "shape", ())) > 1 and not is_sparse(self.X)
        step = max(1, _CHUNK // max(1, self.X.shape[1] if is_table else _STORED))
        n_jobs = None
        if isinstance(model, BaseForest):
            model, n_jobs = copy(model).set_params(n_jobs=None), self.n_jobs

        def score_part(part: IntArray) -> FloatArray:
            return self.outputs(model, self._rows_for(model, part))

        parts = [(rows[at : at + step],) for at in range(0, len(rows), step)]
        return np.concatenate(list(_in_threads(score_part, parts, n_jobs)))

    def _rows_for(self, model: Any, rows: IntArray) -> Any:
        """Return some of the rows as a model takes them: boosting takes no sparse ones."""
        X = _safe_indexing(self.X, rows)
        is_thin = is_sparse(X) and isinstance(model, BaseHistGradientBoosting)
        return X.toarray() if is_thin else X

    @property
    def is_too_wide_for_boosting(self) -> bool:
        """Whether rows are sparse, and too many to be made dense."""
        return is_sparse(self.X) and self.X.shape[0] * self.X.shape[1] > LARGEST_DENSE

    def hold_out(
        self,
        estimator: Any,
        *,
        cv: Any = None,
        groups: npt.ArrayLike | None = None,
        limit: int = LARGEST_SAMPLE,
        fitted: bool = False,
    ) -> FloatArray:
        """Return probabilities of all rows by models that have not seen them.

        If `fitted`, a forest that is given is fitted to all rows on the way, not a copy of it.
        """
        if is_named(estimator) and self.extra:
            plain = copy(self)
            plain.extra = {}  # they are for the estimator of the user
            return plain.hold_out(estimator, cv=cv, groups=groups, limit=limit)
        if is_named(estimator) and estimator == "auto":
            if not (cv is None or isinstance(cv, int | np.integer) or hasattr(cv, "split")):
                cv = list(cv)  # both models take the folds
            parts = [
                self.hold_out(name, cv=cv, groups=groups, limit=limit)
                for name in ("forest", "linear")
            ]
            return self.combine(parts)
        if cv is None and len(self) > limit and not fitted:
            return self.average_categories(self._by_samples(estimator, groups, limit))
        model = estimator if fitted else self.make(estimator, self.n_jobs)
        if cv is None and groups is None and has_bag(model):
            return self.average_categories(self._out_of_bag(model))
        probabilities = self._by_folds(estimator, list(self.split(cv, groups)))
        is_own = not (cv is None or isinstance(cv, int | np.integer))
        return probabilities if is_own else self.average_categories(probabilities)

    def average_categories(self, probabilities: FloatArray) -> FloatArray:
        """Return probabilities that the rows of a category share: their mean.

        The model of a row has seen all labels of its category but its own, so that its probability
        leans against its label. In few categories, that looks like wrong labels.
        """
        rows = np.flatnonzero(self.equal_rows.is_category)
        if not len(rows):
            return probabilities
        mass = np.ones(len(rows)) if self.weight is None else self.weight[rows]
        group = np.unique(self.equal_rows.group[rows], return_inverse=True)[1]
        total = np.bincount(group, mass)
        shared = probabilities.copy()
        for k in range(shared.shape[1]):
            sums = np.bincount(group, mass * probabilities[rows, k], len(total))
            shared[rows, k] = sums[group] / total[group]
        return shared

    def tell(self, done: float, total: float, text: str) -> None:
        """Report progress."""
        if self.report is not None:
            self.report(done, total, text)

    # Folds

    @property
    def copies(self) -> IntArray:
        """The number of the group of each row: rows that are copies of each other share one."""
        return self.equal_rows.copies

    @property
    def equal_rows(self) -> EqualRows:
        """Which rows have equal values."""
        if self._equal_rows is None:
            self._equal_rows = find_equal_rows(self.X, self.weight)
        return self._equal_rows

    def split(self, cv: Any, groups: Any) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the rows to learn from and those that are held out, fold by fold."""
        n = len(self)
        if cv is None or isinstance(cv, int | np.integer):
            n_folds = FOLDS if cv is None else as_count("cv", cv, lowest=2, what="folds")
            together = self.copies
            if groups is not None:
                together = merge_groups(together, as_vector("groups", groups))
            elif (together == together[0]).all():
                together = np.arange(n)  # nothing could be learned from the copies of one row
            fold = assign_folds(self.strata, together, n_folds, np.random.default_rng(self.seed))
            for i in np.unique(fold):
                yield np.flatnonzero(fold != i), np.flatnonzero(fold == i)
            return
        held_out = np.zeros(n, dtype=np.intp)
        for train, test in check_cv(cv, self.y, classifier=self.is_classifier).split(
            self.X, self.y, groups
        ):
            held_out[test] += 1
            yield np.asarray(train), np.asarray(test)
        if not (held_out == 1).all():
            raise ValueError(
                f"cv={cv!r} holds out {int((held_out != 1).sum()):,} of {n:,} rows never or more "
                "than once; needed folds that hold out each row once, such as cv=5"
            )

    def _by_folds(self, estimator: Any, splits: list[tuple[IntArray, IntArray]]) -> FloatArray:
        def score_fold(train: IntArray, test: IntArray) -> FloatArray:
            if (constant := self.constant(train)) is not None:
                return np.tile(constant, (len(test), 1))
            model = self.make(estimator, None)
            return self.score(self.fit_model(model, train), test)

        probabilities = np.empty((len(self), self.n_outputs))
        found = _in_threads(score_fold, splits, self.n_jobs)
        for i, ((_, test), part) in enumerate(zip(splits, found, strict=True)):
            probabilities[test] = part
            self.tell(i + 1, len(splits), "held-out rows, fold by fold")
        return probabilities

    # Out of bag

    def _out_of_bag(self, forest: Any) -> FloatArray:
        """Return the mean over the trees that have seen neither a row nor a copy of it."""
        n, copies, n_groups = len(self), self.copies, int(self.copies.max()) + 1
        forest = self.fit_model(forest, np.arange(n))
        fitted = np.arange(n) if self.weight is None else np.flatnonzero(self.weight > 0)
        X = _as_forest_input(forest, self.X)

        def score_tree(tree: Any, drawn: IntArray) -> tuple[IntArray, FloatArray]:
            is_seen = np.zeros(n_groups, dtype=bool)
            is_seen[copies[fitted[drawn]]] = True
            out = np.flatnonzero(~is_seen[copies])
            return out, self.tree_outputs(forest, tree, X[out])

        total, trees = np.zeros((n, self.n_outputs)), np.zeros(n)
        pairs = list(zip(forest.estimators_, forest.estimators_samples_, strict=True))
        for i, (out, part) in enumerate(_in_threads(score_tree, pairs, self.n_jobs)):
            total[out] += part
            trees[out] += 1
            self.tell(i + 1, len(pairs), "rows out of bag, tree by tree")
        few = trees < min(FEWEST_TREES, 0.05 * len(pairs))
        total /= np.maximum(trees, 1)[:, None]
        if few.any():
            total[few] = self._halves(forest, few)
        return total

    def _halves(self, forest: Any, few: BoolArray) -> FloatArray:
        """Return probabilities of rows that are in nearly every bag, by two more forests."""
        rng = np.random.default_rng(self.seed)
        rows = np.flatnonzero(few)
        fold = assign_folds(self.strata[rows], self.copies[rows], 2, rng)
        probabilities = np.empty((len(rows), self.n_outputs))
        for half in np.unique(fold):
            is_out = np.zeros(len(self), dtype=bool)
            is_out[rows[fold == half]] = True
            train, test = np.flatnonzero(~is_out), np.flatnonzero(is_out)
            if (constant := self.constant(train)) is not None:
                probabilities[fold == half] = constant
                continue
            probabilities[fold == half] = self.score(self.fit_model(clone(forest), train), test)
        return probabilities

    # Samples of many rows

    def _by_samples(self, estimator: Any, groups: Any, limit: int) -> FloatArray:
        """Return probabilities by a model of a sample, and for that by a model of a second one.

        A named forest has as many trees as leave out a row on average, one in e: all of them score
        a row that is not in the sample.
        """
        together = self.copies
        if groups is not None:
            together = merge_groups(together, as_vector("groups", groups))
        n_parts = max(2, -(-len(self) // limit))
        rng = np.random.default_rng(self.seed)
        part = assign_folds(self.strata, together, n_parts, rng)
        probabilities = np.empty((len(self), self.n_outputs))
        for which, is_scored in ((0, part != 0), (1, part == 0)):
            text = "rows scored by a model of a sample"
            self.tell(which, 2, text)
            model = self.make(estimator, self.n_jobs)
            if is_named(estimator) and estimator == "forest":
                model.set_params(n_estimators=math.ceil(self.trees / math.e))
            self.fit_model(model, np.flatnonzero(part == which))
            scored = np.flatnonzero(is_scored)
            probabilities[scored] = self.score(model, scored)
            self.tell(which + 1, 2, text)
            del model
        return probabilities


class LabelledRows(TableRows):
    """Rows with labels: models give the probability of each class.

    Parameters
    ----------
    X, y : what estimators are given
    index : ndarray of shape (n_samples,)
        The position of each label among the classes.
    classes : ndarray of shape (n_classes,)
    weight, **options : as in `TableRows`
    """

    is_classifier = True

    def __init__(
        self,
        X: Any,
        y: npt.NDArray[Any],
        index: IntArray,
        classes: npt.NDArray[Any],
        weight: FloatArray | None,
        **options: Any,
    ) -> None:
        super().__init__(X, y, index, len(classes), weight, **options)
        self.index, self.classes = index, classes

    def correct(self, right: IntArray) -> LabelledRows:
        """Return the rows with other labels where `right` is the position of one, and not -1."""
        corrected, known = copy(self), right >= 0
        corrected.index = corrected.strata = np.where(known, right, self.index)
        corrected.y = np.where(known, self.classes[right], self.y) if known.any() else self.y
        return corrected

    def make(self, estimator: Any, n_jobs: int | None) -> Any:
        """Return a model that is not fitted: of any name but "auto", or a copy of an estimator."""
        return make_single(
            estimator, self.seed, n_jobs, is_sparse=is_sparse(self.X), trees=self.trees
        )

    def outputs(self, model: Any, X: Any) -> FloatArray:
        """Return the probability of each class."""
        return probabilities_of(model, X, self.classes)

    def tree_outputs(self, forest: Any, tree: Any, X: Any) -> FloatArray:
        """Return the probability of each class by a tree of a forest."""
        probabilities = np.zeros((X.shape[0], self.n_outputs))
        known = np.searchsorted(self.classes, forest.classes_)
        probabilities[:, known] = tree.predict_proba(X, check_input=False)
        return probabilities

    def combine(self, parts: list[FloatArray]) -> FloatArray:
        """Return the best combination of held-out probabilities."""
        return stack(parts, self.index, self.weight)[2]

    def constant(self, train: IntArray) -> FloatArray | None:
        """Return the shares of the classes if the rows to learn from have one class only."""
        if len(np.unique(self.index[train])) > 1:
            return None
        return np.bincount(self.index[train], minlength=self.n_outputs) / max(len(train), 1)


class NumberedRows(TableRows):
    """Rows with numbers: models predict one for each.

    Parameters
    ----------
    X : what estimators are given
    y : ndarray of shape (n_samples,)
        Numbers.
    weight, **options : as in `TableRows`
    """

    is_classifier = False

    def __init__(self, X: Any, y: FloatArray, weight: FloatArray | None, **options: Any) -> None:
        super().__init__(X, y, np.zeros(len(y), dtype=np.intp), 1, weight, **options)

    def correct(self, right: FloatArray) -> NumberedRows:
        """Return the rows with other numbers where `right` has some."""
        corrected = copy(self)
        corrected.y = np.where(np.isnan(right), self.y, right)
        return corrected

    def make(self, estimator: Any, n_jobs: int | None) -> Any:
        """Return a model that is not fitted: of any name but "auto", or a copy of an estimator."""
        return make_single(
            estimator,
            self.seed,
            n_jobs,
            is_sparse=is_sparse(self.X),
            trees=self.trees,
            is_classifier=False,
        )

    def outputs(self, model: Any, X: Any) -> FloatArray:
        """Return the prediction."""
        return np.asarray(model.predict(X), dtype=np.float64).reshape(-1, 1)

    def tree_outputs(self, forest: Any, tree: Any, X: Any) -> FloatArray:
        """Return the prediction of a tree of a forest."""
        del forest
        return np.asarray(tree.predict(X, check_input=False), dtype=np.float64).reshape(-1, 1)

    def combine(self, parts: list[FloatArray]) -> FloatArray:
        """Return the best combination of held-out predictions."""
        share = blend(parts[0][:, 0], parts[1][:, 0], self.y, self.weight)
        return share * parts[0] + (1 - share) * parts[1]

    def constant(self, train: IntArray) -> FloatArray | None:
        """Return the only number if the rows to learn from have one only."""
        first = self.y[train[:1]]
        return first if len(train) and (self.y[train] == first).all() else None


def _as_forest_input(forest: Any, X: Any) -> Any:
    """Return the rows as trees take them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return forest._validate_X_predict(X)  # noqa: SLF001 - what predict_proba does first


def _in_threads(
    function: Callable[..., Any], arguments: list[Any], n_jobs: int | None
) -> Iterator[Any]:
    """Yield the result for each tuple of arguments, in their order."""
    if n_jobs in (None, 1):
        return (function(*given) for given in arguments)
    tasks = (delayed(function)(*given) for given in arguments)
    return iter(Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(tasks))
