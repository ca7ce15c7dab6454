import csv
import io
import json
from dataclasses import replace

import pytest

pytest.importorskip("pandas", reason="tables are an extra")

import numpy as np
import pandas as pd

from sorr.auditing import Roles, audit_example, audit_table, decisions
from sorr.auditing.entry import example
from tests.auditing.hostile import quickly
from tests.auditing.tables import clear, line, mixed, table, three_classes

COLUMNS = [
    "row",
    "line",
    "id",
    "given",
    "suggested",
    "tier",
    "probability",
    "dropped",
    "loss",
    "dropped_share",
    "reason",
    "decision",
    "new_label",
    "table",
]


@pytest.fixture(scope="module")
def robots():
    return audit_example(model="forest")


@pytest.fixture(scope="module")
def linear():
    return quickly(audit_table, table(clear()), "y", model="linear")


def test_nearly_all_labels_that_were_planted_in_the_example_are_found(robots):
    planted = robots.planted
    assert planted.wrong == 30
    assert planted.found >= 27
    assert planted.dropped == robots.n_dropped <= planted.found + 3
    assert robots.to_dict()["planted"] == {"wrong": 30, "found": planted.found}


def test_the_example_has_the_labels_of_the_rule_but_for_those_it_names():
    frame, wrong = example().table.frame, example().wrong
    is_friendly = ((frame["jacket"] == "green") & (frame["holding"] == "sword")) | (
        (frame["jacket"] != "blue") & (frame["body"] != "octagon")
    )
    np.testing.assert_array_equal((frame["friendly"] == "yes") != is_friendly, wrong)
    assert wrong.sum() == 30


def test_suspects_are_the_rows_of_all_tiers_the_most_suspect_first(robots):
    suspects, judgement = robots.suspects, robots.fitted.judgement
    assert suspects.columns.tolist() == COLUMNS
    listed = judgement.order_[judgement.tier_[judgement.order_] > 0]
    assert suspects["row"].tolist() == listed.tolist()
    assert suspects["tier"].tolist() == sorted(suspects["tier"], reverse=True)
    np.testing.assert_array_equal(suspects["probability"], judgement.wrong_[listed])
    np.testing.assert_array_equal(suspects["dropped"], suspects["tier"] >= 2)
    assert (suspects["given"] != suspects["suggested"]).all()
    assert suspects["loss"].isna().all()  # a forest has none
    assert suspects["dropped_share"].isna().all()


def test_a_linear_model_has_the_same_columns_with_losses(linear):
    suspects = linear.suspects
    assert suspects.columns.tolist() == COLUMNS
    np.testing.assert_array_equal(suspects["loss"], linear.fitted.losses[suspects["row"]])
    assert suspects["dropped_share"].between(0, 1).all()
    out = set(suspects["row"][suspects["dropped"]])
    assert len(out & set(range(30))) >= 24
    assert len(out - set(range(30))) <= 3


def test_rows_worth_a_look_are_listed_where_there_is_no_evidence():
    report = quickly(audit_table, table(mixed(n=300, flipped=4)), "y", model="linear")
    judgement = report.fitted.judgement
    unsure = replace(judgement, evidence_=-1.0)
    quiet = replace(
        report,
        fitted=replace(report.fitted, judgement=unsure, dropped=np.zeros(300, dtype=bool)),
    )
    assert quiet.n_dropped == 0
    look = int((unsure.tier_ == 1).sum())
    assert len(quiet.suspects) == look > 0
    assert set(quiet.suspects["tier"]) == {1}
    assert quiet.headline.startswith("No ")
    verb = "s are" if look > 1 else " is"
    assert quiet.headline.endswith(f"; {look} row{verb} worth a look")
    found = quiet.to_dict()
    assert (found["verdict"], found["dropped"]) == ("none", 0)
    assert found["tiers"] == {"3": 0, "2": 0, "1": look}


@pytest.mark.parametrize(
    ("evidence", "models", "wrong", "headline"),
    [
        (12.0, 1, 0.95, "20 labels are almost surely wrong"),
        (4.0, 2, 0.3, "Some labels are wrong, but no row stands out"),
        (-1.0, 1, 0.95, "No evidence of wrong labels"),
        (-1.0, 2, 0.95, "No verdict on the labels, because two models disagree"),
        (-np.inf, 1, 0.95, "The labels cannot be judged"),
    ],
)
def test_the_headline_never_contradicts_the_verdict(linear, evidence, models, wrong, headline):
    n, judgement = len(linear.rows), linear.fitted.judgement
    posterior = np.zeros(n)
    posterior[:20] = wrong
    judged = replace(
        judgement,
        evidence_=evidence,
        models_=(("a forest", 5.0), ("boosting", -1.0))[:models],
        wrong_=posterior,
        given_probability_=np.full(n, 0.5),
    )
    report = replace(linear, fitted=replace(linear.fitted, judgement=judged))
    assert report.headline == headline
    assert (report.to_dict()["verdict"] == "none") == (evidence < 0)
    assert report.sentence == judged.sentence
    if not judged.has_evidence:
        assert "wrong" not in headline or headline.startswith("No evidence")
        assert "evidence that" not in report.meaning
    if evidence == -np.inf:
        assert report.to_dict()["evidence"] is None


def test_an_audit_asks_for_no_argument_that_it_does_not_have(linear):
    n = len(linear.rows)
    judged = replace(linear.fitted.judgement, given_probability_=np.full(n, 0.01))
    report = replace(linear, fitted=replace(linear.fitted, judgement=judged))
    assert "as known" in judged.sentence
    assert "as known" not in report.sentence
    assert report.sentence.endswith("Check 20 of them.")


def test_too_few_rows_are_not_judged():
    report = quickly(audit_table, table(clear(n=40, flipped=3)), "y", model="forest")
    assert report.headline == "The labels cannot be judged"
    assert "too few to judge labels" in report.sentence
    assert report.n_dropped == 0


def test_the_model_predicts_from_raw_rows(robots):
    frame = example().table.frame
    predicted = robots.model.predict(frame.drop(columns="friendly"))
    right = (frame["friendly"] == "yes") ^ example().wrong
    assert ((predicted == "yes") == right).mean() > 0.97


def test_errors_are_those_of_held_out_rows(robots, linear):
    plain, robust = linear.errors
    assert robust <= plain
    wrong, kept = robots.fitted.held_out != robots.rows.y, ~robots.fitted.dropped
    assert robots.errors == (wrong[kept].mean(), None)
    assert robots.errors_on_all == (wrong.mean(), None)
    assert robots.errors[0] < robots.errors_on_all[0]


def test_the_same_seed_gives_the_same_report_on_any_number_of_threads(robots):
    again = audit_example(model="forest", jobs=2)
    assert again.suspects_csv() == robots.suspects_csv()
    assert again.to_dict() == robots.to_dict()


def test_the_report_is_json(robots):
    found = json.loads(json.dumps(robots.to_dict(), allow_nan=False))
    assert found["rows"] == 432
    assert found["model"] == "forest"
    assert found["verdict"] in ("weak", "clear", "strong")
    assert found["evidence"] == robots.fitted.judgement.evidence_ > 0
    assert found["sentence"] == found["choice"] == robots.sentence
    assert found["headline"] == robots.headline
    assert sum(found["tiers"].values()) == len(robots.suspects)
    assert found["tiers"]["3"] + found["tiers"]["2"] == found["dropped"] == robots.n_dropped
    assert found["n_suspects"] == len(found["suspects"]) == len(robots.suspects)
    assert found["suspects"][0]["row"] == robots.suspects["row"][0]
    assert found["suspects"][0]["reason"] == robots.suspects["reason"][0]
    assert sum(it["dropped"] for it in found["dropped_by"]["friendly"]) == found["dropped"]


def test_confusion_is_that_of_kept_rows_or_of_held_out_ones(robots, linear):
    for model in (linear.linear.plain, linear.model[-1]):
        found, kept = linear.confusion(model), ~linear.fitted.dropped
        right = model.predict(linear.fitted.X[kept]) == linear.rows.y[kept]
        assert found.sum() == kept.sum()
        assert np.trace(found) == right.sum()
    found = robots.confusion()
    assert found.sum() == len(robots.rows)
    assert np.trace(found) == (robots.fitted.held_out == robots.rows.y).sum()


def test_wrong_numbers_of_a_regression_are_found():
    report = quickly(audit_table, table(line()), "price", model="linear", m=6)
    assert sorted(report.suspects["row"][:6]) == [0, 1, 2, 3, 4, 5]
    assert report.suspects.columns.tolist() == COLUMNS
    assert report.suspects["tier"].tolist()[:6] == [3] * 6
    assert report.headline == (
        "6 rows dropped, as asked; there is strong evidence of wrong targets"
    )
    assert report.to_dict()["verdict"] == "strong"
    assert report.strata == {}
    assert report.choice.startswith("The number of rows to drop was given: 6 rows. There is strong")
    json.dumps(report.to_dict(), allow_nan=False)


def test_several_classes_and_a_class_of_a_single_row():
    frame = three_classes()
    frame.loc[239, "y"] = "d"
    report = quickly(audit_table, table(frame), "y", model="linear", m=0.05)
    assert report.fitted.classes == ["a", "b", "c"], "a single row is not judged"
    assert len(report.suspects) >= report.n_dropped > 0
    assert report.headline.startswith(f"{report.n_dropped} rows dropped, as asked; ")
    assert report.choice.startswith("The number of rows to drop was given: 0.05 of each class. ")
    assert report.choice.endswith(report.sentence)
    assert report.confusion(report.linear.plain).shape == (3, 3)


def test_clean_rows_are_not_dropped():
    report = quickly(audit_table, table(clear(flipped=0)), "y", model="forest")
    assert report.n_dropped == 0
    assert report.headline.startswith("No evidence of wrong labels")
    assert report.suspects_csv().splitlines()[0] == ",".join(decisions.COLUMNS)
    json.dumps(report.to_dict(), allow_nan=False)


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
        self.report = quickly(
            audit_table,
            table(frame, lines=np.arange(600) * 2 + 5),
            Roles("y", id_column="nr", group=("who",)),
            model="linear",
            m=24,
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


def test_every_column_is_listed_with_how_it_was_read(messy):
    columns = messy.report.columns.set_index("name")
    assert columns["kind"].to_dict() == {
        "age": "number",
        "town": "category",
        "noise": "number",
        "who": "category",
        "nr": "id",
    }
    assert columns.loc["age", "missing"] == 20
    assert messy.report.to_dict()["columns_read"][0]["example"] == columns.loc["age", "example"]


def test_rows_without_a_label_get_a_suggestion_with_its_probability():
    frame = clear()
    frame.loc[40:44, "y"] = None
    report = quickly(audit_table, table(frame, lines=np.arange(432) + 2), "y", model="forest")
    found = report.unlabelled
    assert found["row"].tolist() == [40, 41, 42, 43, 44]
    assert found["line"].tolist() == [42, 43, 44, 45, 46]
    assert found["suggested"].tolist() == clear()["y"][40:45].tolist()
    assert found["probability"].between(0.5, 1).all()
    assert [it["row"] for it in report.to_dict()["without_label"]] == [40, 41, 42, 43, 44]
    assert report.to_html().count("line 42</th>") == 1


def test_a_model_knows_classes_that_are_too_small_to_be_judged():
    frame = clear()
    frame.loc[[50, 60], "y"] = "perhaps"
    report = quickly(audit_table, table(frame), "y", model="forest")
    assert report.fitted.classes == ["no", "yes"]
    assert report.model[-1].classes_.tolist() == ["no", "perhaps", "yes"]
    assert len(report.rows) == 430


def test_what_else_is_wrong_is_found_and_told():
    frame = clear()
    frame.loc[3, "y"] = frame.loc[3, "y"].upper() + " "
    frame["code"] = frame["y"].str.strip().str.lower().map({"yes": 1, "no": 2})
    report = quickly(audit_table, table(frame), "y", model="forest")
    found = {it["name"]: it for it in report.to_dict()["findings"]}
    assert found["Spellings of one label"]["rows"] == [3]
    assert found["Columns that recode the target"]["columns"] == ["code"]
    html = report.to_html()
    assert "Other findings" in html
    assert "not used: it gives the target away" in html


def test_a_notebook_shows_the_page_in_a_frame_of_its_own(robots, monkeypatch):
    monkeypatch.setattr(type(robots), "to_html", lambda _: '<p class="a">"x" & y</p>')
    shown = robots._repr_html_()
    assert 'srcdoc="&lt;p class=&quot;a&quot;&gt;&quot;x&quot; &amp; y&lt;/p&gt;"' in shown
    assert 'sandbox="allow-scripts allow-downloads"' in shown


@pytest.mark.slow
def test_how_many_numbers_are_wrong_is_found_out():
    report = quickly(audit_table, table(line(n=300, off=12)), "price")
    assert set(range(12)) <= set(report.suspects["row"])
    assert len(report.suspects) <= 16
    assert report.suspects["probability"].head(12).min() > 0.9
    assert report.choice == report.fitted.judgement.sentence
    assert f"{report.n_dropped} targets are almost surely wrong" in report.to_html()
    plain, robust = report.errors
    assert robust is None
    assert 0 < plain < report.errors_on_all[0]


def test_a_robust_fit_that_is_worse_is_warned_about(linear):
    sweep = linear.linear.sweep
    points = list(sweep.points)
    points[sweep.chosen] = replace(points[sweep.chosen], kept_error=0.9)
    worse = replace(
        linear, linear=replace(linear.linear, sweep=replace(sweep, points=tuple(points)))
    )
    assert worse.errors[0] < worse.errors[1]
    assert any("were worth learning from" in text for text in worse.warnings)
    assert "makes the model worse" in worse.meaning
    assert not any("were worth learning from" in text for text in linear.warnings)


def test_rows_as_suspect_as_those_left_out_are_noted():
    rng = np.random.default_rng(0)
    kind = rng.choice(["p", "q"], 200)
    y = np.where((kind == "p") ^ (rng.random(200) < 0.1), "yes", "no")
    frame = pd.DataFrame({"kind": kind, "y": y})
    report = quickly(audit_table, table(frame), "y", model="linear", m=4)
    assert report.n_dropped == 4
    (note,) = [it for it in report.notes if "have the same loss as" in it]
    losses = report.fitted.model.losses_
    level = losses[report.fitted.dropped].min()
    assert note.startswith(
        f"{(losses == level).sum() - (losses[report.fitted.dropped] == level).sum()} "
    )
