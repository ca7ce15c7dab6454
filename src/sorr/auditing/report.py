"""The result of an audit: the verdict, the suspects, and the model without them."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import confusion_matrix
from sklearn.pipeline import Pipeline

from sorr._typing import FloatArray
from sorr.auditing.columns import Column
from sorr.auditing.decisions import COLUMNS, Decisions, decisions_csv
from sorr.auditing.findings import Finding, find_all
from sorr.auditing.fit import Fitted
from sorr.auditing.reasons import Explainer, Reason
from sorr.auditing.rows import Rows
from sorr.auditing.sentences import Gain, headline, meaning, since
from sorr.auditing.suspects import (
    Ranking,
    Stratum,
    all_strata,
    rank_rows,
    suggestions,
    unevenness,
)
from sorr.auditing.table import Table
from sorr.auditing.variations import Variations, ignore_warnings
from sorr.share import Tier

if TYPE_CHECKING:
    from pandas import DataFrame


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
    decisions : Decisions or None
        What somebody decided in the last round, by the rows of this table.
    source : DataFrame or None
        The frame of pandas or polars that was audited, if it was one.

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
    decisions: Decisions | None = field(default=None, repr=False)
    source: Any = field(default=None, repr=False)

    @property
    def model(self) -> Pipeline | None:
        """The model without the dropped rows. It predicts from raw rows.

        None if the rows were judged by probabilities of a model that was trained elsewhere.
        """
        return self.fitted.pipeline if self.fitted.judge.has_model else None

    @property
    def table(self) -> Table:
        """The table that was audited."""
        return self.rows.table

    @property
    def fingerprint(self) -> str:
        """What decisions name the table by: its fingerprint and the position of the target."""
        position = list(self.table.frame.columns).index(self.rows.roles.target) + 1
        return f"{self.table.fingerprint}-{position}"

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
        model = self.model
        if len(rows) and model is not None:
            with ignore_warnings():  # categories that only these rows have count as rare
                suggested = model.predict(rows.frame)
                if self.fitted.classes and hasattr(model, "predict_proba"):
                    probability = model.predict_proba(rows.frame).max(axis=1)
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
        """The rows that are dropped or worth a look, the most suspect first, with a reason each.

        It is also a table of decisions: fill in its columns decision (relabel, keep, remove or
        unsure) and perhaps new_label, and give it to `apply`.
        """
        found = self.describe(self.order)
        unsure = () if self.decisions is None else self.decisions.decided
        words = {it.row: it.word for it in unsure if it.word == "unsure"}
        return found.assign(
            decision=[words.get(row, "") for row in found["row"].tolist()],
            new_label="",
            table=self.fingerprint,
        )

    @property
    def earlier(self) -> DataFrame:
        """What was decided in earlier rounds about rows that are no suspects now.

        The columns are those of decisions. It has no row in a first round.
        """
        import pandas as pd

        listed = set(self.rows.numbers[self.order].tolist())
        decided = () if self.decisions is None else self.decisions.decided
        rows = [it for it in decided if it.row not in listed]
        lines: dict[int, int] = {}
        if self.table.lines is not None:
            lines = dict(zip(self.table.rows.tolist(), self.table.lines.tolist(), strict=True))
        columns = {
            "row": [it.row for it in rows],
            "line": [lines.get(it.row) for it in rows],
            "id": [it.id for it in rows],
            "given": [it.given for it in rows],
            "decision": [it.word for it in rows],
            "new_label": [it.label for it in rows],
            "table": [self.fingerprint] * len(rows),
        }
        return pd.DataFrame(columns, dtype=object).reindex(columns=list(COLUMNS))

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
            "reason": [it.sentence for it in self.explain(chosen)],
        }
        return pd.DataFrame(columns)

    def explain(self, chosen: npt.NDArray[np.intp]) -> list[Reason]:
        """Return why some rows are suspect: in a sentence, by their values, and by similar rows.

        Parameters
        ----------
        chosen : ndarray of int
            Their positions among the rows with a label.

        Returns
        -------
        list of Reason
        """
        known = self._reasons
        new = np.array([it for it in chosen.tolist() if it not in known], dtype=np.intp)
        if len(new):
            known.update(zip(new.tolist(), self._explainer.explain(new), strict=True))
        return [known[it] for it in chosen.tolist()]

    @cached_property
    def _reasons(self) -> dict[int, Reason]:
        return {}

    @cached_property
    def _explainer(self) -> Explainer:
        return Explainer(self.fitted)

    @property
    def strata(self) -> Mapping[str, list[Stratum]]:
        """How many rows were dropped, by class and by group."""
        return all_strata(self.fitted)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What to look at before you use the model."""
        uneven = (unevenness(name, strata) for name, strata in self.strata.items())
        found = [text for text in uneven if text]
        if self.gain is not None and self.gain.is_worse:
            found.append(
                "Without the dropped rows, the model is worse on kept rows that it has not seen: "
                "they were worth learning from. Perhaps there are too few rows for so many "
                "columns, or the model does not fit."
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
        """The verdict in one line."""
        return headline(self)

    @property
    def meaning(self) -> str:
        """What the verdict means: how strong the evidence is, and what the model gains."""
        return meaning(self)

    @property
    def since(self) -> str:
        """What has changed since the last round, in words; nothing in a first round."""
        return since(self)

    @property
    def verdict(self) -> str:
        """The evidence in a word: none, weak, clear or strong."""
        return self.fitted.judgement.verdict_

    @property
    def judged_by(self) -> str:
        """What judged the rows, in words."""
        return self.fitted.judge.in_words

    @property
    def tiers(self) -> dict[int, int]:
        """The number of rows of each tier, from 3 (almost surely wrong) to 1 (worth a look)."""
        found = self.ranking.tier
        return {int(tier): int((found == tier).sum()) for tier in sorted(Tier)[:0:-1]}

    @property
    def expected_shares(self) -> dict[int, float]:
        """The share of the rows of each tier that is expected to be wrong."""
        judgement, tiers = self.fitted.judgement, self.ranking.tier
        found = {int(Tier.WORTH_A_LOOK): float(judgement.look_share_)}
        for tier in (Tier.PROBABLY_WRONG, Tier.ALMOST_SURELY_WRONG):
            inside = judgement.wrong_[tiers == tier]
            found[int(tier)] = float(inside.mean()) if len(inside) else float("nan")
        return found

    @property
    def sentence(self) -> str:
        """The verdict in words: what it claims, and what it does not."""
        text = self.fitted.judgement.sentence
        return text.replace(", and pass what you find as known.", ".")  # the page says how

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

    @cached_property
    def gain(self) -> Gain | None:
        """The errors on kept rows with the dropped rows and without; None if none is dropped."""
        if not self.n_dropped:
            return None
        if self.linear is not None:
            points = self.linear.sweep.points
            chosen = points[self.linear.sweep.chosen]
            return Gain(points[0].kept_error, chosen.kept_error, chosen.gain_error)
        if (without := self.fitted.without) is None:
            return None
        given = self.rows.y[without.rows]
        return Gain.of(self._misses[without.rows], self._errors_of(without.predicted, given))

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
        return self._errors_of(self.fitted.prediction, self.rows.y)

    def _errors_of(self, predicted: npt.NDArray[Any], given: npt.NDArray[Any]) -> FloatArray:
        wrong = predicted != given if self.fitted.classes else np.abs(predicted - given)
        return np.asarray(wrong, dtype=np.float64)

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

    def to_dict(self) -> dict[str, Any]:
        """Return all that the page shows, ready for JSON. `docs/audit.md` explains the names."""
        from sorr.auditing.document import document

        return document(self)

    def suspects_csv(self) -> str:
        """Return the suspects of all tiers as CSV, safe to open in a spreadsheet.

        It is a file of decisions: fill in the columns decision and new_label, and apply it.
        Decisions of earlier rounds stand behind the suspects.
        """
        import pandas as pd

        suspects = self.suspects[list(COLUMNS)].astype(object)
        return decisions_csv(pd.concat([suspects, self.earlier], ignore_index=True))

    def apply(self, decisions: Any) -> Any:
        """Return the audited table with decisions carried out.

        Parameters
        ----------
        decisions : str, path-like, DataFrame or Decisions
            A file of decisions, or a table with its columns: see `suspects_csv`.

        Returns
        -------
        DataFrame
            Of the kind that was audited: pandas or polars. Rows to remove are gone, and labels to
            change are changed.
        """
        from sorr.auditing.correction import apply_decisions

        given = self.table if self.source is None else self.source
        return apply_decisions(given, decisions, target=self.rows.roles.target)

    def to_html(self) -> str:
        """Return the report: one HTML page that needs no other file."""
        from sorr.auditing.page import page

        return page(self)

    def _repr_html_(self) -> str:
        document = html.escape(self.to_html(), quote=True)
        return (
            f'<iframe srcdoc="{document}" title="Audit" sandbox="allow-scripts allow-downloads" '
            'style="width:100%;height:800px;border:1px solid #8c959e;border-radius:6px"></iframe>'
        )
