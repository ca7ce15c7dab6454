"""Any regressor, trained without the targets that look wrong."""

import pickle
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, Ridge, SGDRegressor
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    PredefinedSplit,
    RandomizedSearchCV,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sorr import TargetJudgement, TrimmedRegressor, held_out_predictions
from tests.estimators.problems import outlying
from tests.slow import slow


def trimmed(estimator=None, **options):
    """Return a wrapper of a model that is fast to fit."""
    inner = Ridge(alpha=1e-3) if estimator is None else estimator
    return TrimmedRegressor(inner, **({"random_state": 0} | options))


def curved(n=600, n_wrong=30, seed=0):
    """Return rows, targets on a curve with noise, and which of these are far off."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 2))
    y = np.sin(X[:, 0]) + X[:, 1] ** 2 + 0.2 * rng.normal(size=n)
    wrong = rng.permutation(n) < n_wrong
    y[wrong] += 8 * rng.choice([-1, 1], size=n_wrong)
    return X, y, wrong


@pytest.fixture(scope="module")
def noisy():
    return outlying()


@pytest.fixture(scope="module")
def plain():
    """Return rows with no wrong target."""
    return outlying(n_wrong=0, seed=1)[:2]


@pytest.fixture(scope="module")
def fitted(noisy):
    return trimmed().fit(*noisy[:2])


class Around(RegressorMixin, BaseEstimator):
    """A regressor that predicts by another one."""

    def predict(self, X):
        return self.model_.predict(X)


class Spy(Around):
    """Least squares that remember the rows of their fits."""

    fits: list = []  # noqa: RUF012 - shared by all copies

    def fit(self, X, y, sample_weight=None):
        Spy.fits.append((np.array(X), np.array(y), sample_weight))
        self.model_ = LinearRegression().fit(X, y, sample_weight)
        return self


@pytest.fixture
def spy():
    Spy.fits.clear()
    return Spy()


# -- What is dropped -------------------------------------------------------------------------------


@pytest.mark.parametrize("m", ["auto", 0, *slow(0.1, 7)])
def test_the_mask_is_exactly_what_the_last_fit_has_not_seen(m, noisy, spy):
    X, y, _ = noisy
    weight = np.random.default_rng(0).uniform(0.5, 1.5, size=len(y))
    model = trimmed(spy, m=m).fit(X, y, sample_weight=weight)
    seen_X, seen_y, seen_weight = Spy.fits[-1]
    kept = ~model.outlier_mask_
    assert_array_equal(seen_X, X[kept])
    assert_array_equal(seen_y, y[kept])
    assert_array_equal(seen_weight, weight[kept])
    assert model.outlier_mask_.any() == (m != 0)


def test_wrong_targets_are_dropped_and_the_model_gains(fitted, noisy):
    X, y, wrong = noisy
    assert isinstance(fitted.judgement_, TargetJudgement)
    assert fitted.judgement_.verdict_ == "strong"
    assert fitted.judgement_.flagged_[wrong].all()
    assert fitted.outlier_mask_[wrong].all()
    assert (fitted.judgement_.flagged_ <= fitted.outlier_mask_).all()
    assert fitted.judgement_.flagged_.sum() <= wrong.sum() + 1
    assert fitted.outlier_mask_.sum() <= wrong.sum() + 10  # with those that hinder
    kept = ~fitted.outlier_mask_
    alone = Ridge(alpha=1e-3, random_state=0).fit(X[kept], y[kept])
    assert_allclose(fitted.estimator_.coef_, alone.coef_)
    assert_allclose(fitted.predict(X), alone.predict(X))
    assert fitted.score(X, y) == alone.score(X, y)
    assert fitted.score(X[~wrong], y[~wrong]) > 0.99
    assert fitted.judgement_.models_[0][0] == "Ridge"


@pytest.mark.parametrize("name", ["linear", *slow("auto", "forest", "boosting")])
@pytest.mark.parametrize("seed", [0, *slow(1, 2, 3)])
def test_without_wrong_targets_nothing_is_dropped(name, seed):
    X, y, _ = outlying(n_wrong=0, seed=seed)
    model = trimmed(name).fit(X, y)
    assert model.judgement_.verdict_ == "none"
    assert not model.judgement_.flagged_.any()
    assert model.outlier_mask_.mean() <= 0.05  # a few may hinder by chance


@pytest.mark.parametrize("name", ["boosting", *slow("auto", "forest")])
def test_named_models_find_wrong_targets_on_a_curve(name):
    X, y, wrong = curved()
    model = trimmed(name).fit(X, y)
    assert model.judgement_.verdict_ == "strong"
    assert model.outlier_mask_[wrong].mean() > 0.9
    assert model.judgement_.flagged_[~wrong].mean() < 0.02
    clean, _, _ = curved(n_wrong=0, seed=9)
    truth = np.sin(clean[:, 0]) + clean[:, 1] ** 2
    spoiled = trimmed(name, m=0).fit(X, y)
    errors = [np.mean((each.predict(clean) - truth) ** 2) for each in (model, spoiled)]
    assert errors[0] < 0.8 * errors[1]


def test_a_named_line_finds_wrong_targets(noisy):
    X, y, wrong = noisy
    model = trimmed("linear").fit(X, y)
    assert model.outlier_mask_[wrong].all()
    assert model.judgement_.models_[0][0] == "a linear model"


@pytest.mark.slow
def test_the_model_auto_is_no_worse_than_its_parts():
    X, y, _ = curved(150, 0)
    errors = {
        name: np.abs(y - held_out_predictions(name, X, y, random_state=0)).mean()
        for name in ("auto", "forest", "linear")
    }
    assert errors["auto"] <= min(errors["forest"], errors["linear"]) + 1e-4  # of the search
    model = trimmed("auto", m=0).fit(X, y).estimator_
    parts = model.forest_.predict(X), model.line_.predict(X)
    mixed = model.share_ * parts[0] + (1 - model.share_) * parts[1]
    assert_allclose(model.predict(X), mixed)
    assert 0.5 < model.share_ <= 1  # the curve is none that a plane follows


def test_any_boosting_of_scikit_learn():
    X, y, wrong = curved()
    model = trimmed(HistGradientBoostingRegressor(max_iter=50)).fit(X, y)
    assert model.outlier_mask_[wrong].mean() > 0.9
    assert model.judgement_.models_[0][0] == "HistGradientBoostingRegressor"


@pytest.mark.parametrize("m", [0.1, 13, *slow(0.03)])
def test_m_drops_the_most_suspect_rows(m, noisy):
    X, y, wrong = noisy
    model = trimmed(m=m).fit(X, y)
    assert model.outlier_mask_.sum() == (m if m == 13 else int(m * 200))
    score = model.judgement_.score_
    assert score[model.outlier_mask_].min() >= score[~model.outlier_mask_].max()
    assert wrong[model.outlier_mask_].all()


def test_fractions_are_of_mass(noisy):
    X, y, _ = noisy
    weight = np.random.default_rng(0).integers(0, 4, size=len(y))
    model = trimmed(m=0.1).fit(X, y, sample_weight=weight)
    assert not model.outlier_mask_[weight == 0].any()
    dropped = weight[model.outlier_mask_].sum()
    assert 0.1 * weight.sum() - 4 < dropped <= 0.1 * weight.sum()


@pytest.mark.parametrize(
    ("m", "error", "message"),
    [
        ("atuo", ValueError, "m='atuo' is not known; did you mean 'auto'"),
        (0.0, ValueError, "0.0"),
        (1.0, ValueError, "1.0"),
        (-0.1, ValueError, "-0.1"),
        (200, ValueError, "m=200"),
        ({"yes": 1}, (TypeError, ValueError), "mapping"),
        (None, TypeError, "None"),
    ],
)
def test_what_is_not_a_number_of_rows_is_refused(m, error, message, noisy, spy):
    with pytest.raises(error, match=message):
        trimmed(spy, m=m).fit(*noisy[:2])
    assert not Spy.fits  # before anything is fitted


@pytest.mark.parametrize("seed", [0, 1, *slow(*range(2, 10))])
def test_errors_that_grow_with_the_rows_are_not_called_wrong(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, 3))
    y = X @ [1.0, 2.0, 3.0] + np.exp(0.7 * X[:, 0]) * rng.normal(size=500)
    model = trimmed().fit(X, y)
    assert not model.judgement_.flagged_.any()
    typical = model.judgement_.typical_
    assert typical[X[:, 0] > 1].mean() > 1.5 * typical[X[:, 0] < -1].mean()


@pytest.mark.parametrize("seed", [0, 1, *slow(*range(2, 10))])
def test_heavy_tails_are_not_called_wrong(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, 3))
    model = trimmed().fit(X, X @ [1.0, 2.0, 3.0] + rng.standard_t(3, size=500))
    assert model.judgement_.verdict_ == "none"


# -- Few rows and targets that cannot be judged ----------------------------------------------------


@pytest.mark.parametrize(
    ("y", "reason"),
    [
        (np.arange(9.0), "y has 9 rows, too few to judge; needed 10 or more"),
        (np.full(80, 3.0), "y is constant (3 in all rows)"),
        (np.arange(80) % 2, "TrimmedClassifier or RankedRangeClassifier for classes"),
        (np.arange(80) % 9, "has only 9 different values (0 to 8)"),
    ],
)
@pytest.mark.parametrize("name", ["linear", *slow("auto")])
def test_what_cannot_be_judged_is_fitted_as_it_is(y, reason, name):
    X = np.random.default_rng(0).normal(size=(len(y), 2))
    model = trimmed(name).fit(X, y)
    assert not model.outlier_mask_.any()
    assert not model.judgement_.can_judge
    assert model.judgement_.sentence.startswith("Targets are not judged: y ")
    assert reason in model.judgement_.sentence
    assert_allclose(model.predict(X).mean(), y.mean(), atol=0.5)
    assert trimmed(name, m=2).fit(X, y).outlier_mask_.sum() == 2


@pytest.mark.parametrize("n", [1, 2, 10, 15])
def test_few_rows_have_an_answer(n):
    X, y, _ = outlying(n=max(n, 2), n_wrong=0)
    model = trimmed().fit(X[:n], y[:n])
    assert np.isfinite(model.predict(X)).all()
    assert model.outlier_mask_.shape == (n,)


def test_a_model_that_knows_nothing_judges_by_the_spread_of_targets():
    rng = np.random.default_rng(0)
    y = rng.normal(size=300)
    y[:10] += 15
    model = trimmed(DummyRegressor()).fit(rng.normal(size=(300, 2)), y)
    assert_array_equal(np.flatnonzero(model.judgement_.flagged_), np.arange(10))


# -- Scores ----------------------------------------------------------------------------------------


def test_the_outlier_score_is_the_error_in_typical_errors(fitted, noisy):
    X, y, wrong = noisy
    score = fitted.outlier_score(X, y)
    expected = np.abs(y - fitted.predict(X)) / np.median(fitted.judgement_.typical_)
    assert_allclose(score, expected)
    assert score[wrong].min() > 20 > 5 > score[~wrong].max()
    new = fitted.predict(X[:2])
    assert_allclose(fitted.outlier_score(X[:2], new), 0, atol=1e-9)


def test_the_outlier_score_refuses_other_lengths(fitted, noisy):
    X, y, _ = noisy
    with pytest.raises(ValueError, match="X has 3 rows, y 2"):
        fitted.outlier_score(X[:3], y[:2])
    with pytest.raises(NotFittedError):
        trimmed().outlier_score(X, y)
    with pytest.raises(NotFittedError):
        trimmed().predict(X)


# -- Weights and metadata --------------------------------------------------------------------------


def test_rows_without_weight_are_scored_and_kept(noisy, spy):
    X, y, wrong = noisy
    weight = np.ones(len(y))
    weight[np.flatnonzero(wrong)[:5]] = 0
    model = trimmed(spy).fit(X, y, sample_weight=weight)
    assert not model.outlier_mask_[weight == 0].any()
    assert model.outlier_mask_[wrong & (weight > 0)].all()
    assert len(model.judgement_.wrong_) == len(y)
    assert model.judgement_.wrong_[wrong & (weight == 0)].min() > 0.9
    for seen, _, _ in Spy.fits:  # a model sees none of them, in no fit
        assert not np.isin(seen[:, 0], X[weight == 0, 0]).any()


def test_a_row_of_weight_two_is_nearly_two_rows(noisy):
    X, y, wrong = noisy
    weight = np.random.default_rng(1).integers(1, 3, size=len(y))
    weighed = trimmed().fit(X, y, sample_weight=weight)
    repeated = trimmed().fit(X.repeat(weight, axis=0), y.repeat(weight))
    # copies are held out together, in other folds
    assert_array_equal(weighed.judgement_.flagged_, wrong)
    assert_array_equal(repeated.judgement_.flagged_, wrong.repeat(weight))
    assert_allclose(weighed.estimator_.coef_, repeated.estimator_.coef_, atol=0.01)
    assert_allclose(weighed.judgement_.count_, repeated.judgement_.count_, rtol=0.05)


def test_weights_go_into_a_pipeline(noisy):
    X, y, _ = noisy
    weight = np.where(X[:, 0] > 0, 4.0, 1.0)
    pipeline = make_pipeline(StandardScaler(), Ridge())
    model = trimmed(pipeline).fit(X, y, sample_weight=weight)
    kept = ~model.outlier_mask_
    peer = clone(pipeline).fit(X[kept], y[kept], ridge__sample_weight=weight[kept])
    assert_allclose(model.predict(X), peer.predict(X))


def test_a_model_that_takes_no_weights_says_so(noisy):
    X, y, _ = noisy
    with pytest.raises(ValueError, match="KNeighborsRegressor takes no sample_weight"):
        trimmed(KNeighborsRegressor()).fit(X, y, sample_weight=np.ones(len(y)))
    trimmed(KNeighborsRegressor()).fit(X, y)


@pytest.mark.parametrize("inner", [Ridge(), *slow("linear", "auto")])
def test_weights_are_routed_from_a_pipeline(inner, plain):
    X, y = plain
    weight = np.where(X[:, 0] > 0, 4.0, 1.0)
    direct = trimmed(inner).fit(StandardScaler().fit_transform(X), y, sample_weight=weight)
    with config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        model = trimmed(inner).set_fit_request(sample_weight=True)
        routed = make_pipeline(scaler, model).fit(X, y, sample_weight=weight)[-1]
    assert_allclose(routed.predict(X), direct.predict(X))


@pytest.mark.slow
def test_weights_are_routed_from_a_search(plain):
    X, y = plain
    with config_context(enable_metadata_routing=True):
        model = trimmed(DummyRegressor(), m=0.1).set_fit_request(sample_weight=True)
        model = model.set_score_request(sample_weight=False)
        search = GridSearchCV(model, {"m": [0, 0.1]}, cv=2)
        search.fit(X, y, sample_weight=np.where(y > 2, 1.0, 0.01))
        equal = GridSearchCV(model, {"m": [0, 0.1]}, cv=2).fit(X, y)
    assert search.predict(X)[0] > equal.predict(X)[0] + 1


def test_groups_hold_rows_together(plain, spy):
    X, y = plain
    groups = np.arange(len(y)) // 20
    X = np.column_stack([groups, X])
    trimmed(spy).fit(X, y, groups=groups)
    folds = [set(seen[:, 0]) for seen, _, _ in Spy.fits[:5]]
    assert {len(fold) for fold in folds} == {8}  # of ten groups, two are held out


def test_groups_hold_rows_together_without_rows_of_large_errors_too(noisy, spy):
    X, y, _ = noisy
    groups = np.arange(len(y)) // 20
    X = np.column_stack([groups, X])
    model = trimmed(spy).fit(X, y, groups=groups)
    assert model.judgement_.verdict_ == "strong"
    folds = [set(seen[:, 0]) for seen, _, _ in Spy.fits[5:10]]
    assert {len(fold) for fold in folds} == {8}


def test_an_inner_search_gets_its_groups(plain):
    X, y = plain
    groups = np.arange(len(y)) % 20
    with config_context(enable_metadata_routing=True):
        inner = GridSearchCV(Ridge(), {"alpha": [1e-3, 1.0]}, cv=GroupKFold(3))
        model = trimmed(inner).set_fit_request(groups=True).fit(X, y, groups=groups)
    assert model.estimator_.best_params_ == {"alpha": 1e-3}


def test_metadata_that_nobody_asked_for_is_refused(noisy):
    X, y, _ = noisy
    with pytest.raises((TypeError, ValueError)):
        trimmed().fit(X, y, colour="red")
    with config_context(enable_metadata_routing=True), pytest.raises(TypeError, match="colour"):
        trimmed().fit(X, y, colour="red")


class Coloured(Around):
    """Least squares whose fit asks for a colour."""

    def fit(self, X, y, colour=None):
        assert colour == "red"
        self.model_ = LinearRegression().fit(X, y)
        return self


def test_further_arguments_reach_every_fit(noisy):
    X, y, wrong = noisy
    with config_context(enable_metadata_routing=True):
        model = trimmed(Coloured().set_fit_request(colour=True)).fit(X, y, colour="red")
    assert model.outlier_mask_[wrong].all()


# -- In scikit-learn's places ----------------------------------------------------------------------


def test_a_clone_has_the_parameters_and_not_the_fit(fitted):
    copied = clone(fitted)
    assert not hasattr(copied, "estimator_")
    assert repr(copied.get_params()) == repr(fitted.get_params())
    assert not hasattr(fitted.estimator, "coef_")  # what was given is not fitted


def test_a_pickle_predicts_the_same(fitted, noisy):
    X, y, _ = noisy
    loaded = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(loaded.predict(X), fitted.predict(X))
    assert loaded.judgement_.sentence == fitted.judgement_.sentence
    assert_array_equal(loaded.outlier_score(X, y), fitted.outlier_score(X, y))


def test_a_grid_search_reaches_the_inner_model(plain):
    X, y = (part[:98] for part in plain)  # folds of fewer than fifty rows are not judged
    grid = {"estimator__fit_intercept": [True, False], "m": [0, "auto"]}
    search = GridSearchCV(trimmed(), grid, cv=2).fit(X + 5, y)
    assert search.best_params_["estimator__fit_intercept"] is True
    assert cross_val_score(trimmed(m=0.1), X, y, cv=2).min() > 0.9


@pytest.mark.parametrize("kind", ["grid", *slow("random")])
def test_searches_may_be_inside(kind, noisy):
    X, y, wrong = noisy
    pipeline = make_pipeline(StandardScaler(), Ridge())
    grid = {"ridge__alpha": [1e-3, 1.0, 1e4]}
    search = GridSearchCV(pipeline, grid, cv=3)
    if kind == "random":
        search = RandomizedSearchCV(pipeline, grid, n_iter=2, cv=3)
    model = trimmed(search).fit(X, y)
    assert model.outlier_mask_[wrong].all()
    assert model.estimator_.best_params_["ridge__alpha"] < 1e4


@pytest.mark.parametrize("library", ["pandas", *slow("polars")])
def test_frames_bring_names_and_pipelines_inside_may_put_out_frames(library, noisy):
    frames = pytest.importorskip(library)
    X, y, wrong = noisy
    frame = frames.DataFrame({name: X[:, i] for i, name in enumerate("abc")})
    pipeline = make_pipeline(StandardScaler(), Ridge()).set_output(transform=library)
    model = trimmed(pipeline).fit(frame, frames.Series(y))
    assert_array_equal(model.feature_names_in_, ["a", "b", "c"])
    assert_array_equal(model.estimator_[-1].feature_names_in_, ["a", "b", "c"])
    assert model.n_features_in_ == 3
    assert_array_equal(model.judgement_.flagged_, wrong)
    assert_array_equal(model.outlier_mask_, trimmed(clone(pipeline)).fit(X, y).outlier_mask_)
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")  # of the earlier fit


@pytest.mark.parametrize("kind", ["pipeline", *slow("boosting", "by name")])
def test_frames_may_have_categories(kind):
    frames = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    colour, size = rng.choice(["red", "green", "blue"], 600), rng.normal(size=600)
    y = 2 * size + np.where(colour == "red", 3.0, -3.0) + 0.2 * rng.normal(size=600)
    wrong = rng.permutation(600) < 30
    y[wrong] += 20
    X = frames.DataFrame({"colour": frames.Categorical(colour), "size": size})
    model = HistGradientBoostingRegressor(max_iter=60, categorical_features="from_dtype")
    if kind == "by name":
        model = "boosting"
    if kind == "pipeline":
        columns = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
        model = make_pipeline(columns, Ridge())
    fitted = trimmed(model).fit(X, y)
    assert fitted.outlier_mask_[wrong].mean() > 0.9
    assert fitted.judgement_.flagged_[~wrong].mean() < 0.02


@pytest.mark.parametrize("boosting", ["boosting", HistGradientBoostingRegressor()])
def test_boosting_refuses_sparse_rows_with_a_way_out(boosting, noisy):
    with pytest.raises(TypeError, match=r"boosting takes no sparse rows; needed X.toarray\(\)"):
        TrimmedRegressor(boosting).fit(sparse.csr_array(noisy[0]), noisy[1])


@pytest.mark.parametrize("name", ["forest", *slow("auto")])
@pytest.mark.parametrize("form", [sparse.csr_array, *slow(sparse.csr_matrix, sparse.csc_array)])
def test_named_models_take_sparse_rows(name, form, noisy):
    X, y, wrong = noisy
    model = trimmed(name).fit(form(X), y)
    assert model.outlier_mask_[wrong].all()
    assert np.corrcoef(model.predict(form(X[~wrong])), y[~wrong])[0, 1] > 0.9


def test_a_named_line_takes_sparse_rows(noisy):
    X, y, wrong = noisy
    model = trimmed("linear").fit(sparse.csr_array(X), y)
    assert_array_equal(model.judgement_.flagged_, wrong)


def test_sparse_rows_are_judged_as_dense_ones(fitted, noisy):
    X, y, _ = noisy
    model = trimmed().fit(sparse.csr_array(X), y)
    assert_array_equal(model.judgement_.flagged_, fitted.judgement_.flagged_)
    assert_allclose(model.estimator_.coef_, fitted.estimator_.coef_, atol=0.01)


@pytest.mark.parametrize("name", ["linear", *slow("auto", "forest", "boosting")])
def test_named_models_take_missing_numbers(name, noisy):
    X, y, wrong = noisy
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.02, np.nan, X)
    model = trimmed(name).fit(X, y)
    assert model.outlier_mask_[wrong].mean() > 0.7
    assert np.isfinite(model.predict(X)).all()


def test_models_of_texts_are_judged_by_their_own_errors():
    rng = np.random.default_rng(0)
    counts = rng.poisson(3, size=(400, 3))
    X = [" ".join(np.repeat(["red", "green", "blue"], row)) for row in counts]
    y = counts @ [1.0, 2.0, 3.0] + 0.1 * rng.normal(size=400)
    y[:20] += 15
    model = trimmed(make_pipeline(CountVectorizer(), Ridge())).fit(X, y)
    assert_array_equal(np.flatnonzero(model.judgement_.flagged_), np.arange(20))


@pytest.mark.parametrize("name", ["auto", "forest", "linear", "boosting"])
def test_models_by_name_refuse_texts_with_a_way_out(name):
    X, y = np.array([["a"], ["b"]] * 30, dtype=object), np.arange(60.0)
    for call in (trimmed(name).fit, partial(held_out_predictions, name)):
        with pytest.raises(ValueError, match=rf"{name!r} takes numbers only; needed .* a pipeline"):
            call(X, y)


def test_forests_are_judged_out_of_bag(monkeypatch):
    X, y, wrong = curved(300, 15)
    fits = []
    fit = RandomForestRegressor.fit

    def counted(self, X, *args, **options):
        fits.append(len(X))
        return fit(self, X, *args, **options)

    monkeypatch.setattr(RandomForestRegressor, "fit", counted)
    model = trimmed(RandomForestRegressor(60)).fit(X, y)
    assert fits[0] == 300  # no folds
    assert set(fits[1:-1]) == {fits[1]}  # and without rows of large errors
    assert fits[-1] == 300 - model.outlier_mask_.sum()
    assert model.outlier_mask_[wrong].mean() > 0.9


def test_boosting_of_xgboost():
    xgboost = pytest.importorskip("xgboost")
    X, y, wrong = curved()
    inner = xgboost.XGBRegressor(n_estimators=60, max_depth=3, n_jobs=1)
    model = trimmed(inner).fit(X, y)
    assert model.outlier_mask_[wrong].mean() > 0.8


# -- Folds -----------------------------------------------------------------------------------------


def test_folds_may_be_chosen(plain, spy):
    X, y = plain
    trimmed(spy, cv=KFold(4)).fit(X, y)
    assert [len(seen) for seen, _, _ in Spy.fits[:4]] == [150] * 4
    Spy.fits.clear()
    trimmed(spy, cv=2).fit(X, y)
    assert [len(seen) for seen, _, _ in Spy.fits[:2]] == [100, 100]


@pytest.mark.parametrize("kind", ["int", "iterable", *slow("splitter", "list")])
def test_folds_of_any_form_find_wrong_targets(kind, noisy):
    X, y, wrong = noisy
    splits = KFold(5).split(X)
    cv = {"int": 4, "splitter": KFold(5), "iterable": splits}
    model = trimmed(cv=list(splits) if kind == "list" else cv[kind]).fit(X, y)
    assert_array_equal(model.judgement_.flagged_, wrong)


def test_folds_may_be_given_for_each_row(noisy):
    X, y, wrong = noisy
    model = trimmed(cv=PredefinedSplit(np.arange(len(y)) % 5)).fit(X, y)
    assert_array_equal(model.judgement_.flagged_, wrong)


def test_folds_that_can_be_read_once_are_enough_for_two_models(noisy):
    X, y, wrong = noisy
    model = trimmed("auto", cv=KFold(2).split(X)).fit(X, y)
    assert model.outlier_mask_[wrong].mean() > 0.7


def test_rows_that_are_all_alike_have_an_answer():
    model = trimmed().fit(np.ones((9, 1)), np.arange(9.0), sample_weight=np.full(9, 2.0))
    assert_allclose(model.predict([[1.0]]), 4.0)


# -- Errors and seeds ------------------------------------------------------------------------------


def test_a_failed_fit_leaves_the_estimator_as_it_was(fitted, noisy):
    X, y, _ = noisy
    model = pickle.loads(pickle.dumps(fitted))
    before = dict(vars(model))
    missing = y.copy()
    missing[3] = np.nan
    for bad in (missing, y[:-1], None, np.column_stack([y, y])):
        with pytest.raises(ValueError, match=r"y|inconsistent numbers of samples|NaN"):
            model.fit(X, bad)
        assert vars(model) == before
    fresh = trimmed()
    with pytest.raises(ValueError, match="NaN"):
        fresh.fit(X, missing)
    assert vars(fresh) == fresh.get_params(deep=False)


def test_an_interrupted_last_fit_leaves_nothing_behind(noisy, monkeypatch):
    X, y, _ = noisy
    model = trimmed(m=13)
    fit = Ridge.fit

    def interrupted(self, X, *args, **options):
        if len(X) == 187:
            raise KeyboardInterrupt
        return fit(self, X, *args, **options)

    monkeypatch.setattr(Ridge, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert vars(model) == model.get_params(deep=False)


def test_what_is_not_known_is_refused(noisy):
    X, y, _ = noisy
    with pytest.raises(ValueError, match="estimator='forrest' is not known; did you mean 'forest'"):
        TrimmedRegressor("forrest").fit(X, y)
    with pytest.raises(TypeError, match="verbose="):
        trimmed(verbose="loud").fit(X, y)
    with pytest.raises(ValueError, match="could not convert string"):
        trimmed().fit(X, ["a"] * len(y))
    with pytest.raises(ValueError, match=r"sample_weight has shape \(3,\)"):
        trimmed().fit(X, y, sample_weight=[1.0, 2.0, 3.0])


@pytest.mark.digits
@pytest.mark.parametrize(
    "estimator", [SGDRegressor(), *slow(RandomForestRegressor(20), "auto", "forest", "boosting")]
)
def test_the_same_seed_gives_the_same_bytes_whatever_the_number_of_jobs(estimator):
    X, y, _ = outlying(n=150, n_wrong=10)
    one, two = (trimmed(estimator, n_jobs=jobs, random_state=4).fit(X, y) for jobs in (None, 2))
    assert one.judgement_.score_.tobytes() == two.judgement_.score_.tobytes()
    assert_array_equal(one.outlier_mask_, two.outlier_mask_)
    assert_allclose(one.predict(X), two.predict(X), rtol=1e-12)  # a forest adds up in threads
    other = trimmed(estimator, random_state=5).fit(X, y)
    assert other.judgement_.score_.tobytes() != one.judgement_.score_.tobytes()


def test_progress_is_printed_on_request(noisy, capsys):
    X, y, _ = noisy
    trimmed().fit(X, y)
    assert capsys.readouterr() == ("", "")
    trimmed(m=0.1, verbose=2).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert all(line.startswith("[TrimmedRegressor] ") for line in lines)
    assert "the last fit, to 180" in lines[-1]
