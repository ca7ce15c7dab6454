"""From an audit to a page: one file that loads nothing and runs only its own script."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

from sorr import __version__
from sorr.auditing.page.figures import FRAME, HEIGHT, panels, plane, stages, tendency
from sorr.auditing.page.sections import (
    chips,
    estimates,
    groups,
    held_out,
    learned,
    planted,
    repeats,
)
from sorr.auditing.page.tables import columns, findings, unlabelled
from sorr.auditing.page.words import count, percent, seen, short
from sorr.auditing.page.workbench import command, inert, shown_label, workbench
from sorr.auditing.report import AuditReport
from sorr.plots import CLASS_COLOURS, DROPPED, EASY, INK, KEPT

_MAX_SENTENCE = 600  # characters; column names may have any length
_MAX_PLAIN = 50  # suspects that are listed without a script

# The colours of the figures. They are lighter in dark mode, to stand out as much.
_LIGHT = {"dropped": DROPPED, "kept": KEPT, "easy": EASY, "ink": INK}
_DARK = {"dropped": "#f58a75", "kept": "#7ab8ea", "easy": "#98a1aa", "ink": "#e4e6e8"}
_DARK_CLASSES = ("#4da3dd", "#f0b429", "#3cc79a", "#e29bc1", "#8fd0f5", "#b4b4b4", "#d6c84a")


def page(report: AuditReport) -> str:
    """Return the report as one HTML page that needs no network and no server.

    The same audit gives the same bytes. Content of the table is always text, never HTML.
    """
    style, script = _style(), _asset("report.js")
    template = _environment().get_template("report.html.j2")
    return str(template.render(_views(report) | _parts(style, script)))


def _views(report: AuditReport) -> dict[str, Any]:
    cloud, linear = plane(report), _linear_views(report)
    bench = workbench(report, cloud.dots)
    rows, judgement = report.rows, report.fitted.judgement
    plain = [
        (bench.rows[card.at], shown_label(bench.rows[card.at].given, bench.labels), card)
        for card in bench.cards[:_MAX_PLAIN]
    ]
    is_short = not judgement.has_evidence and not report.n_dropped and report.linear is None
    return linear | {
        "name": short(rows.name, 80),
        "target": short(rows.roles.target, 60),
        "version": __version__,
        "is_regression": not report.fitted.classes,
        "is_short": is_short,
        "noun": judgement.noun,
        "n_rows": count(len(rows)),
        "n_columns": count(len(rows.frame.columns)),
        "judged_by": short(report.judged_by, 120),
        "headline": short(report.headline, _MAX_SENTENCE),
        "meaning": short(report.meaning, _MAX_SENTENCE),
        "since": short(report.since, _MAX_SENTENCE) if report.since else "",
        "chips": chips(report),
        "out": report.n_dropped,
        "share": percent(report.n_dropped / len(rows)),
        "is_saved": report.fitted.judge.is_named,
        "is_linear": report.fitted.is_linear,
        "is_ranked": report.fitted.is_ranked,
        "held_out": held_out(report),
        "planted": planted(report),
        "warnings": [short(it, _MAX_SENTENCE) for it in report.warnings],
        "notes": [short(it, _MAX_SENTENCE) for it in report.notes],
        "findings": findings(report),
        "columns": columns(report),
        "unlabelled": unlabelled(report),
        "learned": learned(report),
        "plane": cloud,
        "frame": (FRAME, HEIGHT),
        "choice": short(report.choice, 2 * _MAX_SENTENCE),
        "verdict": judgement.verdict_,
        "estimates": estimates(report),
        "groups": groups(report),
        "bench": bench,
        "plain": plain,
        "shown_label": lambda it: shown_label(it, bench.labels),
        "command": command(report, bool(bench.original)),
    }


def _linear_views(report: AuditReport) -> dict[str, Any]:
    """Return what the page shows of a linear model only: losses, the slider, and repetitions."""
    if (linear := report.linear) is None:
        return {"panels": [], "chosen": 0, "stages": [], "moves": "", "repeats": ""}
    sweep, is_share = linear.sweep, bool(report.fitted.classes)
    drawn, undrawn = panels(report, sweep)
    course, told = tendency(sweep, is_share), stages(sweep, is_share)
    moves = {
        "chosen": sweep.chosen,
        "stages": [
            {**stage._asdict(), "mark": course.marks[i], "cuts": [it.cuts[i] for it in drawn]}
            for i, stage in enumerate(told)
        ],
    }
    return {
        "panels": drawn,
        "undrawn": undrawn,
        "tendency": course,
        "stages": told,
        "chosen": sweep.chosen,
        "repeats": repeats(report, linear),
        "moves": inert(moves),
    }


def _parts(style: str, script: str) -> dict[str, str]:
    """Return the parts of the page that do not depend on the audit."""
    return {
        "policy": (
            f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; "
            "img-src data:; base-uri 'none'; form-action 'none'"
        ),
        "style": style,
        "script": script,
    }


def _digest(text: str) -> str:
    """Return the name of an allowed script or style in a security policy."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _style() -> str:
    light = _LIGHT | {f"class-{i}": it for i, it in enumerate(CLASS_COLOURS)}
    dark = _DARK | {f"class-{i}": it for i, it in enumerate(_DARK_CLASSES)}
    first, second = (
        ":root{" + "".join(f"--{name}:{value};" for name, value in it.items()) + "}"
        for it in (light, dark)
    )
    on_screen = "@media screen and (prefers-color-scheme:dark)"
    return f"{first}{on_screen}{{{second}}}\n{_asset('report.css')}"


def _asset(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _environment() -> Any:
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError as error:
        raise ImportError(
            'the report needs Jinja2, which is not installed: pip install "sorr[audit]"'
        ) from error

    def spell_out(value: Any) -> Any:
        """Spell out invisible characters, except in the text of the template itself."""
        return seen(value) if isinstance(value, str) and not hasattr(value, "__html__") else value

    return Environment(
        loader=FunctionLoader(_asset),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=spell_out,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
