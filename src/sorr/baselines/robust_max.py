"""The robust maximum loss: the largest loss after slack that outliers may use."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sorr._checks import check_limits, classes_of
from sorr._typing import FloatArray
from sorr.baselines.robust_max_solver import (
    Found,
    SlackProblem,
    as_budget,
    as_norm,
    in_own_span,
    pour,
)
from sorr.estimators import (
    ConstantModelWarning,
    LinearClassifier,
    NotConvergedWarning,
    Rows,
    encode,
    loss_of_classes,
    rollback_on_error,
    warn,
)
from sorr.losses import Loss
from sorr.solvers import Status

__all__ = ["RobustMaxClassifier"]

_MOST = 5000  # parameters: a matrix of them is factorised in each step


class RobustMaxClassifier(LinearClassifier):
    r"""A linear classifier that minimises the largest loss after slack for outliers.

    .. math:: \min_{w, b} \; \min_{\xi \ge 0, \, \|\xi\| \le K} \; \max_i \;
        \big( s_i(w, b) - \xi_i \big) + \frac{\|w\|^2}{2C}

    :math:`s_i` is the loss of row i, and :math:`\xi_i` the slack it may subtract, out of a budget
    of K for all rows. Hu et al. compare with a relaxation of the robust maximum of Shalev-Shwartz
    and Wexler, in which slack variables stand for indicators of outliers and the l2 norm for the
    l1 norm, and print no formula: this is our reading of it. Slack is subtracted, since that makes
    the problem convex in all variables at once; for losses in [0, 1], and slack of 0 or 1, it is
    the maximum over the rows that are no outliers. ``norm="l2"`` is the relaxation compared with,
    ``norm="l1"`` keeps the original norm.

    With K=0 this is the maximum loss, and as K grows it tends to the average loss. Outliers count
    less than in the one, and more than if they were left out: see `RankedRangeClassifier`.

    Parameters
    ----------
    K : float, default=1.0
        The budget: the largest norm of all slack, in units of the loss. Since each row may have
        some, the budget for the same model grows with their number, as n for the l1 norm and as
        its root for the l2 norm.
    norm : {"l1", "l2"}, default="l2"
        How slack is measured.
    loss : str or Loss, default="logistic"
        The individual loss: "logistic", which stands for "softmax" if there are more than two
        classes; for two classes also "hinge", "squared_hinge", "modified_huber" or
        "smooth_hinge".
    C : float, default=1e4
        The inverse strength of the ridge.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    tol : float, default=1e-6
        The certified gap to reach.
    max_iter : int, default=200
        How many steps of the interior point method to take at most.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_ : ndarray of shape (n_classes,)
    objective_ : float
        What was minimised, at the solution. Negative where slack is more than there is to lose.
    gap_ : float
        By how much the objective could be lowered at most, as certified by a dual bound on all
        rows, relative to its distance from that of losses which are all zero.
    status_ : sorr.solvers.Status
        How the solver ended; ``status_.sentence`` says it in words.
    n_iter_ : int
        The number of steps.
    threshold_ : float
        The largest loss after slack.
    losses_ : ndarray of shape (n_samples,)
        The loss of each row; NaN for rows of no weight.
    slack_ : ndarray of shape (n_samples,)
        What each loss exceeds the threshold by; zero for rows of no weight.
    outlier_mask_ : ndarray of bool of shape (n_samples,)
        The rows with slack, up to the tolerance.
    n_features_in_, feature_names_in_
        As in all of scikit-learn.

    See Also
    --------
    sorr.baselines.maximum : The same without slack.
    sorr.baselines.robust_maximum : The loss by itself.

    Notes
    -----
    The slack that is worth most is :math:`\xi_i = (s_i - t)_+`, with the threshold t at which it
    uses up the budget, and t is the value: a convex function of the losses. The problem over all
    parameters is solved by a primal-dual interior point method, whose weights of the rows give the
    bound. Each step factorises a matrix as large as the number of coefficients, or of rows if
    there are fewer of these.

    References
    ----------
    S. Shalev-Shwartz, Y. Wexler, "Minimizing the maximal loss: how and why", ICML 2016, on
    robustness.

    S. Hu, Y. Ying, X. Wang, S. Lyu, "Learning by minimizing the sum of ranked range", NeurIPS
    2020, section 3.2: the Robust_Max loss.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2))
    >>> y = X[:, 0] > 0
    >>> worst = X[:, 0].argmax()
    >>> y[worst] = False
    >>> model = RobustMaxClassifier(K=4.0, norm="l1").fit(X, y)
    >>> bool(model.slack_.argmax() == worst), model.gap_ <= 1e-6
    (True, True)
    """

    def __init__(
        self,
        K: float = 1.0,
        *,
        norm: Literal["l1", "l2"] = "l2",
        loss: str | Loss = "logistic",
        C: float = 1e4,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 200,
    ) -> None:
        self.K = K
        self.norm = norm
        self.loss = loss
        self.C = C
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RobustMaxClassifier:
        """Fit the model.

        If anything goes wrong, an interruption included, the estimator stays as it was.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of any kind.
        sample_weight : array-like of shape (n_samples,), optional
            The mass of each row: a row of weight two is two copies of it, each with slack.

        Returns
        -------
        self
        """
        with rollback_on_error(self):
            rows = self._rows(X, y, sample_weight)
            classes, index = classes_of(rows.y)
            warn(self._learn_classes(rows, classes, index))
        return self

    def _learn_classes(
        self, rows: Rows, classes: npt.NDArray[Any], index: npt.NDArray[np.intp]
    ) -> list[Warning]:
        budget, power = as_budget(self.K), as_norm(self.norm)
        check_limits(self.tol, self.max_iter)
        loss = loss_of_classes(self.loss, 2)  # refuses what is no loss over classes at all
        if len(classes) > 2:
            if not _takes_many(self.loss):
                raise ValueError(
                    f"Only binary classification is supported by loss={self.loss!r}, and y holds "
                    f"{len(classes)} classes; needed 'logistic': or use OneVsRestClassifier"
                )
            loss = loss_of_classes(self.loss, len(classes))
        n, d = rows.X.shape
        size = min(n, d) * (len(classes) if len(classes) > 2 else 1)
        if size > _MOST:
            raise ValueError(
                f"{n} rows of {d} features make for a matrix of {size} parameters; needed "
                f"{_MOST} at most: select features, or use sorr.baselines.average_top_k"
            )
        features, restore = in_own_span(rows.X)
        problem = SlackProblem(
            features,
            encode(loss, index),
            loss,
            mass=np.ones(n) if rows.weight is None else rows.weight,
            budget=budget,
            power=power,
            C=self.C,
            fit_intercept=self.fit_intercept,
        )
        found = problem.minimise(tol=self.tol, max_iter=self.max_iter)
        r = features.shape[1]
        intercept = found.theta[r] if self.fit_intercept else np.zeros(found.theta.shape[1:])
        self._keep_classes(loss, classes, restore(found.theta[:r]), intercept)
        return self._keep_found(rows, problem, found)

    def _keep_found(self, rows: Rows, problem: SlackProblem, found: Found) -> list[Warning]:
        losses = problem.maximum.losses(problem.maximum.raw_prediction(found.theta))
        poured = pour(losses, problem.budget, problem.power, problem.mass)
        self.threshold_ = poured.threshold
        self.losses_ = rows.spread(losses, np.nan)
        self.slack_ = rows.spread(poured.slack, 0.0)
        self.outlier_mask_ = self.slack_ > self.tol * max(1.0, float(self.slack_.max()))
        self.objective_, self.gap_, self.n_iter_ = found.value, found.gap, max(found.n_iter, 1)
        self.status_ = Status.OPTIMAL if found.gap <= self.tol else Status.UNCERTIFIED
        if found.is_constant:
            self.status_ = Status.CONSTANT_MODEL
            return [
                ConstantModelWarning(
                    "Constant model: no coefficients lower the largest loss after slack, so that "
                    f"every row is predicted alike; raise K={self.K:g}, since little slack leaves "
                    "the model to the worst few rows, or raise C, unless the features say nothing "
                    "of y."
                )
            ]
        if self.status_ is Status.UNCERTIFIED:
            return [
                NotConvergedWarning(
                    f"Not converged (gap {found.gap:.1g}) in {found.n_iter} steps: the objective "
                    "may or may not be far from its minimum; scale the columns of X, lower C, or "
                    "raise tol or max_iter."
                )
            ]
        return []

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = _takes_many(self.loss)
        return tags

    def outlier_score(self, X: Any, y: Any) -> FloatArray:
        """Return by how much the loss of each row exceeds the threshold.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels that were seen in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Above zero for a row that would take slack; the larger, the more suspect.
        """
        return self._losses(X, y)[0] - self.threshold_


def _takes_many(loss: Any) -> bool:
    """Tell whether a loss has a form for more than two classes that the solver can take."""
    try:
        return loss_of_classes(loss, 3).smooth
    except (TypeError, ValueError):
        return False
