import io
import math
from types import SimpleNamespace

import pytest

pytest.importorskip("rich", reason="the command line is an extra")
pytest.importorskip("pandas", reason="suspects are a frame")

import pandas as pd
from rich.console import Console

from sorr.cli.summary import print_summary

SUSPECT = {
    "row": 3,
    "line": 5,
    "id": "p003",
    "given": "yes",
    "suggested": "no",
    "loss": 2.5,
    "rank": 1,
    "flip_posterior": 0.98,
    "dropped_share": 0.85,
    "reason": "The model says no; against yes speak age = 3.",
}
SUMMARY = {
    "table": "people.csv",
    "target": "income",
    "task": "classification",
    "rows": 1200,
    "columns": 4,
    "suspects": 1,
    "share": 0.01,
    "share_over_resamples": [0.005, 0.02],
    "choice": "Labels go wrong alike. " + "It is long. " * 40,
    "held_out_error": {
        "plain": 0.123,
        "robust": 0.045,
        "plain_on_all": 0.2,
        "robust_on_all": 0.15,
    },
    "dropped": {"income": [{"name": "yes", "rows": 700, "dropped": 1}]},
    "warnings": [],
    "notes": [],
}


def shown(summary=(), suspects=(SUSPECT,), ids=("p003",), width=100, terminal=False):
    """Return what is printed of a report."""
    text = io.StringIO()
    report = SimpleNamespace(
        summary=lambda: SUMMARY | dict(summary),
        suspects=pd.DataFrame(list(suspects)),
        rows=SimpleNamespace(ids=ids),
    )
    console = Console(file=text, width=width, force_terminal=terminal, color_system=None)
    print_summary(report, console)
    return text.getvalue()


def test_it_says_what_was_read_what_is_suspect_and_how_sure_that_is():
    lines = shown().splitlines()
    assert lines[0] == "people.csv: 1,200 rows, 4 columns to learn income from (classification)."
    assert lines[1] == (
        "1 row is suspect and was left out: 1.0% of all, and 0.5% to 2.0% in fits to halves of "
        "them."
    )
    assert lines[3] == (
        "Error on held-out rows that were kept: 4.5%; of a plain fit: 12.3%. "
        "On all held-out rows, as labelled: 15.0% and 20.0%."
    )
    words = [line.split() for line in lines]
    assert ["yes", "700", "1", "0.1%"] in words
    assert ["row", "id", "given", "suggested", "wrong", "again", "reason"] in words
    assert ["3", "p003", "yes", "no", "98%", "85%", *SUSPECT["reason"].split()] in words


def test_of_a_long_reason_for_the_number_there_are_the_first_sentences():
    choice = shown().splitlines()[2]
    assert choice.startswith("Labels go wrong alike. It is long.")
    assert choice.endswith("long.")
    assert len(choice) <= 240
    long = "word " * 100
    assert shown({"choice": f"{long}end. More."}).splitlines()[2] == f"{long}end."


@pytest.mark.parametrize("width", [80, 120])
def test_it_fits_one_screen_however_much_there_is(width):
    dropped = {
        name: [{"name": f"{name}{i}", "rows": 10, "dropped": i % 5} for i in range(50)]
        for name in ("income", "job")
    }
    more = {
        "suspects": 500,
        "dropped": dropped,
        "notes": ["a note"] * 30,
        "warnings": ["look at them"],
        "planted": {"wrong": 30, "found": 27},
    }
    row = SUSPECT | {"reason": "because " * 100, "id": "i" * 1000}
    text = shown(more, [row] * 500, width=width)
    assert len(text.splitlines()) <= 46
    assert max(map(len, text.splitlines()[6:])) <= width
    assert text.count("iii…") == 10
    assert text.count("and 46 more") == 2
    assert "27 more notes are in the report." in text


def test_the_strata_that_lost_most_come_first():
    strata = [{"name": f"c{i}", "rows": 100, "dropped": i} for i in range(9)]
    text = shown({"dropped": {"income": strata}})
    assert [line.split()[0] for line in text.splitlines() if line.startswith(" c")] == [
        *("c8", "c7", "c6", "c5"),
    ]


def test_warnings_and_known_wrong_labels_are_told():
    text = shown({"warnings": ["9% of job pilot."], "planted": {"wrong": 30, "found": 27}})
    assert "Warning: 9% of job pilot." in text
    assert "30 labels were made wrong on purpose: 27 of them are among the suspects." in text


def test_numbers_are_told_as_numbers():
    row = SUSPECT | {"given": 12.3456789, "suggested": 3.0, "flip_posterior": math.nan}
    errors = {"plain": 1234.5678, "robust": 2.0, "plain_on_all": 9.0, "robust_on_all": 7.0}
    text = shown({"task": "regression", "held_out_error": errors, "dropped": {}}, [row], None)
    assert "Error on held-out rows that were kept: 2; of a plain fit: 1235." in text
    words = [line.split() for line in text.splitlines()]
    assert ["row", "given", "suggested", "again", "reason"] in words
    assert ["3", "12.3457", "3", "85%", *SUSPECT["reason"].split()] in words


def test_nothing_suspect_needs_no_table():
    text = shown({"suspects": 0, "share": 0.0}, [])
    assert "0 rows are suspect" in text
    assert "reason" not in text


@pytest.mark.parametrize("terminal", [False, True])
def test_cells_are_text_and_neither_markup_nor_orders_to_the_terminal(terminal):
    row = SUSPECT | {"given": "[bold]x[/]", "id": "\x1b[31mred", "reason": "[/nope]\r\n\x07a"}
    text = shown({"table": "[red]\x1b]0;t\x07.csv"}, [row], terminal=terminal)
    assert "[bold]x[/]" in text
    assert "[/nope]" in text
    assert "\x1b]0" not in text
    assert "\x1b[31m" not in text
    assert "\x07" not in text


def test_no_probability_is_told_as_certain():
    assert ">99%" in shown({}, [SUSPECT | {"flip_posterior": 0.9999}]).split()
