"""How many labels are wrong in each class, estimated without any checked label."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_X_y

from sorr._checks import as_inverse_ridge, as_masses, as_seed, check_choice, classes_of
from sorr._typing import FloatArray
from sorr.share.average import AverageLoss, standardise
from sorr.share.capped import Trimmed, capped_trimming, choose_rows
from sorr.share.contest import choose_counts
from sorr.share.evidence import Evidence, gather
from sorr.share.intervals import share_errors
from sorr.share.regions import share_bounds
from sorr.share.robust import are_many, robust_fit
from sorr.share.verdict import Regime, Verdict, confident_counts, judge

DROPS = ("auto", "estimate")
_MIN_ROWS = 8  # of a class; five are left when a fold is held out
_WIDTH, _SLACK = 2 * 1.96, 0.01  # twice the usual width covers what the model gets wrong
_MAX_DROPPED = 0.9  # of a class, so that it does not vanish
_ROUNDS = 3  # of trimming; the fit that follows continues from there
_NOISY = 0.1  # if rates in all classes are higher, trimming a wrong model only confirms it


@dataclass(frozen=True, eq=False)
class OutlierShare:
    """How many rows are wrong among those labelled as each class, and how sure that is.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    rate_ : ndarray of shape (n_classes,)
        The share of wrong rows among those *labelled* as each class.
    count_ : ndarray of shape (n_classes,)
        The same as a number of rows, or mass if there are weights.
    interval_ : ndarray of shape (n_classes, 2)
        An interval for `rate_`. If the linear model fits, it is the interval of the model, made
        twice as wide as its standard error suggests. Otherwise it goes from zero to
        `upper_bound_`, because overlap and wrong labels look alike.
    upper_bound_ : ndarray of shape (n_classes,)
        An upper bound for `rate_` in any model, with 95 % confidence, if labels go wrong at a
        rate that depends only on the true class.
    flip_rate_ : ndarray of shape (n_classes, n_classes)
        The share of each true class (rows) that is labelled as each class (columns).
    regime_ : Regime
        The kind of wrong labels that were found. ``regime_.sentence`` says it in words.
    drop_ : ndarray of shape (n_classes,)
        How many rows of each class a trimmed fit should drop: whole numbers, or mass if the
        weights are not whole numbers. With ``drop="auto"`` it differs from `count_`: wrong rows
        that look like right ones are better kept, and with few rows per column others are better
        dropped. It never exceeds the rows that a model gets wrong without having seen them.
    theta_ : ndarray of shape (n_parameters,) or (n_parameters, n_classes)
        The start of that fit: coefficients, then the intercept.
    score_ : ndarray of shape (n_samples,)
        How suspect each row is. Larger is more suspect.
    flip_posterior_ : ndarray of shape (n_samples,)
        The probability that each label is wrong, if the regime is symmetric or asymmetric; else
        NaN. With few rows per column it is too high or too low.
    leverage_ : ndarray of bool of shape (n_samples,)
        Rows far from all others that contradict them. They count as wrong.
    """

    classes_: npt.NDArray[Any]
    rate_: npt.NDArray[np.float64]
    count_: npt.NDArray[np.float64]
    interval_: npt.NDArray[np.float64]
    upper_bound_: npt.NDArray[np.float64]
    flip_rate_: npt.NDArray[np.float64] = field(repr=False)
    regime_: Regime
    drop_: npt.NDArray[Any]
    theta_: npt.NDArray[np.float64] = field(repr=False)
    score_: FloatArray = field(repr=False)
    flip_posterior_: FloatArray = field(repr=False)
    leverage_: npt.NDArray[np.bool_] = field(repr=False)

    @property
    def sentence(self) -> str:
        """The result in words."""
        if self.regime_ is Regime.TOO_FEW_ROWS:
            return f"{self.regime_.sentence[0].upper()}{self.regime_.sentence[1:]}."
        lines = [
            f"{label}: too few rows"
            if (low, high) == (0.0, 1.0)
            else f"{label}: {rate:.1%} of the rows with this label ({count:.0f}) look wrong, "
            f"between {low:.1%} and {high:.1%}"
            for label, rate, count, (low, high) in zip(
                self.classes_.tolist(), self.rate_, self.count_, self.interval_, strict=True
            )
        ]
        text = f"{self.regime_.sentence[0].upper()}{self.regime_.sentence[1:]}. "
        text += "; ".join(lines) + ". "
        if self.regime_ is Regime.MISFIT:
            text += (
                "The upper limits hold for any model, if labels go wrong by class and not by "
                "feature. There is no lower limit above zero."
            )
        else:
            text += (
                "This holds if a linear model fits. In any model, at most "
                + ", ".join(f"{bound:.1%}" for bound in self.upper_bound_)
                + " are wrong, if labels go wrong by class and not by feature."
            )
        if self.leverage_.any():
            text += (
                f" {int(self.leverage_.sum())} rows are far from all others and contradict them; "
                "they count as wrong."
            )
        return text


def estimate_outlier_share(
    X: Any,
    y: npt.ArrayLike,
    *,
    C: float = 1e4,
    fit_intercept: bool = True,
    sample_weight: npt.ArrayLike | None = None,
    drop: Literal["auto", "estimate"] = "auto",
    random_state: Any = None,
    n_jobs: int | None = None,
) -> OutlierShare:
    r"""Estimate the share of wrong rows in each class.

    Leverage outliers are found first. The other rows get scores from fits that have not seen
    them. Where the class is certain and some labels still contradict it, their share is the rate
    of wrong labels. With several classes and many rows (at least 5000, and five per parameter),
    the scores come from one robust fit to all rows, with the top-k multi-label loss. A small tree
    then looks for regions where a label is rarer than that rate, which would prove the model wrong.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Columns of any scale, in float32 or float64.
    y : array-like of shape (n_samples,)
        Labels, two or more.
    C : float, default=1e4
        The inverse strength of the ridge: average loss plus :math:`\|w\|^2 / 2C`.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    sample_weight : array-like of shape (n_samples,), optional
        The mass of each row: a row of weight two is two copies of it.
    drop : {"auto", "estimate"}, default="auto"
        How many rows `drop_` counts: as many as predictions need, or as many as look wrong. The
        latter is a longer and better list of suspects, and faster.
    random_state : int, RandomState, Generator or None, default=None
        Seed for everything random. The same seed gives the same result.
    n_jobs : int or None, default=None
        Number of threads for the folds. The result does not depend on it.

    Returns
    -------
    OutlierShare

    Notes
    -----
    Wrong labels are visible only where a class is certain. If classes overlap everywhere, or the
    model is wrong, there is no lower bound on their number. Then ``regime_`` says so, and the
    interval begins at zero.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 5))
    >>> y = np.where(X @ [3, -2, 1, 0, 0] > 0, "yes", "no")
    >>> y[(y == "yes") & (rng.random(2000) < 0.2)] = "no"
    >>> share = estimate_outlier_share(X, y, random_state=0)
    >>> share.regime_.name, share.count_.round(-1)
    ('ASYMMETRIC', array([200.,   0.]))
    """
    check_choice("drop", drop, DROPS)
    X, labels = check_X_y(X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
    weight = as_masses(sample_weight, len(labels))
    classes, index = classes_of(labels)
    if weight is not None:
        classes_of(labels[weight > 0])
    return share_of(X, classes, index, C, fit_intercept, weight, drop, random_state, n_jobs)


def share_of(
    X: Any,
    classes: npt.NDArray[Any],
    index: npt.NDArray[np.intp],
    C: float,
    fit_intercept: bool,
    weight: npt.NDArray[np.float64] | None,
    drop: str,
    random_state: Any,
    n_jobs: int | None,
) -> OutlierShare:
    """Return the same for rows that are already checked."""
    C, rng = as_inverse_ridge(C), np.random.default_rng(as_seed(random_state))
    mass = np.ones(len(index)) if weight is None else weight
    sizes = np.bincount(index[mass > 0], minlength=len(classes))
    rows, frame = standardise(X, fit_intercept)
    problem = AverageLoss(rows, index, len(classes), 1 / (C * frame.scale**2), fit_intercept)
    if np.sort(sizes)[-2] < _MIN_ROWS:
        theta = problem.fit(mass, problem.metric(None, rng))
        found = _nothing(problem, theta, classes)
    else:
        robust = None
        if are_many(int(sizes.sum()), len(classes), int(np.prod(problem.shape))):

            def robust(mass: FloatArray) -> FloatArray | None:
                theta = robust_fit(X, index, len(classes), C, fit_intercept, mass, rng)
                return None if theta is None else frame.standardised(theta, fit_intercept)

        evidence = gather(problem, mass, rng, n_jobs, robust)
        found = _assemble(evidence, judge(evidence, rng), mass, classes, sizes, drop, n_jobs)
    return replace(found, theta_=frame.original(found.theta_, fit_intercept))


def _assemble(
    evidence: Evidence,
    verdict: Verdict,
    mass: FloatArray,
    classes: npt.NDArray[Any],
    sizes: npt.NDArray[np.intp],
    drop: str,
    n_jobs: int | None,
) -> OutlierShare:
    """Return the result: shares of wrong labels, the rows to drop, and their ranking."""
    problem, K = evidence.problem, len(classes)
    given, far = problem.by_class(mass), problem.by_class(mass * evidence.leverage)
    near = evidence.label_mass

    def of_given(share: FloatArray) -> npt.NDArray[np.float64]:
        return np.asarray((far + near * share) / np.maximum(given, 1e-300))

    upper = share_bounds(verdict.bounds, near)
    tiny = sizes < _MIN_ROWS
    upper = np.where(tiny, 1.0, upper)
    share = np.where(tiny, 0.0, np.minimum(verdict.wrong / np.maximum(near, 1e-300), upper))
    if verdict.regime is Regime.MISFIT:
        low, high = np.zeros(K), upper
    else:
        reach = _WIDTH * share_errors(verdict.noise, verdict.spread, near) + _SLACK
        low, high = share - reach, np.minimum(share + reach, upper)
        high = np.where(tiny, 1.0, high)
    is_estimate = drop == "estimate"
    counts = near * share if is_estimate else choose_counts(evidence, verdict, n_jobs)
    counts = np.minimum(np.where(tiny, 0.0, counts), _MAX_DROPPED * near)
    whole = bool(np.all(mass % 1 == 0))
    counts = np.round(counts) if whole else counts
    trimmed = _trim(evidence, verdict, counts)
    dropped = problem.by_class(mass * (trimmed.dropped | evidence.leverage))
    if is_estimate:
        dropped = far + counts
    return OutlierShare(
        classes_=classes,
        rate_=of_given(share),
        count_=far + near * share,
        interval_=np.column_stack([np.maximum(of_given(low), 0.0), of_given(high)]),
        upper_bound_=of_given(upper),
        flip_rate_=np.asarray(verdict.noise.matrix),
        regime_=verdict.regime,
        drop_=np.rint(dropped).astype(np.int64) if whole else dropped,
        theta_=np.asarray(trimmed.theta, dtype=np.float64),
        score_=_suspicion(evidence, verdict, trimmed),
        flip_posterior_=_flip_posterior(evidence, verdict),
        leverage_=evidence.leverage,
    )


def _trim(evidence: Evidence, verdict: Verdict, counts: FloatArray) -> Trimmed:
    """Return the trimmed fit; its number of rows grows only where that cannot confirm itself."""
    if evidence.is_robust:
        problem, scores = evidence.problem, evidence.scores
        dropped = choose_rows(problem.mistakes(scores), problem.index, counts, evidence.mass)
        return Trimmed(evidence.theta, dropped)
    most = np.zeros_like(counts)
    is_uneven = verdict.regime is Regime.ASYMMETRIC and verdict.is_lopsided
    if is_uneven or evidence.problem.n_classes > 2:
        most = counts
    elif verdict.regime is Regime.MISFIT and verdict.noise.rates.min() < _NOISY:
        most = np.minimum(counts, confident_counts(evidence))
    return capped_trimming(
        evidence.problem,
        evidence.mass,
        evidence.metric,
        evidence.theta,
        counts,
        most,
        evidence.scores,
        rounds=_ROUNDS,
    )


def _suspicion(evidence: Evidence, verdict: Verdict, trimmed: Trimmed) -> FloatArray:
    """Return how suspect each row is, by models that were fitted to it.

    A robust fit does not chase wrong labels, so that its scores need not be held out. Those of
    the plain fit and the trimmed one are averaged: the first errs less where nothing is wrong.
    Where rates are clearly lopsided, the odds of a wrong label rank the rows, else their losses.
    """
    problem, noise = evidence.problem, verdict.noise
    plain = problem.raw(evidence.theta).astype(np.float64)
    raw = 0.5 * (plain + problem.raw(trimmed.theta))
    is_lopsided = verdict.is_lopsided
    if problem.n_classes == 2 and verdict.regime is Regime.MISFIT and noise.rates.min() >= _NOISY:
        is_lopsided, raw = False, plain  # all that is known of the rates is that they are high
    if is_lopsided and verdict.regime not in (Regime.CLEAN, Regime.UNCERTAIN):
        return noise.log_odds(raw, problem.index)
    return np.asarray(problem.losses(raw), dtype=np.float64)


def _flip_posterior(evidence: Evidence, verdict: Verdict) -> FloatArray:
    """Return the probability that each label is wrong, where a model of that holds.

    Scores of fits that have seen a row and of those that have not are averaged: the first are too
    sure of its label, the second of another one.
    """
    if verdict.regime not in (Regime.SYMMETRIC, Regime.ASYMMETRIC):
        return np.full(len(evidence.mass), np.nan)
    raw = 0.5 * (evidence.scores + evidence.problem.raw(evidence.theta))
    return np.asarray(verdict.noise.wrong(raw, evidence.problem.index), dtype=np.float64)


def _nothing(problem: AverageLoss, theta: FloatArray, classes: npt.NDArray[Any]) -> OutlierShare:
    K = len(classes)
    zero = np.zeros(K)
    return OutlierShare(
        classes_=classes,
        rate_=zero,
        count_=zero,
        interval_=np.column_stack([zero, zero + 1]),
        upper_bound_=zero + 1,
        flip_rate_=np.eye(K),
        regime_=Regime.TOO_FEW_ROWS,
        drop_=np.zeros(K, dtype=np.int64),
        theta_=np.asarray(theta, dtype=np.float64),
        score_=np.asarray(problem.losses(problem.raw(theta)), dtype=np.float64),
        flip_posterior_=np.full(problem.design.n_samples, np.nan),
        leverage_=np.zeros(problem.design.n_samples, dtype=bool),
    )
