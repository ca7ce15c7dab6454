"""The share of wrong labels: planted shares, honest intervals, odd input, the same answer twice."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

from sorr.estimators import RankedRangeClassifier
from sorr.objectives import RankedRangeObjective
from sorr.share import OutlierShare, Regime, estimate_outlier_share
from sorr.share.verdict import Verdict
from sorr.solvers import trim


def planted(n=2000, d=5, low=0.0, high=0.0, seed=0):
    """Return rows, labels of which some are wrong, the true classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    true = (3 * X[:, 0] - 2 * X[:, 1] + rng.logistic(size=n) > 0).astype(int)
    flipped = rng.random(n) < np.where(true == 1, high, low)
    return X, np.where(flipped, 1 - true, true), true


def shares(label, true):
    return np.bincount(label, label != true) / np.bincount(label)


@pytest.mark.parametrize(
    ("low", "high", "regime"),
    [
        (0.0, 0.0, {Regime.CLEAN}),
        (0.15, 0.15, {Regime.SYMMETRIC}),
        (0.0, 0.3, {Regime.ASYMMETRIC}),
    ],
)
def test_planted_shares_are_found(low, high, regime):
    X, y, true = planted(4000, low=low, high=high)
    share = estimate_outlier_share(X, y, random_state=0)
    assert share.regime_ in regime
    np.testing.assert_allclose(share.rate_, shares(y, true), atol=0.03)
    np.testing.assert_allclose(share.count_, share.rate_ * np.bincount(y))
    assert np.all(share.interval_[:, 0] <= share.rate_)
    assert np.all(share.rate_ <= share.interval_[:, 1])
    assert np.all(share.interval_[:, 1] <= share.upper_bound_)
    np.testing.assert_allclose(share.flip_rate_, [[1 - low, low], [high, 1 - high]], atol=0.05)


@pytest.mark.parametrize("seed", range(5))
def test_clean_rows_have_a_share_near_zero(seed):
    X, y, _ = planted(seed=seed)
    share = estimate_outlier_share(X, y, random_state=0)
    assert share.rate_.max() < 0.025
    assert share.drop_.sum() <= 0.025 * len(y)


@pytest.mark.slow
def test_the_interval_covers_the_share_and_the_bound_exceeds_it():
    covered, bounded = [], []
    for seed in range(60):
        low, high = [(0.1, 0.1), (0.0, 0.2), (0.2, 0.05)][seed % 3]
        X, y, true = planted(1500, low=low, high=high, seed=seed)
        share = estimate_outlier_share(X, y, random_state=0)
        actual = shares(y, true)
        covered.append((share.interval_[:, 0] <= actual) & (actual <= share.interval_[:, 1]))
        bounded.append(actual <= share.upper_bound_)
    assert np.mean(covered) >= 0.93
    assert np.mean(bounded) >= 0.93


def test_a_trimmed_fit_sees_through_labels_of_one_class():
    X, y, true = planted(4000, high=0.35)
    share = estimate_outlier_share(X, y, random_state=0)
    objective = RankedRangeObjective(
        X, 2.0 * y - 1, C=1e4, groups=y, m=dict(enumerate(share.drop_.tolist()))
    )
    theta = trim(objective, start=share.theta_, certify=False).theta
    plain = RankedRangeObjective(X, 2.0 * y - 1, C=1e4)
    biased = trim(plain, certify=False).theta

    def accuracy(parameters):
        return np.mean((objective.raw_prediction(parameters) > 0) == (true == 1))

    assert accuracy(theta) > accuracy(biased) + 0.03
    assert accuracy(theta) > 0.86  # of the true model: 0.88
    suspects = np.argsort(-share.score_)[:200]
    assert np.mean(y[suspects] != true[suspects]) > 0.9


def test_leverage_outliers_are_counted():
    X, y, _ = planted()
    X[:100] += 20 * np.array([3, -2, 0, 0, 0]) / np.sqrt(13)
    y[:100] = 0
    share = estimate_outlier_share(X, y, random_state=0)
    assert share.leverage_[:100].all()
    assert share.leverage_.sum() <= 103
    assert share.drop_[0] >= 100
    assert share.count_[0] == pytest.approx(100, abs=25)
    assert set(np.argsort(-share.score_)[:100]) == set(range(100))
    assert "are far" in share.sentence


def test_a_model_that_is_wrong_gets_no_lower_bound():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (3000, 2))
    y = ((X[:, 0] > 0) & (np.abs(X[:, 1]) > 0.25)).astype(int)  # a strip that no line cuts out
    share = estimate_outlier_share(X, y, random_state=0)
    assert share.regime_ is Regime.MISFIT
    np.testing.assert_array_equal(share.interval_[:, 0], 0)
    np.testing.assert_array_equal(share.interval_[:, 1], share.upper_bound_)
    assert share.upper_bound_.max() < 0.1
    assert "any model" in share.sentence


def test_several_classes_show_which_is_taken_for_which():
    X, true = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    y = np.where((true == 1) & (rng.random(len(true)) < 0.3), 7, true)
    share = estimate_outlier_share(X / 16, y, C=1e5, random_state=0)
    wrong = y != true
    assert share.rate_[7] == pytest.approx(wrong[y == 7].mean(), abs=0.05)
    assert np.delete(share.rate_, 7).max() < 0.05
    assert share.flip_rate_[1, 7] == pytest.approx(0.3, abs=0.08)
    suspects = np.argsort(-share.score_)[: wrong.sum()]
    assert wrong[suspects].mean() > 0.9
    assert share.theta_.shape == (65, 10)


@pytest.mark.parametrize("seed", [0, 7])
def test_the_same_seed_gives_the_same_answer_whatever_the_number_of_threads(seed):
    X, y, _ = planted(600, low=0.1, high=0.2)
    answers = [
        estimate_outlier_share(X, y, random_state=random_state, n_jobs=n_jobs)
        for random_state, n_jobs in [(seed, None), (seed, 2), (np.random.default_rng(seed), 1)]
    ]
    for other in answers[1:]:
        for name in ("rate_", "interval_", "upper_bound_", "drop_", "theta_", "score_"):
            np.testing.assert_array_equal(getattr(answers[0], name), getattr(other, name))


def test_generators_of_scikit_learn_are_understood():
    X, y, _ = planted(300)
    first, again = (
        estimate_outlier_share(X, y, random_state=np.random.RandomState(3)) for _ in range(2)
    )
    np.testing.assert_array_equal(first.theta_, again.theta_)


@pytest.mark.parametrize("convert", [sparse.csr_matrix, sparse.csr_array, np.float32, np.asarray])
def test_the_form_of_the_rows_does_not_matter(convert):
    X, y, _ = planted(1500, high=0.25)
    dense = estimate_outlier_share(X, y, random_state=0)
    other = estimate_outlier_share(convert(X), y, random_state=0)
    assert other.regime_ is dense.regime_
    np.testing.assert_allclose(other.rate_, dense.rate_, atol=0.01)
    np.testing.assert_allclose(other.drop_, dense.drop_, atol=8)
    np.testing.assert_allclose(other.theta_, dense.theta_, rtol=0.2, atol=0.1)


def test_units_of_the_columns_do_not_matter_without_a_ridge():
    X, y, _ = planted(1500, high=0.25)
    units = np.array([1e-3, 1e4, 1.0, 10.0, 1e-5])
    one, other = (
        estimate_outlier_share(rows, y, C=1e30, random_state=0) for rows in (X, X * units + 3)
    )
    np.testing.assert_allclose(one.rate_, other.rate_, atol=1e-3)
    np.testing.assert_allclose(one.theta_[:5], other.theta_[:5] * units, rtol=1e-2, atol=1e-2)


def test_rows_of_no_weight_do_not_count():
    X, y, _ = planted(1500, high=0.25)
    weight = np.ones(1500)
    y[:200], weight[:200] = 1 - y[:200], 0.0
    share = estimate_outlier_share(X, y, sample_weight=weight, random_state=0)
    rest = estimate_outlier_share(X[200:], y[200:], random_state=0)
    np.testing.assert_allclose(share.rate_, rest.rate_, atol=0.03)
    assert share.score_.shape == (1500,)


def test_weights_that_are_no_counts_give_masses():
    X, y, true = planted(1500, high=0.25)
    share = estimate_outlier_share(X, y, sample_weight=np.full(1500, 0.5), random_state=0)
    assert share.drop_.dtype == np.float64
    assert share.count_.sum() == pytest.approx(0.5 * np.sum(y != true), rel=0.25)


@pytest.mark.parametrize("n", [2, 6, 15])
def test_too_few_rows_give_no_wrong_ones(n):
    X, y, _ = planted(n)
    y[:2] = 0, 1
    share = estimate_outlier_share(X, y, random_state=0)
    if np.bincount(y).min() < 8:
        assert share.regime_ is Regime.TOO_FEW_ROWS
        np.testing.assert_array_equal(share.rate_, 0)
        np.testing.assert_array_equal(share.interval_, [[0, 1], [0, 1]])
        np.testing.assert_array_equal(share.drop_, 0)
        assert "too few" in share.sentence
    assert np.isfinite(share.theta_).all()


def test_a_tiny_class_among_others_keeps_its_rows():
    X, y, _ = planted(500, low=0.1, high=0.1)
    y[:3] = 2
    share = estimate_outlier_share(X, y, random_state=0)
    assert share.drop_[2] == 0
    assert share.theta_.shape == (6, 3)


@pytest.mark.parametrize("rows", [np.ones((60, 2)), np.zeros((60, 2))])
def test_rows_that_are_all_equal_tell_nothing(rows):
    share = estimate_outlier_share(rows, np.arange(60) % 3 == 0, random_state=0)
    assert share.regime_ in (Regime.UNCERTAIN, Regime.CLEAN)
    np.testing.assert_array_equal(share.drop_, 0)
    np.testing.assert_array_equal(share.interval_[:, 0], 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.zeros(50)}, "one class only, 0.0"),
        ({"X": np.full((50, 2), np.nan)}, "NaN"),
        ({"y": np.linspace(0, 1, 50)}, "continuous"),
        ({"C": -1.0}, "C=-1.0 is not positive"),
        ({"sample_weight": -np.ones(50)}, "negative weight"),
        ({"sample_weight": np.ones(3)}, "needed one weight for each of the 50 rows"),
    ],
)
def test_wrong_input_is_refused_with_a_reason(change, message):
    given = {"X": np.arange(100.0).reshape(50, 2), "y": np.arange(50) % 2} | change
    with pytest.raises(ValueError, match=message):
        estimate_outlier_share(**given)


def test_the_answer_is_frozen_and_speaks():
    X, y, _ = planted(1000, low=0.1, high=0.1)
    share = estimate_outlier_share(X, np.array(["no", "yes"])[y], random_state=0)
    assert isinstance(share, OutlierShare)
    assert share.regime_.sentence[1:] in share.sentence
    assert "In any model, at most" in share.sentence
    assert "no: " in share.sentence
    with pytest.raises(AttributeError):
        share.rate_ = None


def test_scores_are_held_out_even_where_all_labels_can_be_fitted():
    # More columns than rows, labels at random: the fit of all rows must not leak into the folds.
    X = np.random.default_rng(0).normal(size=(60, 150))
    share = estimate_outlier_share(X, np.arange(60) % 2, random_state=0)
    assert share.upper_bound_.max() > 0.3
    assert np.all(share.interval_[:, 1] > 0.3)


def test_no_class_vanishes_where_most_of_its_labels_are_wrong():
    # One row in fifty is of class 1, and one in ten of class 0 is labelled so.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    true = (X[:, 0] > 2.05).astype(int)
    y = np.where((true == 0) & (rng.random(3000) < 0.1), 1, true)
    share = estimate_outlier_share(X, y, random_state=0)
    assert share.rate_[1] > 0.7
    assert share.drop_[1] <= 0.91 * np.sum(y == 1)


@pytest.mark.parametrize(
    ("rates", "expected"), [((0.30, 0.28), False), ((0.05, 0.3), True), ((0.0, 0.1), True)]
)
def test_rates_are_lopsided_if_one_is_more_than_twice_the_other(rates, expected):
    noise = SimpleNamespace(rates=np.array(rates))
    verdict = Verdict(Regime.ASYMMETRIC, noise, np.eye(2), np.zeros(2), np.ones(2))
    assert verdict.is_lopsided == expected


def test_where_both_classes_go_wrong_alike_fewer_rows_are_dropped_than_are_wrong():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8000, 3))
    y = (X @ [2.0, -1.0, 0.0] + rng.logistic(size=8000) > 0).astype(int)
    rate = np.where(y == 1, 0.30, 0.25)  # not the same, but near
    y = np.where(rng.random(8000) < rate, 1 - y, y)
    share = estimate_outlier_share(X, y, C=8000.0, random_state=0)
    assert share.regime_ in (Regime.SYMMETRIC, Regime.ASYMMETRIC)
    assert (share.drop_ < 0.9 * share.count_).all()


@pytest.mark.parametrize(("low", "high"), [(0.15, 0.15), (0.0, 0.3)])
def test_the_posterior_of_a_wrong_label_is_that_of_the_model_that_made_the_rows(low, high):
    X, y, true = planted(8000, low=low, high=high)
    found = estimate_outlier_share(X, y, random_state=0).flip_posterior_
    p = 1 / (1 + np.exp(-(3 * X[:, 0] - 2 * X[:, 1])))
    one = np.where(y == 1, p * (1 - high), p * high)  # true class 1, and labelled as it is
    zero = np.where(y == 1, (1 - p) * low, (1 - p) * (1 - low))
    exact = np.where(y == 1, zero, one) / (one + zero)
    assert np.abs(found - exact).mean() < 0.02
    for low_end, high_end in ((0.0, 0.2), (0.2, 0.8), (0.8, 1.0)):  # and right as often as it says
        inside = (found >= low_end) & (found <= high_end)
        assert abs((y != true)[inside].mean() - found[inside].mean()) < 0.08


def test_there_is_no_posterior_where_no_model_of_wrong_labels_holds():
    X, y, _ = planted(4000)
    assert np.isnan(estimate_outlier_share(X, y, random_state=0).flip_posterior_).all()  # clean
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)  # no plane tells these apart
    assert np.isnan(estimate_outlier_share(X, y, random_state=0).flip_posterior_).all()


def test_as_many_rows_as_seem_wrong_are_dropped_where_that_is_asked_for():
    X, y, _ = planted(3000, low=0.15, high=0.15)
    share = estimate_outlier_share(X, y, drop="estimate", random_state=0)
    np.testing.assert_array_equal(share.drop_, np.rint(share.count_))
    assert (share.drop_ > estimate_outlier_share(X, y, random_state=0).drop_).all()
    model = RankedRangeClassifier("estimate", random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.m_, share.drop_)
    assert model.outlier_mask_.sum() == share.drop_.sum()
    with pytest.raises(ValueError, match="drop='all' is not known; needed one of 'auto', 'est"):
        estimate_outlier_share(X, y, drop="all")


def test_of_a_class_of_few_rows_nothing_is_told():
    X, y, _ = planted(600, low=0.1, high=0.1)
    X, y = np.vstack([X, X[:3]]), np.append(y, [2, 2, 2])
    share = estimate_outlier_share(X, y, random_state=0)
    assert (share.rate_[2], share.drop_[2], *share.interval_[2]) == (0.0, 0, 0.0, 1.0)
    assert "2: too few rows" in share.sentence
