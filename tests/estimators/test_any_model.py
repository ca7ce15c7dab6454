"""Any classifier, trained without the labels that look wrong."""

import pickle
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from sorr import TrimmedClassifier, held_out_probabilities, judge_labels
from tests.estimators.problems import three_classes, wrong_labels
from tests.slow import slow


def trimmed(estimator=None, **options):
    """Return a wrapper of a model that is fast to fit."""
    inner = LogisticRegression() if estimator is None else estimator
    return TrimmedClassifier(inner, **({"random_state": 0} | options))


@pytest.fixture(scope="module")
def noisy():
    return wrong_labels(n=400, rate=0.1, noise=0.1)


@pytest.fixture(scope="module")
def plain():
    """Return rows without wrong labels, for which no second model is fitted."""
    return overlapping()


@pytest.fixture(scope="module")
def fitted(noisy):
    return trimmed().fit(*noisy[:2])


def overlapping(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] + rng.logistic(size=n) > 0, "yes", "no")


class Around(ClassifierMixin, BaseEstimator):
    """A classifier that predicts by another one."""

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


class Spy(Around):
    """Logistic regression that remembers the rows of its fits."""

    fits: list = []  # noqa: RUF012 - shared by all copies

    def fit(self, X, y, sample_weight=None):
        Spy.fits.append((np.array(X), np.array(y), sample_weight))
        self.model_ = LogisticRegression().fit(X, y, sample_weight)
        self.classes_ = self.model_.classes_
        return self


@pytest.fixture
def spy():
    Spy.fits.clear()
    return Spy()


# -- What is dropped -------------------------------------------------------------------------------


@pytest.mark.parametrize("m", ["auto", 0, *slow(0.1, {"yes": 7})])
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
    assert model.estimator_.model_.coef_.shape == (1, 3)


def test_wrong_labels_are_dropped_and_the_model_gains(fitted, noisy):
    X, y, wrong = noisy
    assert_array_equal(fitted.outlier_mask_, fitted.judgement_.flagged_)
    assert fitted.outlier_mask_[wrong].mean() > 0.6
    assert wrong[fitted.outlier_mask_].mean() > 0.8
    alone = LogisticRegression(random_state=0).fit(
        X[~fitted.outlier_mask_], y[~fitted.outlier_mask_]
    )
    assert_allclose(fitted.estimator_.coef_, alone.coef_)
    assert_allclose(fitted.predict_proba(X), alone.predict_proba(X))
    assert_allclose(fitted.predict_log_proba(X), alone.predict_log_proba(X))
    assert_allclose(fitted.decision_function(X), alone.decision_function(X))
    assert_array_equal(fitted.predict(X), alone.predict(X))
    assert fitted.score(X, y) == alone.score(X, y)


@pytest.mark.parametrize("name", ["linear", *slow("auto", "forest", "boosting")])
def test_without_evidence_nothing_is_dropped(name):
    X, y = overlapping()
    model = trimmed(name).fit(X, y)
    assert model.judgement_.verdict_ == "none"
    assert not model.outlier_mask_.any()
    plain = clone(model).set_params(m=0).fit(X, y)
    assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("name", ["forest", *slow("boosting", "auto", "linear")])
def test_named_models_find_wrong_labels(name):
    X, y, wrong = wrong_labels(n=1000, rate=0.1, noise=0.1)
    model = trimmed(name).fit(X, y)
    assert model.outlier_mask_[wrong].mean() > 0.5
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.predict(X).dtype == y.dtype


def test_fewer_than_fifty_rows_are_not_judged():
    X, y, _ = wrong_labels(n=49, rate=0.2)
    model = trimmed().fit(X, y)
    assert not model.outlier_mask_.any()
    assert "too few" in model.judgement_.sentence


@pytest.mark.parametrize("m", [{"no": 0.2, "yes": 3}, *slow(0.1, {"yes": 0.05})])
def test_m_drops_the_most_suspect_rows_of_each_class(m, noisy):
    X, y, _ = noisy
    model = trimmed(m=m).fit(X, y)
    for name in ("no", "yes"):
        rows = np.flatnonzero(y == name)
        share = m.get(name, 0) if isinstance(m, dict) else m
        count = share if share == 3 else int(share * len(rows))
        mine = model.outlier_mask_[rows]
        assert mine.sum() == count
        if count:
            score = model.judgement_.score_[rows]
            assert score[mine].min() >= score[~mine].max()


def test_fractions_are_of_mass(noisy):
    X, y, _ = noisy
    weight = np.random.default_rng(0).integers(0, 4, size=len(y))
    model = trimmed(m=0.1).fit(X, y, sample_weight=weight)
    assert not model.outlier_mask_[weight == 0].any()
    for name in ("no", "yes"):
        mine = y == name
        dropped = weight[mine & model.outlier_mask_].sum()
        assert 0.1 * weight[mine].sum() - 4 < dropped <= 0.1 * weight[mine].sum()


@pytest.mark.parametrize(
    ("m", "error", "message"),
    [
        ("atuo", ValueError, "m='atuo' is not known; did you mean 'auto'"),
        (5, ValueError, "m=5 is a count, but rows are dropped within each class"),
        (0.0, ValueError, "0.0"),
        (1.0, ValueError, "1.0"),
        (-0.1, ValueError, "-0.1"),
        ({"maybe": 1}, ValueError, "'maybe', which is not a class of y"),
        ({"yes": 10_000}, ValueError, "in class 'yes'"),
        (None, TypeError, "None"),
    ],
)
def test_what_is_not_a_number_of_rows_is_refused(m, error, message, noisy, spy):
    with pytest.raises(error, match=message):
        trimmed(spy, m=m).fit(*noisy[:2])
    assert not Spy.fits  # before anything is fitted


def test_three_classes():
    X, y = three_classes(n=1500)
    X = 2 * X
    wrong = np.random.default_rng(0).random(1500) < 0.08
    y[wrong] = np.roll(np.array(["a", "b", "c"]), 1)[np.searchsorted(["a", "b", "c"], y[wrong])]
    model = trimmed().fit(X, y)
    assert model.outlier_mask_[wrong].mean() > 0.6
    assert model.predict_proba(X).shape == (1500, 3)


# -- Scores ----------------------------------------------------------------------------------------


def test_the_outlier_score_is_the_log_odds_of_the_best_other_label(fitted, noisy):
    X, y, _ = noisy
    score = fitted.outlier_score(X, y)
    raw = fitted.decision_function(X) * np.where(y == "yes", -1, 1)
    assert_allclose(score, raw, atol=1e-6)
    assert_array_equal(score > 0, fitted.predict(X) != y)
    X, y = three_classes(n=150)
    model = trimmed(GaussianNB()).fit(X, y)
    P = model.predict_proba(X)
    index = np.searchsorted(model.classes_, y)
    given = P[np.arange(150), index].copy()
    P[np.arange(150), index] = 0
    assert_allclose(model.outlier_score(X, y), np.log(P.max(axis=1) / given), rtol=1e-6)


def test_the_outlier_score_refuses_other_labels_and_lengths(fitted, noisy):
    X, y, _ = noisy
    with pytest.raises(ValueError, match="'maybe', which is not a class of the fit"):
        fitted.outlier_score(X[:1], ["maybe"])
    with pytest.raises(ValueError, match="X has 3 rows, y 2"):
        fitted.outlier_score(X[:3], y[:2])
    with pytest.raises(NotFittedError):
        trimmed().outlier_score(X, y)


def test_models_without_probabilities_have_none_here_either(noisy):
    X, y, wrong = noisy
    model = trimmed(LinearSVC())
    assert not hasattr(model, "predict_proba")
    model.fit(X, y)
    assert not hasattr(model, "predict_proba")
    assert model.decision_function(X).shape == (400,)
    assert model.outlier_mask_[wrong].mean() > 0.5
    assert not hasattr(trimmed(GaussianNB()), "decision_function")
    assert hasattr(trimmed("auto"), "predict_proba")


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_a_model_that_is_not_fitted_says_so(method):
    with pytest.raises(NotFittedError):
        getattr(trimmed(), method)([[0.0, 0.0, 0.0]])


# -- Weights and metadata --------------------------------------------------------------------------


def test_weights_go_into_a_pipeline(noisy):
    X, y, _ = noisy
    weight = np.where(y == "yes", 4.0, 1.0)
    pipeline = make_pipeline(StandardScaler(), GaussianNB())
    model = trimmed(pipeline).fit(X, y, sample_weight=weight)
    kept = ~model.outlier_mask_
    peer = clone(pipeline).fit(X[kept], y[kept], gaussiannb__sample_weight=weight[kept])
    assert_allclose(model.predict_proba(X), peer.predict_proba(X))


def test_a_model_that_takes_no_weights_says_so(noisy):
    X, y, _ = noisy
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight"):
        trimmed(KNeighborsClassifier()).fit(X, y, sample_weight=np.ones(len(y)))
    trimmed(KNeighborsClassifier()).fit(X, y)


@pytest.mark.parametrize(
    "inner", [GaussianNB(), make_pipeline(StandardScaler(), GaussianNB()), "linear", *slow("auto")]
)
def test_weights_are_routed_from_a_pipeline(inner, plain):
    X, y = plain
    weight = np.where(y == "yes", 4.0, 1.0)
    direct = trimmed(inner).fit(StandardScaler().fit_transform(X), y, sample_weight=weight)
    with config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        model = trimmed(inner).set_fit_request(sample_weight=True)
        routed = make_pipeline(scaler, model).fit(X, y, sample_weight=weight)[-1]
    assert_allclose(routed.predict_proba(X), direct.predict_proba(X))


def test_weights_are_routed_from_a_search(plain):
    X, y = (part[:98] for part in plain)  # folds of fewer than fifty rows are not judged
    with config_context(enable_metadata_routing=True):
        model = trimmed(GaussianNB(), m=0.1).set_fit_request(sample_weight=True)
        model = model.set_score_request(sample_weight=False)
        search = GridSearchCV(model, {"m": [0, 0.1]}, cv=2)
        search.fit(X, y, sample_weight=np.where(y == "yes", 1.0, 0.01))
        equal = GridSearchCV(model, {"m": [0, 0.1]}, cv=2).fit(X, y)
    assert search.predict_proba(X)[:, 1].mean() > equal.predict_proba(X)[:, 1].mean() + 0.1


def test_groups_hold_rows_together(plain, spy):
    X, y = plain
    groups = np.arange(len(y)) // 30
    X = np.column_stack([groups, X])
    trimmed(spy).fit(X, y, groups=groups)
    folds = [set(seen[:, 0]) for seen, _, _ in Spy.fits[:5]]
    assert {len(fold) for fold in folds} == {8}  # of ten groups, two are held out


def test_an_inner_search_gets_its_groups(plain):
    X, y = plain
    groups = np.arange(len(y)) % 20
    with config_context(enable_metadata_routing=True):
        inner = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}, cv=GroupKFold(3))
        model = trimmed(inner).set_fit_request(groups=True)
        try:
            model.fit(X, y, groups=groups)
        except (TypeError, ValueError) as error:
            raise AssertionError("groups do not reach the search") from error
    assert set(model.estimator_.best_params_) == {"var_smoothing"}


def test_metadata_that_nobody_asked_for_is_refused(noisy):
    X, y, _ = noisy
    with pytest.raises((TypeError, ValueError)):
        trimmed().fit(X, y, colour="red")
    with config_context(enable_metadata_routing=True), pytest.raises(TypeError, match="colour"):
        trimmed().fit(X, y, colour="red")


# -- In scikit-learn's places ----------------------------------------------------------------------


def test_a_clone_has_the_parameters_and_not_the_fit(fitted):
    copied = clone(fitted)
    assert not hasattr(copied, "estimator_")
    assert repr(copied.get_params()) == repr(fitted.get_params())
    assert not hasattr(fitted.estimator, "coef_")  # what was given is not fitted


def test_a_pickle_predicts_the_same(fitted, noisy):
    X, y, _ = noisy
    loaded = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    assert loaded.judgement_.sentence == fitted.judgement_.sentence
    assert_array_equal(loaded.outlier_score(X, y), fitted.outlier_score(X, y))


def test_a_grid_search_reaches_the_inner_model(plain):
    X, y = (part[:98] for part in plain)  # folds of fewer than fifty rows are not judged
    grid = {"estimator__fit_intercept": [True, False], "m": [0, "auto"]}
    search = GridSearchCV(trimmed(), grid, cv=2).fit(X + 5, y)
    assert search.best_params_["estimator__fit_intercept"] is True
    assert cross_val_score(trimmed(), X, y, cv=2).min() > 0.6


@pytest.mark.parametrize("library", ["pandas", *slow("polars")])
def test_frames_bring_names_and_pipelines_inside_may_put_out_frames(library, noisy):
    frames = pytest.importorskip(library)
    X, y, wrong = noisy
    frame = frames.DataFrame({name: X[:, i] for i, name in enumerate("abc")})
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).set_output(transform=library)
    model = trimmed(pipeline).fit(frame, frames.Series(y))
    assert_array_equal(model.feature_names_in_, ["a", "b", "c"])
    assert_array_equal(model.estimator_[-1].feature_names_in_, ["a", "b", "c"])
    assert model.n_features_in_ == 3
    assert model.outlier_mask_[wrong].mean() > 0.6
    assert_array_equal(model.outlier_mask_, trimmed(clone(pipeline)).fit(X, y).outlier_mask_)
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")  # of the earlier fit


def test_a_pipeline_around_may_put_out_frames(noisy):
    pandas = pytest.importorskip("pandas")
    X, y, _ = noisy
    frame = pandas.DataFrame(X, columns=list("abc"))
    outer = make_pipeline(StandardScaler(), trimmed()).set_output(transform="pandas")
    assert_array_equal(outer.fit(frame, y)[-1].feature_names_in_, ["a", "b", "c"])


@pytest.mark.parametrize("boosting", ["boosting", HistGradientBoostingClassifier()])
def test_boosting_refuses_sparse_rows_with_a_way_out(boosting, noisy):
    with pytest.raises(TypeError, match=r"boosting takes no sparse rows; needed X.toarray\(\)"):
        TrimmedClassifier(boosting).fit(sparse.csr_array(noisy[0]), noisy[1])


@pytest.mark.parametrize("form", [sparse.csr_array, *slow(sparse.csr_matrix)])
def test_sparse_rows_are_taken(form, noisy, fitted):
    X, y, _ = noisy
    model = trimmed().fit(form(X), y)
    assert (model.outlier_mask_ != fitted.outlier_mask_).mean() < 0.02
    assert_allclose(model.estimator_.coef_, fitted.estimator_.coef_, rtol=0.1)


def test_boosting_of_xgboost():
    xgboost = pytest.importorskip("xgboost")
    X, y, wrong = wrong_labels(n=800, rate=0.1, noise=0.1)
    inner = xgboost.XGBClassifier(n_estimators=60, max_depth=2, n_jobs=1)
    model = trimmed(inner).fit(X, (y == "yes").astype(int))
    assert model.outlier_mask_[wrong].mean() > 0.5
    assert model.classes_.tolist() == [0, 1]
    assert set(model.predict(X)) == {0, 1}


@pytest.mark.slow
def test_boosting_of_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    X, y, wrong = wrong_labels(n=800, rate=0.1, noise=0.1)
    inner = lightgbm.LGBMClassifier(n_estimators=60, num_leaves=4, n_jobs=1, verbose=-1)
    model = trimmed(inner).fit(X, y)
    assert model.outlier_mask_[wrong].mean() > 0.4
    assert model.classes_.tolist() == ["no", "yes"]
    assert set(model.predict(X)) == {"no", "yes"}


def test_forests_are_judged_out_of_bag(noisy, monkeypatch):
    X, y, wrong = noisy
    fits = []
    fit = RandomForestClassifier.fit

    def counted(self, X, *args, **options):
        fits.append(len(X))
        return fit(self, X, *args, **options)

    monkeypatch.setattr(RandomForestClassifier, "fit", counted)
    model = trimmed(RandomForestClassifier(60)).fit(X, y)
    assert fits == [400, 400 - model.outlier_mask_.sum()]
    assert model.outlier_mask_[wrong].mean() > 0.5


def test_folds_may_be_chosen(plain, spy):
    X, y = plain
    trimmed(spy, cv=KFold(3)).fit(X, y)
    assert [len(seen) for seen, _, _ in Spy.fits[:3]] == [200, 200, 200]
    Spy.fits.clear()
    trimmed(spy, cv=2).fit(X, y)
    assert [len(seen) for seen, _, _ in Spy.fits[:2]] == [150, 150]


# -- Errors and seeds ------------------------------------------------------------------------------


def test_a_failed_fit_leaves_the_estimator_as_it_was(fitted, noisy):
    X, y, _ = noisy
    model = pickle.loads(pickle.dumps(fitted))
    before = dict(vars(model))
    for bad in (np.zeros(len(y)), y[:-1], None):
        with pytest.raises(ValueError, match=r"y|inconsistent numbers of samples"):
            model.fit(X, bad)
        assert vars(model) == before
    fresh = trimmed()
    with pytest.raises(ValueError, match="one class only"):
        fresh.fit(X, np.zeros(len(y)))
    assert vars(fresh) == fresh.get_params(deep=False)


def test_an_interrupted_last_fit_leaves_nothing_behind(noisy, monkeypatch):
    X, y, _ = noisy
    model = trimmed(m=0.1)
    fits = []
    fit = LogisticRegression.fit

    def interrupted(self, *args, **options):
        fits.append(1)
        if len(fits) > 5 and len(args[1]) < len(y) and len(args[1]) != 320:
            raise KeyboardInterrupt
        return fit(self, *args, **options)

    monkeypatch.setattr(LogisticRegression, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert vars(model) == model.get_params(deep=False)


def test_what_is_not_known_is_refused(noisy):
    X, y, _ = noisy
    with pytest.raises(ValueError, match="estimator='forrest' is not known; did you mean 'forest'"):
        TrimmedClassifier("forrest").fit(X, y)
    with pytest.raises(TypeError, match="verbose="):
        trimmed(verbose="loud").fit(X, y)


def test_a_model_that_knows_nothing_drops_nothing(noisy):
    X, y, _ = noisy
    model = trimmed(DummyClassifier()).fit(X, y)
    assert not model.outlier_mask_.any()
    assert "cannot judge" in model.judgement_.sentence


@pytest.mark.digits
@pytest.mark.parametrize("estimator", [Perceptron(), *slow(RandomForestClassifier(40), "auto")])
def test_the_same_seed_gives_the_same_bytes_whatever_the_number_of_jobs(estimator):
    X, y, _ = wrong_labels(n=150)
    one, two = (trimmed(estimator, n_jobs=jobs, random_state=4).fit(X, y) for jobs in (None, 2))
    assert one.judgement_.score_.tobytes() == two.judgement_.score_.tobytes()
    assert_array_equal(one.outlier_mask_, two.outlier_mask_)
    assert_array_equal(one.predict(X), two.predict(X))
    other = trimmed(estimator, random_state=5).fit(X, y)
    assert other.judgement_.score_.tobytes() != one.judgement_.score_.tobytes()


def test_progress_is_printed_on_request(noisy, capsys):
    X, y, _ = noisy
    trimmed().fit(X, y)
    assert capsys.readouterr() == ("", "")
    trimmed(m=0.1, verbose=2).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert all(line.startswith("[TrimmedClassifier] ") for line in lines)
    assert "the last fit, to 36" in lines[-1]


def test_a_bare_count_is_refused_with_a_way_out_that_exists():
    X, y = np.arange(40.0)[:, None], np.repeat(["no", "yes"], 20)
    with pytest.raises(ValueError, match="needed a mapping such as") as caught:
        TrimmedClassifier(LogisticRegression(), m=5).fit(X, y)
    assert "ranking" not in str(caught.value)  # the wrapper has no such option


# -- Rows that are no numbers ----------------------------------------------------------------------


def texts(n=800, seed=0):
    """Return texts of two kinds of words, their labels, and which of these are wrong."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    words = np.array([[f"{kind}{i}" for i in range(60)] for kind in "ab"])
    drawn = [np.append(rng.choice(words[label], 6), rng.choice(words.ravel(), 4)) for label in y]
    wrong = rng.random(n) < 0.1
    return [" ".join(each) for each in drawn], np.where(wrong, 1 - y, y), wrong


def reader():
    return make_pipeline(TfidfVectorizer(), "passthrough", LogisticRegression(C=10.0))


@pytest.mark.parametrize("form", ["list", *slow("array", "search")])
def test_a_forest_reads_texts_by_the_steps_of_the_pipeline(form):
    X, y, wrong = texts(500)
    model = reader()
    if form == "array":
        X = np.array(X, dtype=object)
    if form == "search":
        model = GridSearchCV(model, {"logisticregression__C": [1.0, 10.0]}, cv=3)
    fitted = trimmed(model).fit(X, y)
    assert [name for name, _ in fitted.judgement_.models_] == [
        type(model).__name__,
        "a forest with a linear model",
    ]
    assert fitted.outlier_mask_[wrong].mean() > 0.6
    assert wrong[fitted.outlier_mask_].mean() > 0.8


@pytest.mark.parametrize(
    ("form", "name"),
    [
        *(("list", name) for name in ("auto", "forest", "linear", "boosting")),
        *(("pandas", name) for name in ("auto", "forest", "linear")),
    ],
)
def test_models_by_name_refuse_texts_with_a_way_out(form, name):
    X, y, _ = texts(60)
    if form == "pandas":
        X = pytest.importorskip("pandas").DataFrame({"text": X, "number": 1.0})
    for call in (trimmed(name).fit, partial(held_out_probabilities, name)):
        with pytest.raises(ValueError, match=rf"{name!r} takes numbers only; needed .* a pipeline"):
            call(X, y)


class Coloured(Around):
    """Logistic regression whose fit asks for a colour."""

    def fit(self, X, y, colour=None):
        assert colour == "red"
        self.model_ = LogisticRegression(C=10.0).fit(X, y)
        self.classes_ = self.model_.classes_
        return self


def test_arguments_of_a_fit_are_not_for_the_forest_beside_it(noisy):
    X, y, _ = noisy
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), Coloured().set_fit_request(colour=True))
        model = trimmed(pipeline).fit(X, y, colour="red")
    assert len(model.judgement_.models_) == 2


@pytest.mark.parametrize("kind", ["boosting", *slow("pipeline", "by name")])
def test_a_forest_reads_frames_with_categories(kind):
    frames = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    colour, size = rng.choice(["red", "green", "blue"], 800), rng.normal(size=800)
    y = (size + np.where(colour == "red", 1, -1) > 0).astype(int)
    wrong = rng.random(800) < 0.1
    X = frames.DataFrame({"colour": frames.Categorical(colour), "size": size})
    model = HistGradientBoostingClassifier(max_iter=30, categorical_features=[0])
    if kind == "by name":
        model = "boosting"
    if kind == "pipeline":
        columns = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
        model = make_pipeline(columns, LogisticRegression())
    fitted = trimmed(model).fit(X, np.where(wrong, 1 - y, y))
    assert len(fitted.judgement_.models_) == 2
    assert fitted.outlier_mask_[wrong].mean() > 0.8


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # of boosting itself
@pytest.mark.parametrize("large", [np.inf, *slow(1e300)])
def test_a_forest_takes_numbers_that_are_too_large_for_trees(large):
    X, y, wrong = wrong_labels(n=800, rate=0.1, noise=0.1)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.01, large, X)
    model = trimmed(HistGradientBoostingClassifier(max_iter=30)).fit(X, y)
    assert len(model.judgement_.models_) == 2
    assert model.outlier_mask_[wrong].mean() > 0.6


class Reader(Around):
    """A classifier of texts that is no pipeline, so that no forest can be put in its place."""

    def fit(self, X, y):
        self.model_ = reader().fit(X, y)
        self.classes_ = self.model_.classes_
        return self


def test_where_no_forest_can_confirm_clear_evidence_is_needed():
    X, y, wrong = texts()
    fitted = trimmed(Reader()).fit(X, y)
    assert fitted.judgement_.is_demanding
    assert len(fitted.judgement_.models_) == 1
    alone = judge_labels(held_out_probabilities(Reader(), X, y, random_state=0), y)
    assert_allclose(fitted.judgement_.evidence_, alone.evidence_ - 3)
    assert wrong[fitted.outlier_mask_].mean() > 0.8
