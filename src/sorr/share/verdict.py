"""The verdict: how sure it is that labels or numbers are wrong, how many, and which to look at."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from sorr._csv import to_csv
from sorr._typing import BoolArray, FloatArray, IntArray
from sorr.share.constants import (
    ALMOST_SURE,
    BY_CHANCE,
    CLEAR,
    ENOUGH_REVIEWS,
    FEWEST_ROWS,
    PRIOR_REVIEWS,
    PROBABLE,
    RARE,
    SHARE_WITH_EVIDENCE,
    SHARE_WITHOUT_EVIDENCE,
    STRONG,
    TIE_BREAKER,
    WORTH_A_LOOK,
)
from sorr.share.posterior import Curve

if TYPE_CHECKING:
    from pandas import DataFrame


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


@dataclass(frozen=True, eq=False, kw_only=True)
class Verdict:
    """What a judgement says, of labels or of numbers: evidence, tiers, and what somebody checked.

    `Judgement` and `TargetJudgement` say what their attributes mean.
    """

    evidence_: float
    models_: tuple[tuple[str, float], ...]
    mass_: FloatArray = field(repr=False)
    log_odds_: FloatArray = field(repr=False)
    """Of a row that is wrong at random."""
    is_demanding: bool = field(default=False, repr=False)
    """Whether only clear evidence counts, because nothing could confirm a weak one."""
    # What follows from these, and from what somebody checked.
    wrong_: FloatArray = field(default_factory=lambda: np.empty(0), repr=False)
    score_: FloatArray = field(default_factory=lambda: np.empty(0), repr=False)
    look_share_: float = 0.0

    # -- What the kinds of judgements add

    @property
    def known_(self) -> BoolArray:
        """The rows that somebody has checked."""
        raise NotImplementedError

    @property
    def is_in_doubt(self) -> BoolArray:
        """The rows that are worth a look, whatever the evidence."""
        raise NotImplementedError

    @property
    def total_interval(self) -> tuple[float, float]:
        """The 95 % interval of the number of wrong rows."""
        raise NotImplementedError

    @property
    def total(self) -> float:
        """How many rows are wrong, at least."""
        raise NotImplementedError

    @property
    def noun(self) -> str:
        """What is judged, in a word."""
        raise NotImplementedError

    def _sentences(self) -> list[str]:
        raise NotImplementedError

    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return the columns of a table of all rows."""
        raise NotImplementedError

    # -- Evidence and tiers

    @cached_property
    def tier_(self) -> npt.NDArray[np.int8]:
        """The tier of each row."""
        tier = np.zeros(len(self.wrong_), dtype=np.int8)
        if self.can_judge:
            tier[self.is_in_doubt] = Tier.WORTH_A_LOOK
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
        """Whether there is evidence that something is wrong."""
        return self.evidence_ > 0

    @property
    def can_judge(self) -> bool:
        """Whether the model knows enough to judge."""
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
    def odds_at_random(self) -> FloatArray:
        """The odds that each row is wrong at random: without evidence, if any row is at all."""
        odds = np.exp(np.minimum(self.log_odds_, 700.0))
        if self.has_evidence:
            return odds
        wrong = expit(self.evidence_) * odds / (1 + odds)
        return np.asarray(wrong / (1 - wrong))

    @property
    def n_reviews(self) -> int:
        """How many known rows are not obviously wrong: they tell how many others are wrong."""
        return int(self.mass_[self.known_ & (self.odds_at_random <= 1)].sum())

    # -- In words

    @property
    def sentence(self) -> str:
        """The verdict in words: what it claims, and what it does not."""
        return " ".join(filter(None, self._sentences()))

    def _claim(self) -> list[str]:
        whole, at_least = float(self.mass_.sum()), max(self.total, 1.0)
        low, high = (f"{end:,.0f}" for end in self.total_interval)
        range_text = f"; {low} to {high} if they are wrong at random" if low != high else ""
        if low == "0":
            range_text = f"; up to {high} if they are wrong at random"
        tiers = [(int((self.tier_ == tier).sum()), Tier(tier)) for tier in (3, 2)]
        parts = [
            f"{rows:,} {'is' if rows == 1 else 'are'} {tier.label}" for rows, tier in tiers if rows
        ]
        return [
            f"There is {self.verdict_} evidence of wrong {self.noun}s: at least about "
            f"{at_least:,.0f} of {whole:,.0f} ({as_percent(at_least / whole)}{range_text}).",
            f"Of the rows, {' and '.join(parts)}." if parts else "No single row stands out.",
        ]

    # -- Tables

    def to_frame(self) -> DataFrame:
        """Return a table of all rows, the most suspect first.

        Returns
        -------
        DataFrame
            Columns: row (from 0), given, suggested, tier, probability (that the row is wrong),
            more of the model, and score.
        """
        import pandas as pd

        return pd.DataFrame(self._columns()).iloc[self.order_].reset_index(drop=True)

    def to_csv(self) -> str:
        """Return the same as CSV, safe to open in a spreadsheet."""
        columns = self._columns()
        lists = [np.asarray(column)[self.order_].tolist() for column in columns.values()]
        return to_csv(list(columns), zip(*lists, strict=True))

    @cached_property
    def order_(self) -> IntArray:
        """The rows, the most suspect first: tiers 3 and 2, all others by score, known ones last."""
        tier = np.where(self.flagged_, self.tier_, Tier.NOTHING).astype(np.intp)
        return np.lexsort([-self.score_, -tier, self.known_])


class Reviewed(NamedTuple):
    """What follows from evidence and from what somebody checked."""

    wrong: FloatArray
    score: FloatArray
    look_share: float
    has_reviews: bool


def review(
    draft: Verdict, is_wrong: BoolArray, doubt: FloatArray, groups: IntArray | None = None
) -> Reviewed:
    r"""Return probabilities and scores, given which known rows are wrong and the doubt about all.

    From 20 known rows on, they tell how many others are wrong that are only in doubt. A row is
    right if neither chance makes it wrong, nor a look at it:

    .. math:: 1 - w_i = (1 - c_i) (1 - \rho_g d_i)

    with the odds at random of c, the doubt d, and a rate for each group of rows. The known rows
    say what the rates are: first that of all groups, and around it that of each.
    """
    known, mass = draft.known_, draft.mass_
    look_share = SHARE_WITH_EVIDENCE if draft.has_evidence else SHARE_WITHOUT_EVIDENCE
    odds, ranked = draft.odds_at_random, np.exp(np.minimum(draft.log_odds_, 700.0))
    asked = known & (odds <= 1) & (mass > 0)
    has_reviews = float(mass[asked].sum()) >= ENOUGH_REVIEWS
    if has_reviews:
        in_tier = mass * (asked & draft.is_in_doubt)
        by_chance = odds / (1 + odds)
        rate = _rate_of_look(look_share, asked, is_wrong, by_chance, doubt, mass)
        rates = np.full(len(doubt), rate)
        for group in np.unique(groups[asked]) if groups is not None else ():
            inside = groups == group
            rates[inside] = _rate_of_look(rate, asked & inside, is_wrong, by_chance, doubt, mass)
        look_share = (PRIOR_REVIEWS * look_share + float(in_tier[is_wrong].sum())) / (
            PRIOR_REVIEWS + float(in_tier.sum())
        )
        near = (odds <= 1) & (doubt >= doubt[asked].min())  # no further than somebody looked
        by_look = np.where(near, rates * doubt, 0.0)
        odds, ranked = ((each + by_look) / (1 - by_look) for each in (odds, ranked))
    wrong = odds / (1 + odds)
    wrong[known] = is_wrong[known]
    score = np.log1p(ranked) - np.log1p(-TIE_BREAKER * doubt)
    score[known] = np.where(is_wrong[known], np.inf, -np.inf)
    return Reviewed(wrong, score, float(look_share), has_reviews)


_RATES_OF_LOOK = (np.arange(90) + 0.5) / 90 * ALMOST_SURE  # no look makes a row more than that


def _rate_of_look(
    usual: float,
    asked: BoolArray,
    is_wrong: BoolArray,
    by_chance: FloatArray,
    doubt: FloatArray,
    mass: FloatArray,
) -> float:
    """Return the mean rate at which rows go wrong as far as they are in doubt.

    The usual rate counts for as many known rows as its prior does.
    """
    rows = np.flatnonzero(asked)
    right = (1 - by_chance[rows]) * (1 - _RATES_OF_LOOK[:, None] * doubt[rows])
    right = np.minimum(right, 1 - 1e-9)  # a row may be wrong that nobody could doubt
    value = np.where(is_wrong[rows], np.log1p(-right), np.log(right)) @ mass[rows]
    value += (PRIOR_REVIEWS * usual - 1) * np.log(_RATES_OF_LOOK)
    value += (PRIOR_REVIEWS * (1 - usual) - 1) * np.log1p(-_RATES_OF_LOOK)
    weight = np.exp(value - value.max())
    return float(weight @ _RATES_OF_LOOK / weight.sum())


@dataclass(frozen=True, eq=False, kw_only=True)
class Judgement(Verdict):
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
        than if none is, less that of 10. So there is evidence above zero, from ten to one on; it
        is minus infinity if the model cannot judge. Of two models it is the smaller one, where
        that of the model beside a forest counts from even odds on.
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
    suggested_: npt.NDArray[Any] = field(repr=False)
    suggested_probability_: FloatArray = field(repr=False)
    given_probability_: FloatArray = field(repr=False)
    rates_: FloatArray = field(repr=False)
    index_: IntArray = field(repr=False)
    """The position of each label among the classes."""
    right_: IntArray = field(repr=False)
    """The position of the right label of known rows; -1 for others."""
    spread_: FloatArray = field(repr=False)
    curve_: Curve | None = field(repr=False)
    # What `conclude` adds.
    count_: FloatArray = field(default_factory=lambda: np.empty(0))
    count_interval_: FloatArray = field(default_factory=lambda: np.empty((0, 2)))

    # -- What follows from these

    @property
    def known_(self) -> BoolArray:
        """The rows that somebody has checked."""
        return np.asarray(self.right_ >= 0)

    @property
    def labels_(self) -> npt.NDArray[Any]:
        """The labels as given."""
        return np.asarray(self.classes_[self.index_])

    @property
    def is_in_doubt(self) -> BoolArray:
        """The rows in which the model would bet 9 to 1 against the label."""
        return np.asarray(self.given_probability_ < WORTH_A_LOOK)

    @property
    def total(self) -> float:
        """How many labels are wrong, at least."""
        return float(self.count_.sum())

    @property
    def noun(self) -> str:
        """What is judged, in a word."""
        return "label"

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

    def _sentences(self) -> list[str]:
        if self.mass_.sum() < FEWEST_ROWS and not self.can_judge:
            return [
                f"There are {self.mass_.sum():g} rows, too few to judge labels; needed "
                f"{FEWEST_ROWS} or more."
            ]
        if not self.can_judge and len(np.unique(self.index_[self.mass_ > 0])) == 1:
            return ["All rows have the same label, so there is nothing to compare it with."]
        if not self.can_judge:
            return [
                "This model cannot judge the labels: it predicts them hardly better than the "
                "shares of the classes do. Judge them by a model that fits the data better."
            ]
        opening = self._claim() if self.has_evidence else self._silence()
        return [*opening, self._look(), self._rare()]

    def _silence(self) -> list[str]:
        if len(self.models_) > 1:
            (one, first), (other, _) = self.models_
            if first > 0:
                return [
                    f"No verdict: {one} sees wrong labels, but {other} does not, so that they may "
                    "be the fault of the model."
                ]
        if self.is_demanding:
            return ["No clear sign of labels wrong at random; a weak one does not count here."]
        return ["No sign of labels wrong at random."]

    def _look(self) -> str:
        rows = int((self.tier_ == Tier.WORTH_A_LOOK).sum())
        if not rows:
            return ""
        more = " more" if self.flagged_.any() else ""
        opening = (
            f"In {rows:,}{more} row{'s' * (rows > 1)} the model would bet 9 to 1 against the label"
        )
        if self.n_reviews >= ENOUGH_REVIEWS:
            return (
                f"{opening}; by the rows you checked, about {as_percent(self.look_share_)} of "
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
            f"Class {rare!s} is rare ({as_percent(share)}), and with rare classes some "
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
    def total_interval(self) -> tuple[float, float]:
        """The 95 % interval of the number of wrong labels of all classes."""
        return interval_of(
            float(self.count_.sum()), float(np.sqrt(self.spread_ @ self.spread_)), self.mass_.sum()
        )

    # -- Two models

    def confirm(self, second: Judgement, *, keep_odds: bool = False) -> Judgement:
        """Return the judgement that counts only evidence which a second model shares.

        The false alarms of different kinds of models have different causes: of boosting in rare
        classes, of lines where the line is wrong, of forests in small tables that overlap.

        Parameters
        ----------
        second : Judgement
            The judgement of the same labels from another kind of model.
        keep_odds : bool, default=False
            Whether the second model is asked for its evidence only: if it knows less of each row.

        Returns
        -------
        Judgement
            Its evidence is the smaller of both, and its log odds of a wrong label are the mean of
            both, or those of the first one.
        """
        if not np.array_equal(self.index_, second.index_):
            raise ValueError(
                "both judgements have to be of the same labels; needed the same rows in one order"
            )
        shared = replace(
            self,
            evidence_=min(self.evidence_, second.evidence_),
            models_=(*self.models_[:1], *second.models_[:1]),
        )
        if not keep_odds:
            both = np.array([self.log_odds_, second.log_odds_]).clip(-700, 700)
            shared = replace(
                shared,
                given_probability_=np.sqrt(self.given_probability_ * second.given_probability_),
                log_odds_=both.mean(axis=0),
            )
        return conclude(shared)

    def ask_for_even_odds(self) -> Judgement:
        """Return the judgement with more evidence, so that it counts from even odds on.

        For a model that only has to share the evidence of another: the same chance hardly misleads
        two kinds of models.
        """
        return conclude(replace(self, evidence_=self.evidence_ + BY_CHANCE))

    def ask_for_clear(self) -> Judgement:
        """Return the judgement with less evidence, so that only clear evidence counts."""
        evidence = self.evidence_ - CLEAR
        models = ((self.models_[0][0], evidence), *self.models_[1:])
        return conclude(replace(self, evidence_=evidence, models_=models, is_demanding=True))

    # -- Tables

    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "row": np.arange(len(self.wrong_)),
            "given": self.labels_,
            "suggested": self.suggested_,
            "tier": self.tier_,
            "probability": self.wrong_,
            "given_probability": self.given_probability_,
            "suggested_probability": self.suggested_probability_,
            "score": self.score_,
        }


def conclude(draft: Judgement) -> Judgement:
    """Return the judgement with all that follows from evidence, log odds and known rows."""
    index, mass, right = draft.index_, draft.mass_, draft.right_
    K = len(draft.classes_)
    is_wrong = draft.known_ & (right != index)
    found = review(draft, is_wrong, 1 - draft.given_probability_, index)
    counted = found.wrong if draft.has_evidence or found.has_reviews else is_wrong * 1.0
    count = np.bincount(index, mass * counted, K).astype(np.float64)
    size = np.bincount(index, mass, K)
    spread = draft.spread_ if draft.has_evidence else np.zeros(K)
    intervals = [
        interval_of(*each)
        for each in zip(count.tolist(), spread.tolist(), size.tolist(), strict=True)
    ]
    suggested = draft.suggested_.copy()
    suggested[is_wrong] = draft.classes_[right[is_wrong]]
    return replace(
        draft,
        wrong_=found.wrong,
        suggested_=suggested,
        count_=count,
        count_interval_=np.array(intervals),
        score_=found.score,
        look_share_=found.look_share,
    )


def droppable(dropped: BoolArray, index: IntArray) -> BoolArray:
    """Return the rows to drop without those of a class that would be left with fewer than two."""
    sizes = [
        np.bincount(index[part], minlength=int(index.max()) + 1) for part in (slice(None), ~dropped)
    ]
    return np.asarray(dropped & ~((sizes[0] > 0) & (sizes[1] < 2))[index])


def interval_of(count: float, spread: float, size: float) -> tuple[float, float]:
    """Return the 95 % interval of a count."""
    return max(count - 1.96 * spread, 0.0), min(count + 1.96 * spread, size)


def as_percent(share: float) -> str:
    """Return a share as text."""
    return f"{100 * share:.1f} %"
