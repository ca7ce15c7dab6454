"""An audit as one JSON object: all that the page shows, by names that are documented.

``document.schema.json`` beside this file describes it, in the form of jsonschema.org.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sorr import __version__
from sorr.auditing.table.values import spell

if TYPE_CHECKING:
    from pandas import DataFrame

    from sorr.auditing.report import AuditReport

VERSION = 1
"""Of the names and their meaning. It rises when one of them changes or goes."""
MOST_SUSPECTS = 1000  # as many as the page shows; suspects.csv has all


def document(report: AuditReport) -> dict[str, Any]:
    """Return an audit, ready for JSON: numbers are finite, and missing values are None."""
    judgement, rows, (plain, robust) = report.fitted.judgement, report.rows, report.errors
    plain_on_all, robust_on_all = report.errors_on_all
    gain = report.gain
    found: dict[str, Any] = {
        "version": VERSION,
        "sorr": __version__,
        "table": rows.name,
        "fingerprint": report.fingerprint,
        "target": rows.roles.target,
        "task": rows.task,
        "rows": len(rows),
        "columns": len(rows.frame.columns),
        "model": report.fitted.name,
        "judged_by": report.judged_by,
        "headline": report.headline,
        "meaning": report.meaning,
        "since": report.since,
        "verdict": report.verdict,
        "evidence": judgement.evidence_,
        "sentence": report.sentence,
        "choice": report.choice,
        "tiers": {str(tier): number for tier, number in report.tiers.items()},
        "expected_shares": {str(tier): share for tier, share in report.expected_shares.items()},
        "wrong": _counts(report),
        "dropped": report.n_dropped,
        "dropped_share": report.n_dropped / len(rows),
        "gain": None
        if gain is None
        else {
            "before": gain.before,
            "after": gain.after,
            "standard_error": gain.error,
            "is_better": gain.is_better,
        },
        "held_out_error": {
            "plain": plain,
            "robust": robust,
            "plain_on_all": plain_on_all,
            "robust_on_all": robust_on_all,
        },
        "n_suspects": len(report.order),
        "suspects": _suspects(report),
        "dropped_by": {
            name: [stratum._asdict() for stratum in strata]
            for name, strata in report.strata.items()
        },
        "columns_read": records(report.columns),
        "findings": [
            {
                "name": finding.name,
                "severity": finding.severity,
                "sentence": finding.sentence,
                "action": finding.action,
                "columns": list(finding.columns),
                "rows": rows.numbers[finding.rows].tolist(),
            }
            for finding in report.findings
        ],
        "without_label": records(report.unlabelled),
        "set_aside": [it._asdict() for it in rows.set_aside],
        "decided": _decided(report),
        "sweep": _sweep(report),
        "share_over_resamples": None,
        "warnings": list(report.warnings),
        "notes": list(report.notes),
        "planted": None,
    }
    if report.linear is not None:
        shares = report.linear.resamples.shares
        found["share_over_resamples"] = [float(shares.min()), float(shares.max())]
    if (planted := report.planted) is not None:
        found["planted"] = {"wrong": planted.wrong, "found": planted.found}
    tidy: dict[str, Any] = _plain(found)
    return tidy


def _counts(report: AuditReport) -> list[dict[str, Any]]:
    """Return how many rows look wrong, by label or in all; nothing without evidence."""
    judgement, fitted = report.fitted.judgement, report.fitted
    if not judgement.has_evidence:
        return []
    counts, ends = np.atleast_1d(judgement.count_), np.reshape(judgement.count_interval_, (-1, 2))
    sizes = np.bincount(fitted.class_of_row, minlength=len(counts))
    return [
        {"label": label, "rows": int(size), "at_least": float(count), "between": between.tolist()}
        for label, size, count, between in zip(
            fitted.classes or [None], sizes, counts, ends, strict=True
        )
    ]


def _suspects(report: AuditReport) -> list[dict[str, Any]]:
    """Return the most suspect rows: where they are, what is suggested, and why."""
    chosen = report.order[:MOST_SUSPECTS]
    numbers, frame = report.rows.numbers, report.describe(chosen)
    found = []
    for record, reason in zip(records(frame), report.explain(chosen), strict=True):
        values = [
            {
                "column": it.column,
                "value": it.value,
                "usual": it.usual,
                "common": it.common or None,
                "share": it.share,
            }
            for it in reason.named
        ]
        similar = [{"row": int(numbers[i]), "label": report.rows.y[i]} for i in reason.similar]
        found.append(record | {"values": values, "similar": similar})
    return found


def _decided(report: AuditReport) -> dict[str, int] | None:
    """Return how many rows somebody decided on in earlier rounds, by decision."""
    if report.decisions is None:
        return None
    words = [it.word for it in report.decisions.decided]
    return {word: words.count(word) for word in ("relabel", "keep", "remove", "unsure")}


def _sweep(report: AuditReport) -> list[dict[str, Any]] | None:
    """Return the errors of linear fits that drop more and more rows."""
    if report.linear is None:
        return None
    return [
        {
            "dropped": int(point.counts.sum()),
            "share": point.share,
            "error": point.error,
            "error_on_kept": point.kept_error,
        }
        for point in report.linear.sweep.points
    ]


def records(frame: DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame by the names of its columns."""
    return [dict(zip(frame.columns, row, strict=True)) for row in frame.itertuples(index=False)]


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: no NaN, no infinity, no type of NumPy or pandas."""
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    try:
        is_missing = bool(value != value)
    except TypeError:  # pandas.NA has no truth value
        is_missing = True
    return None if is_missing else spell(value)
