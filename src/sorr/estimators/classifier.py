"""Classification that drops wrong labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sorr._checks import as_whole_seed, check_choice, classes_of
from sorr._typing import BoolArray, FloatArray, IntArray
from sorr.estimators.base import (
    LinearClassifier,
    Rows,
    encode,
    loss_of_classes,
    rollback_on_error,
    validate_rows,
    warn,
)
from sorr.estimators.ranked_range import (
    RankedRangeLinear,
    Ranks,
    Task,
    class_factors,
    named_minima,
    ranks_in_all,
    ranks_in_classes,
)
from sorr.losses import Loss
from sorr.share import Judgement, judge_linear

RANKINGS = ("within_class", "pooled")


class RankedRangeClassifier(LinearClassifier, RankedRangeLinear):
    r"""A linear classifier that drops the rows with the largest losses and learns from the rest.

    .. math:: \min_{w, b} \; \sum_c \frac{n_c}{n} \frac{1}{k_c - m_c}
        \sum_{i=m_c+1}^{k_c} s^c_{[i]}(w, b) + \frac{\|w\|^2}{2 C}

    :math:`s^c_{[1]} \ge s^c_{[2]} \ge \dots` are the sorted losses of the rows of class c, and
    :math:`n_c` is their number. With ``ranking="pooled"`` there is one sum over all rows: the
    average of ranked range (AoRR) of the paper. The intercept is not penalised.

    Parameters
    ----------
    m : "auto", float, int or mapping, default="auto"
        How many rows to drop, those with the largest losses: wrong labels and outliers. "auto"
        judges the labels: it drops as many rows of each class as are probably wrong if there is
        evidence of wrong labels that a forest shares, and rows far from all others that
        contradict them; otherwise, and with fewer than 50 rows, it drops nothing. A float is a
        fraction of each class (rounded down, so that no class vanishes) or, if pooled, of all
        rows. An int is a count, for pooled ranking only; within classes it would have two
        readings. A mapping gives classes their own count or fraction; a class that it does not
        name drops nothing. Pass 0 to drop nothing, not 0.0, which is not a fraction.
    k : float, int, mapping or None, default=None
        The last rank to keep, in the same units. None keeps all rows with smaller losses.
    loss : str or Loss, default="logistic"
        The loss of a row: "logistic" or "hinge". With more than two classes these mean "softmax"
        and "multiclass_hinge". For two classes also "squared_hinge", "modified_huber" and
        "smooth_hinge".
    C : float or "auto", default="auto"
        The inverse strength of the ridge, as in the paper, which takes 1e4. scikit-learn sums
        losses, here they are averaged, so its C is ``C / (k - m)``. "auto" is the number of rows
        that are not dropped (or their weight), as for ``LogisticRegression()``: with m=0 and
        k=None, both are the same model.
    ranking : {"within_class", "pooled"}, default="within_class"
        Whether a row is ranked among the rows of its class or among all rows. Pooled ranking
        drops more rows of a class that is harder, smaller or mislabelled more often; see the user
        guide.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    solver : {"trim", "dca"}, default="trim"
        The solver; see `sorr.solvers`. "dca" is the paper's algorithm, with deterministic inner
        steps.
    n_starts : int or "auto", default="auto"
        Number of starting points that `trim` tries.
    certify : bool, default=True
        Whether `trim` continues to a certified fixed point. With the hinge, several classes and
        a few thousand rows, that takes seconds.
    class_weight : mapping, "balanced" or None, default=None
        A factor on the mass of each class in the objective. Within classes it does not change
        which rows are dropped. If pooled, a row of weight two is ranked as two rows, and counts m
        and k are numbers of such rows.
    tol : float, default=1e-6
        The certified gap to reach, relative to the objective.
    max_iter : int, default=50
        Maximum number of trimming steps, or of outer steps of "dca".
    warm_start : bool, default=False
        Whether to start only at the parameters of the last fit.
    random_state : int, RandomState, Generator or None, default=None
        Seed for everything random. The same seed gives the same model, bit by bit.
    n_jobs : int or None, default=None
        Number of threads for the folds of ``m="auto"``. The result does not depend on it.
    verbose : int, default=0
        1 prints progress to standard error every two seconds, 2 prints every step.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_ : ndarray of shape (n_classes,)
    objective_ : float
        The objective at the solution.
    gap_ : float
        An upper bound on how much lower the objective over the kept rows could be, relative to
        its value. Infinite if nothing was certified.
    status_ : sorr.solvers.Status
        How the solver ended. ``status_.sentence`` says it in words.
    trace_ : tuple of sorr.solvers.Step
        The objective after each step of each start.
    n_iter_ : int
        The number of these steps.
    minima_ : tuple of sorr.solvers.Minimum
        The distinct local minima, the lowest first, with the mass dropped from each class.
    m_, k_ : ndarray of shape (n_classes,) or (1,)
        The ranks in rows, or mass, of each class. If pooled, of all rows, with class weights.
    thresholds_ : ndarray of shape (n_classes, 2) or (1, 2)
        The losses at these ranks. Infinite where m is 0.
    losses_ : ndarray of shape (n_samples,)
        The loss of each row. NaN for rows of weight zero.
    row_weights_ : ndarray of shape (n_samples,)
        How much each row counts in the objective. They sum to one.
    outlier_mask_ : ndarray of bool of shape (n_samples,)
        The dropped rows, those above rank m. Rows that tie at rank m share what is dropped of
        them; all of them are in the mask if that is more than half. The same holds for a row
        across rank m, if masses are not whole numbers.
    judgement_ : Judgement
        The judgement behind ``m="auto"``, of the rows with weight; only there for it. With more
        than 10,000 rows, the forest judges a sample of them.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    RankedRangeClassifierCV : Chooses m, k and C by cross-validation.
    TrimmedClassifier : The same for any model.
    judge_labels : The judgement of labels from probabilities of any model.

    References
    ----------
    S. Hu, Y. Ying, X. Wang, S. Lyu, "Learning by minimizing the sum of ranked range", NeurIPS
    2020.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = np.where(X[:, 0] > X[:, 1], "yes", "no")
    >>> wrong = np.flatnonzero(y == "no")[:8]
    >>> y[wrong] = "yes"
    >>> model = RankedRangeClassifier(m={"yes": 8}, random_state=0).fit(X, y)
    >>> np.array_equal(np.flatnonzero(model.outlier_mask_), wrong)
    True
    >>> model.predict([[2.0, 0.0], [0.0, 2.0]])
    array(['yes', 'no'], dtype='<U3')
    """

    judgement_: Judgement

    def __init__(
        self,
        m: float | int | Mapping[Any, int | float] | Literal["auto"] = "auto",
        k: float | int | Mapping[Any, int | float] | None = None,
        *,
        loss: str | Loss = "logistic",
        C: float | Literal["auto"] = "auto",
        ranking: Literal["within_class", "pooled"] = "within_class",
        fit_intercept: bool = True,
        solver: Literal["trim", "dca"] = "trim",
        n_starts: int | Literal["auto"] = "auto",
        certify: bool = True,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        tol: float = 1e-6,
        max_iter: int = 50,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.m = m
        self.k = k
        self.loss = loss
        self.C = C
        self.ranking = ranking
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.n_starts = n_starts
        self.certify = certify
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RankedRangeClassifier:
        """Fit the model, and find the rows to drop.

        After any error, also after an interruption, the estimator is as it was before.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of any kind.
        sample_weight : array-like of shape (n_samples,), optional
            The mass of each row. A row of weight two counts as two copies.

        Returns
        -------
        self
        """
        with rollback_on_error(self):
            rows = validate_rows(self, X, y, sample_weight)
            classes, index = classes_of(rows.y)
            warn(self._learn_classes(rows, classes, index))
        return self

    def _learn_classes(
        self, rows: Rows, classes: npt.NDArray[Any], index: IntArray
    ) -> list[Warning]:
        check_choice("ranking", self.ranking, RANKINGS)
        loss, names = loss_of_classes(self.loss, len(classes)), classes.tolist()
        masses: npt.NDArray[Any] = np.bincount(index, rows.weight, len(classes))
        factor = class_factors(self.class_weight, rows.y, classes, masses)
        is_pooled = self.ranking == "pooled"
        if is_pooled and factor is not None:
            weight = factor[index] if rows.weight is None else factor[index] * rows.weight
            rows, masses, factor = rows._replace(weight=weight), masses * factor, None
        m, k, dropped = self._ranks_and_dropped(rows, classes, index, masses)
        some, of_kept = rows, index
        if dropped.any():
            kept = np.flatnonzero(~dropped)
            some, of_kept = rows.keep(kept), index[kept]
        task = Task(
            rows=some,
            loss=loss,
            target=encode(loss, of_kept),
            ranks=Ranks(m, k),
            groups=None if is_pooled else of_kept,
            multiplier=factor,
        )
        solution, notices = self._learn(task)
        self._keep_classes(loss, classes, solution.coef, solution.intercept)
        self.minima_ = named_minima(solution.minima, names, factor)
        if dropped.any():
            self._keep_dropped(rows, index, dropped)
        return notices

    def _ranks_and_dropped(
        self, rows: Rows, classes: npt.NDArray[Any], index: IntArray, masses: npt.NDArray[Any]
    ) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Return ranks among the rows to learn from, and the rows that a judgement leaves out."""
        if hasattr(self, "judgement_"):
            del self.judgement_  # of an earlier fit
        find_ranks = ranks_in_all if self.ranking == "pooled" else ranks_in_classes
        names, sizes = classes.tolist(), rows.round_masses(masses)
        if not isinstance(self.m, str):
            return *find_ranks(self.m, self.k, sizes, names), np.zeros(len(index), dtype=bool)
        check_choice("m", self.m, ("auto",))
        m, k = find_ranks(0, self.k, sizes, names)
        judged = judge_linear(
            rows.X,
            index,
            classes,
            rows.weight,
            seed=as_whole_seed(self.random_state),
            n_jobs=self.n_jobs,
        )
        self.judgement_ = judged.judgement
        return (
            m,
            np.maximum(k - self._dropped_mass(rows, index, judged.dropped), 1.0),
            judged.dropped,
        )

    def _inverse_ridge(self, task: Task, mass: float) -> float:
        del task
        if not isinstance(self.C, str):
            return self.C
        if self.C != "auto":
            raise TypeError(f"C={self.C!r} is of type str; needed a number or 'auto'")
        return mass

    def _dropped_mass(self, rows: Rows, index: IntArray, dropped: BoolArray) -> FloatArray:
        """Return the mass of dropped rows, of each class or in all."""
        weight = dropped if rows.weight is None else rows.weight * dropped
        by_class = np.bincount(index, weight).astype(np.float64)
        return by_class.sum(keepdims=True) if self.ranking == "pooled" else by_class

    def _keep_dropped(self, rows: Rows, index: IntArray, dropped: BoolArray) -> None:
        """Add the rows that a judgement left out to the attributes of the fit."""
        places = np.flatnonzero(dropped) if rows.places is None else rows.places[dropped]
        mass = self._dropped_mass(rows, index, dropped)
        self.m_, self.k_ = self.m_ + mass, self.k_ + mass
        raw = np.asarray(rows.X[dropped] @ self._stored_coef() + np.squeeze(self.intercept_))
        self.losses_[places] = self._loss.value(encode(self._loss, index[dropped]), raw)
        self.outlier_mask_[places] = True

    def row_losses(self, X: Any, y: Any) -> FloatArray:
        """Return the loss of each row.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels that were seen in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._losses(X, y)[0].astype(np.float64, copy=False)
