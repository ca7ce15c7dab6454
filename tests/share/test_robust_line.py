"""A plane that resists leverage: what it finds, what it leaves alone, and what does not matter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LinearRegression

from sorr import RankedRangeRegressor
from sorr.share import judge_line
from tests.slow import examples, slow


def rows(n=300, d=4, seed=0, errors="normal"):
    """Return rows, targets on a plane with errors of some kind, and the coefficients."""
    rng = np.random.default_rng(seed)
    X, coef = rng.normal(size=(n, d)), rng.normal(size=d)
    coef *= 2 / np.linalg.norm(coef)
    noise = rng.standard_t(3, size=n) if errors == "t3" else getattr(rng, errors)(size=n)
    return X, X @ coef + 3 + noise, coef


def spoiled(n=300, d=4, share=0.1, seed=0):
    """Return rows, targets, and which of these are 10 to 30 standard deviations off."""
    X, y, _ = rows(n, d, seed)
    rng = np.random.default_rng(seed + 100)
    wrong = rng.permutation(n) < int(share * n)
    y[wrong] += rng.uniform(10, 30, size=wrong.sum())
    return X, y, wrong


def levered(n=300, d=4, share=0.3, seed=0):
    """Return rows, targets, and which rows are far out with targets of the opposite plane."""
    X, y, coef = rows(n, d, seed)
    rng = np.random.default_rng(seed + 100)
    wrong = rng.permutation(n) < int(share * n)
    X[wrong] += 10 * coef / np.linalg.norm(coef)
    y[wrong] = 3 - X[wrong] @ coef + rng.normal(size=wrong.sum())
    return X, y, wrong


def fit(X, y, weight=None, **options):
    return RankedRangeRegressor(**({"random_state": 0} | options)).fit(X, y, sample_weight=weight)


def least_squares(X, y):
    model = LinearRegression().fit(X, y)
    return np.append(model.coef_, model.intercept_)


def plane(model):
    return np.append(model.coef_, model.intercept_)


# -- Outliers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, *slow(*range(1, 20))])
@pytest.mark.parametrize("share", [0.05, 0.3])
def test_outliers_far_out_are_found_and_do_not_move_the_plane(share, seed):
    X, y, wrong = levered(share=share, seed=seed)
    model = fit(X, y)
    assert_array_equal(model.outlier_mask_, wrong)
    assert model.judgement_.verdict_ == "strong"
    expected = least_squares(X[~wrong], y[~wrong])
    assert np.linalg.norm(plane(model) - expected) < 0.05 * np.linalg.norm(expected)
    assert np.linalg.norm(least_squares(X, y) - expected) > 0.5 * np.linalg.norm(expected)


@pytest.mark.parametrize("seed", [0, *slow(*range(1, 12))])
@pytest.mark.parametrize("share", [0.02, 0.4, *slow(0.2)])
def test_outliers_among_the_others_are_found(share, seed):
    X, y, wrong = spoiled(share=share, seed=seed)
    model = fit(X, y)
    assert model.outlier_mask_[wrong].all()
    assert model.outlier_mask_[~wrong].sum() <= 2
    low, high = model.judgement_.count_interval_
    assert low <= wrong.sum() <= high


@pytest.mark.parametrize("seed", [0, 1, *slow(*range(2, 12))])
def test_rows_far_out_on_the_plane_stay(seed):
    X, _, coef = rows(seed=seed)
    X[:90] *= 10
    y = X @ coef + np.random.default_rng(seed).normal(size=300)
    model = fit(X, y)
    assert not model.outlier_mask_.any()
    assert_allclose(plane(model), least_squares(X, y), atol=0.01)  # a tail may seem a bit heavy


@pytest.mark.parametrize("loss", ["absolute", *slow("squared", "huber", "smooth_absolute")])
def test_every_loss_drops_the_same_rows(loss):
    X, y, wrong = levered()
    model = fit(X, y, loss=loss)
    assert_array_equal(model.outlier_mask_, wrong)
    assert_array_equal(model.judgement_.wrong_, fit(X, y).judgement_.wrong_)
    expected = least_squares(X[~wrong], y[~wrong])
    assert np.linalg.norm(plane(model) - expected) < 0.1 * np.linalg.norm(expected)


@pytest.mark.parametrize("few", [True, *slow(False)])
def test_a_sample_of_many_rows_judges_them_all(few):
    X, y, _ = rows(n=12_000, d=3)
    wrong = np.zeros(12_000, dtype=bool)
    wrong[np.random.default_rng(0).choice(12_000, 4 if few else 600, replace=False)] = True
    y[wrong] += 30
    model = fit(X, y)
    assert model.outlier_mask_[wrong].all()
    assert model.outlier_mask_[~wrong].sum() <= 2
    assert_allclose(model.coef_, least_squares(X[~wrong], y[~wrong])[:-1], atol=0.01)


# -- Right targets ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, *slow(*range(1, 20))])
def test_clean_normal_errors_leave_least_squares(seed):
    X, y, _ = rows(seed=seed)
    model = fit(X, y)
    assert not model.outlier_mask_.any()
    assert model.judgement_.verdict_ == "none"
    assert model.judgement_.bell_ == "normal"
    assert_allclose(plane(model), least_squares(X, y), atol=1e-5)  # of the ridge
    assert_allclose(plane(fit(X, y, C=1e12)), least_squares(X, y), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("errors", ["t3", *slow("laplace")])
@pytest.mark.parametrize("seeds", [range(5), *slow(range(40))], ids=len)
def test_heavy_tails_are_not_wrong_and_count_less(errors, seeds):
    ours, theirs = [], []
    for seed in seeds:
        X, y, coef = rows(seed=seed, errors=errors)
        model = fit(X, y)
        assert not model.outlier_mask_.any()
        ours.append(np.sum((model.coef_ - coef) ** 2))
        theirs.append(np.sum((least_squares(X, y)[:-1] - coef) ** 2))
    assert np.mean(ours) < 0.9 * np.mean(theirs)


@pytest.mark.parametrize("seeds", [range(4), *slow(range(20))], ids=len)
def test_errors_whose_size_depends_on_the_row_are_not_wrong(seeds):
    ours, theirs = [], []
    for seed in seeds:
        X, _, coef = rows(seed=seed)
        y = X @ coef + np.exp(X[:, 0]) * np.random.default_rng(seed).normal(size=300)
        model = fit(X, y)
        assert not model.outlier_mask_.any()
        ours.append(np.sum((model.coef_ - coef) ** 2))
        theirs.append(np.sum((least_squares(X, y)[:-1] - coef) ** 2))
        typical = model.judgement_.typical_
        assert typical[X[:, 0] > 1].mean() > 2 * typical[X[:, 0] < -1].mean()
    assert np.mean(ours) < 0.5 * np.mean(theirs)


def test_two_kinds_of_rows_are_not_told_apart_by_force():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    kind = rng.integers(3, size=400)
    y = np.choose(kind, [X @ [5.0, 0.0], 40 - X @ [5.0, 3.0], -40 + X @ [0.0, 5.0]])
    model = fit(X, y + 0.1 * rng.normal(size=400))
    assert not model.outlier_mask_.any()
    assert np.isfinite(model.coef_).all()


# -- What does not matter --------------------------------------------------------------------------

CASES = {"far out": levered, "among others": spoiled}
each_case = pytest.mark.parametrize("case", ["among others", *slow("far out")])


@each_case
@pytest.mark.parametrize("seed", [6, *slow(0, 16)])
def test_the_unit_of_targets_does_not_matter(case, seed):
    X, y, _ = CASES[case](n=120, d=3, share=0.15, seed=seed)
    here = fit(X, y)
    for factor in (1e-8, 2.0, 1e6):
        there = fit(X, factor * y)
        assert_array_equal(there.outlier_mask_, here.outlier_mask_)
        assert_allclose(plane(there), factor * plane(here), rtol=1e-6, atol=factor * 1e-6)
        assert_allclose(there.judgement_.evidence_, here.judgement_.evidence_, rtol=1e-6)


@each_case
@settings(max_examples=examples(9))
@given(seed=st.integers(0, 30))
def test_a_plane_added_to_the_targets_is_added_to_the_model(case, seed):
    X, y, _ = CASES[case](n=120, d=3, share=0.15, seed=seed)
    added = 5 * np.random.default_rng(seed).normal(size=3)
    here, there = fit(X, y, C=1e12), fit(X, y + X @ added - 7, C=1e12)
    assert_array_equal(there.outlier_mask_, here.outlier_mask_)
    assert_allclose(plane(there), plane(here) + np.append(added, -7), rtol=1e-6, atol=1e-6)


@each_case
@pytest.mark.parametrize("seed", [0, *slow(*range(1, 10))])
def test_an_affine_change_of_rows_does_not_matter(case, seed):
    X, y, wrong = CASES[case](share=0.15, seed=seed)
    rng = np.random.default_rng(seed)
    A = np.linalg.qr(rng.normal(size=(4, 4)))[0] * [1.0, 0.3, 5.0, 20.0]
    here, there = fit(X, y, C=1e12), fit(X @ A + [1.0, -50.0, 0.0, 3.0], y, C=1e12)
    assert_array_equal(here.outlier_mask_, there.outlier_mask_)
    assert here.outlier_mask_[wrong].all()
    assert_allclose(A @ there.coef_, here.coef_, rtol=1e-6, atol=1e-6)


@each_case
@pytest.mark.parametrize("seed", [0, *slow(*range(1, 10))])
def test_a_row_of_weight_two_is_two_rows(case, seed):
    X, y, wrong = CASES[case](n=200, share=0.15, seed=seed)
    weight = np.random.default_rng(seed).integers(1, 4, size=200)
    weighed, repeated = fit(X, y, weight), fit(X.repeat(weight, axis=0), y.repeat(weight))
    assert_array_equal(weighed.outlier_mask_.repeat(weight), repeated.outlier_mask_)
    assert weighed.outlier_mask_[wrong].all()
    assert_allclose(plane(weighed), plane(repeated), atol=1e-6)


def test_sparse_rows_are_judged_as_dense_ones():
    X, y, _ = spoiled()
    X[np.abs(X) < 0.5] = 0
    dense, thin = fit(X, y), fit(sparse.csr_array(X), y)
    assert_array_equal(dense.outlier_mask_, thin.outlier_mask_)
    assert_allclose(thin.judgement_.wrong_, dense.judgement_.wrong_, atol=1e-9)
    assert_allclose(plane(thin), plane(dense), rtol=1e-6)


def test_the_order_of_rows_does_not_matter_where_outliers_are_clear():
    X, y, _ = levered()
    order = np.random.default_rng(0).permutation(300)
    here, there = fit(X, y), fit(X[order], y[order])
    assert_array_equal(there.outlier_mask_, here.outlier_mask_[order])
    assert_allclose(plane(there), plane(here), atol=1e-6)


@pytest.mark.digits
@pytest.mark.parametrize("n", [300, *slow(12_000)])
def test_the_same_seed_gives_the_same_bytes(n):
    X, y, _ = levered(n=n)
    one, two = (fit(X, y, random_state=7) for _ in range(2))
    assert one.judgement_.score_.tobytes() == two.judgement_.score_.tobytes()
    assert one.coef_.tobytes() == two.coef_.tobytes()


def test_columns_far_from_zero_of_very_different_scales_do_no_harm():
    X, y, wrong = levered()
    scales = np.array([1e-2, 1.0, 1e2, 1e4])
    model = fit(scales * (X + 100), y)
    assert_array_equal(model.outlier_mask_, wrong)
    expected = least_squares(X[~wrong], y[~wrong])[:-1]
    assert_allclose(scales * model.coef_, expected, atol=1e-3)


# -- Few rows, many columns, and targets that are no numbers ---------------------------------------


@pytest.mark.parametrize("seed", [0, *slow(*range(1, 10))])
@pytest.mark.parametrize(("n", "d"), [(99, 9), (100, 9)])
def test_without_outliers_few_rows_for_each_column_lose_none(n, d, seed):
    X, y, _ = rows(n=n, d=d, seed=seed)
    model = fit(X, y)
    assert not model.outlier_mask_.any()
    assert model.judgement_.can_judge == (n >= 100)


@pytest.mark.parametrize(
    ("n", "d", "reason"),
    [
        (99, 9, "y has 99 rows for 9 columns, too few for a plane that resists outliers"),
        (9, 2, "y has 9 rows, too few to judge; needed 10 or more"),
    ],
)
def test_too_few_rows_are_fitted_by_least_squares_and_it_is_said_why(n, d, reason):
    X, y, _ = rows(n=n, d=d)
    y[0] += 100
    model = fit(X, y)
    assert not model.outlier_mask_.any()
    assert not model.judgement_.can_judge
    assert model.judgement_.sentence.startswith(f"Targets are not judged: {reason}")
    assert_allclose(plane(model), least_squares(X, y), rtol=1e-5, atol=1e-5)


def test_a_single_row_is_predicted():
    model = fit([[1.0, 2.0]], [3.0])
    assert_allclose(model.predict([[1.0, 2.0]]), [3.0])
    assert "too few to judge" in model.judgement_.sentence


def test_more_than_200_columns_are_judged_by_errors_alone():
    X, y, coef = rows(n=2300, d=205)
    y[:100] += 40
    model = fit(X, y)
    assert_array_equal(np.flatnonzero(model.outlier_mask_), np.arange(100))
    assert "With more than 200 columns, outliers far out" in model.judgement_.sentence
    assert_allclose(model.coef_, coef, atol=0.15)
    few = fit(X[:2000], y[:2000])
    assert not few.outlier_mask_.any()
    assert "needed 10 or more for each column" in few.judgement_.sentence


def test_more_than_200_columns_of_clean_rows_leave_least_squares():
    X, y, coef = rows(n=2300, d=205)
    model = fit(X, y)
    ours, theirs = (np.sum((each - coef) ** 2) for each in (model.coef_, least_squares(X, y)[:-1]))
    assert ours < 1.1 * theirs


@pytest.mark.parametrize("values", [2, 10])
def test_classes_are_not_judged_and_the_way_to_judge_them_is_named(values):
    X, y, _ = rows()
    y = np.clip(np.floor(y), 0, values - 1)
    model = fit(X, y)
    assert not model.outlier_mask_.any()
    assert "TrimmedClassifier or RankedRangeClassifier for classes" in model.judgement_.sentence
    assert_allclose(plane(model), least_squares(X, y), rtol=1e-5)


def test_targets_exactly_on_a_plane_have_nothing_wrong():
    X, _, coef = rows()
    model = fit(X, X @ coef)
    assert not model.outlier_mask_.any()
    assert_allclose(model.coef_, coef, rtol=1e-5)
    y = X @ coef
    y[:20] += 1e-3
    assert_array_equal(np.flatnonzero(fit(X, y).outlier_mask_), np.arange(20))


def test_columns_that_depend_on_each_other_do_no_harm():
    X, y, wrong = levered()
    model = fit(np.column_stack([X, X[:, 0] + X[:, 1], np.ones(300)]), y)
    assert_array_equal(model.outlier_mask_, wrong)


def test_an_intercept_may_be_a_column():
    X, y, wrong = spoiled()
    y += 100
    model = fit(np.column_stack([np.ones(300), X]), y, fit_intercept=False)
    assert_array_equal(model.outlier_mask_, wrong)
    assert_allclose(model.coef_[0], fit(X, y).intercept_, rtol=1e-3)


def test_few_heavy_rows_have_an_answer():
    X, y, _ = rows(n=12, d=15)
    model = fit(X, y, np.full(12, 100.0))
    assert not model.outlier_mask_.any()


# -- What a judgement says -------------------------------------------------------------------------


def test_a_judgement_has_the_predictions_of_its_plane():
    X, y, wrong = levered()
    judged = judge_line(X, y, np.ones(300), fit_intercept=True, rng=np.random.default_rng(0))
    found = judged.judgement
    assert_allclose(found.suggested_, X @ judged.theta[:-1] + judged.theta[-1], atol=1e-9)
    assert_array_equal(found.given_, y)
    assert_array_equal(found.flagged_, wrong)
    assert_array_equal(judged.weight == 0, wrong)
    assert found.models_[0][0] == "a linear model"
    assert_allclose(found.error_[~wrong].std(), 1, rtol=0.2)
    assert_allclose(found.typical_.mean(), 1, rtol=0.2)


def test_without_an_intercept_the_plane_goes_through_zero():
    X, y, wrong = levered()
    judged = judge_line(X, y - 3, np.ones(300), fit_intercept=False, rng=np.random.default_rng(0))
    assert len(judged.theta) == 4
    assert_array_equal(judged.judgement.flagged_, wrong)


def test_without_a_judgement_all_rows_count_alike():
    X, y, _ = rows(n=8)
    judged = judge_line(X, y, np.ones(8), fit_intercept=True, rng=np.random.default_rng(0))
    assert judged.theta is None
    assert_array_equal(judged.weight, 1)
    assert not judged.judgement.can_judge
