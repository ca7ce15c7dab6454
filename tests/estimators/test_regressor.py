import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LinearRegression, QuantileRegressor, Ridge

from sorr import RankedRangeRegressor, TargetJudgement
from sorr.estimators.regressor import smallest_variance
from sorr.losses import Huber
from sorr.objectives import RankedRangeObjective
from sorr.solvers import Status, exhaustive
from tests.estimators.problems import outlying
from tests.slow import slow


def robust(**changes):
    """Return a model that drops a tenth of the rows, with a ridge."""
    return RankedRangeRegressor(**({"m": 0.1, "random_state": 0, "C": 100.0} | changes))


def by_default(**changes):
    return RankedRangeRegressor(**({"random_state": 0} | changes))


def test_without_ranks_the_squared_loss_is_ridge_regression():
    X, y, _ = outlying()
    ours = robust(m=0).fit(X, y)
    peer = Ridge(alpha=len(y) / 200.0, tol=1e-12).fit(X, y)
    assert_allclose(ours.coef_, peer.coef_, rtol=1e-7)
    assert_allclose(ours.intercept_, peer.intercept_, rtol=1e-7)
    assert isinstance(ours.intercept_, float)


@pytest.mark.parametrize("scales", [(1.0, 1.0, 1.0), (1e-4, 1.0, 1e4), (1e-6, 1e-6, 1e-6)])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_without_ranks_and_ridge_the_squared_loss_is_linear_regression(scales, form):
    X, y, _ = outlying()
    ours = by_default(m=0).fit(form(X * scales), y)
    peer = LinearRegression().fit(X, y)
    assert_allclose(ours.coef_ * scales, peer.coef_, rtol=2e-6)  # of a ridge that is not quite none
    assert_allclose(ours.intercept_, peer.intercept_, rtol=2e-6)


def test_a_time_in_nanoseconds_beside_other_columns_does_no_harm():
    X, y, _ = outlying()
    ours = by_default(m=0).fit(X * [1.0, 1.0, 1e9], y)
    assert_allclose(ours.coef_[:2], LinearRegression().fit(X, y).coef_[:2], rtol=1e-5)
    least = X[:, :2].var(axis=0).min()
    for scale in (1e9, 1e16):  # a column of another unit does not make the others constant
        assert_allclose(smallest_variance(X * [1.0, 1.0, scale], None), least)
    constant = np.column_stack([X, np.full(len(X), 1e9)])
    assert_allclose(smallest_variance(constant, None), X.var(axis=0).min())


def test_without_ranks_the_absolute_loss_is_median_regression():
    X, y, _ = outlying(n=60, n_wrong=6)
    ours = robust(m=0, loss="absolute", C=1e9).fit(X, y)
    peer = QuantileRegressor(alpha=0.0).fit(X, y)
    assert_allclose(ours.coef_, peer.coef_, rtol=1e-4)


def test_least_trimmed_squares_match_enumeration():
    X, y, _ = outlying(n=14, d=2, n_wrong=3, seed=1)
    model = robust(m=3).fit(X, y)
    assert_allclose(
        model.objective_,
        exhaustive(RankedRangeObjective(X, y, "squared", m=3, C=100.0)).objective,
        rtol=1e-6,
    )
    assert model.status_ is Status.CERTIFIED


@pytest.mark.parametrize("loss", ["squared", "absolute", "huber", Huber(delta=0.5)])
def test_outliers_are_left_out_and_the_plane_is_found(loss):
    X, y, wrong = outlying()
    model = robust(m=20, loss=loss, C=1e6).fit(X, y)
    assert_array_equal(model.outlier_mask_, wrong)
    assert_allclose(model.coef_, [1, 2, 3], atol=0.05)
    assert_allclose(model.intercept_, 2, atol=0.05)
    assert np.abs(LinearRegression().fit(X, y).intercept_ - 2) > 1


def test_what_a_fit_tells_agrees_with_its_predictions():
    X, y, _ = outlying()
    model = robust(m=0.1, k=0.8).fit(X, y)
    losses = (model.predict(X) - y) ** 2
    ranked = np.sort(losses)[::-1]
    assert_allclose(model.losses_, losses)
    assert_allclose(model.thresholds_, [[ranked[19], ranked[159]]])
    assert_allclose(model.row_weights_.sum(), 1)
    assert_allclose(
        model.objective_, ranked[20:160].mean() + model.coef_ @ model.coef_ / 200, rtol=1e-12
    )
    assert_array_equal(model.outlier_score(X, y) > 0, model.outlier_mask_)
    assert model.minima_[0].dropped == {None: 20.0}


def test_a_row_of_weight_two_is_two_rows():
    X, y, _ = outlying(n=60, n_wrong=6)
    weight = np.random.default_rng(1).integers(0, 4, size=60)
    repeated = robust().fit(X.repeat(weight, axis=0), y.repeat(weight))
    weighted = robust().fit(X, y, sample_weight=weight)
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-6)
    assert_array_equal(weighted.m_, repeated.m_)


def test_dense_and_sparse_rows_give_the_same_model():
    X, y, _ = outlying()
    X[np.abs(X) < 0.5] = 0
    dense, other = robust().fit(X, y), robust().fit(sparse.csr_array(X), y)
    assert_allclose(other.coef_, dense.coef_, rtol=1e-6)


def test_a_single_row_and_a_constant_feature_have_an_answer():
    assert_allclose(robust().fit([[1.0]], [3.0]).predict([[1.0]]), [3.0], rtol=1e-6)
    X, y, _ = outlying(n=50, n_wrong=5)
    X[:, 1] = 7.0
    assert np.isfinite(robust().fit(X, y).coef_).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"m": "automatic"}, "m='automatic' is not known; did you mean 'auto'"),
        ({"m": {"a": 1}}, "mapping"),
        ({"k": 1000}, "k=1000 exceeds the 200 values"),
        ({"m": 0.5, "k": 0.2}, "no rank between them"),
        ({"loss": "logistic"}, "needed a loss of residuals"),
        ({"loss": "hubber"}, "did you mean 'huber'"),
        ({"solver": "trimm"}, "did you mean 'trim'"),
        ({"C": 0.0}, "C > 0"),
        ({"certify": 1}, "certify=1 is not a bool"),
    ],
)
def test_wrong_parameters_are_refused_with_a_way_out(changes, message):
    X, y, _ = outlying()
    with pytest.raises((ValueError, TypeError), match=message):
        robust(**changes).fit(X, y)


def test_targets_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match="could not convert string"):
        robust().fit([[1.0], [2.0]], ["a", "b"])


def test_an_exact_fit_is_nothing_to_warn_of():
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = robust(C=1e12).fit(X, X @ [1.0, 2.0])
    assert_allclose(model.coef_, [1, 2], rtol=1e-6)


def test_the_outlier_score_needs_a_target_for_each_row():
    X, y, _ = outlying(n=40, n_wrong=4)
    with pytest.raises(ValueError, match="X has 4 rows, y 1; needed one target for each row"):
        robust().fit(X, y).outlier_score(X[:4], [1.0])


@pytest.mark.parametrize("loss", ["squared", "absolute", "huber"])
def test_an_absurd_target_is_but_an_outlier(loss):
    X, y, _ = outlying(n=120, n_wrong=0)
    y[7] = -np.finfo(np.float64).max
    model = robust(m=2, loss=loss, C=1e6).fit(X, y)
    assert_allclose(model.coef_, [1, 2, 3], atol=0.1)
    assert model.outlier_mask_[7]


# -- m="auto" -----------------------------------------------------------------------------------


def test_auto_is_the_default():
    model = RankedRangeRegressor()
    assert (model.m, model.C) == ("auto", "auto")


@pytest.mark.parametrize("loss", ["squared", *slow("absolute", "huber", "smooth_absolute")])
def test_auto_drops_what_is_judged_to_be_wrong(loss):
    X, y, wrong = outlying()
    model = by_default(loss=loss).fit(X, y)
    assert_array_equal(model.outlier_mask_, wrong)
    assert_array_equal(model.outlier_mask_, model.judgement_.flagged_)
    assert isinstance(model.judgement_, TargetJudgement)
    assert model.judgement_.verdict_ == "strong"
    assert "at least about 20 of 200" in model.judgement_.sentence
    assert_array_equal(model.m_, [20])
    assert_allclose(model.k_, [200])
    assert_allclose(model.coef_, [1, 2, 3], atol=0.05)
    assert_allclose(model.judgement_.suggested_, X @ [1, 2, 3] + 2, atol=0.2)


def test_auto_of_the_squared_loss_is_least_squares_of_the_rows_that_are_kept():
    X, y, wrong = outlying()
    model = by_default().fit(X, y)
    peer = LinearRegression().fit(X[~wrong], y[~wrong])
    assert_allclose(model.coef_, peer.coef_, atol=1e-5)
    assert_allclose(model.intercept_, peer.intercept_, atol=1e-5)
    assert_allclose(model.losses_, (model.predict(X) - y) ** 2)
    assert_allclose(model.row_weights_.sum(), 1)
    assert_array_equal(model.row_weights_ == 0, wrong)
    assert_array_equal(model.outlier_score(X, y) > 0, wrong)
    assert_allclose(model.row_losses(X, y), model.losses_)


def test_auto_of_clean_rows_is_least_squares():
    X, y, _ = outlying(n_wrong=0)
    model = by_default().fit(X, y)
    assert_array_equal(model.m_, [0])
    assert not model.outlier_mask_.any()
    assert_allclose(model.coef_, LinearRegression().fit(X, y).coef_, rtol=1e-4)


def test_auto_with_a_ridge_shrinks_what_is_kept():
    X, y, wrong = outlying()
    model = by_default(C=1.0).fit(X, y)
    assert_array_equal(model.outlier_mask_, wrong)
    peer = Ridge(alpha=0.5 * (~wrong).sum(), tol=1e-12).fit(X[~wrong], y[~wrong])
    assert_allclose(model.coef_, peer.coef_, rtol=1e-4)


def test_auto_keeps_ranks_up_to_k():
    X, y, wrong = outlying()
    model = by_default(k=0.8, C=100.0).fit(X, y)
    assert_array_equal(model.outlier_mask_, wrong)
    assert_allclose((model.m_, model.k_), [[20], [160]])
    ranked = np.sort((model.predict(X) - y) ** 2)[::-1]
    expected = ranked[20:160].mean() + model.coef_ @ model.coef_ / 200
    assert_allclose(model.objective_, expected, rtol=1e-4)


def test_auto_takes_weights_that_add_up_to_less_than_one_row():
    X, y, _ = outlying()
    weight = np.full(len(y), 0.5 / len(y))
    model = by_default().fit(X, y, sample_weight=weight)
    assert model.judgement_.verdict_ == "none"  # half a row is no evidence
    assert_allclose(model.k_, 0.5)
    expected = LinearRegression().fit(X, y)
    assert_allclose(model.coef_, expected.coef_, rtol=0.1)


def test_auto_with_weights_leaves_out_rows_without_any():
    X, y, wrong = outlying()
    weight = np.random.default_rng(0).uniform(0.5, 1.5, size=len(y))
    weight[:5] = 0
    model = by_default().fit(X, y, sample_weight=weight)
    assert_allclose(model.m_, weight[wrong].sum(), rtol=1e-9)
    assert_array_equal(model.outlier_mask_[5:], wrong[5:])
    assert not model.outlier_mask_[:5].any()
    assert len(model.judgement_.wrong_) == 195  # of the rows with weight
    assert len(model.losses_) == 200
    others = by_default().fit(X[5:], y[5:], sample_weight=weight[5:])
    assert_allclose(model.coef_, others.coef_, rtol=1e-9)


def test_auto_of_a_row_of_weight_two_is_two_rows():
    X, y, _ = outlying(n=60, n_wrong=6)
    weight = np.random.default_rng(1).integers(0, 4, size=60)
    repeated = by_default().fit(X.repeat(weight, axis=0), y.repeat(weight))
    weighted = by_default().fit(X, y, sample_weight=weight)
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-6)
    assert_array_equal(weighted.m_, repeated.m_)
    assert_array_equal(weighted.outlier_mask_.repeat(weight), repeated.outlier_mask_)


def test_auto_finds_an_absurd_target():
    X, y, _ = outlying(n=120, n_wrong=0)
    y[7] = -np.finfo(np.float64).max
    model = by_default().fit(X, y)
    assert_array_equal(np.flatnonzero(model.outlier_mask_), [7])


def test_columns_that_say_nothing_new_do_no_harm():
    X, y, wrong = outlying()
    X[:, 1] = 7.0  # constant
    model = by_default().fit(X, y - X[:, 1])
    assert np.isfinite(model.coef_).all()
    X, y, wrong = outlying()
    model = by_default().fit(np.column_stack([X, X[:, 0]]), y)
    assert_array_equal(model.outlier_mask_, wrong)
    assert_allclose(model.coef_[[0, 3]].sum(), 1, atol=0.05)


def test_a_constant_target_has_an_answer():
    X, _, _ = outlying()
    model = by_default().fit(X, np.full(200, 3.0))
    assert_allclose(model.predict(X), 3.0)
    assert "y is constant" in model.judgement_.sentence


def test_classes_are_not_judged():
    X, y, _ = outlying()
    model = by_default().fit(X, (y > 2).astype(int))
    assert not model.outlier_mask_.any()
    assert "RankedRangeClassifier for classes" in model.judgement_.sentence


def test_a_refit_forgets_the_judgement():
    X, y, _ = outlying(n=60, n_wrong=6)
    model = by_default().fit(X, y)
    assert model.judgement_.flagged_.sum() == 6
    assert not hasattr(model.set_params(m=0.1).fit(X, y), "judgement_")


def test_a_pickle_keeps_the_judgement():
    X, y, _ = outlying(n=60, n_wrong=6)
    model = by_default().fit(X, y)
    loaded = pickle.loads(pickle.dumps(model))
    assert loaded.judgement_.sentence == model.judgement_.sentence
    assert_array_equal(loaded.outlier_mask_, model.outlier_mask_)


@pytest.mark.parametrize("C", ["none", "Auto"])
def test_other_words_for_the_ridge_are_refused(C):
    X, y, _ = outlying(n=60, n_wrong=6)
    with pytest.raises((TypeError, ValueError), match=f"C='{C}' .*; needed a number or 'auto'"):
        by_default(C=C).fit(X, y)
