"""The result of an audit: the suspects, the model without them, and how stable both are."""

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

from sorr import __version__
from sorr._csv import to_csv
from sorr.auditing.findings import Judgement, Stratum, all_strata, reasons, suggestions, unevenness
from sorr.auditing.fit import Fitted
from sorr.auditing.rows import Rows
from sorr.auditing.variations import Resamples, Sweep

if TYPE_CHECKING:
    from pandas import DataFrame

_MAX_SUSPECTS = 5  # in a summary


@dataclass(frozen=True)
class Planted:
    """How many labels are known to be wrong, and how many of them were found."""

    wrong: int
    found: int
    suspects: int


@dataclass(frozen=True, eq=False)
class AuditReport:
    """The result of an audit: the suspects, the model without them, and how stable both are.

    Attributes
    ----------
    fitted : Fitted
        The model and its rows.
    plain : estimator
        The same fit without dropping rows.
    judgement : Judgement
        How suspect each row is.
    sweep : Sweep
        Fits with other numbers of dropped rows.
    resamples : Resamples
        Fits to halves of the rows.
    is_wrong : ndarray of bool or None
        Which labels are wrong, if that is known.

    Examples
    --------
    >>> from sorr.auditing import audit_example
    >>> report = audit_example()
    >>> report.planted
    Planted(wrong=30, found=27, suspects=27)
    >>> report.suspects.loc[0, ["given", "suggested"]].tolist()
    ['yes', 'no']
    """

    fitted: Fitted
    plain: Any = field(repr=False)
    judgement: Judgement = field(repr=False)
    sweep: Sweep = field(repr=False)
    resamples: Resamples = field(repr=False)
    is_wrong: npt.NDArray[np.bool_] | None = field(default=None, repr=False)

    @property
    def model(self) -> Pipeline:
        """The robust model. It predicts from raw rows."""
        return self.fitted.pipeline

    @property
    def rows(self) -> Rows:
        """The rows that were audited."""
        return self.fitted.rows

    @cached_property
    def order(self) -> npt.NDArray[np.intp]:
        """The dropped rows, the most suspect first."""
        rows = np.flatnonzero(self.fitted.dropped)
        return rows[np.argsort(self.judgement.rank[rows])]

    @cached_property
    def suspects(self) -> DataFrame:
        """The dropped rows, the most suspect first, each with a reason."""
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
            Columns: row (from 0), line (in the file), id, given, suggested, loss, rank,
            flip_posterior, dropped_share (in fits to halves of the rows), reason.
        """
        import pandas as pd

        rows, judgement = self.rows, self.judgement
        found = suggestions(self.fitted, judgement, chosen)
        nothing = np.full(len(chosen), None, dtype=object)
        columns = {
            "row": rows.numbers[chosen],
            "line": nothing if rows.lines is None else rows.lines[chosen],
            "id": nothing if rows.ids is None else rows.ids[chosen],
            "given": rows.y[chosen],
            "suggested": found.labels,
            "loss": self.fitted.model.losses_[chosen],
            "rank": judgement.rank[chosen],
            "flip_posterior": judgement.posterior[chosen],
            "dropped_share": self.resamples.dropped[chosen],
            "reason": reasons(self.fitted, chosen, found, judgement.far[chosen]),
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
        kept = len(self.rows) - len(self.order)
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
        filled = [
            f"{name}: {count:,} values are missing."
            for name, count in sorted(self.rows.missing.items(), key=lambda item: -item[1])
        ]
        if len(filled) > 6:
            filled = [*filled[:5], f"{len(filled) - 5} more columns have missing values."]
        return (*self.rows.notes, *filled, *self._ties(), *self.fitted.notes)

    def _ties(self) -> list[str]:
        """Return a note if kept rows have the same loss as dropped ones."""
        fitted, losses = self.fitted, self.fitted.model.losses_
        cuts = self.sweep.points[self.sweep.chosen].cuts[fitted.groups]
        equal = int(((losses == cuts) & ~fitted.dropped).sum())
        if not equal:
            return []
        return [
            f"{equal:,} kept rows have the same loss as some dropped rows. Of rows with equal "
            "losses, the first in the table are dropped."
        ]

    @property
    def choice(self) -> str:
        """How the number of rows to drop was chosen, in words."""
        given = self.fitted.m
        if given == "auto":
            return str(self.judgement.share.sentence)
        of = "of each class" if len(self.fitted.model.m_) > 1 else "of all rows"
        amount = f"{given:.4g} {of}" if isinstance(given, float) else f"{given} rows"
        return f"The number of rows to drop was given: {amount}."

    @property
    def planted(self) -> Planted | None:
        """How many of the labels known to be wrong were found."""
        if self.is_wrong is None:
            return None
        found = int((self.is_wrong & self.fitted.dropped).sum())
        return Planted(int(self.is_wrong.sum()), found, len(self.order))

    @property
    def errors(self) -> tuple[float, float]:
        """The errors of the plain and of the robust fit, on held-out rows that the audit keeps."""
        positions = self.sweep.points
        return positions[0].kept_error, positions[self.sweep.chosen].kept_error

    def confusion(self, model: Any) -> npt.NDArray[np.int64]:
        """Return the confusion matrix of a model on the kept rows.

        Parameters
        ----------
        model : estimator
            `plain`, or the last step of `model`.
        """
        kept = ~self.fitted.dropped
        predicted = model.predict(self.fitted.X[kept])
        return np.asarray(
            confusion_matrix(self.rows.y[kept], predicted, labels=self.fitted.classes)
        )

    def summary(self) -> dict[str, Any]:
        """Return the main figures, ready for JSON."""
        plain, robust = self.errors
        shares = self.resamples.shares
        found: dict[str, Any] = {
            "sorr": __version__,
            "table": self.rows.name,
            "target": self.rows.roles.target,
            "task": self.rows.task,
            "rows": len(self.rows),
            "columns": len(self.rows.frame.columns),
            "suspects": len(self.order),
            "share": len(self.order) / len(self.rows),
            "share_over_resamples": [float(shares.min()), float(shares.max())],
            "choice": self.choice,
            "held_out_error": {
                "plain": plain,
                "robust": robust,
                "plain_on_all": self.sweep.points[0].error,
                "robust_on_all": self.sweep.points[self.sweep.chosen].error,
            },
            "status": self.fitted.model.status_.name,
            "dropped": {
                name: [stratum._asdict() for stratum in strata]
                for name, strata in self.strata.items()
            },
            "most_suspect": _records(self.suspects.head(_MAX_SUSPECTS)),
            "warnings": list(self.warnings),
            "notes": list(self.notes),
        }
        if (planted := self.planted) is not None:
            found["planted"] = {"wrong": planted.wrong, "found": planted.found}
        return found

    def suspects_csv(self) -> str:
        """Return the suspects as CSV, safe to open in a spreadsheet."""
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


def _records(frame: DataFrame) -> list[dict[str, Any]]:
    return [dict(zip(frame.columns, row, strict=True)) for row in _cells(frame)]
