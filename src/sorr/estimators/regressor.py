"""Regression that drops outliers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import column_or_1d

from sorr._checks import as_seed, check_choice
from sorr._typing import FloatArray, IntArray
from sorr.estimators.base import (
    Rows,
    check_length,
    loss_of_numbers,
    rollback_on_error,
    validate_rows,
    warn,
)
from sorr.estimators.ranked_range import RankedRangeLinear, Task, ranks_in_all
from sorr.losses import Loss
from sorr.ranked import Mass
from sorr.share import ResidualShare, residual_share_of


class RankedRangeRegressor(RegressorMixin, RankedRangeLinear):
    r"""A linear regression that drops the rows with the largest losses and learns from the rest.

    .. math:: \min_{w, b} \; \frac{1}{k - m} \sum_{i=m+1}^{k} s_{[i]}(w, b) + \frac{\|w\|^2}{2 C}

    :math:`s_{[1]} \ge s_{[2]} \ge \dots` are the sorted losses of the rows. With the squared loss
    and k=None these are least trimmed squares. The intercept is not penalised.

    Parameters
    ----------
    m : float, int or "auto", default=0.1
        How many rows to drop as outliers, those with the largest losses: a fraction of the rows,
        rounded down, or a count. "auto" estimates the number from the residuals of a robust
        plane; see `share_`.
    k : float, int or None, default=None
        The last rank to keep, in the same units. None keeps all rows with smaller losses.
    loss : {"squared", "absolute", "huber", "smooth_absolute"} or Loss, default="squared"
        The loss of a row. A loss of `sorr.losses` sets its parameters: ``Huber(delta=2.0)``.
    C : float, default=1e4
        The inverse strength of the ridge, as in the paper. Since losses are averaged here, it is
        scikit-learn's ``Ridge(alpha)`` with ``alpha = (k - m) / (2 C)``.
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
    share_ : ResidualShare
        The estimate behind ``m="auto"``: how many targets are outliers, how sure that is
        (``share_.sentence`` says it in words) and how suspect each row is. It takes residuals for
        a bell curve, normal or with heavier tails, skewed or not, with outliers further out. What
        the tails explain is not dropped. Only there for ``m="auto"``.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    RankedRangeRegressorCV : Chooses m, k and C by cross-validation.

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
    >>> RankedRangeRegressor(m="auto", C=1e8, random_state=0).fit(x[:, None], y).share_.drop_
    2
    """

    share_: ResidualShare

    def __init__(
        self,
        m: Any = 0.1,
        k: Any = None,
        *,
        loss: str | Loss = "squared",
        C: float = 1e4,
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
            target = rows.y.astype(np.float64, copy=False)
            m, start = self._drop_and_start(rows, target)
            ranks = ranks_in_all(m, self.k, rows.round_masses(np.array([rows.mass])))
            task = Task(rows=rows, loss=loss, target=target, ranks=ranks, start=start)
            solution, notices = self._learn(task)
            self._loss = loss
            self.coef_, self.intercept_ = solution.coef, float(solution.intercept)
            warn(notices)
        return self

    def _drop_and_start(self, rows: Rows, target: FloatArray) -> tuple[Any, FloatArray | None]:
        """Return m as a number, and where to start; an estimate of m is stored."""
        if hasattr(self, "share_"):
            del self.share_  # of an earlier fit
        if not isinstance(self.m, str):
            return self.m, None
        check_choice("m", self.m, ("auto",))
        share = residual_share_of(
            rows.X,
            target,
            C=self.C,
            fit_intercept=self.fit_intercept,
            weight=rows.weight,
            random_state=as_seed(self.random_state),
        )
        self.share_ = replace(
            share,
            score_=rows.spread(share.score_, np.nan),
            probability_=rows.spread(share.probability_, np.nan),
            leverage_=rows.spread(share.leverage_, False),
        )
        drop = share.drop_ if isinstance(share.drop_, int) else Mass(share.drop_)
        return drop, share.theta_

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
