import re

import pytest

pytest.importorskip("pandas", reason="tables are an extra")
pytest.importorskip("jinja2", reason="the page is an extra")

import numpy as np
import pandas as pd

from sorr.auditing import read_table, variations
from sorr.auditing.entry import audit_rows
from sorr.auditing.rows import Roles, labelled_rows
from tests.auditing.corpus import TABLES
from tests.slow import slow

MIXED = ("orders_of_the_issue", "a_customer_export", "a_hospital_register", "dates_by_numbers")
FIRST = ("orders_of_the_issue", "forty_rows", "prices_as_the_target", "names_and_cells_that_attack")
WIDE = "three_hundred_columns"
COLUMNS = [*(name for name in TABLES if name != WIDE), *slow(WIDE)]
REPORTS = [*FIRST, *slow(*(name for name in TABLES if name not in FIRST))]


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    """Return a function that writes and reads a table once, however many tests ask for it."""
    done = {}

    def read_rows(name):
        if name not in done:
            case = TABLES[name](tmp_path_factory.mktemp(name))
            done[name] = case, labelled_rows(read_table(case.path), Roles(case.target))
        return done[name]

    return read_rows


@pytest.fixture(scope="module")
def audited(read):
    """Return a function that audits a table once."""
    done = {}

    def audit(name):
        if name not in done:
            case, rows = read(name)
            with pytest.MonkeyPatch.context() as patch:
                for constant, small in (("_RESAMPLES", 2), ("_POINTS", 3), ("_FOLDS", 2)):
                    patch.setattr(variations, constant, small)
                model = "auto" if name in MIXED else "forest"  # half the time, and enough here
                done[name] = case, audit_rows(rows, model=model)
        return done[name]

    return audit


def read_columns(case, rows):
    """Return how each column was read, by the name that the case has for it."""
    assert len(rows.columns) == len(case.kinds)
    return dict(zip(case.kinds, rows.columns, strict=True))


@pytest.mark.parametrize("name", REPORTS)
def test_every_table_ends_in_a_report(audited, name):
    case, report = audited(name)
    page = report.to_html()
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert "<script>alert(1)</script>" not in page
    assert (report.rows.task == "regression") == (case.n_classes == 0)


@pytest.mark.parametrize("name", COLUMNS)
def test_every_column_is_what_a_person_would_have_said(read, name):
    case, rows = read(name)
    columns = read_columns(case, rows)
    expected = {name: "/".join(sorted(kinds)) for name, kinds in case.kinds.items()}
    said = {
        name: expected[name] if columns[name].kind in kinds else columns[name].kind
        for name, kinds in case.kinds.items()
    }
    assert said == expected


@pytest.mark.parametrize("name", COLUMNS)
def test_every_value_means_what_a_person_reads(read, name):
    case, rows = read(name)
    columns, frame = read_columns(case, rows), rows.frame
    differences = {}
    for key, values in case.values.items():
        column = columns[key]
        if column.name not in frame or column.kind not in ("number", "date"):
            continue  # the test of kinds has its say about these
        found = frame[column.name].reset_index(drop=True)
        kept = [value for row, value in values.items() if row not in case.ragged]
        meant = [kept[row] for row in rows.numbers]
        same = same_dates if column.kind == "date" else same_numbers
        is_same = same(found, meant)
        if key in case.percent and not is_same.all():
            is_same = same(found * 100, meant)
        for i in np.flatnonzero(~is_same)[:1]:
            differences[key] = meant[i], found.iloc[i]
    assert differences == {}


def same_numbers(found, meant):
    return np.isclose(found.astype(float), meant, rtol=1e-6, equal_nan=True)  # single precision


def same_dates(found, meant):
    expected = pd.Series([pd.NaT if isinstance(day, float) else day for day in meant])
    found = pd.to_datetime(found, utc=True).dt.tz_localize(None).reset_index(drop=True)
    return ((found == pd.to_datetime(expected)) | (found.isna() & expected.isna())).to_numpy()


@pytest.mark.parametrize("name", COLUMNS)
def test_what_is_missing_is_counted_and_an_example_is_shown(read, name):
    case, rows = read(name)
    for key, column in read_columns(case, rows).items():
        assert column.reading
        assert column.treatment
        assert column.example or column.kind == "unused"
        if key in case.values:
            empty = sum(value != value for value in case.values[key].values())
            assert (key, column.missing) == (key, empty)


def test_the_table_of_the_issue_gives_its_wrong_labels(audited):
    case, report = audited("orders_of_the_issue")
    flagged = set(np.flatnonzero(report.fitted.dropped).tolist())
    assert len(flagged & case.wrong) >= 22
    assert len(flagged - case.wrong) <= 8


def test_days_and_months_that_cannot_be_told_apart_are_named(read):
    case, rows = read("dates_by_numbers")
    columns = read_columns(case, rows)
    clear, doubtful = columns["day first"], columns["ambiguous"]
    assert doubtful.reading not in (clear.reading, columns["month first"].reading)


def test_a_costume_is_remembered(read):
    case, rows = read("percentages_and_units")
    columns = read_columns(case, rows)
    for key, costume in {"share": "%", "weight": "kg", "height": "cm", "speed": "km/h"}.items():
        assert re.search(re.escape(costume), columns[key].reading), columns[key].reading


@pytest.mark.parametrize("name", ["orders_of_the_issue", "labels_in_many_spellings"])
def test_spellings_of_a_label_are_one_class_and_are_named(audited, name):
    case, report = audited(name)
    assert len(report.fitted.classes) == 2  # the third class has three rows, and is not judged
    (finding,) = (it for it in report.findings if it.name.startswith("Spellings"))
    assert {int(row) for row in finding.rows} == case.spellings


def test_recodings_of_the_target_are_named(audited):
    case, report = audited("columns_that_give_the_target_away")
    recodings = [name for name, kinds in case.kinds.items() if kinds == {"unused"}]
    assert any(all(name in it.sentence for name in recodings) for it in report.findings)
