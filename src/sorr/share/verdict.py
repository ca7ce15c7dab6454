"""The verdict on labels: how sure it is that some are wrong, how many, and which to look at."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from sorr._checks import as_classes, as_masses, as_vector, class_index
from sorr._csv import to_csv
from sorr._typing import BoolArray, FloatArray, IntArray
from sorr.share.constants import (
    ALMOST_SURE,
    CLEAR,
    ENOUGH_REVIEWS,
    FEWEST_ROWS,
    LARGEST_FILL,
    LEAST_KNOWLEDGE,
    PRIOR_REVIEWS,
    PROBABLE,
    RARE,
    SHARE_WITH_EVIDENCE,
    SHARE_WITHOUT_EVIDENCE,
    SMALLEST,
    STRONG,
    TIE_BREAKER,
    TOO_GOOD,
    WORTH_A_LOOK,
)
from sorr.share.posterior import Curve, posterior

if TYPE_CHECKING:
    from pandas import DataFrame

_TOLERANCE = 1e-3  # of the sum of the probabilities of a row


class Tier(IntEnum):
    """How suspect a row is. *Flagged* are rows of the tiers 2 and 3, which need evidence."""

    NOTHING = 0
    WORTH_A_LOOK = 1
    PROBABLY_WRONG = 2
    ALMOST_SURELY_WRONG = 3

    @property
    def label(self) -> str:
        """The tier in words."""
        return _TIERS[self]


_TIERS = {
    Tier.NOTHING: "nothing to see",
    Tier.WORTH_A_LOOK: "worth a look",
    Tier.PROBABLY_WRONG: "probably wrong",
    Tier.ALMOST_SURELY_WRONG: "almost surely wrong",
}


@dataclass(frozen=True, eq=False)
class Judgement:
    """What held-out probabilities say about the labels.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    wrong_ : ndarray of shape (n_samples,)
        The probability that each label is wrong: 0 or 1 for known rows.
    suggested_ : ndarray of shape (n_samples,)
        The most likely other label of each row; of known rows the right one.
    suggested_probability_ : ndarray of shape (n_samples,)
        The probability of that label, by the model.
    given_probability_ : ndarray of shape (n_samples,)
        The probability of the given label, by the model. Both are calibrated.
    rates_ : ndarray of shape (n_classes, n_classes)
        The share of each true class (rows) that gets each label (columns), on average over all
        explanations of the labels.
    count_ : ndarray of shape (n_classes,)
        How many rows with each label are wrong, at least. Zero without evidence.
    count_interval_ : ndarray of shape (n_classes, 2)
        The 95 % interval of `count_`, if labels go wrong at random.
    share_, share_interval_ : ndarray of shape (n_classes,) and (n_classes, 2)
        The same as a share of the rows with each label.
    evidence_ : float
        The logarithm of how much better the labels are explained if some are wrong at random
        than if none is. Above zero there is evidence; minus infinity if the model cannot judge.
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
    models_ : tuple of (str, float)
        The models whose evidence counts, and the evidence of each.
    """

    classes_: npt.NDArray[Any]
    wrong_: FloatArray = field(repr=False)
    suggested_: npt.NDArray[Any] = field(repr=False)
    suggested_probability_: FloatArray = field(repr=False)
    given_probability_: FloatArray = field(repr=False)
    rates_: FloatArray = field(repr=False)
    count_: FloatArray
    count_interval_: FloatArray
    evidence_: float
    score_: FloatArray = field(repr=False)
    known_: BoolArray = field(repr=False)
    look_share_: float
    models_: tuple[tuple[str, float], ...]
    index_: IntArray = field(repr=False)
    mass_: FloatArray = field(repr=False)
    log_odds_: FloatArray = field(repr=False)
    spread_: FloatArray = field(repr=False)
    right_: IntArray = field(repr=False)
    curve_: Curve | None = field(repr=False)
    is_demanding: bool = field(default=False, repr=False)
    """Whether more evidence was asked for, because a class is rare."""

    # -- What follows from these

    @property
    def labels_(self) -> npt.NDArray[Any]:
        """The labels as given."""
        return np.asarray(self.classes_[self.index_])

    @cached_property
    def tier_(self) -> npt.NDArray[np.int8]:
        """The tier of each row."""
        tier = np.zeros(len(self.wrong_), dtype=np.int8)
        if self.can_judge:
            tier[self.given_probability_ < WORTH_A_LOOK] = Tier.WORTH_A_LOOK
        if self.has_evidence:
            tier[self.wrong_ > PROBABLE] = Tier.PROBABLY_WRONG
            tier[self.wrong_ > ALMOST_SURE] = Tier.ALMOST_SURELY_WRONG
        tier[self.known_] = Tier.NOTHING
        return tier

    @property
    def flagged_(self) -> BoolArray:
        """The rows of the tiers 2 and 3."""
        return np.asarray(self.tier_ >= Tier.PROBABLY_WRONG)

    @property
    def has_evidence(self) -> bool:
        """Whether there is evidence that labels are wrong."""
        return self.evidence_ > 0

    @property
    def can_judge(self) -> bool:
        """Whether the model knows enough to judge labels."""
        return self.evidence_ > -np.inf

    @property
    def verdict_(self) -> str:
        """The evidence in a word."""
        if not self.has_evidence:
            return "none"
        return (
            "strong" if self.evidence_ > STRONG else "clear" if self.evidence_ > CLEAR else "weak"
        )

    @property
    def share_(self) -> FloatArray:
        """`count_` as a share of the rows with each label."""
        return np.asarray(self.count_ / self._label_mass)

    @property
    def share_interval_(self) -> FloatArray:
        """`count_interval_` as shares of the rows with each label."""
        return np.asarray(self.count_interval_ / self._label_mass[:, None])

    @property
    def _label_mass(self) -> FloatArray:
        return np.maximum(np.bincount(self.index_, self.mass_, len(self.classes_)), 1e-300)

    # -- In words

    @property
    def sentence(self) -> str:
        """The verdict in words: what it claims, and what it does not."""
        return " ".join(filter(None, self._sentences()))

    def _sentences(self) -> list[str]:
        if len(self.index_) < FEWEST_ROWS and not self.can_judge:
            return [
                f"There are {len(self.index_)} rows, too few to judge labels; needed "
                f"{FEWEST_ROWS} or more."
            ]
        if not self.can_judge:
            return [
                "This model cannot judge the labels: it predicts them hardly better than the "
                "shares of the classes do. Judge them by a model that fits the data better."
            ]
        opening = self._claim() if self.has_evidence else self._silence()
        return [*opening, self._look(), self._rare()]

    def _claim(self) -> list[str]:
        count, whole = float(self.count_.sum()), float(self.mass_.sum())
        low, high = self.total_interval
        tiers = [int((self.tier_ == tier).sum()) for tier in (3, 2)]
        parts = [
            f"{_whole(number)} {'is' if number == 1 else 'are'} {tier.label}"
            for number, tier in zip(tiers, (Tier(3), Tier(2)), strict=True)
            if number
        ]
        at_least = max(count, 1.0)
        return [
            f"There is {self.verdict_} evidence of wrong labels: at least {_whole(at_least)} of "
            f"{_whole(whole)} ({_percent(at_least / whole)}; {_whole(low)} to {_whole(high)} if "
            "they are wrong at random).",
            f"Of the rows, {' and '.join(parts)}." if parts else "No single row stands out.",
        ]

    def _silence(self) -> list[str]:
        if len(self.models_) > 1:
            (one, first), (other, _) = self.models_
            if first > 0:
                return [
                    f"No verdict: {one} sees wrong labels, but {other} does not, so that they may "
                    "be the fault of the model."
                ]
        return ["No sign of labels wrong at random."]

    def _look(self) -> str:
        rows = int((self.tier_ == Tier.WORTH_A_LOOK).sum())
        if not rows:
            return ""
        more = " more" if self.flagged_.any() else ""
        opening = (
            f"In {_whole(rows)}{more} row{'s' * (rows > 1)} the model would bet 9 to 1 against the "
            "label"
        )
        if self.n_reviews >= ENOUGH_REVIEWS:
            return (
                f"{opening}; by the rows you checked, about {_percent(self.look_share_)} of "
                "such rows are wrong."
            )
        usual = "3 in 5 to 4 in 5" if self.has_evidence else "1 in 5 to 1 in 3"
        return (
            f"{opening}; in two data sets that people checked, {usual} of such rows were wrong. "
            f"Check {min(rows, ENOUGH_REVIEWS)} of them, and pass what you find as known."
        )

    def _rare(self) -> str:
        if not self.has_evidence or len(self.models_) > 1 or self.is_demanding:
            return ""
        if (rare := self.rare_class) is None:
            return ""
        share = float((self._label_mass / self.mass_.sum()).min())
        return (
            f"Class {rare!s} is rare ({_percent(share)}), and with rare classes some "
            "models see wrong labels where there are none: judge the probabilities of a second "
            "kind of model too, such as a forest, and combine both by confirm."
        )

    @property
    def rare_class(self) -> Any:
        """The rarest class, if it has fewer than 5 % of the rows and half its part; else None."""
        shares = self._label_mass / self.mass_.sum()
        few = min(RARE, 0.5 / len(shares))
        return self.classes_[shares.argmin()] if shares.min() < few else None

    @property
    def n_reviews(self) -> int:
        """How many known rows are not obviously wrong: they tell how many others are wrong."""
        return int((self.known_ & (expit(self.log_odds_) <= PROBABLE)).sum())

    @property
    def total_interval(self) -> tuple[float, float]:
        """The 95 % interval of the number of wrong labels of all classes."""
        return _interval(
            float(self.count_.sum()), float(np.sqrt(self.spread_ @ self.spread_)), self.mass_.sum()
        )

    # -- Two models

    def confirm(self, second: Judgement, rows: IntArray | None = None) -> Judgement:
        """Return the judgement that counts only evidence which a second model shares.

        The false alarms of different kinds of models have different causes: of boosting in rare
        classes, of lines where the line is wrong, of forests in small tables that overlap.

        Parameters
        ----------
        second : Judgement
            The judgement of the same labels from another kind of model.
        rows : ndarray of int, optional
            The rows that the second one judges, if not all. Others keep their log odds.

        Returns
        -------
        Judgement
            Its evidence is the smaller of both, and its log odds of a wrong label are the mean of
            both. Where only one model has evidence, `wrong_` is the smaller of both.
        """
        chosen = slice(None) if rows is None else rows
        if not np.array_equal(self.index_[chosen], second.index_):
            raise ValueError(
                "both judgements have to be of the same labels; needed the same rows in one order"
            )
        both = np.array([self.log_odds_[chosen], second.log_odds_]).clip(-700, 700)
        is_shared = self.has_evidence and second.has_evidence
        log_odds, given = self.log_odds_.copy(), self.given_probability_.copy()
        log_odds[chosen] = both.mean(axis=0) if is_shared else both.min(axis=0)
        given[chosen] = np.sqrt(given[chosen] * second.given_probability_)
        return _conclude(
            replace(
                self,
                evidence_=min(self.evidence_, second.evidence_),
                given_probability_=given,
                models_=(*self.models_[:1], *second.models_[:1]),
                log_odds_=log_odds,
            )
        )

    def need_more_if_rare(self) -> Judgement:
        """Return the judgement with less evidence if a class is rare: it has to be clear then."""
        if self.rare_class is None or not self.can_judge:
            return self
        return _conclude(replace(self, evidence_=self.evidence_ - CLEAR, is_demanding=True))

    # -- Tables

    def to_frame(self) -> DataFrame:
        """Return a table of all rows, the most suspect first.

        Returns
        -------
        DataFrame
            Columns: row (from 0), given, suggested, tier, probability (that the label is wrong),
            given_probability and suggested_probability (by the model), score.
        """
        import pandas as pd

        columns, order = self._columns()
        return pd.DataFrame(columns).iloc[order].reset_index(drop=True)

    def to_csv(self) -> str:
        """Return the same as CSV, safe to open in a spreadsheet."""
        columns, order = self._columns()
        lists = [np.asarray(column)[order].tolist() for column in columns.values()]
        return to_csv(list(columns), zip(*lists, strict=True))

    def _columns(self) -> tuple[dict[str, npt.NDArray[Any]], IntArray]:
        columns = {
            "row": np.arange(len(self.wrong_)),
            "given": self.labels_,
            "suggested": self.suggested_,
            "tier": self.tier_,
            "probability": self.wrong_,
            "given_probability": self.given_probability_,
            "suggested_probability": self.suggested_probability_,
            "score": self.score_,
        }
        return columns, self.order_

    @cached_property
    def order_(self) -> IntArray:
        """The rows by tier and score, the most suspect first."""
        return np.lexsort([-self.score_, -self.tier_.astype(np.intp)])


# -- From probabilities to a judgement -------------------------------------------------------------


def judge_labels(
    probabilities: Any,
    y: npt.ArrayLike,
    *,
    classes: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    known: Mapping[int, Any] | npt.ArrayLike | None = None,
    scores: bool = False,
) -> Judgement:
    """Judge labels from held-out probabilities of any model.

    Parameters
    ----------
    probabilities : array-like or frame of shape (n_samples, n_classes)
        The probability of each class, by a model that has not seen the row: as
        `held_out_probabilities` or ``cross_val_predict(method="predict_proba")`` make them. The
        columns of a frame are matched by their names, if these are the classes.
    y : array-like of shape (n_samples,)
        Labels of any type.
    classes : array-like of shape (n_classes,), optional
        The label of each column. The default is the sorted labels.
    sample_weight : array-like of shape (n_samples,), optional
        The mass of each row: a row of weight two is two copies of it.
    known : mapping or array-like of shape (n_samples,), optional
        What somebody has checked: the right label by row number, or one entry for each row, with
        None or NaN where nobody looked. From 20 rows on, they tell how many rows are wrong that
        are only worth a look.
    scores : bool, default=False
        Whether decision values are given instead: one column for each class, or one for two
        classes.

    Returns
    -------
    Judgement

    Notes
    -----
    Wrong labels show where the model is certain and some labels contradict it all the same. Where
    classes overlap, or errors sit at the boundary, nothing in the probabilities tells them apart
    from right ones. So counts are lower limits, and no evidence does not mean that all labels are
    right.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=1000)
    >>> p = 1 / (1 + np.exp(-8 * x))
    >>> y = np.where(rng.random(1000) < p, "yes", "no")
    >>> y[:50] = np.where(y[:50] == "yes", "no", "yes")
    >>> judgement = judge_labels(np.column_stack([1 - p, p]), y)
    >>> judgement.verdict_, bool(judgement.flagged_[:50].mean() > 0.7)
    ('strong', True)
    """
    labels = as_vector("y", _as_array(y))
    names, columns = _named_columns(probabilities)
    values = _as_scores(columns) if scores else _as_probabilities(columns)
    known_classes, index = _match_classes(labels, classes, names, values.shape[1])
    if names is not None and classes is None:
        order = [names.index(name) for name in map(str, known_classes.tolist())]
        values = values[:, order]
    if len(values) != len(labels):
        raise ValueError(
            f"probabilities has {len(values):,} rows, y {len(labels):,}; needed one row for each "
            "label"
        )
    weight = as_masses(sample_weight, len(labels))
    if not scores:
        _warn_of_probabilities(values, index)
        values = as_log(values)
    return judge(values, index, known_classes, weight, known=known)


def judge(
    L: FloatArray,
    index: IntArray,
    classes: npt.NDArray[Any],
    weight: FloatArray | None = None,
    *,
    known: Any = None,
    model: str = "the model",
) -> Judgement:
    """Return the judgement from log probabilities that are checked already."""
    n, K = L.shape
    mass = np.ones(n) if weight is None else weight
    right = _as_right_labels(known, classes, n)
    post = posterior(L, index, mass) if mass.sum() >= FEWEST_ROWS else None
    cannot = post is None or post.knows < LEAST_KNOWLEDGE
    if post is None:
        calibrated = np.exp(L)
        rates, curve, spread = np.eye(K), None, np.zeros(K)
    else:
        calibrated, rates, curve, spread = post.calibrated, post.rates, post.curve, post.spread
    rows = np.arange(n)
    others = L.copy()
    others[rows, index] = -np.inf
    suggested = others.argmax(axis=1)
    evidence = -np.inf if cannot or post is None else post.evidence
    log_odds = np.full(n, -np.inf) if cannot or post is None else post.log_odds
    blank = np.empty(0)
    return _conclude(
        Judgement(
            classes_=classes,
            wrong_=blank,
            suggested_=classes[suggested],
            suggested_probability_=calibrated[rows, suggested],
            given_probability_=calibrated[rows, index],
            rates_=rates,
            count_=blank,
            count_interval_=blank,
            evidence_=evidence,
            score_=blank,
            known_=right >= 0,
            look_share_=0.0,
            models_=((model, evidence),),
            index_=index,
            mass_=mass,
            log_odds_=log_odds,
            spread_=spread,
            right_=right,
            curve_=curve,
        )
    )


def _conclude(draft: Judgement) -> Judgement:
    """Return the judgement with all that follows from evidence, log odds and known rows."""
    index, mass, right = draft.index_, draft.mass_, draft.right_
    K, log_odds = len(draft.classes_), draft.log_odds_
    known, doubt = right >= 0, 1 - draft.given_probability_
    is_wrong = known & (right != index)
    usual = SHARE_WITH_EVIDENCE if draft.has_evidence else SHARE_WITHOUT_EVIDENCE
    asked = known & (expit(log_odds) <= PROBABLE)
    reviewed = float(asked.sum())
    look_share, odds = usual, np.exp(np.minimum(log_odds, 700.0))
    if reviewed >= ENOUGH_REVIEWS:
        exposure = float(doubt[asked].sum())
        look_share = (PRIOR_REVIEWS * usual + float((asked & is_wrong).sum())) / (
            PRIOR_REVIEWS + exposure
        )
        look_share = min(look_share, ALMOST_SURE)
        below = odds < 1
        wrong_by_look = look_share * doubt
        odds = np.where(
            below, (odds + wrong_by_look) / (1 - wrong_by_look), odds
        )  # 1 - w = (1 - w_random) (1 - w_look)
    wrong = odds / (1 + odds)
    wrong[known] = is_wrong[known]
    score = np.log1p(odds) - np.log1p(-TIE_BREAKER * doubt)
    score[known] = np.where(is_wrong[known], np.inf, -np.inf)
    counted = wrong if draft.has_evidence or reviewed >= ENOUGH_REVIEWS else is_wrong * 1.0
    count = np.bincount(index, mass * counted, K)
    size = np.bincount(index, mass, K)
    spread = draft.spread_ if draft.has_evidence else np.zeros(K)
    intervals = [
        _interval(*each)
        for each in zip(count.tolist(), spread.tolist(), size.tolist(), strict=True)
    ]
    suggested = draft.suggested_.copy()
    suggested[is_wrong] = draft.classes_[right[is_wrong]]
    return replace(
        draft,
        wrong_=wrong,
        suggested_=suggested,
        count_=count,
        count_interval_=np.array(intervals),
        score_=score,
        look_share_=float(look_share),
    )


def droppable(dropped: BoolArray, index: IntArray) -> BoolArray:
    """Return the rows to drop without those of a class that would be left with fewer than two."""
    sizes = [
        np.bincount(index[part], minlength=int(index.max()) + 1) for part in (slice(None), ~dropped)
    ]
    return np.asarray(dropped & ~((sizes[0] > 0) & (sizes[1] < 2))[index])


def _interval(count: float, spread: float, size: float) -> tuple[float, float]:
    return max(count - 1.96 * spread, 0.0), min(count + 1.96 * spread, size)


def as_log(probabilities: FloatArray) -> FloatArray:
    """Return log probabilities; zeros become a number that rounding cannot tell from zero."""
    lowest = SMALLEST
    if (probabilities <= 0).any():
        lowest = min(0.5 * float(probabilities[probabilities > 0].min()), LARGEST_FILL)
    p = np.maximum(probabilities, lowest)
    return np.asarray(np.log(p / p.sum(axis=1, keepdims=True)))


# -- What is given ---------------------------------------------------------------------------------


def _as_array(y: Any) -> npt.NDArray[Any]:
    return np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)


def _named_columns(given: Any) -> tuple[list[str] | None, npt.NDArray[Any]]:
    """Return the names of columns, if there are any, and the columns."""
    names = None
    if hasattr(given, "columns"):
        names = [str(name) for name in given.columns]
        if names == [str(i) for i in range(len(names))]:
            names = None  # numbered, not named
    array = _as_array(given)
    try:
        array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"probabilities has entries of type {array.dtype}; needed numbers"
        ) from None
    if array.ndim not in (1, 2) or 0 in array.shape:
        raise ValueError(
            f"probabilities has shape {array.shape}; needed one row for each label and one column "
            "for each class"
        )
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array.reshape(len(array), -1)).all(axis=1))[0])
        raise ValueError(
            f"probabilities holds NaN or infinity, first in row {row}; needed a number for each "
            "row and class: leave out rows that were not scored, and their labels"
        )
    return names, array


def _as_scores(array: FloatArray) -> FloatArray:
    from sorr.share.held_out import as_log_probabilities

    return as_log_probabilities(array)


def _as_probabilities(array: FloatArray) -> FloatArray:
    if array.ndim == 1 or array.shape[1] == 1:
        raise ValueError(
            f"probabilities has shape {array.shape}; needed a column for each class: for two "
            "classes np.column_stack([1 - p, p]), or scores=True for decision values"
        )
    off = np.abs(array.sum(axis=1) - 1)
    if array.min() < 0 or off.max() > _TOLERANCE * array.shape[1]:
        row = int(off.argmax()) if array.min() >= 0 else int(array.min(axis=1).argmin())
        raise ValueError(
            f"probabilities of row {row} add up to {array[row].sum():.6g}, the smallest is "
            f"{array[row].min():.6g}; needed probabilities that add up to 1, or scores=True for "
            "decision values"
        )
    return array


def _match_classes(
    labels: npt.NDArray[Any], classes: Any, names: list[str] | None, n_columns: int
) -> tuple[npt.NDArray[Any], IntArray]:
    """Return the class of each column, and the column of each label."""
    if classes is None and names is not None:
        present = np.unique(labels)
        if set(map(str, present.tolist())) <= set(names):
            extra = [name for name in names if name not in set(map(str, present.tolist()))]
            found, index = as_classes("y", labels, None)
            if not extra:
                return found, index
            raise ValueError(
                f"probabilities has a column {extra[0]!r}, but no row has that label; pass "
                "classes, or leave the column out"
            )
    found, index = as_classes("y", labels, classes)
    if len(found) < 2:
        raise ValueError(
            f"y holds one class only, {found.tolist()[0]!r}; needed two classes or more"
        )
    if len(found) != n_columns:
        raise ValueError(
            f"probabilities has {n_columns} columns for {len(found)} classes; needed one for each "
            "class, or classes=... with the label of each column"
        )
    return found, index


def _as_right_labels(known: Any, classes: npt.NDArray[Any], n: int) -> IntArray:
    """Return the position of the right label of each row that is known, and -1 of others."""
    right = np.full(n, -1, dtype=np.intp)
    if known is None:
        return right
    if isinstance(known, Mapping):
        rows = list(known)
        if bad := [row for row in rows if not isinstance(row, Integral) or not 0 <= row < n]:
            raise ValueError(f"known names row {bad[0]!r}; needed row numbers from 0 to {n - 1}")
        labels = np.array([known[row] for row in rows], dtype=object)
    else:
        entries = np.asarray(_as_array(known), dtype=object)
        if entries.shape != (n,):
            raise ValueError(
                f"known has shape {entries.shape}; needed one entry for each of the {n} rows, "
                "missing where nobody looked, or a mapping from row number to right label"
            )
        rows = [i for i, entry in enumerate(entries.tolist()) if not _is_missing(entry)]
        labels = entries[rows]
    if len(rows):
        right[np.array(rows, dtype=np.intp)] = class_index(labels, classes, "known", "a class")
    return right


def _is_missing(entry: Any) -> bool:
    try:
        return entry is None or bool(entry != entry)
    except TypeError:  # pandas.NA has no truth value
        return True


def _warn_of_probabilities(probabilities: FloatArray, index: IntArray) -> None:
    """Warn where probabilities are rounded, or as good as only those of known rows can be."""
    if np.allclose(probabilities * 100, np.rint(probabilities * 100), rtol=0, atol=1e-7):
        warnings.warn(
            "The probabilities are rounded to two decimals or less, which hides wrong labels; "
            "needed three decimals or more.",
            stacklevel=3,
        )
    n = len(index)
    given = probabilities[np.arange(n), index]
    if n >= TOO_GOOD and bool((given >= probabilities.max(axis=1)).all()):
        warnings.warn(
            f"All {n:,} labels have the highest probability of their row. If the model was "
            "trained on these rows, its probabilities say nothing about wrong labels: use "
            "held_out_probabilities.",
            stacklevel=3,
        )


def _whole(number: float) -> str:
    return f"{number:,.0f}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
