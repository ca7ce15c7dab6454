"""A classifier that minimises the robust maximum loss: the largest loss after slack."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sorr._checks import check_limits, classes_of
from sorr._typing import FloatArray, IntArray
from sorr.baselines.robust_max_solver import (
    CertifiedMinimum,
    SlackProblem,
    as_budget,
    as_power,
    reduce_to_row_space,
    solve_slack,
)
from sorr.estimators import (
    ConstantModelWarning,
    LinearClassifier,
    NotConvergedWarning,
    Rows,
    encode,
    loss_of_classes,
    rollback_on_error,
    validate_rows,
    warn,
)
from sorr.losses import Loss, MulticlassLoss
from sorr.solvers import Status

_MAX_PARAMETERS = 5000  # a matrix of that size is factorised in each step


class RobustMaxClassifier(LinearClassifier):
    r"""A linear classifier that minimises the largest loss after slack for outliers.

    .. math:: \min_{w, b} \; \min_{\xi \ge 0, \, \|\xi\| \le K} \; \max_i \;
        \big( s_i(w, b) - \xi_i \big) + \frac{\|w\|^2}{2C}

    :math:`s_i` is the loss of row i, and :math:`\xi_i` the slack that is subtracted from it, out of
    a budget of K for all rows. With K=0 this is the maximum loss. As K grows, it tends to the
    average loss. Outliers count less than in the maximum, and more than if they were dropped: see
    `RankedRangeClassifier`.

    Hu et al. compare with a relaxation of the robust maximum of Shalev-Shwartz and Wexler: slack
    variables replace the indicators of outliers, and the l2 norm replaces the l1 norm. They print
    no formula; this is our reading. We subtract slack because then the problem is convex in all
    variables. For losses in [0, 1] and slack of 0 or 1, it is the maximum over the rows that are
    not outliers. ``norm="l2"`` is their relaxation, ``norm="l1"`` keeps the original norm.

    Parameters
    ----------
    K : float, default=1.0
        The budget: the largest norm of all slack, in units of the loss. Each row may have some, so
        the budget for the same model grows with the number of rows n: as n for the l1 norm, as
        its square root for the l2 norm.
    norm : {"l1", "l2"}, default="l2"
        How slack is measured.
    loss : str or Loss, default="logistic"
        The individual loss. "logistic" means "softmax" if there are more than two classes. For two
        classes it may also be "hinge", "squared_hinge", "modified_huber" or "smooth_hinge".
    C : float, default=1e4
        The inverse strength of the ridge.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    tol : float, default=1e-6
        The certified gap to reach.
    max_iter : int, default=200
        The largest number of steps of the interior point method.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_ : ndarray of shape (n_classes,)
    objective_ : float
        The objective at the solution. It is negative if there is more slack than loss.
    gap_ : float
        How much lower the minimum can be at most, certified by a dual bound on all rows. It is
        relative to the distance of the objective from its value when all losses are zero.
    status_ : sorr.solvers.Status
        How the solver ended; ``status_.sentence`` says it in words.
    n_iter_ : int
        The number of steps.
    threshold_ : float
        The largest loss after slack.
    losses_ : ndarray of shape (n_samples,)
        The loss of each row; NaN for rows of no weight.
    slack_ : ndarray of shape (n_samples,)
        How far each loss exceeds the threshold; zero for rows of no weight.
    outlier_mask_ : ndarray of bool of shape (n_samples,)
        The rows with slack, up to the tolerance.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    sorr.baselines.maximum : The same without slack.
    sorr.baselines.robust_maximum : The loss by itself.

    Notes
    -----
    The best slack is :math:`\xi_i = (s_i - t)_+`, with the threshold t at which it uses up the
    budget. The value is t, a convex function of the losses. A primal-dual interior point method
    solves the problem over all parameters; its weights of the rows give the bound. Each step
    factorises a square matrix with one row for each coefficient, or for each row of the data if
    there are fewer.

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

        If the fit fails or is interrupted, the estimator stays as it was.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of any kind.
        sample_weight : array-like of shape (n_samples,), optional
            The mass of each row: a row of weight two counts as two copies, each with slack.

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
        budget, power = as_budget(self.K), as_power(self.norm)
        check_limits(self.tol, self.max_iter)
        loss = loss_of_classes(self.loss, 2)  # refuses a loss that is not over classes
        if len(classes) > 2:
            if not _takes_many_classes(self.loss):
                raise ValueError(
                    f"Only binary classification is supported by loss={self.loss!r}, and y holds "
                    f"{len(classes)} classes; needed 'logistic', or OneVsRestClassifier"
                )
            loss = loss_of_classes(self.loss, len(classes))
        n, d = rows.X.shape
        size = min(n, d) * (len(classes) if len(classes) > 2 else 1)
        if size > _MAX_PARAMETERS:
            raise ValueError(
                f"{n} rows of {d} features need a matrix of {size} parameters; needed "
                f"{_MAX_PARAMETERS} at most: select features, or use sorr.baselines.average_top_k"
            )
        features, restore = reduce_to_row_space(rows.X)
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
        minimum = problem.minimise(tol=self.tol, max_iter=self.max_iter)
        theta, r = minimum.theta, features.shape[1]
        intercept = theta[r] if self.fit_intercept else np.zeros(theta.shape[1:])
        self._keep_classes(loss, classes, restore(theta[:r]), intercept)
        return self._keep_minimum(rows, problem, minimum)

    def _keep_minimum(
        self, rows: Rows, problem: SlackProblem, minimum: CertifiedMinimum
    ) -> list[Warning]:
        losses = problem.maximum.losses(problem.maximum.raw_prediction(minimum.theta))
        solution = solve_slack(losses, problem.budget, problem.power, problem.mass)
        self.threshold_ = solution.threshold
        self.losses_ = rows.spread(losses, np.nan)
        self.slack_ = rows.spread(solution.slack, 0.0)
        self.outlier_mask_ = self.slack_ > self.tol * max(1.0, float(self.slack_.max()))
        self.objective_, self.gap_ = minimum.value, minimum.gap
        self.n_iter_ = max(minimum.n_iter, 1)
        self.status_ = Status.OPTIMAL if minimum.gap <= self.tol else Status.UNCERTIFIED
        if minimum.is_constant:
            self.status_ = Status.CONSTANT_MODEL
            return [
                ConstantModelWarning(
                    "Constant model: the best model predicts the same for every row, because no "
                    "coefficients lower the largest loss after slack; "
                    f"raise K={self.K:g}, since with little slack a few rows decide, or raise C, "
                    "unless the features say nothing about y."
                )
            ]
        if self.status_ is Status.UNCERTIFIED:
            return [
                NotConvergedWarning(
                    f"Not converged (gap {minimum.gap:.1g}) in {minimum.n_iter} steps: the "
                    "objective may be far from its minimum; scale the columns of X, lower C, or "
                    "raise tol or max_iter."
                )
            ]
        return []

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = _takes_many_classes(self.loss)
        return tags

    def outlier_score(self, X: Any, y: Any) -> FloatArray:
        """Return how far the loss of each row exceeds the threshold.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels that were seen in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Above zero for a row that would use slack. A higher score is more suspect.
        """
        return self._losses(X, y)[0] - self.threshold_


def _takes_many_classes(loss: Any) -> bool:
    """Tell whether the solver can take the loss with more than two classes."""
    if isinstance(loss, MulticlassLoss):
        return loss.smooth
    name = getattr(loss, "name", loss)
    return isinstance(name, str) and name in ("logistic", "softmax")
