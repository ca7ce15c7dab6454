from dataclasses import replace

import pytest

pytest.importorskip("pandas", reason="tables are an extra")

import numpy as np

from sorr.auditing.findings import (
    Stratum,
    Suggestions,
    contributions,
    judge,
    reasons,
    shares_by,
    suggestions,
    unevenness,
)
from sorr.auditing.fit import fit_rows
from tests.auditing.tables import line, mixed, rows, three_classes


def test_rows_left_out_come_first_and_ranks_are_those_of_the_scores():
    fitted = fit_rows(rows(mixed(n=600, flipped=50)), m="auto")
    found = judge(fitted, 0, 1)
    assert sorted(found.rank) == list(range(1, 601))
    out = fitted.dropped
    assert found.rank[out].max() < found.rank[~out].min()
    for part in (out, ~out):
        assert (np.diff(found.score[part][np.argsort(found.rank[part])]) <= 0).all()
    np.testing.assert_array_equal(found.score, fitted.share.score_)


def test_where_the_number_is_given_losses_rank_the_rows():
    fitted = fit_rows(rows(mixed()), m=0.05)
    found = judge(fitted, 0, 1)
    np.testing.assert_array_equal(found.score, fitted.model.losses_)
    assert found.share is not None  # of classes it is estimated all the same
    assert judge(fit_rows(rows(line(), "price"), m=0.05), 0, 1).share is None


def test_of_two_classes_the_other_one_is_suggested():
    fitted = fit_rows(rows(mixed()), m=0.05)
    chosen = np.arange(20)
    suggested, sure, own = suggestions(fitted, judge(fitted, 0, 1), chosen)
    assert (suggested != fitted.rows.y[chosen]).all()
    p = fitted.model.predict_proba(fitted.X[chosen])
    np.testing.assert_allclose(sure, p[np.arange(20), 1 - fitted.class_of_row[chosen]])
    np.testing.assert_allclose(own, 1 - sure)


def test_of_many_classes_never_the_given_one_is_suggested():
    fitted = fit_rows(rows(three_classes()), m=0.05)
    chosen = np.flatnonzero(fitted.dropped)
    suggested, _, _ = suggestions(fitted, judge(fitted, 0, 1), chosen)
    assert (suggested != fitted.rows.y[chosen]).all()
    predicted = fitted.prediction[chosen]
    is_wrong = predicted != fitted.rows.y[chosen]
    np.testing.assert_array_equal(suggested[is_wrong], predicted[is_wrong])


def test_of_numbers_the_prediction_is_suggested():
    fitted = fit_rows(rows(line(), "price"), m=6)
    suggested, off, _ = suggestions(fitted, judge(fitted, 0, 1), np.arange(6))
    np.testing.assert_allclose(suggested, fitted.prediction[:6])
    np.testing.assert_allclose(off, 40.0, rtol=0.3)  # 200 above, and errors of 5


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


def test_the_class_that_others_are_mistaken_for_is_suggested():
    fitted = fit_rows(rows(three_classes()), m=0.05)
    judgement = judge(fitted, 0, 1)
    chosen = np.flatnonzero(fitted.rows.y == "c")
    for source in (0, 1):  # labels c are those of one class alone, says the estimate
        flips = np.eye(3)
        flips[source, 2], flips[source, source] = 0.3, 0.7
        share = replace(judgement.share, flip_rate_=flips)
        found = suggestions(fitted, replace(judgement, share=share), chosen)
        assert set(found.labels) == {"ab"[source]}


@pytest.mark.parametrize("kind", ["two", "three", "numbers"])
def test_what_the_columns_say_adds_up_to_the_difference_of_the_predictions(kind):
    frame = {"two": mixed, "three": three_classes, "numbers": line}[kind]()
    fitted = fit_rows(rows(frame, frame.columns[-1]), m=0.05)
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
    fitted = fit_rows(rows(frame[columns]), m=0.05)
    assert hasattr(fitted.X, "toarray")
    _, amounts = contributions(fitted, np.arange(5), np.repeat("yes", 5))
    raw = fitted.X @ fitted.model.coef_[0]
    np.testing.assert_allclose(amounts.sum(axis=1), raw[:5] - raw[~fitted.dropped].mean())


def sentences(frame, target, m):
    fitted = fit_rows(rows(frame, target), m=m)
    chosen = np.flatnonzero(fitted.dropped)
    judgement = judge(fitted, 0, 1)
    found = suggestions(fitted, judgement, chosen)
    return chosen, reasons(fitted, chosen, found, judgement.far[chosen])


def test_a_reason_names_the_columns_that_argue_against_the_label():
    frame = mixed()
    chosen, texts = sentences(frame, "y", 8)
    for row, text in zip(chosen, texts, strict=True):
        given, other = frame["y"][row], {"yes": "no", "no": "yes"}[frame["y"][row]]
        assert text.startswith(f"The model predicts {other} (")
        assert f"), not {given}, because of " in text
        assert "noise" not in text
    assert any(f"town = {frame['town'][chosen[0]]}" in text for text in texts)
    assert any("(usually " in text for text in texts)


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


def test_a_reason_says_what_the_model_predicts_and_how_sure_it_is():
    fitted = fit_rows(rows(mixed()), m=8)
    given, chosen = fitted.rows.y[:3], np.arange(3)
    other, sure = np.where(given == "yes", "no", "yes"), np.array([0.998, 0.6, 0.07])
    found = Suggestions(other, sure, 1 - sure)
    texts = reasons(fitted, chosen, found, np.array([False, True, False]))
    assert texts[0].startswith(f"The model predicts {other[0]} (>99%), not {given[0]}, because of")
    assert texts[1].startswith(
        f"This row is far from all others. The model predicts {other[1]} (60%)"
    )
    assert texts[2].startswith(
        f"The model predicts {given[2]} as well (93%); evidence for {other[2]}: "
    )
    unsure = Suggestions(other[:1], np.array([0.4]), np.array([0.3]))  # of three classes or more
    (text,) = reasons(fitted, chosen[:1], unsure, np.array([False]))
    assert text.startswith(f"The model predicts {other[0]} (40%), not {given[0]}, because of")


def test_where_most_rows_fit_exactly_errors_are_not_counted_in_typical_ones():
    frame = line(off=3)
    frame["price"] = np.where(frame.index < 10, frame["size"], 0.0)
    _, texts = sentences(frame, "price", 10)
    assert all("most rows fit exactly" in text for text in texts)
    fitted = fit_rows(rows(frame, "price"), m=10)
    chosen = np.arange(50, 60)  # which are predicted without any error
    assert np.isinf(suggestions(fitted, judge(fitted, 0, 1), chosen).sure).all()
