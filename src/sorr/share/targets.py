"""Which numbers are wrong, judged from held-out predictions of any model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.ensemble import ExtraTreesRegressor

from sorr._checks import as_masses, as_numbers
from sorr._typing import BoolArray, FloatArray
from sorr.share.constants import (
    BY_CHANCE,
    ENOUGH_REVIEWS,
    FAR_ERROR,
    FEW_VALUES,
    FEWEST_TARGETS,
    LARGEST_SAMPLE,
    LEAF_OF_SPREAD,
    LEAST_EXPECTED,
    MISFIT,
    MOST_FAR,
    PROBABLE,
    REFEREE_ROWS,
    ROWS_OF_WINDOW,
    SHARED_SPREAD,
    TREES_OF_SPREAD,
    WINDOW,
)
from sorr.share.errors import LARGEST, NORMAL, Findings, explain, floor_of, weighted_median
from sorr.share.held_out import NumberedRows
from sorr.share.models import is_named, name_of
from sorr.share.row_values import bound_numbers, is_sparse, number_columns
from sorr.share.two_models import make_model
from sorr.share.verdict import Tier, Verdict, as_percent, interval_of, review

_SAME = 1e-9  # relative difference of two numbers that are the same


@dataclass(frozen=True, eq=False, kw_only=True)
class TargetJudgement(Verdict):
    """What held-out predictions say about the numbers that they predict.

    Attributes
    ----------
    given_ : ndarray of shape (n_samples,)
        The targets.
    suggested_ : ndarray of shape (n_samples,)
        The prediction for each row; of known rows the right number.
    wrong_ : ndarray of shape (n_samples,)
        The probability that each target is wrong: 0 or 1 for known rows.
    chance_ : ndarray of shape (n_samples,)
        The probability that the error of a right target is at least this large.
    error_ : ndarray of shape (n_samples,)
        How far the target is above the prediction, in typical errors of the row.
    typical_ : ndarray of shape (n_samples,)
        The typical error of each row, in units of the target: a standard deviation, if errors are
        normal.
    count_, count_interval_ : float and ndarray of shape (2,)
        How many targets are wrong, at least, and the 95 % interval if they go wrong at random.
        Zero without evidence.
    share_, share_interval_ : float and ndarray of shape (2,)
        The same as a share of all rows.
    evidence_ : float
        The logarithm of how much better the errors are explained if some targets are wrong than by
        the best distribution without any, of normal or heavy tails, less that of 10. So there is
        evidence above zero, from ten to one on; it is minus infinity if there is nothing to judge.
    verdict_ : {"none", "weak", "clear", "strong"}
        The evidence in a word. ``sentence`` says what it means.
    tier_ : ndarray of int of shape (n_samples,)
        The `Tier` of each row: 3 almost surely wrong, 2 probably wrong, 1 worth a look, 0.
    score_ : ndarray of shape (n_samples,)
        How suspect each row is, for ranking. Larger is more suspect.
    known_ : ndarray of bool of shape (n_samples,)
        The rows that somebody has checked.
    look_share_ : float
        The share of rows worth a look that are wrong: found by those that were checked, or what
        is usual.
    bell_ : str
        The distribution of the errors of right targets: "normal", "Laplace", or heavier ones;
        ``is_skewed`` tells whether they are wider on one side.
    models_ : tuple of (str, float)
        The model that judged, and its evidence.
    """

    given_: FloatArray = field(repr=False)
    suggested_: FloatArray = field(repr=False)
    chance_: FloatArray = field(repr=False)
    error_: FloatArray = field(repr=False)
    typical_: FloatArray = field(repr=False)
    right_: FloatArray = field(repr=False)
    """The right number of known rows; NaN for others."""
    bell_: str = "normal"
    is_skewed: bool = False
    silence: str = field(default="", repr=False)
    """Why nothing can be judged, if so."""
    # What `conclude_targets` adds.
    count_: float = 0.0
    count_interval_: FloatArray = field(default_factory=lambda: np.zeros(2))

    def know(self, known: Any) -> TargetJudgement:
        """Return the judgement of somebody who has checked some rows.

        Parameters
        ----------
        known : mapping or array-like of shape (n_samples,)
            The right numbers, as in `judge_targets`.

        Returns
        -------
        TargetJudgement
        """
        return conclude_targets(replace(self, right_=_as_right_numbers(known, len(self.given_))))

    @property
    def known_(self) -> BoolArray:
        """The rows that somebody has checked."""
        return ~np.isnan(self.right_)

    @property
    def doubt(self) -> FloatArray:
        """How far each row is in doubt, from 0 to 1: no right target may have such an error."""
        return np.asarray(np.clip(1 - self.mass_.sum() * self.chance_, 0.0, 1.0))

    @property
    def is_in_doubt(self) -> BoolArray:
        """The rows with errors so large that not half a right target is expected to have one."""
        return np.asarray(self.mass_.sum() * self.chance_ < LEAST_EXPECTED) & (self.mass_ > 0)

    @property
    def total(self) -> float:
        """How many targets are wrong, at least."""
        return self.count_

    @property
    def total_interval(self) -> tuple[float, float]:
        """The 95 % interval of the number of wrong targets."""
        low, high = self.count_interval_
        return float(low), float(high)

    @property
    def share_(self) -> float:
        """`count_` as a share of all rows."""
        return self.count_ / max(float(self.mass_.sum()), 1e-300)

    @property
    def share_interval_(self) -> FloatArray:
        """`count_interval_` as shares of all rows."""
        return np.asarray(self.count_interval_ / max(float(self.mass_.sum()), 1e-300))

    @property
    def noun(self) -> str:
        """What is judged, in a word."""
        return "target"

    def _sentences(self) -> list[str]:
        if not self.can_judge:
            return [self.silence]
        opening = self._claim() if self.has_evidence else self._silence()
        return [*opening, self._look(), self.silence]

    def _silence(self) -> list[str]:
        text = "No sign of wrong targets"
        if self.is_skewed:
            return [f"{text}: errors are wider on one side, which explains the largest ones."]
        if self.bell_ != "normal":
            return [f"{text}: errors have heavy tails, which explain the largest ones."]
        return [f"{text}."]

    def _look(self) -> str:
        rows = int((self.tier_ == Tier.WORTH_A_LOOK).sum())
        if not rows:
            return ""
        more = " more" if self.flagged_.any() else ""
        opening = (
            f"In {rows:,}{more} row{'s' * (rows > 1)} the error is larger than any that is "
            f"expected among {self.mass_.sum():,.0f} right targets"
        )
        if self.n_reviews >= ENOUGH_REVIEWS:
            return (
                f"{opening}; by the rows you checked, about {as_percent(self.look_share_)} of such "
                "rows are wrong."
            )
        return f"{opening}; look at {'it' if rows == 1 else 'them'} first."

    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "row": np.arange(len(self.wrong_)),
            "given": self.given_,
            "suggested": self.suggested_,
            "tier": self.tier_,
            "probability": self.wrong_,
            "error": self.error_,
            "typical_error": self.typical_,
            "score": self.score_,
        }


def judge_targets(
    predictions: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    spread: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    known: Mapping[int, Any] | npt.ArrayLike | None = None,
) -> TargetJudgement:
    """Judge numbers from held-out predictions of any model.

    Parameters
    ----------
    predictions : array-like of shape (n_samples,)
        The prediction for each row, by a model that has not seen it: as `held_out_predictions` or
        ``cross_val_predict`` make them.
    y : array-like of shape (n_samples,)
        The targets: numbers of many different values.
    spread : array-like of shape (n_samples,), optional
        The size of errors that is usual for each row, in any unit. The default follows the
        predictions, if errors are larger for some of them.
    sample_weight : array-like of shape (n_samples,), optional
        The mass of each row: a row of weight two is two copies of it.
    known : mapping or array-like of shape (n_samples,), optional
        What somebody has checked: the right number by row number, or one entry for each row, with
        None or NaN where nobody looked. From 20 rows on, they tell how many rows are wrong that
        are only worth a look.

    Returns
    -------
    TargetJudgement

    Notes
    -----
    Errors of right targets may be normal or have heavy tails, be skewed, and differ in size from
    row to row. Targets are wrong whose errors none of that explains. A wrong number close to the
    right one cannot be told from a right one, so counts are lower limits.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> predictions = rng.normal(size=500)
    >>> y = predictions + rng.normal(size=500) / 5
    >>> y[:20] += 3
    >>> judgement = judge_targets(predictions, y)
    >>> judgement.verdict_, bool(judgement.flagged_[:20].all()), int(judgement.flagged_.sum())
    ('strong', True, 20)
    """
    target = as_numbers("y", y)
    predicted = as_numbers("predictions", predictions, len(target))
    weight = as_masses(sample_weight, len(target))
    mass = np.ones(len(target)) if weight is None else weight
    if (reason := why_not(target, mass)) is not None:
        raise ValueError(f"y {reason}")
    sizes = None
    if spread is not None:
        sizes = as_numbers("spread", spread, len(target))
        if not (sizes > 0).all():
            raise ValueError(
                f"spread has {int((sizes <= 0).sum()):,} entries that are not above zero; needed "
                "the usual size of errors of each row"
            )
    return judge_predictions(predicted, target, mass, spread=sizes, known=known)


def judge_predictions(
    predictions: FloatArray,
    y: FloatArray,
    mass: FloatArray,
    *,
    spread: FloatArray | None = None,
    known: Any = None,
    model: str = "the model",
) -> TargetJudgement:
    """Return the judgement from numbers that are checked already."""
    if (reason := why_not(y, mass)) is not None:
        return cannot_judge(predictions, y, mass, f"y {reason}", known=known, model=model)
    floor, errors = floor_of(y, mass), np.clip(y, -LARGEST, LARGEST) - predictions

    def explain_in(sizes: FloatArray) -> Findings:
        return explain(errors[mass > 0] / sizes[mass > 0], mass[mass > 0], floor)

    sizes = np.ones(len(y)) if spread is None else _relative(spread, mass)
    found = explain_in(sizes)
    if spread is None and (local := local_spread(predictions, errors, mass, floor)) is not None:
        other = explain_in(_relative(local, mass))
        # A spread that follows the predictions was fitted to them: it has to pay for itself.
        price = 0.5 / WINDOW * np.log(max(mass.sum(), 2.0))
        if other.best - price > found.best:
            found, sizes = other, _relative(local, mass)
    return judge_explained(
        errors / sizes,
        y,
        mass,
        found,
        suggested=predictions,
        spread=sizes,
        known=known,
        model=model,
    )


def _relative(spread: FloatArray, mass: FloatArray) -> FloatArray:
    """Return sizes of errors whose geometric mean is one."""
    return np.asarray(spread / np.exp(np.average(np.log(spread), weights=mass)))


def judge_explained(
    errors: FloatArray,
    y: FloatArray,
    mass: FloatArray,
    found: Findings,
    *,
    suggested: FloatArray,
    spread: FloatArray,
    log_prior: FloatArray | None = None,
    known: Any = None,
    model: str = "the model",
    remark: str = "",
) -> TargetJudgement:
    """Return the judgement from explanations of errors, which are in units of their spread."""
    evidence = found.evidence - BY_CHANCE
    bell = found.wrong if evidence > 0 else found.honest
    draft = TargetJudgement(
        evidence_=evidence,
        models_=((model, evidence),),
        mass_=mass,
        log_odds_=found.wrong.log_odds(errors, log_prior),
        given_=y,
        suggested_=suggested,
        chance_=bell.beyond(errors),
        error_=(errors - bell.centre) / bell.scale,
        typical_=bell.scale * spread,
        right_=_as_right_numbers(known, len(y)),
        bell_=bell.bell.name,
        is_skewed=bell.is_skewed,
        silence=remark,
    )
    return conclude_targets(draft)


def cannot_judge(
    predictions: FloatArray,
    y: FloatArray,
    mass: FloatArray,
    reason: str,
    *,
    known: Any = None,
    model: str = "the model",
) -> TargetJudgement:
    """Return a judgement that says why there is none, and ranks rows by their errors."""
    errors = y - predictions
    spread = max(float(np.average(np.abs(errors), weights=mass)), 1e-300)
    draft = TargetJudgement(
        evidence_=-np.inf,
        models_=((model, -np.inf),),
        mass_=mass,
        log_odds_=np.full(len(y), -np.inf),
        given_=y,
        suggested_=predictions,
        chance_=np.ones(len(y)),
        error_=errors / spread,
        typical_=np.full(len(y), spread),
        right_=_as_right_numbers(known, len(y)),
        silence=f"Targets are not judged: {reason}.",
    )
    return conclude_targets(draft)


def conclude_targets(draft: TargetJudgement) -> TargetJudgement:
    """Return the judgement with all that follows from evidence, log odds and known rows."""
    right, known = draft.right_, draft.known_
    near = np.abs(np.where(known, right, 0.0) - draft.given_) > _SAME * np.abs(draft.given_)
    is_wrong = known & near
    found = review(draft, is_wrong, draft.doubt)
    ranked = draft.log_odds_
    if not draft.has_evidence:  # then the best explanation by wrong targets may be of one side only
        ranked = np.abs(draft.error_) - np.log(np.maximum(draft.chance_, 1e-300))
    score = np.where(np.isfinite(found.score), ranked, found.score)
    # A lower limit: what is less probable than not may be the tail of right targets.
    counted = np.where((found.wrong > PROBABLE) & draft.has_evidence, found.wrong, is_wrong)
    count = float(draft.mass_ @ counted)
    spread = 0.0
    if draft.has_evidence:
        by_chance = float(draft.mass_ @ (found.wrong * (1 - found.wrong)))
        spread = float(np.sqrt(by_chance + (MISFIT * count) ** 2))
    return replace(
        draft,
        wrong_=found.wrong,
        suggested_=np.where(is_wrong, right, draft.suggested_),
        count_=count,
        count_interval_=np.array(interval_of(count, spread, float(draft.mass_.sum()))),
        score_=score,
        look_share_=found.look_share,
    )


# -- The usual size of errors ----------------------------------------------------------------------


def local_spread(
    predictions: FloatArray, errors: FloatArray, mass: FloatArray, floor: float
) -> FloatArray | None:
    """Return the size of errors that is usual near each prediction; None with too few rows.

    It is the mean size of errors among the 5 % of rows with the nearest predictions, without
    extremes, and partly that of all rows.
    """
    total = float(mass.sum())
    width = max(WINDOW * total, ROWS_OF_WINDOW)
    if total < 2 * width:
        return None
    size = np.abs(errors)
    size = np.minimum(size, 6 * max(weighted_median(size, mass), floor))
    _, place = np.unique(predictions, return_inverse=True)  # equal predictions share a size
    masses = np.bincount(place, mass)
    ends = np.concatenate([[0.0], np.cumsum(masses)])
    sums = np.concatenate([[0.0], np.cumsum(np.bincount(place, mass * size))])
    first = np.clip(ends[:-1] + 0.5 * (masses - width), 0.0, total - width)
    bounds = np.interp([first, first + width], ends, sums)
    return blend_spread((bounds[1] - bounds[0])[place] / width, mass, floor)


def blend_spread(local: FloatArray, mass: FloatArray, floor: float) -> FloatArray:
    """Return local sizes of errors, partly that of all rows: they are estimates."""
    usual = max(float(np.average(local, weights=mass)), floor)
    return np.asarray((1 - SHARED_SPREAD) * local + SHARED_SPREAD * usual)


# -- What is given ---------------------------------------------------------------------------------


def why_not(y: FloatArray, mass: FloatArray) -> str | None:
    """Return why targets cannot be judged, or None if they can."""
    values = y[mass > 0]
    if mass.sum() < FEWEST_TARGETS or len(values) < 2:
        return f"has {mass.sum():g} rows, too few to judge; needed {FEWEST_TARGETS} or more"
    few = np.unique(values[:10_000])[: FEW_VALUES + 1]
    if len(few) == 1 and (values == few[0]).all():
        return f"is constant ({few[0]:g} in all rows); needed numbers that differ"
    few = np.unique(values)[: FEW_VALUES + 1] if len(few) <= FEW_VALUES else few
    if len(few) <= FEW_VALUES and len(values) > 2 * len(few):
        return (
            f"has only {len(few)} different values ({few[0]:g} to {few[-1]:g}), which are classes "
            "or counts rather than numbers; needed numbers of many values, or judge_labels, "
            "TrimmedClassifier or RankedRangeClassifier for classes"
        )
    return None


def _as_right_numbers(known: Any, n: int) -> FloatArray:
    """Return the right number of each row, NaN where nobody looked."""
    right = np.full(n, np.nan)
    if known is None:
        return right
    if isinstance(known, Mapping):
        rows = np.array(list(known), dtype=object)
        if len(rows) and not all(isinstance(row, int | np.integer) for row in rows):
            raise TypeError(f"known has the key {rows[0]!r}; needed row numbers from 0 on")
        if len(rows) and not all(0 <= row < n for row in rows):
            worst = next(row for row in rows if not 0 <= row < n)
            raise ValueError(f"known has row {worst}; needed row numbers from 0 to {n - 1}")
        right[rows.astype(np.intp)] = as_numbers("known", list(known.values()))
        return right
    given = np.asarray(known.to_numpy() if hasattr(known, "to_numpy") else known)
    if given.shape != (n,):
        raise ValueError(
            f"known has shape {given.shape}; needed one entry for each of {n:,} rows, or a mapping "
            "from row numbers to right numbers"
        )
    try:
        return np.array([np.nan if value is None else value for value in given], dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError("known holds values that are no numbers; needed right numbers") from None


# -- Rows with numbers, and a model of them --------------------------------------------------------


class JudgedNumbers(NamedTuple):
    """A judgement of numbers, the predictions it comes from, and what training may do without."""

    judgement: TargetJudgement
    predictions: FloatArray
    hinders: BoolArray
    """Rows of large errors without which held-out predictions of the others get better."""


def judge_numbers(
    rows: NumberedRows,
    estimator: Any,
    *,
    cv: Any = None,
    groups: npt.ArrayLike | None = None,
    known: Any = None,
    limit: int = LARGEST_SAMPLE,
) -> JudgedNumbers:
    """Judge numbers by a model, in two rounds: of all rows, and without those of large errors.

    Wrong targets spoil the predictions that judge them, so that the second round sees more. The
    judgement is that of the mean of both. Errors are measured in sizes that a small forest expects
    of each row.
    """
    rows.refuse_texts(estimator)
    y, mass, name = rows.y, rows.mass, name_of(estimator)
    rows = rows.correct(_as_right_numbers(known, len(y)))  # models learn what is known
    learned = rows.y
    if (reason := why_not(y, mass)) is not None:
        middle = np.full(len(y), float(np.average(y, weights=mass)))
        silent = cannot_judge(middle, y, mass, f"y {reason}", known=known, model=name)
        return JudgedNumbers(silent, middle, np.zeros(len(y), dtype=bool))
    if not (cv is None or isinstance(cv, int | np.integer)):
        cv = list(rows.split(cv, groups))  # both rounds have the same folds
    first = rows.hold_out(estimator, cv=cv, groups=groups, limit=limit)[:, 0]
    off = learned - first - weighted_median(learned - first, mass)
    typical = max(weighted_median(np.abs(off), mass), floor_of(y, mass)) / NORMAL.quantile(0.5)
    is_far = find_far(off / typical)
    both, better = first, False
    if is_far.any():
        second = _predict_without(rows, estimator, is_far, cv, groups, limit)
        gain = np.abs(learned - first) - np.abs(learned - second)
        better = is_clearly_positive(gain[~is_far], mass[~is_far])
        both = 0.5 * (first + second)
    spread = _usual_sizes(rows, both, mass)
    judgement = judge_predictions(both, y, mass, spread=spread, known=known, model=name)
    hinders = find_far(judgement.error_) if better else np.zeros(len(y), dtype=bool)
    return JudgedNumbers(judgement, both, hinders & ~judgement.known_)


def find_far(errors: FloatArray) -> BoolArray:
    """Return the rows with errors above three typical ones, at most two in five."""
    size = np.abs(errors)
    return np.asarray(size > max(FAR_ERROR, float(np.quantile(size, 1 - MOST_FAR))))


def is_clearly_positive(gain: FloatArray, mass: FloatArray) -> bool:
    """Tell whether a mean is above zero by more than its standard error."""
    mean = float(np.average(gain, weights=mass))
    error = np.sqrt(np.average((gain - mean) ** 2, weights=mass) / max(float(mass.sum()), 1.0))
    return bool(mean > error)


def _predict_without(
    rows: NumberedRows,
    estimator: Any,
    is_left_out: BoolArray,
    cv: Any,
    groups: npt.ArrayLike | None,
    limit: int,
) -> FloatArray:
    """Return held-out predictions by models that have not seen some rows at all."""
    kept, left_out = np.flatnonzero(~is_left_out), np.flatnonzero(is_left_out)
    if isinstance(cv, list):
        folds = [(train[~is_left_out[train]], test) for train, test in cv]
        return rows.hold_out(estimator, cv=folds)[:, 0]
    some = rows.take(kept)
    part = None if groups is None else np.asarray(groups)[kept]
    predictions = np.empty(len(rows))
    predictions[kept] = some.hold_out(estimator, cv=cv, groups=part, limit=limit)[:, 0]
    learned = kept
    if len(kept) > limit:
        learned = np.sort(np.random.default_rng(rows.seed).choice(kept, limit, replace=False))
    is_stack = is_named(estimator) and estimator == "auto"
    model = make_model("auto", rows.seed, is_classifier=False) if is_stack else None
    model = model or rows.make(estimator, rows.n_jobs)
    predictions[left_out] = rows.score(rows.fit_model(model, learned), left_out)[:, 0]
    return predictions


def _usual_sizes(
    rows: NumberedRows, predictions: FloatArray, mass: FloatArray
) -> FloatArray | None:
    """Return the size of errors that a forest expects of each row; None if it takes none."""
    plain = numbered(rows)
    if plain is None or len(rows) < 2 * ROWS_OF_WINDOW:
        return None
    floor = floor_of(rows.y, mass)
    size = np.abs(rows.y - predictions)
    size = np.minimum(size, FAR_ERROR * 2 * max(float(np.median(size)), floor))
    added = predictions[:, None]
    if is_sparse(plain):
        X: Any = sparse.hstack([plain, sparse.csr_array(added)]).tocsr()
    else:
        X = np.column_stack([np.asarray(plain, dtype=np.float64), added])
    forest = ExtraTreesRegressor(
        TREES_OF_SPREAD,
        min_samples_leaf=LEAF_OF_SPREAD,
        bootstrap=True,
        random_state=rows.seed,
        n_jobs=rows.n_jobs,
    )
    sizes = NumberedRows(X, size, rows.weight, seed=rows.seed, n_jobs=rows.n_jobs)
    local = sizes.hold_out(forest, limit=REFEREE_ROWS)[:, 0]
    return blend_spread(local, mass, floor)


def numbered(rows: NumberedRows) -> Any:
    """Return rows as numbers that trees take, or None if they cannot be."""
    if rows.has_numbers:
        return bound_numbers(rows.X)
    return number_columns(rows.X) if hasattr(rows.X, "columns") else None
