import re

import pytest

pytest.importorskip("pandas", reason="tables are an extra")

import numpy as np

from sorr.auditing.fit import fit_rows
from sorr.auditing.suspects import (
    Stratum,
    Suggestions,
    contributions,
    rank_rows,
    reasons,
    shares_by,
    suggestions,
    unevenness,
)
from tests.auditing.tables import clear, line, mixed, rows, three_classes


@pytest.fixture(scope="module")
def flagged():
    return fit_rows(rows(clear()), model="forest")


@pytest.fixture(scope="module")
def given():
    return fit_rows(rows(mixed()), model="linear", m=8)


def test_rows_are_ranked_as_the_judge_does_and_flagged_ones_come_first(flagged):
    found, judgement = rank_rows(flagged), flagged.judgement
    np.testing.assert_array_equal(np.argsort(found.rank), judgement.order_)
    np.testing.assert_array_equal(found.tier, judgement.tier_)
    np.testing.assert_array_equal(found.probability, judgement.wrong_)
    assert found.rank[flagged.dropped].max() < found.rank[~flagged.dropped].min()


def test_where_the_number_is_given_losses_rank_what_is_dropped(given):
    found, out = rank_rows(given), np.flatnonzero(given.dropped)
    first = np.argsort(found.rank)[:8]
    assert set(first) == set(out)
    assert (np.diff(given.losses[first]) <= 0).all()
    np.testing.assert_array_equal(found.probability, given.judgement.wrong_)
    numbers = fit_rows(rows(line(), "price"), model="linear", m=0.05)
    np.testing.assert_array_equal(rank_rows(numbers).probability, numbers.judgement.wrong_)
    assert set(np.argsort(rank_rows(numbers).rank)[:10]) == set(np.flatnonzero(numbers.dropped))


def test_the_most_likely_other_class_is_suggested(flagged):
    chosen = np.arange(20)
    suggested, sure, own = suggestions(flagged, chosen)
    assert (suggested != flagged.rows.y[chosen]).all()
    np.testing.assert_array_equal(sure, flagged.judgement.suggested_probability_[chosen])
    np.testing.assert_array_equal(own, flagged.judgement.given_probability_[chosen])
    assert len(suggestions(flagged, np.array([], dtype=int)).labels) == 0


@pytest.mark.parametrize("model", ["linear", "forest"])
def test_of_numbers_the_prediction_is_suggested(model):
    fitted = fit_rows(rows(line(), "price"), model=model)
    suggested, off, _ = suggestions(fitted, np.arange(6))
    np.testing.assert_array_equal(suggested, fitted.held_out[:6])
    if model == "linear":
        np.testing.assert_allclose(suggested, fitted.prediction[:6], rtol=0.02)
        np.testing.assert_allclose(off, 40.0, rtol=0.3)  # 200 above, and errors of 5
    assert (off > 5).all()


def test_shares_are_counted_by_label():
    found = shares_by(np.array(["b", "a", "b", "b"]), np.array([True, False, False, True]))
    assert found == [Stratum("a", 1, 0), Stratum("b", 3, 2)]
    assert found[1].share == 2 / 3


def test_a_group_that_is_left_out_far_more_often_is_named():
    text = unevenness("town", [Stratum("Rome", 100, 20), Stratum("Oslo", 400, 8)])
    assert text.startswith(
        "20.0% of the rows with town = Rome are dropped (20 of 100), but only 2.0% of the others"
    )


@pytest.mark.parametrize(
    "strata",
    [
        [Stratum("a", 100, 10), Stratum("b", 400, 40)],
        [Stratum("a", 10, 2), Stratum("b", 400, 30)],  # by chance
        [Stratum("a", 100_000, 1500), Stratum("b", 100_000, 1000)],  # surely, and not by much
        [Stratum("a", 100, 0), Stratum("b", 400, 0)],
        [Stratum("a", 100, 100)],
        [Stratum("a", 40, 3), Stratum("b", 4000, 1)],  # a handful
    ],
)
def test_groups_that_do_not_differ_by_much_are_not_warned_about(strata):
    assert unevenness("group", strata) is None


@pytest.mark.parametrize("kind", ["two", "three", "numbers"])
def test_what_the_columns_say_adds_up_to_the_difference_of_the_predictions(kind):
    frame = {"two": mixed, "three": three_classes, "numbers": line}[kind]()
    fitted = fit_rows(rows(frame, frame.columns[-1]), model="linear", m=0.05)
    chosen, model, X = np.arange(0, 40, 3), fitted.model, fitted.X
    if kind == "numbers":
        towards = np.where(np.arange(len(chosen)) % 2, 1.0, -1.0)
        raw = model.predict(X) - model.intercept_
        difference = towards * (raw[chosen] - raw[~fitted.dropped].mean())
    else:
        towards = model.classes_[(fitted.class_of_row[chosen] + 1) % len(model.classes_)]
        raw = X @ model.coef_.T
        if kind == "two":
            raw = np.column_stack([np.zeros(len(raw)), raw])
        raw = raw - raw[~fitted.dropped].mean(axis=0)
        to = np.searchsorted(model.classes_, towards)
        difference = raw[chosen, to] - raw[chosen, fitted.class_of_row[chosen]]
    names, amounts = contributions(fitted, chosen, towards)
    assert names == list(dict.fromkeys(source.column for source in fitted.sources))
    np.testing.assert_allclose(amounts.sum(axis=1), difference, rtol=1e-9, atol=1e-9)


def test_categories_of_many_columns_are_sparse_and_add_up_alike():
    frame = mixed()
    for i in range(8):
        frame[f"c{i}"] = np.array([f"v{j % (5 + i)}" for j in range(len(frame))])
    columns = [*[name for name in frame.columns if name != "y"], "y"]
    fitted = fit_rows(rows(frame[columns]), model="forest")
    assert hasattr(fitted.X, "toarray")
    _, amounts = contributions(fitted, np.arange(5), np.repeat("yes", 5))
    raw = fitted.X @ fitted.line.coef_[0]
    np.testing.assert_allclose(amounts.sum(axis=1), raw[:5] - raw[~fitted.dropped].mean())


def sentences(frame, target, m):
    fitted = fit_rows(rows(frame, target), model="linear", m=m)
    chosen = np.flatnonzero(fitted.dropped)
    found = suggestions(fitted, chosen)
    return chosen, reasons(fitted, chosen, found)


def test_a_reason_names_the_models_and_the_columns_that_argue_against_the_label(given):
    frame, chosen = mixed(), np.flatnonzero(given.dropped)
    texts = reasons(given, chosen, suggestions(given, chosen))
    for row, text in zip(chosen, texts, strict=True):
        label, other = frame["y"][row], {"yes": "no", "no": "yes"}[frame["y"][row]]
        assert text.startswith(f"A linear model prefers {other} because of ")
        assert re.search(rf"\. A linear model (and .* )?gives? {label} [<\d]+% and {other} ", text)
        assert "noise" not in text
    assert any(f"town = {frame['town'][chosen[0]]}" in text for text in texts)
    assert any("(usually " in text for text in texts)


def test_a_reason_of_a_forest_is_that_of_a_line_only_if_the_line_agrees(flagged):
    chosen = np.flatnonzero(flagged.dropped)
    found = suggestions(flagged, chosen)
    texts = reasons(flagged, chosen, found)
    p = flagged.line.predict_proba(flagged.X[chosen])
    agrees = p[np.arange(len(chosen)), flagged.class_of_row[chosen]] < 0.5
    assert agrees.any()
    for text, is_explained in zip(texts, agrees, strict=True):
        start = r"A linear model prefers \w+ because of \w+ = .*\. A forest "
        assert bool(re.match(start, text)) == is_explained
        assert text.endswith("; no single column explains it.") != is_explained


def test_a_reason_of_a_number_says_what_was_expected_and_how_far_off_it_is():
    frame = line()
    chosen, texts = sentences(frame, "price", 6)
    assert chosen.tolist() == [0, 1, 2, 3, 4, 5]
    for row, text in zip(chosen, texts, strict=True):
        assert text.startswith(f"Given {frame['price'][row]:.4g}, expected ")
        assert " typical errors too high)" in text


def test_a_value_that_is_missing_is_called_so():
    frame = mixed()
    frame.loc[frame["y"] == "yes", "age"] = np.nan
    frame.loc[0, ["age", "y"]] = [np.nan, "no"]
    _, texts = sentences(frame, "y", 4)
    assert any("age (missing)" in text for text in texts)


def test_a_reason_says_how_sure_the_models_are(given):
    label, chosen = given.rows.y[:2], np.arange(2)
    other, sure = np.where(label == "yes", "no", "yes"), np.array([0.998, 0.6])
    texts = reasons(given, chosen, Suggestions(other, sure, 1 - sure))
    assert texts[0].endswith(f"{label[0]} <1% and {other[0]} >99%.")
    assert texts[1].startswith("A linear model ")
    assert f"{label[1]} 40% and {other[1]} 60%" in texts[1]


def test_where_most_rows_fit_exactly_errors_are_not_counted_in_typical_ones():
    frame = line(off=3)
    frame["price"] = np.where(frame.index < 10, frame["size"], 0.0)
    _, texts = sentences(frame, "price", 10)
    assert all("most rows fit exactly" in text for text in texts)
