"""What an audit found, in sentences: the verdict, what it means, and what has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sorr._typing import FloatArray
from sorr.share import Tier

if TYPE_CHECKING:
    from sorr.auditing.report import AuditReport

_SURE = 2.0  # standard errors from which on a difference of errors is called one


class Gain(NamedTuple):
    """Errors on kept rows that models have not seen, with the dropped rows and without them."""

    before: float
    after: float
    error: float
    """The standard error of the difference."""

    @property
    def is_better(self) -> bool:
        """Whether models without the dropped rows make fewer errors, and not by chance."""
        return self.before - self.after > _SURE * self.error

    @property
    def is_worse(self) -> bool:
        """Whether they make more errors, and not by chance."""
        return self.after - self.before > _SURE * self.error

    @classmethod
    def of(cls, before: FloatArray, after: FloatArray) -> Gain:
        """Return the gain from the errors of the same rows."""
        difference = before - after
        error = float(difference.std() / np.sqrt(max(len(difference), 1)))
        return cls(float(before.mean()), float(after.mean()), error)


def write_percent(share: float) -> str:
    """Return a share as people write it.

    Examples
    --------
    >>> write_percent(0.0294), write_percent(0.1), write_percent(0.0003)
    ('2.9 %', '10 %', '0.03 %')
    """
    text = f"{100 * share:.1f}" if share >= 0.001 or share == 0 else f"{100 * share:.1g}"
    return f"{text.removesuffix('.0')} %"


def count_noun(number: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> count_noun(1, "label"), count_noun(2000, "row")
    ('1 label', '2,000 rows')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


def headline(report: AuditReport) -> str:
    """Return the verdict in one line."""
    judgement, tiers = report.fitted.judgement, report.tiers
    noun = judgement.noun
    if report.fitted.m != "auto":
        opening = f"{count_noun(report.n_dropped, 'row')} dropped, as asked"
        if judgement.has_evidence:
            return f"{opening}; there is {judgement.verdict_} evidence of wrong {noun}s"
        return f"{opening}; no evidence of wrong {noun}s"
    parts = []
    if sure := tiers[Tier.ALMOST_SURELY_WRONG]:
        parts.append(f"{count_noun(sure, noun)} {_are(sure)} almost surely wrong")
    if probable := tiers[Tier.PROBABLY_WRONG]:
        named = f"{probable:,}" if parts else f"{count_noun(probable, noun)} {_are(probable)}"
        parts.append(f"{named} probably wrong" if not parts else f"{named} probably")
    if look := tiers[Tier.WORTH_A_LOOK]:
        named = f"{look:,}" if parts else count_noun(look, "row")
        parts.append(f"{named} {_are(look)} worth a look")
    if judgement.flagged_.any():
        if judgement.verdict_ == "weak":  # then a row is almost surely wrong if any is at all
            flagged = sure + probable
            verb = "looks" if flagged == 1 else "look"
            opening = f"{count_noun(flagged, noun)} {verb} wrong, on weak evidence"
            return f"{opening}; {parts[-1]}" if look else opening
        return ", ".join(parts)
    opening = _without_flags(report)
    return f"{opening}; {parts[0]}" if parts else opening


def _without_flags(report: AuditReport) -> str:
    """Return the verdict if no row is flagged."""
    judgement = report.fitted.judgement
    noun = judgement.noun
    if not judgement.can_judge:
        return f"The {noun}s cannot be judged"
    if judgement.has_evidence and report.rows.known.any():
        return f"No suspect {noun} is left"
    if judgement.has_evidence:
        return f"Some {noun}s are wrong, but no row stands out"
    if judgement.models_[0][1] > 0 and len(judgement.models_) > 1:
        return f"No verdict on the {noun}s, because two models disagree"
    return f"No evidence of wrong {noun}s"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def meaning(report: AuditReport) -> str:
    """Return what the verdict means: how strong the evidence is, and what the model gains."""
    judgement = report.fitted.judgement
    if not judgement.can_judge:
        return judgement.sentence
    opening = _silence(report)
    if judgement.has_evidence:
        whole = float(judgement.mass_.sum())
        total = max(judgement.total, 1.0)
        share = f"{total:,.0f} of {whole:,.0f} {judgement.noun}s"
        percent = write_percent(total / whole)
        opening = (
            f"There is {judgement.verdict_} evidence that at least about {share} are wrong "
            f"({percent})."
        )
        if done := int((report.rows.known & (report.rows.y != report.rows.given)).sum()):
            opening = (
                f"At least about {share} were wrong ({percent}); {done:,} of them {_are(done)} "
                "corrected now."
            )
    return " ".join(filter(None, [opening, gain_sentence(report)]))


def _silence(report: AuditReport) -> str:
    """Return what no evidence means. It never means that all labels are right."""
    judgement, look = report.fitted.judgement, report.tiers[Tier.WORTH_A_LOOK]
    noun = judgement.noun
    if len(judgement.models_) > 1 and judgement.models_[0][1] > 0:
        (one, _), (other, _) = judgement.models_
        return (
            f"{one[0].upper()}{one[1:]} sees wrong {noun}s, but {other} does not, so they may be "
            "the fault of the model."
        )
    if not look:
        return f"Nothing suggests that {noun}s are wrong at random."
    rows = count_noun(look, "row")
    if not report.fitted.classes:
        return f"Nothing suggests that {noun}s are wrong at random; {rows} fit badly."
    return (
        f"Nothing suggests that labels are wrong at random. In {rows} the model would bet 9 to 1 "
        "against the label; in two data sets that people checked, 1 in 5 to 1 in 3 of such rows "
        "were wrong."
    )


def gain_sentence(report: AuditReport) -> str:
    """Return what the model gains without the dropped rows. No gain is called no gain."""
    gain, is_share = report.gain, bool(report.fitted.classes)
    if gain is None:
        if not report.fitted.judge.has_model:
            return ""
        plain = report.errors[0]
        if is_share:
            return f"The model is wrong about {write_percent(plain)} of the rows it has not seen."
        return f"On rows it has not seen, the model is off by {plain:,.4g} on average."
    rows = "this row" if report.n_dropped == 1 else f"these {report.n_dropped:,} rows"
    before, after = (
        (write_percent(it) if is_share else f"{it:,.4g}") for it in (gain.before, gain.after)
    )
    if gain.is_better and is_share:
        return (
            f"Without {rows} the model makes {after} instead of {before} errors on kept rows it "
            "has not seen."
        )
    if gain.is_better:
        return (
            f"Without {rows} the model is off by {after} instead of {before} on average, on kept "
            "rows it has not seen."
        )
    verb = "makes the model worse" if gain.is_worse else "brings no measurable gain"
    what = "errors" if is_share else "off on average"
    return (
        f"Leaving {rows} out {verb}: {before} {what} with them, {after} without, on kept rows it "
        "has not seen."
    )


def since(report: AuditReport) -> str:
    """Return what has changed since the last round; nothing in a first round."""
    decisions = report.decisions
    if decisions is None:
        return ""
    words = [it.word for it in decisions.decided]
    verbs = {
        "relabel": "relabelled",
        "keep": "confirmed as right",
        "remove": "removed",
        "unsure": "left as unsure",
    }
    done = [
        f"{words.count(word):,} {verb}" for word, verb in verbs.items() if words.count(word) > 0
    ]
    made = f"You made {count_noun(len(words), 'decision')} so far"
    opening = f"{made}: {', '.join(done)}." if done else "There are no decisions yet."
    before = {row for row, tier in decisions.listed if tier != 0}
    decided = {it.row for it in decisions.decided if it.word != "unsure"}
    now = set(report.rows.numbers[report.order].tolist())
    if not before:
        return opening
    new, gone = len(now - before), len(before - now - decided)
    changes = [
        f"{count_noun(new, 'row')} {_are(new)} new among the suspects" if new else "",
        f"{count_noun(gone, 'row')} {_are(gone)} suspect no longer" if gone else "",
    ]
    told = " and ".join(filter(None, changes))
    if not told:
        told = "the other suspects are the same" if now - decided else "no other row is suspect"
    return f"{opening} Since then, {told}."
