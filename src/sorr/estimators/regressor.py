"""Regression that drops outliers."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse
from sklearn.base import RegressorMixin
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import column_or_1d

from sorr._checks import as_whole_seed, check_choice
from sorr._typing import BoolArray, FloatArray, IntArray, Weight
from sorr.estimators.base import (
    Rows,
    check_length,
    loss_of_numbers,
    rollback_on_error,
    validate_rows,
    warn,
)
from sorr.estimators.ranked_range import RankedRangeLinear, Ranks, Task, ranks_in_all
from sorr.losses import Loss, Squared
from sorr.share import TargetJudgement, judge_line

_ENOUGH = 20_000
_ROUNDING = 1e-12  # of its mean: a column that varies less does not vary
_NO_RIDGE = 1e6  # times as much as the ridge does the column that varies least
_CORNERS = 0.1  # of that where losses have corners, so that one of equally good planes is found


def smallest_variance(X: Any, weight: Weight | None) -> float:
    """Return the variance of the column that varies least, of those that vary at all."""
    step = max(1, X.shape[0] // _ENOUGH)  # of many rows, some tell how much columns vary
    X, weight = X[::step], None if weight is None else weight[::step]
    if issparse(X):
        means, variances = mean_variance_axis(X, axis=0, weights=weight)
    else:
        means = np.average(X, axis=0, weights=weight)
        variances = np.average((X - means) ** 2, axis=0, weights=weight)
    varies = variances[variances > np.maximum((_ROUNDING * means) ** 2, 1e-300)]
    return float(varies.min()) if len(varies) else 1.0


def _reweigh(rows: Rows, factor: FloatArray) -> Rows:
    """Return rows whose masses are multiplied by factors, with the same mass in all."""
    if (factor == factor[0]).all():
        return rows
    masses = rows.masses * factor
    return rows._replace(weight=masses * (rows.mass / masses.sum()))


class RankedRangeRegressor(RegressorMixin, RankedRangeLinear):
    r"""A linear regression that drops the rows with the largest losses and learns from the rest.

    .. math:: \min_{w, b} \; \frac{1}{k - m} \sum_{i=m+1}^{k} s_{[i]}(w, b) + \frac{\|w\|^2}{2 C}

    :math:`s_{[1]} \ge s_{[2]} \ge \dots` are the sorted losses of the rows. With the squared loss
    and k=None these are least trimmed squares. The intercept is not penalised.

    Parameters
    ----------
    m : "auto", float or int, default="auto"
        How many rows to drop as outliers. "auto" drops those that a plane which resists outliers
        shows to be wrong, wherever they lie; see `judgement_`. A float is a fraction of the rows,
        rounded down, an int a count: the rows with the largest losses are dropped.
    k : float, int or None, default=None
        The last rank to keep, in the same units. None keeps all rows with smaller losses.
    loss : {"squared", "absolute", "huber", "smooth_absolute"} or Loss, default="squared"
        The loss of a row. A loss of `sorr.losses` sets its parameters: ``Huber(delta=2.0)``.
    C : float or "auto", default="auto"
        The inverse strength of the ridge, as in the paper. Since losses are averaged here, it is
        scikit-learn's ``Ridge(alpha)`` with ``alpha = (k - m) / (2 C)``. "auto" is a ridge so weak
        that it changes no digit that matters: with ``m=0`` the model is `LinearRegression`.
    fit_intercept, solver, n_starts, certify, tol, max_iter, warm_start, random_state
        As in `RankedRangeClassifier`.
    n_jobs : int or None, default=None
        Not used: a fit takes one thread. It is there so that all estimators have it.
    verbose : int, default=0
        1 prints progress to standard error every two seconds, 2 prints every step.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    objective_, gap_, status_, trace_, n_iter_, minima_
        As in `RankedRangeClassifier`.
    m_, k_ : ndarray of shape (1,)
        The ranks in rows, or mass.
    thresholds_ : ndarray of shape (1, 2)
        The losses at these ranks. Infinite where m is 0.
    losses_, row_weights_, outlier_mask_ : ndarray of shape (n_samples,)
        The loss of each row, how much it counts, and whether it was dropped.
    judgement_ : TargetJudgement
        The judgement behind ``m="auto"``: which targets of the rows with weight are wrong, how
        sure that is (``judgement_.sentence`` says it in words) and how suspect each row is. Only
        there for ``m="auto"``.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    RankedRangeRegressorCV : Chooses m, k and C by cross-validation.
    TrimmedRegressor : Any regressor, trained without wrong targets.

    Notes
    -----
    With ``m="auto"`` and the squared loss, kept rows count as much as the distribution of their
    errors says: alike if errors are normal, less where they are large in a heavy tail or for rows
    whose errors are large. Such rows are not called wrong. Other losses count kept rows alike.

    References
    ----------
    P. J. Rousseeuw, "Least median of squares regression", JASA 1984.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(20.0)
    >>> y = 2 * x + 1
    >>> y[[3, 15]] = 100.0
    >>> model = RankedRangeRegressor(m=2, C=1e8, random_state=0).fit(x[:, None], y)
    >>> model.coef_.round(3), np.flatnonzero(model.outlier_mask_)
    (array([2.]), array([ 3, 15]))
    >>> model = RankedRangeRegressor(random_state=0).fit(x[:, None], y)
    >>> np.flatnonzero(model.outlier_mask_), model.judgement_.verdict_
    (array([ 3, 15]), 'strong')
    """

    judgement_: TargetJudgement

    def __init__(
        self,
        m: float | int | Literal["auto"] = "auto",
        k: float | int | None = None,
        *,
        loss: str | Loss = "squared",
        C: float | Literal["auto"] = "auto",
        fit_intercept: bool = True,
        solver: Literal["trim", "dca"] = "trim",
        n_starts: int | Literal["auto"] = "auto",
        certify: bool = True,
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
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.n_starts = n_starts
        self.certify = certify
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RankedRangeRegressor:
        """Fit the model, and find the rows to drop.

        After any error, also after an interruption, the estimator is as it was before.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            The mass of each row. A row of weight two counts as two copies.

        Returns
        -------
        self
        """
        with rollback_on_error(self):
            rows = validate_rows(self, X, y, sample_weight, y_numeric=True)
            loss = loss_of_numbers(self.loss)
            rows = rows._replace(y=rows.y.astype(np.float64, copy=False))
            self._loss = loss
            warn(self._learn_numbers(rows, loss))
        return self

    def _learn_numbers(self, rows: Rows, loss: Loss) -> list[Warning]:
        if hasattr(self, "judgement_"):
            del self.judgement_  # of an earlier fit
        masses = rows.round_masses(np.array([rows.mass]))
        some, dropped, start = rows, np.zeros(len(rows.y), dtype=bool), None
        if isinstance(self.m, str):
            check_choice("m", self.m, ("auto",))
            ranks = ranks_in_all(0, self.k, masses)
            judged = judge_line(
                rows.X,
                rows.y,
                rows.masses,
                fit_intercept=self.fit_intercept,
                rng=np.random.default_rng(as_whole_seed(self.random_state)),
            )
            self.judgement_, start = judged.judgement, judged.theta
            dropped = judged.judgement.flagged_
            gone = float(rows.masses @ dropped)
            kept = np.flatnonzero(~dropped)
            ranks = Ranks(ranks.m, np.maximum(ranks.k - gone, rows.masses[kept].max()))
            some = rows.keep(kept) if dropped.any() else rows
            if isinstance(loss, Squared):
                some = _reweigh(some, judged.weight[kept])
        else:
            ranks = ranks_in_all(self.m, self.k, masses)
        if self.fit_intercept and (some.y == some.y[0]).all():
            start = np.append(np.zeros(some.X.shape[1]), some.y[0])  # a fit without any loss
        task = Task(rows=some, loss=loss, target=some.y, ranks=ranks, start=start)
        solution, notices = self._learn(task)
        self.coef_, self.intercept_ = solution.coef, float(solution.intercept)
        if dropped.any():
            self._keep_dropped(rows, dropped, gone)
        return notices

    def _keep_dropped(self, rows: Rows, dropped: BoolArray, mass: float) -> None:
        """Add the rows that a judgement left out to the attributes of the fit."""
        places = np.flatnonzero(dropped) if rows.places is None else rows.places[dropped]
        self.m_, self.k_ = self.m_ + mass, self.k_ + mass
        raw = np.asarray(rows.X[dropped] @ self.coef_ + self.intercept_)
        self.losses_[places] = self._loss.value(rows.y[dropped], raw)
        self.outlier_mask_[places] = True

    def _inverse_ridge(self, task: Task, mass: float) -> float:
        del mass
        if not isinstance(self.C, str):
            return self.C
        if self.C != "auto":
            raise TypeError(f"C={self.C!r} is of type str; needed a number or 'auto'")
        least = 1.0 if task.loss.smooth else _CORNERS
        return least * _NO_RIDGE / smallest_variance(task.rows.X, task.rows.weight)

    def predict(self, X: Any) -> FloatArray:
        """Return the prediction for each row.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._raw_prediction(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination on all rows. Outliers weigh heavily in it.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        return float(super().score(X, y, sample_weight))

    def row_losses(self, X: Any, y: Any) -> FloatArray:
        """Return the loss of each row.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._losses(X, y)[0]

    def _losses(self, X: Any, y: Any) -> tuple[FloatArray, IntArray]:
        raw = self._raw_prediction(X)
        target = self._loss.check_target(column_or_1d(y))
        check_length(target, len(raw))
        losses = np.asarray(self._loss.value(target, raw), dtype=np.float64)
        return losses, np.zeros(len(losses), np.intp)
