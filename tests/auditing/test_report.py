import csv
import io
import json
from dataclasses import replace

import pytest

pytest.importorskip("pandas", reason="tables are an extra")

import numpy as np
import pandas as pd

from sorr.auditing import audit_example, audit_table
from sorr.auditing.entry import example
from tests.auditing.hostile import quickly
from tests.auditing.tables import line, mixed, table, three_classes

COLUMNS = [
    "row",
    "line",
    "id",
    "given",
    "suggested",
    "loss",
    "rank",
    "flip_posterior",
    "dropped_share",
    "reason",
]


@pytest.fixture(scope="module")
def robots():
    return audit_example()


def test_most_labels_that_were_planted_in_the_example_are_found(robots):
    planted = robots.planted
    assert planted.wrong == 30
    assert planted.found >= 25
    assert planted.suspects == len(robots.suspects)
    assert planted.found >= 0.9 * planted.suspects
    assert robots.summary()["planted"] == {"wrong": 30, "found": planted.found}


def test_the_example_has_the_labels_of_the_rule_but_for_those_it_names():
    frame, wrong = example().table.frame, example().wrong
    is_friendly = ((frame["jacket"] == "green") & (frame["holding"] == "sword")) | (
        (frame["jacket"] != "blue") & (frame["body"] != "octagon")
    )
    np.testing.assert_array_equal((frame["friendly"] == "yes") != is_friendly, wrong)
    assert wrong.sum() == 30


def test_suspects_are_the_rows_left_out_the_most_suspect_first(robots):
    suspects = robots.suspects
    assert suspects.columns.tolist() == COLUMNS
    assert set(suspects["row"]) == set(np.flatnonzero(robots.fitted.dropped))
    assert suspects["rank"].tolist() == list(range(1, len(suspects) + 1))
    assert (suspects["given"] != suspects["suggested"]).all()
    np.testing.assert_array_equal(suspects["loss"], robots.fitted.model.losses_[suspects["row"]])
    assert suspects["flip_posterior"].between(0, 1).all()
    assert suspects["flip_posterior"].median() > 0.9
    assert suspects["dropped_share"].between(0, 1).all()


def test_the_model_predicts_from_raw_rows(robots):
    frame = example().table.frame
    np.testing.assert_array_equal(
        robots.model.predict(frame.drop(columns="friendly")), robots.fitted.prediction
    )


def test_leaving_wrong_rows_out_lowers_the_error_on_the_others(robots):
    plain, robust = robots.errors
    assert robust < plain


def test_the_same_seed_gives_the_same_report_on_any_number_of_threads(robots):
    again = audit_example(jobs=2)
    assert again.suspects_csv() == robots.suspects_csv()
    assert again.summary() == robots.summary()


def test_the_summary_is_json(robots):
    text = json.dumps(robots.summary(), allow_nan=False)
    found = json.loads(text)
    assert found["rows"] == 432
    assert found["suspects"] == len(robots.suspects)
    assert found["most_suspect"][0]["row"] == robots.suspects["row"][0]
    assert sum(it["dropped"] for it in found["dropped"]["friendly"]) == found["suspects"]


def test_confusion_is_that_of_the_rows_that_are_kept(robots):
    for model in (robots.plain, robots.model[-1]):
        found = robots.confusion(model)
        kept = ~robots.fitted.dropped
        right = model.predict(robots.fitted.X[kept]) == robots.rows.y[kept]
        assert found.sum() == kept.sum()
        assert np.trace(found) == right.sum()


def test_wrong_numbers_of_a_regression_are_found():
    report = quickly(audit_table, table(line()), "price", m=6)
    assert sorted(report.suspects["row"]) == [0, 1, 2, 3, 4, 5]
    assert report.suspects["flip_posterior"].isna().all()
    assert report.strata == {}
    assert report.choice == "The number of rows to drop was given: 6 rows."
    json.dumps(report.summary(), allow_nan=False)


def test_several_classes_and_a_class_of_a_single_row():
    frame = three_classes()
    frame.loc[239, "y"] = "d"
    report = quickly(audit_table, table(frame), "y", m=0.05)
    assert report.fitted.classes == ["a", "b", "c", "d"]
    assert len(report.suspects) == report.fitted.dropped.sum() > 0
    assert report.confusion(report.plain).shape == (4, 4)


def test_clean_rows_have_few_suspects_or_none():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 3))
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=np.where(X[:, 0] > 0, "p", "q"))
    report = quickly(audit_table, table(frame), "y")
    assert len(report.suspects) <= 4
    assert report.suspects_csv().splitlines()[0] == ",".join(COLUMNS)
    json.dumps(report.summary(), allow_nan=False)


class Messy:
    """Rows with texts that would run in a spreadsheet, one group of them mislabelled."""

    def __init__(self):
        frame = mixed(n=600, flipped=0)
        self.wrong = frame.index < 20
        is_yes = (frame["y"] == "yes") != self.wrong
        frame["y"] = np.where(is_yes, "=cmd|' /C calc'!A0", "@no")
        frame["who"] = np.where(frame.index < 60, "few", "many")
        frame["nr"] = [f"+{i}x" for i in frame.index]
        self.told = []
        self.report = audit_table(
            table(frame, lines=np.arange(600) * 2 + 5),
            "y",
            m=24,
            id_column="nr",
            group=["who"],
            progress=lambda *it: self.told.append(it),
        )


@pytest.fixture(scope="module")
def messy():
    return Messy()


def test_progress_is_told_and_never_goes_back(messy):
    done = [share for share, _, _ in messy.told]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0.0, 1.0)
    assert {whole for _, whole, _ in messy.told} == {1.0}


def test_a_group_that_is_left_out_more_often_is_warned_about(messy):
    (warning,) = messy.report.warnings
    assert "who = few" in warning
    strata = {it.name: it for it in messy.report.strata["who"]}
    assert strata["few"].dropped + strata["many"].dropped == 24
    assert strata["few"].rows == 60


def test_cells_that_would_run_in_a_spreadsheet_do_not(messy):
    for row in csv.DictReader(io.StringIO(messy.report.suspects_csv())):
        assert row["given"].startswith(("'=", "'@"))
        assert row["suggested"].startswith(("'=", "'@"))
        assert row["id"].startswith("'+")
        assert not row["reason"].startswith(("=", "+", "-", "@"))


def test_lines_and_identifiers_are_those_of_the_table(messy):
    for row in messy.report.suspects.itertuples():
        assert (row.line, row.id) == (2 * row.row + 5, f"+{row.row}x")


def test_missing_values_are_among_the_notes(messy):
    assert "age: 20 values are missing." in messy.report.notes


def test_a_notebook_shows_the_page_in_a_frame_of_its_own(robots, monkeypatch):
    monkeypatch.setattr(type(robots), "to_html", lambda _: '<p class="a">"x" & y</p>')
    shown = robots._repr_html_()
    assert 'srcdoc="&lt;p class=&quot;a&quot;&gt;&quot;x&quot; &amp; y&lt;/p&gt;"' in shown
    assert 'sandbox="allow-scripts"' in shown


def test_how_many_numbers_are_wrong_is_found_out():
    report = quickly(audit_table, table(line(n=300, off=12)), "price")
    assert set(range(12)) <= set(report.suspects["row"])
    assert len(report.suspects) <= 16
    assert report.suspects["flip_posterior"].head(12).min() > 0.9
    assert report.choice == report.fitted.share.sentence
    assert f"{len(report.suspects)} of 300 numbers" in report.to_html()


def test_a_robust_fit_that_is_worse_is_warned_about(robots):
    positions = list(robots.sweep.points)
    positions[0] = replace(positions[0], kept_error=0.01)
    worse = replace(robots, sweep=replace(robots.sweep, points=tuple(positions)))
    assert worse.errors[0] < worse.errors[1]
    assert any("worse than the plain fit" in text for text in worse.warnings)
    assert not any("worse than the plain fit" in text for text in robots.warnings)


def test_rows_as_suspect_as_those_left_out_are_noted():
    rng = np.random.default_rng(0)
    kind = rng.choice(["p", "q"], 200)
    y = np.where((kind == "p") ^ (rng.random(200) < 0.1), "yes", "no")
    report = quickly(audit_table, table(pd.DataFrame({"kind": kind, "y": y})), "y", m=4)
    assert len(report.suspects) == 4
    (note,) = [it for it in report.notes if "have the same loss as" in it]
    losses = report.fitted.model.losses_
    level = losses[report.fitted.dropped].min()
    assert note.startswith(
        f"{(losses == level).sum() - (losses[report.fitted.dropped] == level).sum()} "
    )
