"""When a second model is asked, and what its answer changes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from sorr import judge_labels
from sorr.share import GivenProbabilities, LabelledRows, judge_rows, make_model, name_of
from sorr.share.constants import STRONG
from tests.share import simulate


def labelled_rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = (rng.random(n) < expit(3 * X[:, 0])).astype(int)
    return LabelledRows(X, y, y, np.array([0, 1]), None, seed=0)


class Scripted(LabelledRows):
    """Rows whose held-out probabilities are written down for each model."""

    has_zero_weights = True  # so that "auto" is asked for its probabilities, and not fitted

    def __init__(self, y, **by_model):
        super().__init__(np.zeros((len(y), 1)), y, y, np.array([0, 1]), None, seed=0)
        self.by_model = by_model
        self.asked = []
        self.learned = []

    def hold_out(self, estimator, **_):
        name = estimator if isinstance(estimator, str) else "own"
        self.asked.append(name)
        self.learned.append((self.y, self.index, self.strata))
        return self.by_model[name]


def clean(n=2000):
    P, y, _ = simulate.labelled(n, rate=0.0, scale=3.0)
    return P, y


def noisy(n, rate=0.08, seed=0):
    return simulate.labelled(n, rate=rate, scale=4.0, seed=seed)


def with_evidence(low, high):
    """Return probabilities and labels with evidence between two levels."""
    for seed in range(60):
        P, y, wrong = noisy(300, 0.05, seed)
        if low < judge_labels(P, y).evidence_ <= high:
            return P, y, wrong
    raise AssertionError("no draw has such evidence")


def blind(P):
    """Return probabilities that are never certain, so that they give no evidence."""
    p = expit(np.tanh(np.log(P[:, 1] / P[:, 0])))
    return np.column_stack([1 - p, p])


@pytest.mark.parametrize("name", ["auto", "forest", "linear", "boosting", "own"])
def test_clean_labels_ask_no_second_model(name):
    P, y = clean()
    rows = Scripted(y, **{name: P})
    model = LogisticRegression() if name == "own" else name
    found = judge_rows(rows, model)
    assert rows.asked == [name]
    assert not found.judgement.has_evidence
    assert_array_equal(found.probabilities, P)


@pytest.mark.parametrize("name", ["auto", "forest"])
def test_strong_evidence_of_a_forest_stands_alone(name):
    P, y, _ = noisy(2000)
    rows = Scripted(y, **{name: P})
    found = judge_rows(rows, name).judgement
    assert rows.asked == [name]
    assert found.verdict_ == "strong"
    assert len(found.models_) == 1


@pytest.mark.parametrize("name", ["auto", "forest"])
def test_weaker_evidence_of_a_forest_asks_boosting(name):
    P, y, _ = with_evidence(0, 10)
    shared = Scripted(y, **{name: P, "boosting": P})
    found = judge_rows(shared, name).judgement
    assert shared.asked == [name, "boosting"]
    assert found.has_evidence
    assert found.flagged_.any()
    assert found.models_[1][0] == "boosting"
    alone = Scripted(y, **{name: P, "boosting": blind(P)})
    found = judge_rows(alone, name).judgement
    assert not found.has_evidence
    assert not found.flagged_.any()
    assert f"No verdict: {name_of(name)} sees wrong labels, but boosting does not" in found.sentence


@pytest.mark.parametrize("name", ["linear", "boosting", "own"])
def test_evidence_of_any_other_model_asks_the_forest(name):
    P, y, _ = noisy(2000)
    model = GaussianNB() if name == "own" else name
    rows = Scripted(y, **{name: P, "auto": P})
    found = judge_rows(rows, model).judgement
    assert rows.asked == [name, "auto"]
    assert found.verdict_ == "strong"
    assert [each for each, _ in found.models_] == [name_of(model), name_of("auto")]
    rows = Scripted(y, **{name: P, "auto": blind(P)})
    found = judge_rows(rows, model)
    assert not found.judgement.has_evidence
    assert_array_equal(found.probabilities, P)  # of the model itself


def test_a_model_beside_the_forest_needs_even_odds_and_the_forest_ten_to_one():
    P, y, _ = noisy(2000)
    weak = next(each for each in blurs(P) if -np.log(10) < judge_labels(each, y).evidence_ < 0)
    rows = Scripted(y, linear=weak, auto=P)
    found = judge_rows(rows, "linear").judgement
    assert rows.asked == ["linear", "auto"]
    assert found.has_evidence
    assert found.flagged_.any()
    rows = Scripted(y, linear=P, auto=weak)
    assert not judge_rows(rows, "linear").judgement.has_evidence
    rows = Scripted(y, auto=weak)
    assert not judge_rows(rows, "auto").judgement.has_evidence
    assert rows.asked == ["auto"]


def test_boosting_confirms_from_even_odds_on():
    P, y, _ = with_evidence(0, 10)
    weak = next(each for each in blurs(P) if -np.log(10) < judge_labels(each, y).evidence_ < 0)
    rows = Scripted(y, auto=P, boosting=weak)
    found = judge_rows(rows, "auto").judgement
    assert rows.asked == ["auto", "boosting"]
    assert found.has_evidence


def blurs(P):
    """Yield probabilities that are less and less certain, and so give less and less evidence."""
    raw = np.log(P[:, 1] / P[:, 0])
    for most in np.geomspace(20, 0.5, 200):
        p = expit(most * np.tanh(raw / most))
        yield np.column_stack([1 - p, p])


def rare_rows(wrong, seed=0):
    """Return probabilities and labels with a class of about 2 %, some of it wrong."""
    P, _, _ = simulate.labelled(3000, scale=6.0, seed=seed)
    odds = np.log(P[:, 1] / P[:, 0]) - 15
    p = expit(odds)
    P = np.column_stack([1 - p, p])
    y = simulate.draw(P, seed)
    sure = np.flatnonzero((p < 1e-5) & (y == 0))
    y[np.random.default_rng(seed).choice(sure, wrong, replace=False)] = 1
    assert y.mean() < 0.05
    return P, y


def test_in_rare_classes_boosting_has_to_share_the_evidence_too():
    for wrong, seed in ((0, 0), (1, 0), (1, 1), (1, 2), (1, 3), (2, 0), (2, 1), (20, 0)):
        P, y = rare_rows(wrong, seed)
        alone = judge_labels(P, y)
        is_asked = 0 < alone.evidence_ <= STRONG
        rows = Scripted(y, auto=P, boosting=blind(P))
        found = judge_rows(rows, "auto").judgement
        assert rows.asked == ["auto", *["boosting"] * is_asked]
        assert found.has_evidence == (alone.evidence_ > STRONG)


def test_in_rare_classes_boosting_alone_is_not_believed():
    P, y = rare_rows(20)
    rows = Scripted(y, boosting=P, auto=blind(P))
    found = judge_rows(rows, "boosting").judgement
    assert rows.asked == ["boosting", "auto"]
    assert not found.flagged_.any()


def test_known_rows_are_passed_on():
    P, y, _ = noisy(2000)
    rows = Scripted(y, boosting=P, auto=P)
    found = judge_rows(rows, "boosting", known={0: 1 - y[0]}).judgement
    assert found.wrong_[0] == 1
    assert_array_equal(np.flatnonzero(found.known_), [0])


def test_models_learn_the_right_labels_and_the_given_ones_are_judged():
    P, y, wrong = noisy(2000)
    rows = Scripted(y, boosting=P, auto=P)
    truth = np.where(wrong, 1 - y, y)
    known = {int(i): int(truth[i]) for i in np.flatnonzero(wrong)[:40]}
    found = judge_rows(rows, "boosting", known=known).judgement
    assert rows.asked == ["boosting", "auto"]
    right = y.copy()
    right[list(known)] = list(known.values())
    for learned in rows.learned:
        for each in learned:
            assert_array_equal(each, right)
    assert_array_equal(found.labels_, y)
    assert_array_equal(found.wrong_[list(known)], 1)
    assert_array_equal(rows.y, y)  # what was given is left alone
    both = judge_labels(P, y, known=known).ask_for_even_odds()
    assert_allclose(found.log_odds_, both.confirm(judge_labels(P, y, known=known)).log_odds_)


def test_a_forest_learns_what_is_known_about_a_corner_of_the_table():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(600, 2))
    truth = (X[:, 0] > 0).astype(int)
    corner = (X[:, 0] > 0.5) & (X[:, 1] > 0)
    y = np.where(corner & (rng.random(600) < 0.6), 0, truth)
    names = np.array(["no", "yes"])
    rows = LabelledRows(X, names[y], y, names, None, seed=0)
    in_corner = np.flatnonzero(corner)
    known = {int(i): names[truth[i]] for i in in_corner[::2]}
    left = in_corner[1::2]
    before, after = judge_rows(rows, "auto"), judge_rows(rows, "auto", known=known)
    assert after.probabilities[left, 1].mean() > before.probabilities[left, 1].mean() + 0.1
    wrong = left[y[left] == 0]
    gain = after.judgement.wrong_[wrong] - before.judgement.wrong_[wrong]
    assert np.mean(gain > 0) > 0.9


def test_probabilities_may_stand_for_a_model():
    P, y = clean()
    rows = Scripted(y)
    found = judge_rows(rows, GivenProbabilities(P))
    assert rows.asked == []
    assert_array_equal(found.probabilities, P)
    assert_array_equal(found.judgement.score_, judge_labels(P, y).score_)
    assert found.judgement.models_[0][0] == "the model of these probabilities"


def test_a_forest_has_to_share_the_evidence_of_probabilities_too():
    P, y, wrong = noisy(2000)
    known = {int(i): int(y[i]) for i in np.flatnonzero(~wrong)[:10]}
    rows = Scripted(y, auto=blind(P))
    assert not judge_rows(rows, GivenProbabilities(P), known=known).judgement.has_evidence
    rows = Scripted(y, auto=P)
    found = judge_rows(rows, GivenProbabilities(P), known=known).judgement
    assert rows.asked == ["auto"]
    assert found.verdict_ == "strong"
    assert_array_equal(found.wrong_[list(known)], 0)


def test_nothing_known_leaves_rows_and_judgement_as_they_are():
    rows = labelled_rows()
    one, other = judge_rows(rows, "auto"), judge_rows(rows, "auto", known={})
    assert_array_equal(other.probabilities, one.probabilities)
    assert_array_equal(other.judgement.score_, one.judgement.score_)


def test_real_models_are_asked_too():
    rows = labelled_rows()
    found = judge_rows(rows, "linear")
    assert found.probabilities.shape == (300, 2)
    assert found.judgement.models_[0][0] == "a linear model"


def test_names_of_models_are_words():
    assert name_of("boosting") == "boosting"
    assert name_of(GaussianNB()) == "GaussianNB"


def test_the_model_auto_combines_its_parts_as_its_attributes_say():
    rows = labelled_rows()
    model = make_model("auto", 0).fit(rows.X, rows.y)
    P = model.predict_proba(rows.X)
    assert_allclose(P.sum(axis=1), 1)
    parts = [
        np.log(np.maximum(part.predict_proba(rows.X), 1e-4))
        for part in (model.forest_, model.line_)
    ]
    z = [part - part.mean(axis=1, keepdims=True) for part in parts]
    raw = model.slopes_[0] * z[0] + model.slopes_[1] * z[1] + model.shift_
    assert_allclose(P, np.exp(raw) / np.exp(raw).sum(axis=1, keepdims=True))
    assert (model.slopes_ >= 0).all()
    assert_array_equal(model.predict(rows.X), P.argmax(axis=1))
    assert model.n_features_in_ == 2


def test_boosting_is_never_sure_beyond_measure_of_a_rare_class():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    y = (X[:, 0] + 0.3 * rng.normal(size=1500) > 0.5).astype(int)
    y[np.argsort(-X[:, 1] - 0.3 * rng.normal(size=1500))[:15]] = 2
    rows = LabelledRows(X, y, y, np.arange(3), None, seed=0)
    assert rows.hold_out("boosting").min() > 5e-6  # 2e-7 without a ridge
