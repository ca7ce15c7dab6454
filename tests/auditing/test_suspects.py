import pytest

pytest.importorskip("pandas", reason="tables are an extra")

import numpy as np

from sorr.auditing.fit import fit_rows
from sorr.auditing.suspects import (
    Stratum,
    rank_rows,
    shares_by,
    suggestions,
    unevenness,
)
from tests.auditing.tables import clear, line, mixed, rows


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
    np.testing.assert_allclose(suggested, fitted.held_out[:6], rtol=1e-5)
    np.testing.assert_array_equal(suggested, np.round(suggested, 3))  # six digits in all
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
        "20 % of the rows with town = Rome are dropped (20 of 100), but only 2 % of the others"
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


def test_suggested_numbers_have_the_decimals_of_the_others():
    frame = line().assign(price=lambda it: it["price"].round())
    fitted = fit_rows(rows(frame, "price"))
    suggested = suggestions(fitted, np.arange(6)).labels
    np.testing.assert_array_equal(suggested, np.round(suggested))
