"""`judge_targets`: which numbers are wrong, and what is refused."""

import csv
import io
import re
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin

from sorr import TargetJudgement, Tier, judge_targets
from sorr.share import NumberedRows, judge_numbers
from tests.slow import examples, slow


def planted(n=500, wrong=25, seed=0, size=3.0):
    """Return predictions, and targets of which the first are 15 standard deviations off."""
    rng = np.random.default_rng(seed)
    predictions = rng.normal(size=n)
    y = predictions + 0.2 * rng.normal(size=n)
    y[:wrong] += size * rng.choice([-1, 1], size=wrong)
    return predictions, y


@pytest.fixture(scope="module")
def noisy():
    return planted()


@pytest.fixture(scope="module")
def judged(noisy):
    return judge_targets(*noisy)


# -- Verdicts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, *slow(*range(1, 6))])
@pytest.mark.parametrize("wrong", [5, 200, *slow(25, 100)])
def test_wrong_targets_are_found_and_counted(wrong, seed):
    found = judge_targets(*planted(wrong=wrong, seed=seed))
    assert found.verdict_ == "strong"
    assert found.flagged_[:wrong].all()
    assert found.flagged_.sum() <= wrong + 2  # among 300 right targets, some may look wrong
    low, high = found.count_interval_
    assert low <= wrong <= high
    assert low < found.count_ < high
    assert_allclose(found.count_, wrong, rtol=0.05, atol=2)
    assert_allclose(found.share_, found.count_ / 500)
    assert_allclose(found.share_interval_, found.count_interval_ / 500)
    assert_allclose(found.count_, found.wrong_[found.flagged_].sum())  # a lower limit
    assert (found.total, found.total_interval) == (found.count_, (low, high))


@pytest.mark.parametrize("seed", [0, *slow(1, 2, 3)])
def test_right_targets_are_not_called_wrong(seed):
    found = judge_targets(*planted(wrong=0, seed=seed))
    assert found.verdict_ == "none"
    assert found.evidence_ < 0
    assert found.sentence.startswith("No sign of wrong targets.")
    assert not found.flagged_.any()
    assert found.count_ == 0
    assert_array_equal(found.count_interval_, 0)
    assert found.wrong_.max() < 0.01
    assert (found.tier_ == Tier.WORTH_A_LOOK).sum() <= 3  # half of one is expected


def test_a_single_wrong_target_is_found():
    found = judge_targets(*planted(wrong=1))
    assert found.verdict_ in ("weak", "clear")
    assert_array_equal(np.flatnonzero(found.flagged_), [0])


def test_what_a_judgement_says_of_each_row_follows_from_its_error(noisy, judged):
    predictions, y = noisy
    assert isinstance(judged, TargetJudgement)
    assert_array_equal(judged.given_, y)
    assert_array_equal(judged.suggested_, predictions)
    assert_allclose(judged.typical_, 0.2, rtol=0.15)
    assert_allclose(judged.error_, (y - predictions) / judged.typical_, atol=0.2)
    assert judged.bell_ == "normal"
    assert not judged.is_skewed
    order = np.argsort(np.abs(judged.error_[25:]))
    assert (np.diff(judged.chance_[25:][order]) <= 0).all()
    assert judged.score_[:25].min() > 0 > judged.score_[25:].max()
    assert judged.models_ == (("the model", judged.evidence_),)


def test_tiers_follow_from_probabilities(judged):
    assert_array_equal(judged.tier_ == Tier.ALMOST_SURELY_WRONG, judged.wrong_ > 0.9)
    assert_array_equal(judged.flagged_, judged.wrong_ > 0.5)
    assert_array_equal(judged.tier_ >= Tier.WORTH_A_LOOK, judged.flagged_ | judged.is_in_doubt)
    assert_array_equal(judged.is_in_doubt, 500 * judged.chance_ < 0.5)


def test_an_error_larger_than_any_that_is_expected_is_worth_a_look():
    predictions, y = planted(wrong=0, seed=2)
    y[7] = predictions[7] + 0.2 * 3.7
    found = judge_targets(predictions, y)
    assert found.verdict_ == "none"
    assert_array_equal(np.flatnonzero(found.tier_), [7])
    assert "In 1 row the error is larger than any that is expected among 500" in found.sentence
    assert found.order_[0] == 7


def test_the_sentence_says_how_many_and_how_sure(judged):
    text = judged.sentence
    assert text.startswith("There is strong evidence of wrong targets: at least about 25 of 500")
    assert re.search(r"\(5\.0 %; 2[0-4] to 2[6-9] if they are wrong at random\)", text)
    assert "Of the rows, 25 are almost surely wrong." in text


# -- What errors of right targets may be like ------------------------------------------------------


@pytest.mark.parametrize("seed", [0, *slow(*range(1, 12))])
@pytest.mark.parametrize("tail", ["t3", "Laplace"])
def test_heavy_tails_are_called_so_and_nothing_is_wrong(tail, seed):
    rng = np.random.default_rng(seed)
    predictions = rng.normal(size=600)
    errors = rng.standard_t(3, size=600) if tail == "t3" else rng.laplace(size=600)
    found = judge_targets(predictions, predictions + errors)
    assert found.verdict_ == "none"
    assert found.bell_ != "normal"
    assert "errors have heavy tails, which explain the largest ones" in found.sentence


@pytest.mark.parametrize("seed", [0, *slow(*range(1, 12))])
def test_errors_may_be_skewed(seed):
    rng = np.random.default_rng(seed)
    predictions = rng.normal(size=600)
    found = judge_targets(predictions, predictions + rng.gamma(2.0, size=600))
    assert found.verdict_ == "none"
    assert found.is_skewed
    assert "errors are wider on one side, which explains the largest ones" in found.sentence


@pytest.mark.parametrize("seed", [0, *slow(*range(1, 20))])
def test_errors_may_grow_with_the_prediction(seed):
    rng = np.random.default_rng(seed)
    predictions = rng.uniform(1, 10, size=600)
    found = judge_targets(predictions, predictions * (1 + 0.2 * rng.normal(size=600)))
    assert not found.flagged_.any()
    assert found.verdict_ == "none"
    low, high = predictions < 3, predictions > 8
    assert found.typical_[high].mean() > 2 * found.typical_[low].mean()


def test_outliers_are_found_where_errors_are_small():
    rng = np.random.default_rng(0)
    predictions = rng.uniform(1, 10, size=1000)
    y = predictions * (1 + 0.1 * rng.normal(size=1000))
    rows = np.argsort(predictions)[10:300:20]
    y[rows] += 2.5  # no more than large errors of the largest predictions
    found = judge_targets(predictions, y)
    assert found.flagged_[rows].all()
    assert found.flagged_.sum() <= len(rows) + 10  # 1 % of the right ones


def sizes_by_row(seed=0, n=600, wrong=0):
    rng = np.random.default_rng(seed)
    predictions, spread = rng.normal(size=n), np.exp(1.5 * rng.normal(size=n))
    y = predictions + spread * rng.normal(size=n)
    y[:wrong] += 12 * spread[:wrong]
    return predictions, y, spread


@pytest.mark.parametrize("seed", [0, 1, 2, *slow(*range(3, 20))])
def test_with_the_right_spread_large_errors_of_some_rows_are_not_wrong(seed):
    predictions, y, spread = sizes_by_row(seed)
    found = judge_targets(predictions, y, spread=spread)
    assert found.verdict_ == "none"
    assert found.bell_ == "normal"
    assert_allclose(found.typical_, spread, rtol=0.1)


def test_only_the_ratios_of_a_spread_matter():
    predictions, y, spread = sizes_by_row(wrong=20)
    here = judge_targets(predictions, y, spread=spread)
    assert_array_equal(np.flatnonzero(here.flagged_), np.arange(20))
    for factor in (1e-5, 3.0):
        there = judge_targets(predictions, y, spread=factor * spread)
        assert_allclose(there.wrong_, here.wrong_, atol=1e-9)
        assert_allclose(there.typical_, here.typical_, rtol=1e-9)
        assert_allclose(there.evidence_, here.evidence_, rtol=1e-9)


@settings(max_examples=examples(30, 4))
@given(st.integers(0, 40), st.floats(-12, 12), st.floats(-1e3, 1e3))
def test_neither_the_unit_nor_the_origin_of_targets_matters(seed, exponent, shift):
    predictions, y = planted(n=80, wrong=4, seed=seed)
    here = judge_targets(predictions, y)
    for scale, move in ((10.0**exponent, 0.0), (1.0, shift)):
        there = judge_targets(scale * predictions + move, scale * y + move)
        assert_allclose(there.wrong_, here.wrong_, atol=1e-6)
        assert_allclose(there.typical_, scale * here.typical_, rtol=1e-6)
    turned = judge_targets(-predictions, -y)
    assert_allclose(turned.wrong_, here.wrong_, atol=1e-6)


def test_the_order_of_rows_does_not_matter(noisy, judged):
    order = np.random.default_rng(0).permutation(500)
    found = judge_targets(noisy[0][order], noisy[1][order])
    assert_allclose(found.wrong_, judged.wrong_[order], atol=1e-9)


def test_the_order_of_rows_does_not_matter_where_predictions_are_equal():
    rng = np.random.default_rng(0)
    y = rng.normal(size=1000)
    y[:20] += 12
    found = judge_targets(np.zeros(1000), y)
    order = np.argsort(y)
    by_size = judge_targets(np.zeros(1000), y[order])
    assert_allclose(by_size.wrong_, found.wrong_[order], atol=1e-6)


# -- Weights ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [0, 6])
def test_a_row_of_weight_two_is_two_rows(wrong):
    predictions, y = planted(n=90, wrong=wrong)
    weight = np.random.default_rng(1).integers(1, 4, size=90)
    weighed = judge_targets(predictions, y, sample_weight=weight)
    repeated = judge_targets(predictions.repeat(weight), y.repeat(weight))
    assert_allclose(weighed.wrong_.repeat(weight), repeated.wrong_, atol=1e-5)  # where steps stop
    assert_allclose(weighed.evidence_, repeated.evidence_, atol=1e-3)
    assert_allclose(weighed.count_, repeated.count_, atol=1e-3)
    assert_allclose(weighed.count_interval_, repeated.count_interval_, atol=1e-3)
    assert_array_equal(weighed.tier_.repeat(weight), repeated.tier_)


def test_rows_without_weight_are_judged_by_the_others(noisy):
    predictions, y = noisy
    weight = np.ones(500)
    weight[:5] = 0
    found = judge_targets(predictions, y, sample_weight=weight)
    others = judge_targets(predictions[5:], y[5:])
    assert_allclose(found.wrong_[5:], others.wrong_, atol=1e-6)
    assert_allclose(found.count_, others.count_, atol=1e-6)
    assert (found.wrong_[:5] > 0.9).all()


# -- Known rows ------------------------------------------------------------------------------------


def test_known_rows_are_right_or_wrong_for_sure(noisy, judged):
    predictions, y = noisy
    known = {0: y[0], 1: predictions[1], np.int64(30): y[30], 31: y[31] + 1}
    found = judge_targets(predictions, y, known=known)
    assert_array_equal(np.flatnonzero(found.known_), [0, 1, 30, 31])
    assert_array_equal(found.wrong_[[0, 1, 30, 31]], [0, 1, 0, 1])
    assert_array_equal(found.score_[[0, 1, 30, 31]], [-np.inf, np.inf, -np.inf, np.inf])
    assert not found.flagged_[[0, 1, 30, 31]].any()  # there is nothing to look at any more
    assert_array_equal(found.suggested_[[1, 31]], [predictions[1], y[31] + 1])
    others = np.setdiff1d(np.arange(500), [0, 1, 30, 31])
    assert_array_equal(found.wrong_[others], judged.wrong_[others])
    assert_allclose(found.count_, judged.count_, atol=1e-6)  # one less and one more


def test_known_rows_may_be_one_entry_for_each_row(noisy):
    predictions, y = noisy
    expected = judge_targets(predictions, y, known={0: y[0], 40: 9.0})
    column = [None] * 500
    column[0], column[40] = y[0], 9.0
    missing = np.array([np.nan if value is None else value for value in column], dtype=object)
    for known in (column, np.array(column, dtype=object), missing):
        found = judge_targets(predictions, y, known=known)
        assert_array_equal(found.known_, expected.known_)
        assert_array_equal(found.wrong_, expected.wrong_)


@pytest.mark.parametrize("library", ["pandas", *slow("numpy")])
def test_known_rows_may_be_an_array_with_nan_between_them(library, noisy):
    predictions, y = noisy
    known = np.full(500, np.nan)
    known[[0, 40]] = y[0], 9.0
    given = known if library == "numpy" else pytest.importorskip("pandas").Series(known)
    expected = judge_targets(predictions, y, known={0: y[0], 40: 9.0})
    assert_array_equal(judge_targets(predictions, y, known=given).wrong_, expected.wrong_)


def test_known_wrong_targets_are_counted_without_evidence_too():
    predictions, y = planted(wrong=0)
    found = judge_targets(predictions, y, known={3: 7.0, 4: 8.0, 5: y[5]})
    assert found.verdict_ == "none"
    assert found.count_ == 2
    assert_array_equal(found.count_interval_, [2, 2])
    assert found.share_ == 2 / 500


def test_twenty_reviews_change_how_many_rows_worth_a_look_are_wrong():
    predictions, y = planted(wrong=0, seed=1)
    plain = judge_targets(predictions, y)
    look = np.flatnonzero(plain.tier_ == Tier.WORTH_A_LOOK)
    others = np.argsort(-np.abs(y - predictions), kind="stable")[2:32]
    others = others[~np.isin(others, look)]
    assert len(look) == 2
    assert plain.look_share_ == 0.2
    right = {int(row): y[row] for row in (*look, *others)}
    few = dict(list(right.items())[:19])
    assert judge_targets(predictions, y, known=few).look_share_ == 0.2
    all_right = judge_targets(predictions, y, known=right)
    assert_allclose(all_right.look_share_, (5 * 0.2) / (5 + 2))
    wrong = right | {int(row): predictions[row] for row in look}
    all_wrong = judge_targets(predictions, y, known=wrong)
    assert_allclose(all_wrong.look_share_, (5 * 0.2 + 2) / (5 + 2))
    assert all_wrong.n_reviews == len(right)


def test_no_known_rows_are_the_same_as_none(noisy, judged):
    for known in ({}, [None] * 500):
        found = judge_targets(*noisy, known=known)
        assert_array_equal(found.score_, judged.score_)
        assert not found.known_.any()


class Witness(RegressorMixin, BaseEstimator):
    """A model that predicts the mean, and keeps what it learned."""

    seen: ClassVar[list[tuple[np.ndarray, np.ndarray]]] = []

    def fit(self, X, y):
        self.seen.append((X[:, 0].astype(int), y))
        self.mean_ = y.mean()
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def numbered_rows(n=300):
    """Return rows that hold their number, and targets of which the first are wrong."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=n)
    y = truth.copy()
    y[:15] += 12.0
    return NumberedRows(np.arange(n, dtype=float)[:, None], y, None, seed=0), truth


def test_models_learn_the_right_numbers_and_the_given_ones_are_judged():
    rows, truth = numbered_rows()
    given, known = rows.y.copy(), {i: truth[i] for i in (*range(10), 100, 101)}
    Witness.seen.clear()
    found = judge_numbers(rows, Witness(), known=known).judgement
    right = np.where(np.isin(np.arange(300), list(known)), truth, given)
    assert len(Witness.seen) >= 5
    for numbers, learned in Witness.seen:
        assert_array_equal(learned, right[numbers])
    assert_array_equal(found.given_, given)
    assert_array_equal(found.wrong_[list(known)], [*[1] * 10, 0, 0])
    assert_array_equal(rows.y, given)  # what was given is left alone
    assert found.flagged_[10:15].all()


def test_no_known_numbers_change_no_prediction():
    rows, _ = numbered_rows()
    one, other = judge_numbers(rows, Witness()), judge_numbers(rows, Witness(), known={})
    assert_array_equal(other.predictions, one.predictions)
    assert_array_equal(other.judgement.score_, one.judgement.score_)


# -- Tables ----------------------------------------------------------------------------------------


def test_a_frame_has_the_most_suspect_rows_first(noisy, judged):
    pytest.importorskip("pandas")
    frame = judged.to_frame()
    assert list(frame.columns) == [
        *("row", "given", "suggested", "tier", "probability", "error", "typical_error", "score")
    ]
    assert sorted(frame["row"]) == list(range(500))
    assert set(frame["row"][:25]) == set(range(25))
    assert (frame["tier"].diff().dropna() <= 0).all()
    assert_array_equal(frame["given"], noisy[1][frame["row"]])
    assert_array_equal(frame["suggested"], noisy[0][frame["row"]])
    assert_array_equal(frame["probability"], judged.wrong_[frame["row"]])
    assert_array_equal(frame["error"], judged.error_[frame["row"]])


def test_a_csv_holds_the_same(judged):
    rows = list(csv.DictReader(io.StringIO(judged.to_csv())))
    assert [int(row["row"]) for row in rows] == judged.order_.tolist()
    for name, values in (("given", judged.given_), ("probability", judged.wrong_)):
        assert_array_equal([float(row[name]) for row in rows], values[judged.order_])


# -- What is taken and what is refused -------------------------------------------------------------


def test_lists_series_and_columns_are_taken(noisy, judged):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    predictions, y = noisy
    for make in (list, pandas.Series, polars.Series, lambda values: values[:, None]):
        assert_array_equal(judge_targets(make(predictions), make(y)).wrong_, judged.wrong_)


def test_what_is_given_is_left_as_it_is(noisy):
    given = [noisy[0].copy(), noisy[1].copy(), np.ones(500), np.ones(500)]
    before = [values.copy() for values in given]
    predictions, y, weight, spread = given
    judge_targets(predictions, y, sample_weight=weight, spread=spread, known={0: 1.0})
    for now, then in zip(given, before, strict=True):
        assert_array_equal(now, then)


def test_predictions_that_are_exact_leave_nothing_to_see(noisy):
    found = judge_targets(noisy[1], noisy[1])
    assert found.verdict_ == "none"
    assert not found.flagged_.any()
    off = noisy[1].copy()
    off[:5] += 1
    assert_array_equal(np.flatnonzero(judge_targets(noisy[1], off).flagged_), np.arange(5))


@pytest.mark.parametrize("absurd", [1e200, -np.finfo(float).max])
def test_an_absurd_target_is_but_a_wrong_one(absurd):
    predictions, y = planted(wrong=5)
    y[0] = absurd
    found = judge_targets(predictions, y)
    assert_array_equal(np.flatnonzero(found.flagged_), np.arange(5))


def refused(message, error=ValueError, predictions=None, y=None, **options):
    default = planted()
    with pytest.raises(error, match=message):
        judge_targets(
            default[0] if predictions is None else predictions,
            default[1] if y is None else y,
            **options,
        )


def test_targets_that_say_nothing_are_refused():
    refused(r"y is constant \(3 in all rows\); needed numbers that differ", y=np.full(500, 3.0))
    p, y = planted(n=9, wrong=0)
    refused("y has 9 rows, too few to judge; needed 10 or more", predictions=p, y=y)
    refused("y has 0 rows, too few", predictions=[], y=[])
    judge_targets(*planted(n=10, wrong=0))


def test_classes_are_refused_with_the_way_to_judge_them():
    text = r"y has only 2 different values \(0 to 1\), .* judge_labels, TrimmedClassifier"
    refused(text, y=np.arange(500) % 2)
    refused(text, y=np.arange(500) % 2 == 1)
    refused(
        r"only 10 different values \(0 to 9\), which are classes or counts", y=np.arange(500) % 10
    )
    counts = np.arange(500) % 11
    judge_targets(counts + planted()[0], counts)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_missing_and_infinite_numbers_are_refused(bad):
    _, y = planted()
    y[[3, 9]] = bad
    text = "has 2 missing or infinite entries, the first in row 3; needed numbers"
    refused(f"y {text}", y=y)
    refused(f"predictions {text}", predictions=y)
    refused(f"spread {text}", spread=np.where(np.isfinite(y), 1.0, y))


def test_texts_and_other_shapes_are_refused():
    refused("y holds values that are no numbers .*'a'", TypeError, y=["a"] * 500)
    refused("predictions holds values that are no", TypeError, predictions=["a"] * 500)
    refused(r"y has shape \(500, 2\); needed one number for each row", y=np.zeros((500, 2)))


def test_wrong_lengths_are_refused():
    p, _ = planted()
    refused("predictions has 499 entries; needed one for each of 500 rows", predictions=p[1:])
    refused("spread has 2 entries; needed one for each of 500 rows", spread=[1.0, 2.0])
    refused(r"sample_weight has shape \(2,\)", sample_weight=[1.0, 2.0])
    refused(
        "known has shape \\(2,\\); needed one entry for each of 500 rows, or a mapping",
        known=[1.0, 2.0],
    )


@pytest.mark.parametrize("bad", [0.0, -1.0])
def test_a_spread_that_is_not_positive_is_refused(bad):
    spread = np.ones(500)
    spread[[7, 8]] = bad
    refused("spread has 2 entries that are not above zero; needed the usual size", spread=spread)


@pytest.mark.parametrize(
    ("known", "error", "message"),
    [
        ({500: 1.0}, ValueError, "known has row 500; needed row numbers from 0 to 499"),
        ({-1: 1.0}, ValueError, "known has row -1"),
        ({"first": 1.0}, TypeError, "known has the key 'first'; needed row numbers from 0 on"),
        ({1.5: 1.0}, TypeError, "known has the key 1.5"),
        ({0: "many"}, TypeError, "known holds values that are no numbers"),
        ({0: np.inf}, ValueError, "known has 1 missing or infinite"),
        (["many"] * 500, TypeError, "known holds values that are no numbers; needed right numbers"),
    ],
)
def test_known_rows_that_make_no_sense_are_refused(known, error, message):
    refused(message, error, known=known)
