"""The classical aggregate losses by name: special cases of the ranked range."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from sorr._checks import check_choice
from sorr.estimators import RankedRangeClassifier, RankedRangeRegressor
from sorr.ranked import RankedRange

Estimator: TypeAlias = RankedRangeClassifier | RankedRangeRegressor
Task: TypeAlias = Literal["classification", "regression"]

_TASKS: dict[str, type[Estimator]] = {
    "classification": RankedRangeClassifier,
    "regression": RankedRangeRegressor,
}
_EPSILON = 1e-8  # from one half to the fractions of the middle ranks


def average(task: Task = "classification", **options: Any) -> Estimator:
    """Return an estimator that minimises the average loss: ranks 1 to n.

    With the logistic loss this is ``LogisticRegression()``, or with a given C
    ``LogisticRegression(C=C / n_samples)``. With the squared loss it is
    ``Ridge(alpha=n_samples / (2 * C))``.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
    **options
        Options of `RankedRangeClassifier` or `RankedRangeRegressor`, except m and k.

    Returns
    -------
    RankedRangeClassifier or RankedRangeRegressor
        Not fitted.

    Examples
    --------
    >>> average(loss="hinge", C=10.0)
    RankedRangeClassifier(C=10.0, loss='hinge', m=0, ranking='pooled')
    """
    return _build(task, RankedRange.average(), options)


def maximum(task: Task = "classification", **options: Any) -> Estimator:
    """Return an estimator that minimises the largest loss: rank 1.

    One wrong label decides the model. If the classes overlap, the minimum is a constant model.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
    **options
        Options of `RankedRangeClassifier` or `RankedRangeRegressor`, except m and k.

    Returns
    -------
    RankedRangeClassifier or RankedRangeRegressor
        Not fitted.

    See Also
    --------
    RobustMaxClassifier : The maximum after slack for outliers.

    References
    ----------
    S. Shalev-Shwartz, Y. Wexler, "Minimizing the maximal loss: how and why", ICML 2016.

    Examples
    --------
    >>> maximum("regression", loss="absolute")
    RankedRangeRegressor(k=1, loss='absolute', m=0)
    """
    return _build(task, RankedRange.maximum(), options)


def average_top_k(k: int | float, task: Task = "classification", **options: Any) -> Estimator:
    """Return an estimator that minimises the average of the k largest losses: ranks 1 to k.

    Also known as conditional value at risk; with the hinge it is the nu-SVM.

    Parameters
    ----------
    k : int or float
        A count, or a fraction strictly between 0 and 1.
    task : {"classification", "regression"}, default="classification"
    **options
        Options of `RankedRangeClassifier` or `RankedRangeRegressor`, except m and k.

    Returns
    -------
    RankedRangeClassifier or RankedRangeRegressor
        Not fitted.

    References
    ----------
    Y. Fan, S. Lyu, Y. Ying, B. Hu, "Learning with average top-k loss", NeurIPS 2017.

    Examples
    --------
    >>> average_top_k(0.5)
    RankedRangeClassifier(k=0.5, m=0, ranking='pooled')
    """
    return _build(task, RankedRange.average_top(k), options)


def median(task: Task = "classification", **options: Any) -> Estimator:
    r"""Return an estimator that minimises the median loss: the middle rank, or the middle two.

    In regression with the squared loss this is the least median of squares. In classification it
    is the median of each class: half of all rows could be a whole class, which would be ignored.
    ``ranking="pooled"`` is refused unless the classes have equal size.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
    **options
        Options of `RankedRangeClassifier` or `RankedRangeRegressor`, except m and k.

    Returns
    -------
    RankedRangeClassifier or RankedRangeRegressor
        Not fitted.

    Notes
    -----
    The ranks of the median, :math:`m = \lfloor (n + 1) / 2 \rfloor - 1` and
    :math:`k = \lceil (n + 1) / 2 \rceil`, depend on n, which is not known before the fit. Since m
    is rounded down and k up, the fractions :math:`1/2 - \epsilon` and :math:`1/2 + \epsilon` give
    exactly these: for even n, :math:`n / 2 - \epsilon n` and :math:`n / 2 + \epsilon n` become
    :math:`n / 2 - 1` and :math:`n / 2 + 1`; for odd n, :math:`(n \mp 1) / 2 \pm (1/2 - \epsilon n)`
    become :math:`(n - 1) / 2` and :math:`(n + 1) / 2`, as long as :math:`\epsilon n \le 1/2`.
    With :math:`\epsilon = 10^{-8}` that holds for up to fifty million rows.

    References
    ----------
    P. J. Rousseeuw, "Least median of squares regression", JASA 1984.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(21.0)
    >>> y = np.where(x < 13, 2 * x, -50.0)
    >>> model = median("regression", C=1e8, random_state=0).fit(x[:, None], y)
    >>> model.m_, model.k_, model.coef_.round(3)
    (array([10.]), array([11.]), array([2.]))
    """
    if task == "classification":
        options = {"ranking": "within_class"} | options
    return _build(task, RankedRange(0.5 - _EPSILON, 0.5 + _EPSILON), options)


def trimmed(m: int | float, task: Task = "classification", **options: Any) -> Estimator:
    """Return an estimator that minimises the average of all but the m largest losses.

    These are ranks m + 1 to n. In regression with the squared loss this is least trimmed squares.

    Parameters
    ----------
    m : int or float
        A count, or a fraction strictly between 0 and 1.
    task : {"classification", "regression"}, default="classification"
    **options
        Options of `RankedRangeClassifier` or `RankedRangeRegressor`, except m and k.

    Returns
    -------
    RankedRangeClassifier or RankedRangeRegressor
        Not fitted.

    Examples
    --------
    >>> trimmed(5)
    RankedRangeClassifier(m=5, ranking='pooled')
    >>> trimmed(0.2, ranking="within_class")
    RankedRangeClassifier(m=0.2)
    """
    return _build(task, RankedRange.trimmed(m), options)


def _build(task: Task, ranks: RankedRange, options: dict[str, Any]) -> Estimator:
    """Return the estimator of a task, with its ranks and options."""
    check_choice("task", task, tuple(_TASKS))
    if task == "classification":
        options = {"ranking": "pooled"} | options
    return _TASKS[task](m=ranks.m, k=ranks.k, **options)
