import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from sorr.baselines import average, average_top_k, maximum, median, trimmed
from sorr.estimators import RankedRangeClassifier, RankedRangeRegressor
from sorr.objectives import RankedRangeObjective
from sorr.ranked import RankedRange
from sorr.solvers import topsum
from tests.baselines.problems import two_classes

X, Y = two_classes(60)
T = X @ [1.0, 2.0, 3.0] + np.random.default_rng(0).standard_normal(60)
EACH = [
    (average, ()),
    (maximum, ()),
    (average_top_k, (5,)),
    (median, ()),
    (trimmed, (3,)),
]


@pytest.mark.parametrize(("make", "ranks"), EACH)
def test_each_is_an_estimator_of_its_task_with_the_options_that_were_given(make, ranks):
    model = make(*ranks, loss="hinge", C=7.0)
    assert type(model) is RankedRangeClassifier
    assert (model.loss, model.C) == ("hinge", 7.0)
    assert model.ranking == ("within_class" if make is median else "pooled")
    model = make(*ranks, "regression", loss="absolute", max_iter=9)
    assert type(model) is RankedRangeRegressor
    assert (model.loss, model.max_iter) == ("absolute", 9)
    assert make(*ranks, ranking="within_class").ranking == "within_class"


def test_the_average_is_logistic_regression_and_ridge():
    model = average(C=30.0, tol=1e-10).fit(X, Y)
    peer = LogisticRegression(C=30.0 / 60, tol=1e-10, max_iter=10_000).fit(X, Y)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-4, atol=1e-6)
    model = average("regression", C=30.0, tol=1e-10).fit(X, T)
    peer = Ridge(alpha=60 / (2 * 30.0)).fit(X, T)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-5)


@pytest.mark.parametrize(("make", "ranks", "k"), [(maximum, (), 1), (average_top_k, (12,), 12)])
def test_top_losses_have_their_convex_minimum(make, ranks, k):
    apart = np.where(X[:, 0] > 0, 1.0, -1.0)  # else the minimum would be a constant model
    for task, y, loss in (("classification", apart, "hinge"), ("regression", T, "absolute")):
        best = topsum(RankedRangeObjective(X, y, loss, k=k, C=1.0))
        model = make(*ranks, task, loss=loss, C=1.0).fit(X, y)
        assert model.objective_ == pytest.approx(best.objective, rel=1e-5)
        assert (model.m_, model.k_) == (0, k)


def test_trimming_leaves_out_what_it_is_told_to():
    y = T.copy()
    y[:4] += 100
    model = trimmed(4, "regression", random_state=0).fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(model.outlier_mask_), np.arange(4))
    labels = np.where(X[:, 0] > 0, 1, 0)
    wrong = np.argsort(-np.abs(X[:, 0]))[:3]
    labels[wrong] = 1 - labels[wrong]
    model = trimmed(3, random_state=0).fit(X, labels)
    np.testing.assert_array_equal(np.flatnonzero(model.outlier_mask_), np.sort(wrong))


def test_the_fractions_of_the_median_are_its_middle_ranks_for_every_n():
    model = median("regression")
    ranks = RankedRange(model.m, model.k)
    for n in [*range(1, 2001), 10**5, 10**5 + 1, 10**6 - 1, 5 * 10**7, 5 * 10**7 - 1]:
        assert ranks.resolve(n) == RankedRange.median(n), n


@pytest.mark.parametrize("n", [59, 60])
def test_the_median_of_a_fit_is_that_of_its_losses(n):
    model = median("regression", loss="absolute", C=1e4, random_state=0).fit(X[:n], T[:n])
    ridge = (model.coef_**2).sum() / 2e4
    assert model.objective_ == pytest.approx(np.median(model.losses_) + ridge)
    assert (model.m_, model.k_) == tuple(RankedRange.median(n))


def test_the_median_with_weights_is_that_of_copies():
    weight = np.random.default_rng(1).integers(1, 3, 60)
    options = {"loss": "absolute", "C": 1e4, "random_state": 0}
    model = median("regression", **options).fit(X, T, sample_weight=weight)
    assert model.objective_ == pytest.approx(
        np.median(np.repeat(model.losses_, weight)) + (model.coef_**2).sum() / 2e4
    )
    odd = weight + 0.25  # no copies: half of the mass lies above the value, half below
    model = median("regression", **options).fit(X, T, sample_weight=odd)
    middle = model.objective_ - (model.coef_**2).sum() / 2e4
    above = odd[model.losses_ > middle + 1e-9].sum()
    below = odd[model.losses_ < middle - 1e-9].sum()
    assert max(above, below) <= odd.sum() / 2


def test_the_median_of_classes_is_taken_in_each_and_pooled_it_could_lose_one():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((61, 2))
    y = (X[:, 0] > 0.2).astype(int)
    model = median(random_state=0, C=10.0).fit(X, y)
    expected = [RankedRange.median(int(size)) for size in np.bincount(y)]
    np.testing.assert_array_equal(model.m_, [ranks.m for ranks in expected])
    np.testing.assert_array_equal(model.k_, [ranks.k for ranks in expected])
    assert model.score(X, y) > 0.9
    with pytest.raises(ValueError, match="the best model would ignore that class"):
        median(ranking="pooled").fit(X, y)


@pytest.mark.parametrize(("make", "ranks"), EACH)
@pytest.mark.parametrize(
    ("task", "options", "error", "message"),
    [
        ("classification", {"m": 3}, TypeError, "multiple values for .*argument 'm'"),
        ("regression", {"k": 3}, TypeError, "multiple values for .*argument 'k'"),
        ("classification", {"los": "hinge"}, TypeError, "unexpected keyword argument 'los'"),
        ("regression", {"ranking": "pooled"}, TypeError, "Regressor.* argument 'ranking'"),
        ("classifcation", {}, ValueError, "did you mean 'classification'"),
        ("ranking", {}, ValueError, "task='ranking' is not known"),
        (None, {}, ValueError, "task=None is not known"),
    ],
)
def test_what_no_estimator_takes_is_refused(make, ranks, task, options, error, message):
    with pytest.raises(error, match=message):
        make(*ranks, task, **options)


@pytest.mark.parametrize("rank", [1.0, -1, np.nan, True, "half"])
def test_ranks_that_are_none_are_refused(rank):
    with pytest.raises((TypeError, ValueError), match="m="):
        trimmed(rank)
    with pytest.raises((TypeError, ValueError), match="k="):
        average_top_k(rank)
