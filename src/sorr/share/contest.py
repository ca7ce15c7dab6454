r"""How many rows to drop: the candidates, and which of them predicts held-out rows best.

Labels of held-out rows are as wrong as all others. With rates :math:`T_{kj}` of label j for class
k, the error against the true classes is estimated without bias by

.. math:: \tilde\ell(y) = \sum_k (T^{-1})_{yk} \, \ell(k)

(N. Natarajan, I. Dhillon, P. Ravikumar, A. Tewari, "Learning with noisy labels", NeurIPS 2013).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.share.capped import balanced, choose_rows
from sorr.share.evidence import Evidence
from sorr.share.held_out import over_folds, start_without_leak
from sorr.share.verdict import EVEN, Regime, Verdict, confident_counts

_MIN_ROWS_EACH = 10  # for each parameter; with fewer, scores show only overfitting
_AMPLE_ROWS_EACH = 100  # with more, candidates are not compared unless the model is wrong
_CLEAR = 0.5  # standard errors by which a candidate has to beat dropping nothing
_MORE = 1.25  # times the estimate, if a robust fit is confident of as many mistakes
_PURE = 0.05  # a bound on all rates below which clean rows are clean whatever the model
_ROUGH = 3e-3  # gradient of fits that are only compared
_STEPS = 2  # of them at most, from a fit to nearly the same rows: the first is Newton's
_CHEAP = 5000  # rows up to which they are always compared


def choose_counts(
    evidence: Evidence, verdict: Verdict, n_jobs: int | None
) -> npt.NDArray[np.float64]:
    """Return how much mass of each class to drop, at most.

    The candidates are nothing, the rows that are more likely wrong than right, the estimate, and
    the counts of confident learning. With many rows they need no comparison: the estimate is the
    best number if labels of one class go wrong more often. If those of all classes do alike, wrong
    rows near the boundary cannot be told from right ones and cost little, so that dropping as many
    does more harm than good.
    """
    problem, mass = evidence.problem, evidence.mass
    K = problem.n_classes
    if evidence.is_robust and verdict.regime not in EVEN:
        # A few wrong rows that are kept cost more than right ones that are dropped.
        return np.clip(confident_counts(evidence), verdict.wrong, _MORE * verdict.wrong)
    if K > 2:  # with several classes the estimate was never beaten by much
        return verdict.wrong
    suspect = verdict.noise.wrong(evidence.scores, problem.index) > 0.5
    likely = np.minimum(problem.by_class(mass * suspect), verdict.wrong)
    confident = confident_counts(evidence)
    rows_each = problem.design.n_samples / problem.design.n_parameters
    if rows_each < _MIN_ROWS_EACH:
        return confident if rows_each >= 1 else likely
    if verdict.regime is Regime.CLEAN and verdict.bounds.max() < _PURE:
        return likely
    is_sure = rows_each > _AMPLE_ROWS_EACH and verdict.regime is not Regime.MISFIT
    is_even = verdict.regime in EVEN or not verdict.is_lopsided
    estimate = likely if is_even else verdict.wrong
    if is_sure and problem.design.n_samples > _CHEAP:
        return estimate
    candidates = [np.zeros(K), likely, verdict.wrong, confident]  # of equals, the first wins
    rates = np.minimum(verdict.noise.rates, verdict.bounds)
    matrix = np.array([[1 - rates[0], rates[0]], [rates[1], 1 - rates[1]]])
    errors = held_out_errors(evidence, candidates, matrix, n_jobs)
    best = int(np.argmin(errors.sum(axis=1)))
    gain = errors[0] - errors[best]
    is_clear = gain.sum() > _CLEAR * np.sqrt(np.sum((gain - gain.mean()) ** 2))
    return candidates[best if is_clear else 0]


def held_out_errors(
    evidence: Evidence,
    candidates: list[npt.NDArray[np.float64]],
    matrix: FloatArray,
    n_jobs: int | None,
) -> npt.NDArray[np.float64]:
    """Return for each candidate the errors on rows held out, corrected for wrong labels.

    The rows to drop are chosen by scores that have seen neither them nor the rows held out: of
    three folds one is held out, and each of the others is scored by a fit to the other one.
    """
    problem, mass, metric, theta = evidence.problem, evidence.mass, evidence.metric, evidence.theta
    _, folds, thetas = evidence.held_out
    start = start_without_leak(problem, theta)
    n_folds = len(thetas)
    if n_folds == 3:

        def alone(fold: int) -> FloatArray:
            rows = np.flatnonzero(folds == fold)
            steps = _STEPS + 1 if start is not None else 200
            there = problem.take(rows).fit(mass[rows], metric, start, tol=_ROUGH, max_iter=steps)
            return problem.mistakes(problem.raw(there))

        by_fold = over_folds(alone, n_folds, n_jobs)

    def scores(fold: int) -> FloatArray:
        rows = np.flatnonzero(folds != fold)
        part, out = problem.take(rows), problem.take(np.flatnonzero(folds == fold))
        kept = mass[rows]
        share = kept.sum() / mass.sum()
        if n_folds == 3:
            one, other = (fold + 1) % 3, (fold + 2) % 3
            mistakes = np.where(folds == one, by_fold[other], by_fold[one])[rows]
        else:  # there are so many rows that none is fitted closely
            mistakes = part.mistakes(part.raw(thetas[fold]))
        known: dict[bytes, FloatArray] = {}  # candidates often drop the same rows
        found = []
        for counts in candidates:
            dropped = choose_rows(mistakes, part.index, np.round(counts * share), kept)
            there = known.get(dropped.tobytes(), thetas[fold])
            if dropped.any() and there is thetas[fold]:
                there = part.fit(
                    balanced(part, kept, dropped), metric, there, tol=_ROUGH, max_iter=_STEPS
                )
            known[dropped.tobytes()] = there
            found.append(out.raw(there))
        return np.stack(found)

    errors = np.zeros((len(candidates), len(mass)))
    for fold, raws in enumerate(over_folds(scores, n_folds, n_jobs)):
        rows = np.flatnonzero(folds == fold)
        for i, raw in enumerate(raws):
            error = corrected_error((raw > 0).astype(np.intp), problem.index[rows], matrix)
            errors[i, rows] = mass[rows] * error
    return errors


def corrected_error(
    predicted: npt.NDArray[np.intp], index: npt.NDArray[np.intp], matrix: FloatArray
) -> FloatArray:
    """Return for each row an unbiased estimate of whether the prediction is not the true class."""
    inverse = np.linalg.inv(matrix)
    return np.asarray(inverse[index].sum(axis=1) - inverse[index, predicted])
