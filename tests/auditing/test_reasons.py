import dataclasses
import re
from itertools import product

import pytest

pytest.importorskip("pandas", reason="tables are an extra")

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.svm import LinearSVC

from sorr.auditing import reasons
from sorr.auditing.fit import fit_rows
from sorr.auditing.judges import Judge
from sorr.auditing.phrases import Facts, Wording, as_label, spell_number, spell_numbers
from sorr.auditing.reasons import Explainer, explain
from sorr.auditing.usual import RawTable
from sorr.datasets import flip_symmetric
from sorr.share import GivenProbabilities, make_model
from tests.auditing.tables import clear, line, mixed, rows
from tests.slow import slow


def messy(n=700, seed=1):
    """Return categories, dates, texts, flags and missing values, and labels of which 7 % lie."""
    rng = np.random.default_rng(seed)
    mood = rng.random(n) > 0.5
    words = np.where(mood, "friendly and fast help, great value", "slow and broken, never again")
    day = pd.Timestamp("2018-01-01") + pd.to_timedelta(rng.integers(0, 2000, n), unit="D")
    frame = pd.DataFrame(
        {
            "town": rng.choice(["Rome", "Bonn", "Oslo", "Lima"], n),
            "age": rng.normal(40, 12, n).round(),
            "signed": day.strftime("%Y-%m-%d"),
            "comment": [f"{it} number {rng.integers(1000)}" for it in words],
            "member": rng.integers(0, 2, n),
        }
    )
    days = (day - pd.Timestamp("2020-10-01")).days.to_numpy()
    score = 3 * mood - 1.5 + (frame["age"] - 40) / 8 + 4 * (frame["town"] == "Rome") + days / 700
    y = flip_symmetric(np.where(score > 1, "stays", "leaves"), 0.07, random_state=0).y
    for name in ("town", "age", "comment"):
        frame.loc[rng.random(n) < 0.08, name] = np.nan
    return frame.assign(y=y)


def bundled(load, columns=None):
    data = load()
    frame = pd.DataFrame(data.data)
    frame.columns = [str(it) for it in getattr(data, "feature_names", frame.columns)]
    names = np.array([f"class {it}" for it in range(10)])
    y = flip_symmetric(names[data.target], 0.07, random_state=0).y
    return frame.iloc[:, ::columns].assign(y=y)


TABLES = {
    "robots": clear,
    "cancer": lambda: bundled(load_breast_cancer),
    "wine": lambda: bundled(load_wine),
    "iris": lambda: bundled(load_iris),
    "digits": lambda: bundled(load_digits, 3).head(700),
    "messy": messy,
    "numbers": line,
}


def suspects(fitted):
    return np.flatnonzero(fitted.dropped | (fitted.judgement.tier_ > 0))


@pytest.fixture(scope="module")
def linear():
    return fit_rows(rows(messy()), model="linear")


@pytest.fixture(scope="module")
def forest_fit():
    return fit_rows(rows(clear()), model="forest")


def replaced(fitted, chosen, found):
    """Return prepared rows in which the named values are usual ones, by the whole pipeline."""
    table = RawTable(fitted)
    frame = fitted.rows.frame.iloc[chosen].reset_index(drop=True)
    for i, (row, reason) in enumerate(zip(chosen, found, strict=True)):
        for named in reason.named:
            usual = table.usual_row(table.stratum[row], table.names.index(named.column))
            frame.loc[i, named.column] = fitted.rows.frame[named.column].iloc[usual]
    return fitted.pipeline[:-1].transform(frame)


# -- Reasons hold ----------------------------------------------------------------------------------


JUDGED = [("robots", "auto"), ("numbers", "auto")] + [
    pytest.param(name, model, marks=pytest.mark.slow)
    for name, model in [
        *product(("cancer", "wine", "iris", "digits", "messy"), ("auto",)),
        *product(("robots", "wine", "messy", "numbers"), ("forest", "linear", "boosting")),
    ]
]


@pytest.mark.parametrize(("name", "model"), JUDGED)
def test_usual_values_in_place_of_the_named_ones_convince_a_model_that_saw_no_suspect(name, model):
    frame = TABLES[name]()
    fitted = fit_rows(rows(frame, frame.columns[-1]), model=model)
    chosen = suspects(fitted)
    others = np.setdiff1d(np.arange(len(fitted.rows)), chosen)
    referee = make_model(model, 17, is_classifier=bool(fitted.classes))
    referee.fit(fitted.X[others], fitted.rows.y[others])
    before, after = fitted.X[chosen], replaced(fitted, chosen, explain(fitted, chosen))
    y = fitted.rows.y[chosen]
    if fitted.classes:
        place = np.arange(len(chosen)), np.searchsorted(referee.classes_, y)
        is_better = referee.predict_proba(after)[place] > referee.predict_proba(before)[place]
    else:
        is_better = abs(referee.predict(after) - y) < abs(referee.predict(before) - y)
    assert len(chosen) >= 5
    assert is_better.mean() >= 0.9


@pytest.mark.parametrize("model", ["linear", *slow("auto")])
@pytest.mark.parametrize("name", ["robots", "messy", "numbers", *slow("digits")])
def test_the_change_of_a_value_is_that_of_the_prediction_from_the_raw_row(name, model):
    frame = TABLES[name]()
    fitted = fit_rows(rows(frame, frame.columns[-1]), model=model)
    chosen = np.flatnonzero(fitted.dropped)
    assert len(chosen)

    def against(X):
        y, suggested = fitted.rows.y[chosen], fitted.judgement.suggested_[chosen]
        if not fitted.classes:
            return abs(fitted.model.predict(X) - y) / fitted.judgement.typical_[chosen]
        L = np.log(np.maximum(fitted.model.predict_proba(X), 1e-12 if model == "auto" else 0))
        at, to = (np.searchsorted(fitted.model.classes_, it) for it in (y, suggested))
        return L[np.arange(len(y)), to] - L[np.arange(len(y)), at]

    found = explain(fitted, chosen)
    for place in range(max(len(it.named) for it in found)):
        single = [it._replace(named=it.named[place : place + 1]) for it in found]
        change = against(fitted.X[chosen]) - against(replaced(fitted, chosen, single))
        has = [i for i, it in enumerate(single) if it.named]
        said = [single[i].named[0].change for i in has]
        np.testing.assert_allclose(said, change[has], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "estimator", [LinearSVC(), *slow(RandomForestClassifier(30), KNeighborsClassifier(7))]
)
def test_any_classifier_gives_reasons(estimator):
    fitted = fit_rows(rows(clear()), model=estimator)
    chosen = suspects(fitted)
    found = explain(fitted, chosen)
    assert np.mean([len(it.named) > 0 for it in found]) >= 0.9
    names = {named.column for it in found for named in it.named}
    assert {"jacket", "body"} <= names


def test_any_regressor_gives_reasons():
    fitted = fit_rows(rows(line(), "price"), model=RandomForestRegressor(50))
    found = explain(fitted, np.arange(6))
    assert all(it.named for it in found)
    assert all(it.sentence.startswith(f"{spell_number(y)} is recorded, about ")
               for it, y in zip(found, fitted.rows.y, strict=False))  # fmt: skip


def test_rows_that_the_model_has_learned_are_explained_by_one_that_has_not(monkeypatch):
    fitted = fit_rows(rows(bundled(load_wine)), model="forest")
    chosen = np.flatnonzero(fitted.judgement.tier_ == 1)
    assert len(chosen) >= 5
    assert not fitted.dropped[chosen].any()
    explainer = Explainer(fitted)
    found = explainer.explain(chosen)
    assert all(it.named for it in found)
    monkeypatch.setattr(Explainer, "_odds_of_unseen", explainer._odds)
    by_heart = Explainer(fitted).explain(chosen)

    def total(found):
        return np.mean([sum(named.change for named in it.named) for it in found])

    assert total(found) > 1.5 * total(by_heart)


def test_a_column_without_any_meaning_is_not_named():
    fitted = fit_rows(rows(mixed()), model="linear", m=8)
    found = explain(fitted, np.flatnonzero(fitted.dropped))
    assert all(named.column != "noise" for it in found for named in it.named)


def test_of_many_columns_those_are_tried_that_the_model_goes_by(monkeypatch):
    monkeypatch.setattr(reasons, "_MOST_TRIED", 3)
    rng = np.random.default_rng(0)
    frame = clear()
    for i in range(20):
        frame.insert(0, f"noise {i}", rng.normal(size=len(frame)))
    fitted = fit_rows(rows(frame), model="forest")
    found = explain(fitted, np.flatnonzero(fitted.dropped))
    names = {named.column for it in found for named in it.named}
    assert {"jacket", "body"} <= names <= {"jacket", "body", "holding"}


def test_reasons_do_not_depend_on_other_rows_or_on_the_call(linear):
    chosen = suspects(linear)
    found = explain(linear, chosen)
    assert explain(linear, chosen[::-1]) == found[::-1]
    assert explain(linear, chosen[3:4]) == found[3:4]
    assert explain(linear, chosen[:0]) == []


def test_beyond_the_first_rows_a_sentence_says_what_the_model_gives(monkeypatch, forest_fit):
    monkeypatch.setattr(reasons, "MOST_EXPLAINED", 2)
    found = explain(forest_fit, np.flatnonzero(forest_fit.dropped)[:4])
    assert [bool(it.named) for it in found] == [True, True, False, False]
    assert [len(it.similar) for it in found] == [10, 10, 0, 0]
    assert found[2].sentence.startswith("A forest")
    assert found[2].sentence.endswith(" %.")
    numbers = fit_rows(rows(line(), "price"), model="linear")
    assert " is recorded, about " in explain(numbers, np.arange(6))[5].sentence


# -- What is usual ---------------------------------------------------------------------------------


def test_usual_values_are_medians_the_most_frequent_categories_and_typical_texts(linear):
    table, frame = RawTable(linear), linear.rows.frame
    for stratum, label in enumerate(linear.classes):
        kept = frame[(linear.rows.y == label) & ~linear.dropped]
        usual = {name: frame[name].iloc[table.usual_row(stratum, i)]
                 for i, name in enumerate(table.names)}  # fmt: skip
        assert usual["age"] == kept["age"].quantile(interpolation="lower")
        assert usual["signed"] == kept["signed"].quantile(interpolation="lower")
        assert usual["town"] in kept["town"].mode().tolist()
        assert usual["comment"].startswith({"stays": "friendly", "leaves": "slow"}[label])


def test_where_most_values_are_missing_that_is_usual():
    frame = mixed()
    frame.loc[frame["y"] == "yes", "age"] = np.nan
    frame.loc[40:60, "age"] = 50.0
    fitted = fit_rows(rows(frame), model="linear", m=8)
    table = RawTable(fitted)
    yes = fitted.classes.index("yes")
    assert np.isnan(fitted.rows.frame["age"].iloc[table.usual_row(yes, table.names.index("age"))])


def test_named_values_are_beside_their_usual_range():
    frame = bundled(load_breast_cancer)
    fitted = fit_rows(rows(frame), model="auto")
    found = explain(fitted, np.flatnonzero(fitted.dropped)[:10])
    for row, reason in zip(np.flatnonzero(fitted.dropped), found, strict=False):
        for named in reason.named:
            kept = frame[named.column][(frame["y"] == frame["y"][row]) & ~fitted.dropped]
            assert named.value == frame[named.column][row]
            assert named.usual == pytest.approx(tuple(kept.quantile([0.1, 0.9])))
            low, high = named.scale
            assert low <= min(named.value, named.usual[0])
            assert max(named.value, named.usual[1]) <= high
            assert (named.common, named.share) == ("", None)


def test_named_categories_say_how_frequent_they_are():
    frame = clear()
    fitted = fit_rows(rows(frame), model="forest")
    chosen = np.flatnonzero(fitted.dropped)
    for row, reason in zip(chosen, explain(fitted, chosen), strict=True):
        for named in reason.named:
            kept = frame[named.column][(frame["y"] == frame["y"][row]) & ~fitted.dropped]
            assert named.value == frame[named.column][row]
            assert named.common == kept.mode()[0]
            assert named.share == pytest.approx((kept == named.value).mean())
            assert named.usual is None


# -- Similar rows ----------------------------------------------------------------------------------


def agreement(y, near):
    return np.mean([np.mean(y[its] == own) for its, own in zip(near, y, strict=True)])


@pytest.mark.parametrize("name", ["robots", *slow("cancer", "messy")])
def test_similar_rows_share_the_label_more_often_than_the_nearest_ones(name):
    fitted = fit_rows(rows(TABLES[name]()), model="auto")
    everything = np.arange(len(fitted.rows))
    near = Explainer(fitted).neighbours(everything)
    plain = NearestNeighbors().fit(fitted.X).kneighbors(n_neighbors=10, return_distance=False)
    y = fitted.rows.y
    assert agreement(y, near) > agreement(y, plain) + (0.1 if name == "robots" else 0.0)
    for row, its in enumerate(near):
        assert row not in its
        assert len(set(its)) == 10


def test_among_equal_rows_the_first_of_a_sorted_file_are_not_preferred():
    rng = np.random.default_rng(0)
    kind = np.repeat(["a", "b"], 300)
    y = np.where(rng.random(600) < np.where(kind == "a", 0.7, 0.1), "yes", "no")
    frame = pd.DataFrame({"kind": kind, "y": y}).sort_values("y", ignore_index=True)
    fitted = fit_rows(rows(frame), model="linear")
    near = Explainer(fitted).neighbours(np.flatnonzero(frame["kind"] == "a"))
    shares = [np.mean(fitted.rows.y[its] == "yes") for its in near]
    assert 0.5 < np.mean(shares) < 0.9


def test_many_rows_are_compared_with_a_sample_that_has_all_labels_which_is_said(
    monkeypatch, forest_fit
):
    monkeypatch.setattr(reasons, "_REFERENCES", 0)
    monkeypatch.setattr(reasons, "_FEWEST_REFERENCES", 100)
    explainer = Explainer(forest_fit)
    assert set(forest_fit.rows.y[explainer.references]) == {"yes", "no"}
    n = len(explainer.references)
    assert 100 <= n <= 104
    assert f"most similar rows of {n} compared" in explainer.explain(np.array([0]))[0].sentence


def test_if_only_probabilities_are_known_similar_rows_are_the_reason(forest_fit):
    judged = rows(clear())
    judge = Judge("probabilities", GivenProbabilities(forest_fit.model.predict_proba(forest_fit.X)))
    fitted = fit_rows(judged, model=judge)
    assert fitted.model is None
    for reason in explain(fitted, np.arange(5)):
        assert reason.named == ()
        assert len(reason.similar) == 10
        assert " most similar rows " in reason.sentence
        assert "explains" not in reason.sentence


# -- Sentences -------------------------------------------------------------------------------------


def say(fitted, row, *names, near=None, compared=None):
    """Return the sentence about a row, for given names of columns and similar rows."""
    table = RawTable(fitted)
    named = tuple(table.describe(row, table.names.index(name), 1.0) for name in names)
    similar = np.array([], dtype=int) if near is None else np.asarray(near)
    return Wording(table).explain(Facts(row, named, similar, compared))


def changed(fitted, **values):
    """Return a fit whose first row has other values, and is dropped with the label "stays"."""
    frame, y, dropped = fitted.rows.frame.copy(), fitted.rows.y.copy(), fitted.dropped.copy()
    for name, value in values.items():
        frame.loc[0, name] = value
    y[0], dropped[0] = "stays", True
    index, suggested = fitted.judgement.index_.copy(), fitted.judgement.suggested_.copy()
    index[0], suggested[0] = fitted.classes.index("stays"), "leaves"
    judgement = dataclasses.replace(fitted.judgement, index_=index, suggested_=suggested)
    new_rows = dataclasses.replace(fitted.rows, frame=frame, y=y)
    return dataclasses.replace(fitted, rows=new_rows, dropped=dropped, judgement=judgement)


def test_a_number_outside_of_the_usual_range_is_said_to_be_so(linear):
    fitted = changed(linear, age=-500.0)
    low, high = RawTable(fitted).usual_range("age", fitted.classes.index("stays"))
    usual = f"{spell_number(low)} to {spell_number(high)}"
    text = say(fitted, 0, "age")
    assert text == (
        f"Its age (-500) is far below that of every other row labelled stays (usually {usual})."
    )
    text = say(changed(linear, age=low - 1), 0, "age")
    assert text == (
        f"Its age ({spell_number(low - 1)}) is below the usual {usual} of rows labelled stays."
    )


def test_several_numbers_on_one_side_share_a_sentence():
    frame = bundled(load_breast_cancer)
    fitted = fit_rows(rows(frame), model="linear", m=5)
    row = int(np.flatnonzero(frame["y"] == "class 1")[frame["mean area"][
        frame["y"] == "class 1"].argmax()])  # fmt: skip
    text = say(fitted, row, "mean area", "mean radius")
    assert text.startswith(f"Its mean area ({frame['mean area'][row]:,.0f}; usually ")
    assert ") and mean radius (" in text
    assert text.endswith(("every other row labelled 'class 1'.", "for rows labelled 'class 1'."))


def test_a_rare_category_a_missing_value_and_a_date_are_called_so(linear):
    stays = linear.classes.index("stays")
    share = RawTable(changed(linear, town="Bonn")).share("town", 0, stays)
    assert 0.05 < share < 0.2
    assert say(changed(linear, town="Bonn"), 0, "town", "age").startswith(
        f"Its town is Bonn, as in only {100 * share:.0f} % of rows labelled stays"
    )
    early = changed(linear, signed=pd.Timestamp("2010-05-01"))
    assert say(early, 0, "signed").startswith(
        "Its signed (2010-05-01) is earlier than that of every other row labelled stays (usually 20"
    )
    missing = mixed()
    missing["age"] = np.arange(len(missing)) % 50 + 20.0
    missing.loc[(missing["y"] == "no") & (missing.index % 3 > 0), "age"] = np.nan
    missing.loc[0, ["age", "y"]] = [np.nan, "yes"]
    fitted = fit_rows(rows(missing), model="linear", m=4)
    assert say(fitted, 0, "age") == "Its age is missing, as in no other row labelled yes."


def test_categories_say_what_the_rows_that_share_them_are_labelled():
    frame = clear()
    fitted = fit_rows(rows(frame), model="forest")
    row = int(np.flatnonzero(fitted.dropped & (frame["jacket"] == "blue"))[0])
    others = frame.drop(index=row)
    same = others[others["jacket"] == "blue"]["y"]
    other = fitted.judgement.suggested_[row]
    count, total = (same == other).sum(), len(same)
    assert say(fitted, row, "jacket") == (
        f"{count} of the {total} other rows with jacket = blue are labelled {other}."
    )


def test_categories_are_named_together_if_that_is_clearer(forest_fit):
    found = explain(forest_fit, np.flatnonzero(forest_fit.dropped))
    counts = [re.match(r"(\d+) of the (\d+) other rows with ", it.sentence) for it in found]
    shares = [int(it[1]) / int(it[2]) for it in counts if it]
    assert len(shares) > 0.8 * len(found)
    assert np.mean(shares) > 0.85
    assert np.mean([len(it.named) > 1 for it in found]) > 0.4


def test_a_category_whose_rows_have_the_label_as_often_as_others_is_not_counted():
    frame = clear()
    fitted = fit_rows(rows(frame), model="forest")
    is_rare = (frame["y"] == "no").groupby(frame["tie"]).transform("mean") < 0.5
    row = int(np.flatnonzero(is_rare & (fitted.judgement.suggested_ == "no"))[0])
    assert say(fitted, row, "tie") == f"Its tie ({frame['tie'][row]}) points to no."


def test_a_row_is_not_counted_among_those_that_share_its_value(linear):
    row = int(np.flatnonzero(~linear.dropped & (linear.rows.y == "stays"))[0])
    frame = linear.rows.frame.copy()
    frame.loc[row, "town"] = "Atlantis"
    fitted = dataclasses.replace(linear, rows=dataclasses.replace(linear.rows, frame=frame))
    assert RawTable(fitted).share("town", row, fitted.class_of_row[row]) == 0.0


def test_a_flag_is_a_category_and_a_text_is_quoted_and_cut(linear):
    text = say(changed(linear, member=1.0), 0, "member")
    assert text == "Its member (1) points to leaves."
    text = say(changed(linear, comment="slow " * 400), 0, "comment")
    assert text.startswith('Its comment ("slow slow ')
    assert text.endswith('...") points to leaves.')
    assert len(text) < 120


def test_hostile_names_values_and_labels_stay_on_one_line_without_control_characters():
    frame = clear()
    name, label = 'ja\ncket <script>alert("1")</script>\x1b[31m' + "x" * 500, "y\x1b[2J\r\nes"
    frame = frame.rename(columns={"jacket": name})
    frame[name] = frame[name].map(lambda it: f"=cmd|'{it}\x00\n'!A1 {'z' * 300}")
    frame["y"] = frame["y"].map({"yes": label, "no": "<b>no</b>"})
    fitted = fit_rows(rows(frame), model="linear", m=20)
    for reason in explain(fitted, np.flatnonzero(fitted.dropped)):
        assert reason.sentence.isprintable()
        assert len(reason.sentence) < 800
        for named in reason.named:
            assert str(named.value).isprintable()
            assert named.common.isprintable()
            assert len(str(named.value)) <= 64


@pytest.mark.parametrize(
    ("labels", "start"),
    [
        ([8, 0, 0], "8 of the 8 -> All eight most similar rows are labelled leaves."),
        ([9, 1, 0], "9 of the 10 most similar rows are labelled leaves."),
        ([8, 0, 2], "8 of the 10 most similar rows are labelled leaves, the other 2 are suspects"),
        (
            [9, 0, 1],
            "9 of the 10 most similar rows are labelled leaves, the other is a suspect too",
        ),
        ([1, 9, 0], "Only 1 of the 10 most similar rows is labelled leaves: look closely."),
        ([0, 10, 0], "None of the 10 most similar rows is labelled leaves: look closely."),
        ([3, 6, 1], "Only 3 of the 10 most similar rows are labelled leaves, 1 is a suspect too:"),
    ],
)
def test_similar_rows_are_counted_and_suspects_among_them_are_not(linear, labels, start):
    fitted = changed(linear)
    y, dropped = fitted.rows.y, fitted.dropped
    order = np.arange(1, len(y))
    parts = [
        order[(y[1:] == "leaves") & ~dropped[1:]],
        order[(y[1:] == "stays") & ~dropped[1:]],
        order[(y[1:] == "leaves") & dropped[1:]],
    ]
    near = np.concatenate([part[:n] for part, n in zip(parts, labels, strict=True)])
    expected = start.split(" -> ")[-1]
    text = say(fitted, 0, near=near)
    first, rest = expected[0].lower(), expected[1:]
    is_against = expected.startswith(("Only", "None"))
    joint = ", and " if is_against else "; "
    assert text.startswith(f"No single value explains it{joint}{first}{rest}")
    with_value = say(fitted, 0, "member", near=near)
    assert (" But " in with_value) == is_against


def test_a_number_has_its_expectation_and_the_numbers_of_similar_rows():
    fitted = fit_rows(rows(line(), "price"), model="linear")
    text = explain(fitted, np.array([0]))[0].sentence
    judgement = fitted.judgement
    times = round(abs(judgement.error_[0]))
    assert text.startswith(
        f"{spell_number(judgement.given_[0])} is recorded, about "
        f"{spell_number(judgement.suggested_[0])} is expected: {times} times the typical error too "
        "high. "
    )
    similar = explain(fitted, np.array([0]))[0].similar
    y = fitted.rows.y[[it for it in similar if not fitted.dropped[it]]]
    assert f"The ten most similar rows have {y.min():.0f} to {y.max():.0f}" in text
    assert " of rows with price " in text or " of rows with the highest price (" in text


def test_where_most_rows_fit_exactly_errors_are_not_counted_in_typical_ones():
    frame = line(off=3)
    frame["price"] = np.where(frame.index < 10, frame["size"], 0.0)
    fitted = fit_rows(rows(frame, "price"), model="linear", m=10)
    texts = [it.sentence for it in explain(fitted, np.flatnonzero(fitted.dropped))]
    assert all("while most rows fit exactly" in text for text in texts)


def test_a_label_is_in_quotes_unless_it_is_a_word():
    assert as_label("benign") == "benign"
    assert as_label(3) == "3"
    assert as_label("not at all") == "'not at all'"
    assert as_label("") == "''"


@given(st.lists(st.floats(-1e11, 1e11), min_size=2, max_size=4))
def test_numbers_keep_their_order_when_they_are_written(values):
    texts = spell_numbers(values)
    read = [
        float(text.replace(",", "").replace(" x 10^", "e")) for text in texts
    ]  # fmt: skip
    order = np.argsort(values, kind="stable")
    assert (np.diff(np.array(read)[order]) >= 0).all()
    for value, back in zip(values, read, strict=True):
        assert back == pytest.approx(value, rel=5e-3)


def test_numbers_are_written_as_people_write_them():
    assert [spell_number(it) for it in (1926.3, 0.7712, 116, 0.000123, 17240, -3.0, 2.5e20)] == [
        *("1,926", "0.771", "116", "0.000123", "17,240", "-3", "2.5 x 10^20"),
    ]
