"""The result of an audit: the verdict, the suspects, and the model without them."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import confusion_matrix
from sklearn.pipeline import Pipeline

from sorr import __version__
from sorr._csv import to_csv
from sorr._typing import FloatArray
from sorr.auditing.columns import Column
from sorr.auditing.findings import Finding, find_all
from sorr.auditing.fit import Fitted
from sorr.auditing.rows import Rows
from sorr.auditing.suspects import (
    Ranking,
    Stratum,
    all_strata,
    rank_rows,
    reasons,
    suggestions,
    unevenness,
)
from sorr.auditing.variations import Variations, ignore_warnings
from sorr.share import Tier

if TYPE_CHECKING:
    from pandas import DataFrame

_MAX_SUSPECTS = 5  # in a summary


@dataclass(frozen=True)
class Planted:
    """How many labels are known to be wrong, how many of them were dropped, and how many in all."""

    wrong: int
    found: int
    dropped: int


@dataclass(frozen=True, eq=False)
class AuditReport:
    """The result of an audit: the verdict, the suspects, and the model without them.

    Attributes
    ----------
    fitted : Fitted
        The model, its rows, and the judgement of their labels.
    linear : Variations or None
        Further fits of a linear model: without dropping rows, with other numbers of dropped rows,
        and to halves of the rows.
    is_wrong : ndarray of bool or None
        Which labels are wrong, if that is known.

    Examples
    --------
    >>> from sorr.auditing import audit_example
    >>> report = audit_example()
    >>> report.planted
    Planted(wrong=30, found=30, dropped=30)
    >>> report.suspects.loc[0, ["given", "suggested"]].tolist()
    ['yes', 'no']
    """

    fitted: Fitted
    linear: Variations | None = field(repr=False)
    is_wrong: npt.NDArray[np.bool_] | None = field(default=None, repr=False)

    @property
    def model(self) -> Pipeline:
        """The model without the dropped rows. It predicts from raw rows."""
        return self.fitted.pipeline

    @property
    def rows(self) -> Rows:
        """The rows that were audited."""
        return self.fitted.rows

    @property
    def columns(self) -> DataFrame:
        """How each column was read: name, kind, reading, treatment, missing and example."""
        import pandas as pd

        names = ("name", "kind", "reading", "treatment", "missing", "example")
        columns: tuple[Column, ...] = self.rows.columns
        return pd.DataFrame({it: [getattr(column, it) for column in columns] for it in names})

    @cached_property
    def findings(self) -> list[Finding]:
        """What else is wrong with the table, the most severe first."""
        return find_all(self.fitted)

    @cached_property
    def unlabelled(self) -> DataFrame:
        """The rows without a label, with the label that the model suggests and its probability."""
        import pandas as pd

        rows = self.rows.unlabelled
        nothing = np.full(len(rows), None, dtype=object)
        suggested, probability = nothing, np.full(len(rows), np.nan)
        if len(rows):
            with ignore_warnings():  # categories that only these rows have count as rare
                suggested = self.model.predict(rows.frame)
                if self.fitted.classes:
                    probability = self.model.predict_proba(rows.frame).max(axis=1)
        return pd.DataFrame(
            {
                "row": rows.numbers,
                "line": nothing if rows.lines is None else rows.lines,
                "id": nothing if rows.ids is None else rows.ids,
                "suggested": suggested,
                "probability": probability,
            }
        )

    @property
    def n_dropped(self) -> int:
        """How many rows the model has not learned from."""
        return int(self.fitted.dropped.sum())

    @cached_property
    def ranking(self) -> Ranking:
        """How suspect each row is."""
        return rank_rows(self.fitted)

    @cached_property
    def order(self) -> npt.NDArray[np.intp]:
        """The rows that are dropped or worth a look, the most suspect first."""
        rows = np.flatnonzero(self.fitted.dropped | (self.ranking.tier > Tier.NOTHING))
        return rows[np.argsort(self.ranking.rank[rows])]

    @cached_property
    def suspects(self) -> DataFrame:
        """The rows that are dropped or worth a look, the most suspect first, with a reason each."""
        return self.describe(self.order)

    def describe(self, chosen: npt.NDArray[np.intp]) -> DataFrame:
        """Return what is known about some rows.

        Parameters
        ----------
        chosen : ndarray of int
            Their positions among the rows with a label.

        Returns
        -------
        DataFrame
            Columns: row (from 0), line (in the file), id, given, suggested, tier, probability
            (that the label or number is wrong), dropped, loss and dropped_share (of a linear
            model; the share of fits to halves of the rows), reason.
        """
        import pandas as pd

        rows, ranking, linear = self.rows, self.ranking, self.linear
        found = suggestions(self.fitted, chosen)
        nothing = np.full(len(chosen), None, dtype=object)
        columns = {
            "row": rows.numbers[chosen],
            "line": nothing if rows.lines is None else rows.lines[chosen],
            "id": nothing if rows.ids is None else rows.ids[chosen],
            "given": rows.y[chosen],
            "suggested": found.labels,
            "tier": ranking.tier[chosen],
            "probability": ranking.probability[chosen],
            "dropped": self.fitted.dropped[chosen],
            "loss": nothing if linear is None else self.fitted.losses[chosen],
            "dropped_share": nothing if linear is None else linear.resamples.dropped[chosen],
            "reason": reasons(self.fitted, chosen, found),
        }
        return pd.DataFrame(columns)

    @property
    def strata(self) -> Mapping[str, list[Stratum]]:
        """How many rows were dropped, by class and by group."""
        return all_strata(self.fitted)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What to look at before you use the model."""
        uneven = (unevenness(name, strata) for name, strata in self.strata.items())
        found = [text for text in uneven if text]
        plain, robust = self.errors
        if robust is None:
            return tuple(found)
        kept = len(self.rows) - self.n_dropped
        margin = (plain * (1 - plain) / kept) ** 0.5 if self.fitted.classes else 0.02 * plain
        if robust > plain + margin:
            found.append(
                "The robust fit is worse than the plain fit on held-out rows that are kept: the "
                "dropped rows were worth learning from. Perhaps there are too few rows for so many "
                "columns, or the linear model does not fit."
            )
        return tuple(found)

    @property
    def notes(self) -> tuple[str, ...]:
        """What else to know about the table and the fit."""
        return (*self.rows.notes, *self._ties(), *self.fitted.notes)

    def _ties(self) -> list[str]:
        """Return a note if kept rows have the same loss as dropped ones."""
        fitted = self.fitted
        if self.linear is None or not fitted.is_ranked:
            return []
        sweep = self.linear.sweep
        cuts = sweep.points[sweep.chosen].cuts[fitted.groups]
        equal = int(((fitted.losses == cuts) & ~fitted.dropped).sum())
        if not equal:
            return []
        return [
            f"{equal:,} kept rows have the same loss as some dropped rows. Of rows with equal "
            "losses, the first in the table are dropped."
        ]

    @property
    def headline(self) -> str:
        """The result in one line."""
        dropped, total = self.n_dropped, len(self.rows)
        judgement = self.fitted.judgement
        noun = judgement.noun
        if self.fitted.m != "auto":
            return f"{dropped:,} of {total:,} rows were dropped, as asked"
        flagged = int(judgement.flagged_.sum())
        if flagged:
            verb = "is" if flagged == 1 else "are"
            return f"{flagged:,} of {total:,} {noun}s {verb} probably wrong"
        if not judgement.can_judge:
            return f"The {noun}s cannot be judged"
        opening = f"No sign of {noun}s wrong at random"
        if judgement.has_evidence:
            opening = f"Some {noun}s are wrong, but no row stands out"
        elif judgement.models_[0][1] > 0 and len(judgement.models_) > 1:
            opening = "No verdict, because two models disagree"
        look = int((judgement.tier_ == Tier.WORTH_A_LOOK).sum())
        return f"{opening}; {look:,} row{'s' * (look != 1)} worth a look" if look else opening

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        text = self.fitted.judgement.sentence
        return text.replace(", and pass what you find as known.", ".")  # an audit takes no such

    @property
    def choice(self) -> str:
        """How the number of rows to drop was chosen, in words."""
        given = self.fitted.m
        if given == "auto":
            return self.sentence
        of = "of all rows" if self.fitted.is_pooled else "of each class"
        amount = f"{given:.4g} {of}" if isinstance(given, float) else f"{given} rows"
        return f"The number of rows to drop was given: {amount}. {self.sentence}".strip()

    @property
    def planted(self) -> Planted | None:
        """How many of the labels known to be wrong were found."""
        if self.is_wrong is None:
            return None
        found = int((self.is_wrong & self.fitted.dropped).sum())
        return Planted(int(self.is_wrong.sum()), found, self.n_dropped)

    @property
    def errors(self) -> tuple[float, float | None]:
        """The errors on held-out rows that the audit keeps: of models that learn from all rows.

        For a linear model, the second is that of models without the dropped rows.
        """
        if self.linear is not None:
            sweep = self.linear.sweep
            return sweep.points[0].kept_error, sweep.points[sweep.chosen].kept_error
        return float(self._misses[~self.fitted.dropped].mean()), None

    @property
    def errors_on_all(self) -> tuple[float, float | None]:
        """The same on all held-out rows, with the labels as given."""
        if self.linear is not None:
            sweep = self.linear.sweep
            return sweep.points[0].error, sweep.points[sweep.chosen].error
        return float(self._misses.mean()), None

    @property
    def _misses(self) -> FloatArray:
        """The error of the prediction of each row: zero or one, or how far off a number is."""
        predicted, given = self.fitted.prediction, self.rows.y
        return np.asarray(predicted != given if self.fitted.classes else np.abs(predicted - given))

    def confusion(self, model: Any = None) -> npt.NDArray[np.int64]:
        """Return a confusion matrix.

        Parameters
        ----------
        model : estimator, optional
            A model of prepared columns, whose predictions for the kept rows are counted. By
            default those for all rows are, by models that have not seen them.
        """
        given, predicted = self.rows.y, self.fitted.held_out
        if model is not None:
            kept = ~self.fitted.dropped
            given, predicted = given[kept], model.predict(self.fitted.X[kept])
        return np.asarray(confusion_matrix(given, predicted, labels=self.fitted.classes))

    def summary(self) -> dict[str, Any]:
        """Return the main figures, ready for JSON."""
        (plain, robust), (plain_on_all, robust_on_all) = self.errors, self.errors_on_all
        judgement, tiers = self.fitted.judgement, self.ranking.tier
        found: dict[str, Any] = {
            "sorr": __version__,
            "table": self.rows.name,
            "target": self.rows.roles.target,
            "task": self.rows.task,
            "rows": len(self.rows),
            "columns": len(self.rows.frame.columns),
            "model": self.fitted.name,
            "headline": self.headline,
            "verdict": judgement.verdict_,
            "evidence": _finite(judgement.evidence_),
            "sentence": self.sentence,
            "tiers": {str(int(tier)): int((tiers == tier).sum()) for tier in sorted(Tier)[:0:-1]},
            "suspects": self.n_dropped,
            "share": self.n_dropped / len(self.rows),
            "choice": self.choice,
            "held_out_error": {
                "plain": plain,
                "robust": robust,
                "plain_on_all": plain_on_all,
                "robust_on_all": robust_on_all,
            },
            "dropped": {
                name: [stratum._asdict() for stratum in strata]
                for name, strata in self.strata.items()
            },
            "most_suspect": _records(self.suspects.head(_MAX_SUSPECTS)),
            "columns_read": _records(self.columns),
            "findings": [self._found(finding) for finding in self.findings],
            "without_label": _records(self.unlabelled),
            "set_aside": [it._asdict() for it in self.rows.set_aside],
            "warnings": list(self.warnings),
            "notes": list(self.notes),
        }
        if self.linear is not None:
            shares = self.linear.resamples.shares
            found["share_over_resamples"] = [float(shares.min()), float(shares.max())]
            found["status"] = self.fitted.model.status_.name
        if (planted := self.planted) is not None:
            found["planted"] = {"wrong": planted.wrong, "found": planted.found}
        return found

    def _found(self, finding: Finding) -> dict[str, Any]:
        """Return a finding, ready for JSON: its rows by their numbers in the table."""
        return {
            "name": finding.name,
            "severity": finding.severity,
            "sentence": finding.sentence,
            "action": finding.action,
            "columns": list(finding.columns),
            "rows": self.rows.numbers[finding.rows].tolist(),
        }

    def suspects_csv(self) -> str:
        """Return the suspects of all tiers as CSV, safe to open in a spreadsheet."""
        return to_csv(list(self.suspects.columns), _cells(self.suspects))

    def to_html(self) -> str:
        """Return the report: one HTML page that needs no other file."""
        from sorr.auditing.page import page

        return page(self)

    def _repr_html_(self) -> str:
        document = html.escape(self.to_html(), quote=True)
        return (
            f'<iframe srcdoc="{document}" title="Audit" sandbox="allow-scripts" '
            'style="width:100%;height:800px;border:1px solid #8c959e;border-radius:6px"></iframe>'
        )


def _cells(frame: DataFrame) -> list[tuple[Any, ...]]:
    """Return the rows of a frame with Python numbers, and None for missing values."""
    tidy = frame.astype(object).where(frame.notna(), None)
    return [
        tuple(value.item() if isinstance(value, np.generic) else value for value in row)
        for row in tidy.itertuples(index=False, name=None)
    ]


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _records(frame: DataFrame) -> list[dict[str, Any]]:
    return [dict(zip(frame.columns, row, strict=True)) for row in _cells(frame)]
