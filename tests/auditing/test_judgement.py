from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("pandas", reason="tables are an extra")

from sorr.auditing.fit import fit_rows
from sorr.auditing.judgement import Stratum, judge, shares_by, suggestions, unevenness
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
    np.testing.assert_allclose(sure, p[np.arange(20), 1 - fitted.strata[chosen]])
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
    assert text.startswith("20.0% of the rows with town Rome are left out, and 2.0% of the others")


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
