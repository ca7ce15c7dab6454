"""A judgement: its tiers, counts, sentences and tables; what reviews and second models change."""

import csv
import io
import pickle
import re
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax

from sorr import judge_labels
from sorr.share import Tier, droppable
from sorr.share.verdict import conclude
from tests.share import simulate


def judged(n=1000, K=2, rate=0.06, scale=4.0, seed=0, **options):
    P, y, wrong = simulate.labelled(n, K, rate, scale, seed)
    return judge_labels(P, y, **options), wrong


@pytest.fixture(scope="module")
def noisy():
    return judged()[0]


@pytest.fixture(scope="module")
def clean():
    return judged(n=2000, rate=0.0, scale=2.5)[0]


# -- Tiers, scores and suggestions -----------------------------------------------------------------


def test_tiers_are_numbers_with_names():
    assert [int(tier) for tier in Tier] == [0, 1, 2, 3]
    assert Tier(3).label == "almost surely wrong"
    assert Tier(2).label == "probably wrong"
    assert Tier(1).label == "worth a look"
    assert len({tier.label for tier in Tier}) == 4


@pytest.mark.parametrize("K", [2, 3])
def test_tiers_follow_from_the_posterior_and_the_probability_of_the_label(K):
    found, _ = judged(K=K)
    w, given = found.wrong_, found.given_probability_
    assert found.has_evidence
    assert_array_equal(found.tier_ == 3, w > 0.9)
    assert_array_equal(found.tier_ == 2, (w > 0.5) & (w <= 0.9))
    assert_array_equal(found.tier_ == 1, (w <= 0.5) & (given < 0.1))
    assert_array_equal(found.flagged_, found.tier_ >= 2)
    assert set(found.tier_) >= {0, 2, 3}


def test_without_evidence_the_upper_tiers_are_empty(clean):
    assert not clean.has_evidence
    assert clean.tier_.max() == 1
    assert_array_equal(clean.tier_ == 1, clean.given_probability_ < 0.1)
    assert not clean.flagged_.any()
    assert_array_equal(clean.count_, 0)
    assert_array_equal(clean.count_interval_, 0)
    assert_array_equal(clean.share_, 0)


def test_levels_of_evidence(noisy):
    for evidence, word in ((-1, "none"), (0, "none"), (0.1, "weak"), (3, "weak"), (3.1, "clear")):
        assert replace(noisy, evidence_=evidence).verdict_ == word
    assert replace(noisy, evidence_=10.0).verdict_ == "clear"
    assert replace(noisy, evidence_=10.1).verdict_ == "strong"
    assert replace(noisy, evidence_=-np.inf).verdict_ == "none"
    assert not replace(noisy, evidence_=-np.inf).can_judge
    assert replace(noisy, evidence_=-5.0).can_judge


def test_scores_rank_as_posteriors_do_without_ties(noisy, clean):
    for found in (noisy, clean):
        order = np.argsort(found.score_)
        assert (np.diff(found.wrong_[order]) > -1e-3).all()
        distinct = len(np.unique(found.given_probability_))
        assert len(np.unique(found.score_)) >= 0.99 * distinct


def test_scores_have_no_ties_where_posteriors_are_zero_or_one():
    P, y, _ = simulate.labelled(3000, rate=0.03, scale=30.0, seed=1)
    sharp = np.column_stack([np.zeros(3000), 100 * np.log(P[:, 1] / P[:, 0])])
    found = judge_labels(sharp, y, scores=True)
    for end in (found.wrong_ < 1e-15, found.wrong_ > 1 - 1e-12):
        if end.sum() > 1:
            assert len(np.unique(found.score_[end])) > 0.9 * end.sum()
    assert (found.wrong_ > 1 - 1e-12).sum() > 1


def test_the_suggested_label_is_the_most_probable_other_one():
    P, y, _ = simulate.labelled(500, K=4, rate=0.1)
    found = judge_labels(P, y)
    others = P.copy()
    others[np.arange(500), y] = -1
    assert_array_equal(found.suggested_, others.argmax(axis=1))
    assert (found.suggested_ != y).all()
    assert (found.suggested_probability_ + found.given_probability_ <= 1 + 1e-9).all()


def test_probabilities_of_the_model_are_calibrated():
    P, y, _ = simulate.labelled(5000, rate=0.0)
    bold = softmax(3 * np.log(P), axis=1)  # too sure of itself
    found = judge_labels(bold, y)
    assert_allclose(found.given_probability_, P[np.arange(5000), y], atol=0.05)


def test_counts_and_shares_are_sums_of_posteriors():
    P, y, wrong = simulate.labelled(3000, K=3, rates=simulate.one_class(3, 0.2), scale=5.0)
    found = judge_labels(P, y)
    assert_allclose(found.count_, np.bincount(y, found.wrong_))
    assert_allclose(found.share_, found.count_ / np.bincount(y))
    assert_allclose(found.share_interval_, found.count_interval_ / np.bincount(y)[:, None])
    assert (found.count_interval_[:, 0] >= 0).all()
    assert (found.count_interval_[:, 1] <= np.bincount(y)).all()
    assert found.count_.argmax() == 0
    assert_allclose(found.count_[0], wrong.sum(), rtol=0.3)
    assert_allclose(found.rates_.sum(axis=1), 1)
    assert_allclose(found.rates_[1, 0], 0.2, atol=0.06)


def test_a_judgement_is_pickled(noisy):
    loaded = pickle.loads(pickle.dumps(noisy))
    assert loaded.sentence == noisy.sentence
    assert_array_equal(loaded.tier_, noisy.tier_)


def test_a_judgement_prints_no_rows(noisy):
    assert len(repr(noisy)) < 500


# -- Sentences -------------------------------------------------------------------------------------


def test_a_count_is_at_least(noisy):
    whole, count = len(noisy.index_), noisy.count_.sum()
    text = noisy.sentence
    assert text.startswith(f"There is {noisy.verdict_} evidence of wrong labels: at least ")
    share = f"{100 * count / whole:.1f} %"
    assert re.search(rf"at least (about )?{count:,.0f} of {whole:,.0f} \({share}", text)
    assert f"{(noisy.tier_ == 3).sum()} are almost surely wrong" in text
    assert f"{(noisy.tier_ == 2).sum()} are probably wrong" in text


def test_without_evidence_no_sentence_says_that_labels_are_fine(clean):
    text = clean.sentence
    assert text.startswith("No sign of labels wrong at random.")
    rows = (clean.tier_ == 1).sum()
    assert rows > 20
    assert f"In {rows} rows the model would bet 9 to 1 against the label" in text
    assert "1 in 5 to 1 in 3 of such rows were wrong" in text
    assert "Check 20 of them" in text
    for word in ("fine", "clean", "all labels are right", "no wrong labels", "correct"):
        assert word not in text.lower()


def test_a_model_that_knows_nothing_cannot_judge():
    rng = np.random.default_rng(0)
    found = judge_labels(rng.dirichlet([5, 5], 500), rng.integers(2, size=500))
    assert found.evidence_ == -np.inf
    assert found.sentence.startswith("This model cannot judge the labels")
    assert not found.tier_.any()
    assert_array_equal(found.wrong_, 0)
    assert len(np.unique(found.score_)) > 490  # ranked all the same


@pytest.mark.parametrize("n", [2, 10, 49])
def test_too_few_rows_are_not_judged(n):
    P, y, _ = simulate.labelled(n, rate=0.1)
    y[:2] = 0, 1
    found = judge_labels(P, y)
    assert not found.can_judge
    assert found.sentence == f"There are {n} rows, too few to judge labels; needed 50 or more."
    assert not found.tier_.any()
    assert_array_equal(found.count_, 0)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("weight", [None, np.repeat([1.0, 0.0], 60)])
def test_of_a_single_label_nothing_is_known(K, weight):
    P = np.random.default_rng(0).dirichlet(np.ones(K), 60 if weight is None else 120)
    y = np.zeros(len(P), dtype=int)
    y[60:] = 1  # of no weight
    found = judge_labels(P, y, classes=range(K), sample_weight=weight)
    assert not found.can_judge
    assert found.sentence.startswith("All rows have the same label")
    assert not found.tier_.any()


def test_weights_count_among_the_fewest_rows():
    P, y, _ = simulate.labelled(60, rate=0.1)
    light = judge_labels(P, y, sample_weight=np.full(60, 0.5))
    assert not light.can_judge
    assert "too few to judge" in light.sentence
    assert judge_labels(P[:30], y[:30], sample_weight=np.full(30, 2.0)).can_judge
    assert judge_labels(P[:50], y[:50]).can_judge


def rare(n=4000, share=-7.5, wrong=12, seed=0):
    """Return probabilities of a rare second class, and labels of which a few are falsely rare."""
    P, _, _ = simulate.labelled(n, scale=6.0, seed=seed)
    P = softmax(np.log(P) + np.array([0.0, share * 2]), axis=1)
    y = simulate.draw(P, seed)
    sure = np.flatnonzero((P[:, 1] < 1e-6) & (y == 0))
    y[np.random.default_rng(seed).choice(sure, wrong, replace=False)] = 1
    return P, y


def test_a_rare_class_asks_for_a_second_model():
    P, y = rare()
    found = judge_labels(P, np.array(["common", "rare"])[y])
    assert 0 < y.mean() < 0.05
    assert found.has_evidence
    assert found.rare_class == "rare"
    assert f"Class rare is rare ({100 * y.mean():.1f} %)" in found.sentence
    assert "second kind of model" in found.sentence
    assert "rare" not in found.confirm(found).sentence


def test_a_class_is_not_rare_because_there_are_many(noisy):
    assert noisy.rare_class is None
    P, _, _ = simulate.labelled(210, K=21, rate=0.0)
    assert judge_labels(P, np.arange(210) % 21).rare_class is None


def test_asking_for_clear_evidence_takes_weak_evidence_away():
    P, y = rare()
    found = judge_labels(P, y)
    for evidence, stays in ((0.5, False), (3.5, True)):
        asked = replace(found, evidence_=evidence).ask_for_clear()
        assert asked.has_evidence == stays
        assert asked.flagged_.any() == stays
    assert "second kind of model" not in found.ask_for_clear().sentence


def test_a_weak_sign_that_does_not_count_is_not_called_none():
    P, y = rare()
    asked = replace(judge_labels(P, y), evidence_=0.5).ask_for_clear()
    assert asked.sentence.startswith("No clear sign of labels wrong at random")


# -- Known rows ------------------------------------------------------------------------------------


def test_known_rows_are_certain_and_in_no_tier(noisy):
    y, suspects = noisy.labels_, noisy.order_[:4]
    P, labels, _ = simulate.labelled(1000, rate=0.06)
    known = {int(i): 1 - y[i] for i in suspects[:2]} | {int(i): y[i] for i in suspects[2:]}
    found = judge_labels(P, labels, known=known)
    assert_array_equal(found.wrong_[suspects], [1, 1, 0, 0])
    assert not found.tier_[suspects].any()
    assert_array_equal(np.flatnonzero(found.known_), np.sort(suspects))
    assert_array_equal(found.score_[suspects], [np.inf, np.inf, -np.inf, -np.inf])
    assert set(found.order_[-4:].tolist()) == set(suspects.tolist())


def test_known_rows_count():
    P, y, _ = simulate.labelled(2000, rate=0.0, scale=2.5)
    found = judge_labels(P, y, known={0: 1 - y[0], 1: y[1]})
    assert not found.has_evidence
    assert found.count_.sum() == 1
    assert found.count_[y[0]] == 1


def test_the_right_label_of_a_known_row_is_suggested():
    P, y, _ = simulate.labelled(300, K=3, rate=0.05)
    right = (y[0] + 1) % 3, (y[1] + 2) % 3
    found = judge_labels(P, y, known={0: right[0], 1: right[1]})
    assert_array_equal(found.suggested_[:2], right)


def looked_at(n_reviews, is_wrong):
    """Return a judgement of labels without random errors after the least likely were checked."""
    P, y, _ = simulate.labelled(2000, rate=0.0, scale=2.5)
    plain = judge_labels(P, y)
    worst = np.argsort(plain.given_probability_)[: 2 * n_reviews : 2]  # every other one
    known = {int(i): 1 - y[i] if is_wrong else y[i] for i in worst}
    return plain, judge_labels(P, y, known=known), worst


@pytest.mark.parametrize("is_wrong", [False, True])
def test_nineteen_reviews_do_not_say_how_many_rows_worth_a_look_are_wrong(is_wrong):
    plain, found, _ = looked_at(19, is_wrong)
    usual = 0.5 if found.has_evidence else plain.look_share_
    assert found.look_share_ == usual
    assert "by the rows you checked" not in found.sentence


def test_from_twenty_reviews_on_they_say_how_many_others_are_wrong():
    plain, wrong, worst = looked_at(30, True)
    _, right, _ = looked_at(30, False)
    others = np.setdiff1d(np.arange(2000), worst)
    assert right.look_share_ < plain.look_share_ < wrong.look_share_
    assert (wrong.wrong_[others] >= plain.wrong_[others] - 1e-12).all()
    look = np.argsort(plain.given_probability_)[1:59:2]  # as doubtful as those that were checked
    assert (wrong.tier_[look] >= 1).mean() > 0.9
    assert wrong.wrong_[look].mean() > 0.3 > right.wrong_[look].mean()
    assert f"about {100 * right.look_share_:.1f} % of such rows are wrong" in right.sentence
    assert wrong.count_.sum() > 20


def test_reviews_change_the_ranking_as_they_change_the_probabilities():
    plain, found, worst = looked_at(30, True)
    others = np.setdiff1d(np.arange(2000), worst)
    order = others[np.argsort(found.score_[others])]
    assert np.diff(found.wrong_[order]).min() > -2e-3  # the tie breaker may do so much
    assert (found.score_[others] > plain.score_[others] + 0.1).any()


def test_rows_in_doubt_that_are_found_wrong_leave_flagged_rows_flagged():
    P, y, _ = simulate.labelled(1500, rate=0.06)
    plain = judge_labels(P, y)
    below = np.argsort(np.where(plain.wrong_ < 0.5, plain.given_probability_, 1))[:25]
    found = judge_labels(P, y, known={int(i): 1 - y[i] for i in below})
    above = plain.wrong_ > 0.5
    assert_array_equal(found.flagged_[above], True)
    assert (found.wrong_[above] >= plain.wrong_[above]).all()


def test_suspects_that_are_checked_say_nothing_about_rows_worth_a_look():
    P, y, _ = simulate.labelled(1500, rate=0.06)
    plain = judge_labels(P, y)
    flagged = np.flatnonzero(plain.wrong_ > 0.7)[:30]
    found = judge_labels(P, y, known={int(i): 1 - y[i] for i in flagged})
    assert found.n_reviews == 0
    assert found.look_share_ == plain.look_share_


# -- Two models ------------------------------------------------------------------------------------


def blurred(P, seed, spread=0.5):
    noise = np.random.default_rng(seed).normal(0, spread, P.shape)
    return softmax(np.log(P) + noise, axis=1)


@pytest.mark.parametrize("second", [5.0, 50.0])
def test_confirmed_evidence_is_the_smaller_one_and_log_odds_are_the_mean(second):
    P, y, _ = simulate.labelled(1000, rate=0.08, scale=5.0)
    one, two = (judge_labels(blurred(P, seed), y) for seed in (0, 1))
    both = one.confirm(replace(two, evidence_=second))
    assert both.evidence_ == min(one.evidence_, second)
    assert (both.evidence_ == one.evidence_) == (second == 50.0)
    assert len(both.models_) == 2

    def logit(w):
        return np.log(w / (1 - w))

    inside = (one.wrong_ > 1e-9) & (one.wrong_ < 1 - 1e-9) & (two.wrong_ < 1 - 1e-9)
    inside &= two.wrong_ > 1e-9
    mean = (logit(one.wrong_[inside]) + logit(two.wrong_[inside])) / 2
    assert_allclose(logit(both.wrong_[inside]), mean, atol=1e-6)
    assert both.flagged_.any()
    assert_allclose(both.count_, np.bincount(y, both.wrong_))


def test_a_second_model_may_be_asked_for_its_evidence_only():
    P, y, _ = simulate.labelled(1000, rate=0.08, scale=5.0)
    one, two = (judge_labels(blurred(P, seed), y) for seed in (0, 1))
    both = one.confirm(replace(two, evidence_=3.0), keep_odds=True)
    assert both.evidence_ == 3
    assert_allclose(both.score_, one.score_)
    assert_allclose(both.given_probability_, one.given_probability_)
    assert not one.confirm(replace(two, evidence_=-1.0), keep_odds=True).flagged_.any()


def test_without_the_second_models_evidence_there_is_no_verdict():
    P, y, _ = simulate.labelled(1000, rate=0.08, scale=5.0)
    one = judge_labels(P, y)
    blind = judge_labels(np.tanh(np.log(P[:, 1] / P[:, 0])), y, scores=True)  # never certain
    assert one.has_evidence
    assert not blind.has_evidence
    both = one.confirm(blind)
    assert not both.has_evidence
    assert not both.flagged_.any()
    assert both.count_.sum() == 0
    assert both.sentence.startswith("No verdict: the model sees wrong labels, but the model does")
    assert both.wrong_.max() < expit(both.evidence_)  # no more than that any label is wrong


def test_a_model_that_only_confirms_is_asked_for_even_odds():
    P, y, _ = simulate.labelled(1000, rate=0.08, scale=5.0)
    one = judge_labels(P, y)
    for second, is_shared in ((-2.3, True), (-2.31, False)):
        other = replace(one, evidence_=second)
        assert one.confirm(other.ask_for_even_odds()).has_evidence == is_shared
        assert not one.confirm(other).has_evidence
    assert one.ask_for_even_odds().models_ == one.models_


def test_without_evidence_rows_are_ranked_by_the_same_odds():
    P, y, _ = simulate.labelled(1000, rate=0.08, scale=5.0)
    one = judge_labels(P, y)
    silent = conclude(replace(one, evidence_=-9.0))
    assert silent.wrong_.max() < 1e-3
    assert_array_equal(silent.score_, one.score_)


def test_two_models_without_evidence_give_no_sign(clean):
    assert clean.confirm(clean).sentence.startswith("No sign of labels wrong at random.")


def test_judgements_of_other_labels_cannot_confirm(noisy, clean):
    with pytest.raises(ValueError, match="of the same labels; needed the same rows"):
        noisy.confirm(clean)


def test_known_rows_stay_known_when_a_second_model_confirms():
    P, y, _ = simulate.labelled(1000, rate=0.08, scale=5.0)
    known = {0: 1 - y[0], 1: y[1]}
    both = judge_labels(P, y, known=known).confirm(judge_labels(blurred(P, 0), y))
    assert_array_equal(both.wrong_[:2], [1, 0])
    assert not both.tier_[:2].any()


# -- Tables ----------------------------------------------------------------------------------------

COLUMNS = ["row", "given", "suggested", "tier", "probability"]


def test_a_frame_has_all_rows_the_most_suspect_first(noisy):
    pytest.importorskip("pandas")
    frame = noisy.to_frame()
    assert list(frame.columns[:5]) == COLUMNS
    assert sorted(frame["row"]) == list(range(1000))
    assert_array_equal(frame["tier"], np.sort(noisy.tier_)[::-1])
    assert_array_equal(frame["row"], noisy.order_)
    for _, part in frame.groupby("tier"):
        assert (np.diff(part["score"]) <= 0).all()
    assert_array_equal(frame["probability"], noisy.wrong_[frame["row"]])
    assert_array_equal(frame["given"], noisy.labels_[frame["row"]])
    assert_array_equal(frame["suggested"], noisy.suggested_[frame["row"]])
    assert_array_equal(frame["given_probability"], noisy.given_probability_[frame["row"]])
    assert_array_equal(frame.index, range(1000))


def test_csv_holds_what_the_frame_holds(noisy):
    pytest.importorskip("pandas")
    rows = list(csv.reader(io.StringIO(noisy.to_csv())))
    frame = noisy.to_frame()
    assert rows[0] == list(frame.columns)
    assert len(rows) == 1001
    assert [int(row[0]) for row in rows[1:]] == frame["row"].tolist()
    assert [float(row[4]) for row in rows[1:]] == frame["probability"].tolist()


def test_csv_runs_no_formula():
    P, y, _ = simulate.labelled(100)
    text = judge_labels(P, np.array(["=cmd", "@sum"])[y]).to_csv()
    for row in list(csv.reader(io.StringIO(text)))[1:]:
        assert {row[1], row[2]} == {"'=cmd", "'@sum"}


# -- What may be dropped ---------------------------------------------------------------------------


def test_a_class_that_would_be_left_with_fewer_than_two_rows_is_not_dropped():
    index = np.array([0, 0, 0, 0, 1, 1, 2, 2, 2])
    dropped = np.array([1, 1, 0, 0, 1, 0, 1, 1, 1], dtype=bool)
    assert_array_equal(droppable(dropped, index), [1, 1, 0, 0, 0, 0, 0, 0, 0])
