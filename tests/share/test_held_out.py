"""Held-out outputs: no model has seen the row that it scores, whatever holds it out."""

import os
import subprocess
import sys
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from sorr import held_out_predictions, held_out_probabilities
from sorr.share import LabelledRows, make_model
from sorr.share.held_out import assign_folds
from sorr.share.row_values import find_equal_rows, merge_groups, number_columns
from tests.slow import slow


class Spy(ClassifierMixin, BaseEstimator):
    """A classifier that remembers the first column, a row number, of what it saw and scored."""

    seen: list = []  # noqa: RUF012 - shared by all copies

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.shares_ = counts / counts.sum()
        self.rows_ = set(np.asarray(X)[:, 0].astype(int))
        return self

    def predict_proba(self, X):
        rows = np.asarray(X)[:, 0].astype(int)
        assert not self.rows_ & set(rows)
        Spy.seen.append((self.rows_, rows))
        return np.tile(self.shares_, (len(rows), 1))


@pytest.fixture
def spy():
    Spy.seen.clear()
    return Spy()


def numbered(n=120, K=2, seed=0):
    """Return rows whose first column is their number, and labels."""
    rng = np.random.default_rng(seed)
    return np.column_stack([np.arange(n), rng.normal(size=n)]), np.arange(n) % K


def rows(n=150, K=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)
    return X, y if K == 2 else y + (X[:, 1] > 0.5)


def scored():
    return np.concatenate([rows for _, rows in Spy.seen])


# -- Folds -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("cv", [None, 3, KFold(4), StratifiedKFold(5), "iterable", "list"])
def test_no_row_is_scored_by_a_model_that_has_seen_it(cv, spy):
    X, y = numbered()
    if isinstance(cv, str):
        splits = KFold(3).split(X)
        cv = splits if cv == "iterable" else list(splits)
    P = held_out_probabilities(spy, X, y, cv=cv, random_state=0)
    assert_array_equal(np.sort(scored()), np.arange(120))
    assert_allclose(P.sum(axis=1), 1)
    n_folds = {None: 5, 3: 3}.get(cv if cv is None or cv == 3 else 0)
    assert n_folds is None or len(Spy.seen) == n_folds


def test_a_splitter_holds_out_what_scikit_learn_would():
    X, y = rows(K=3)
    model, cv = GaussianNB(), StratifiedKFold(4, shuffle=True, random_state=3)
    expected = cross_val_predict(model, X, y, cv=cv, method="predict_proba")
    assert_allclose(held_out_probabilities(model, X, y, cv=cv), expected)


@pytest.mark.parametrize(
    "cv", [ShuffleSplit(3, random_state=0), [(np.arange(10), np.arange(10, 120))]]
)
def test_a_splitter_that_does_not_hold_out_each_row_once_is_refused(cv, spy):
    X, y = numbered()
    with pytest.raises(ValueError, match=r"never or more than once; needed .* such as cv=5"):
        held_out_probabilities(spy, X, y, cv=cv)


@pytest.mark.parametrize("cv", [1, 0, True])
def test_fewer_than_two_folds_are_refused(cv, spy):
    with pytest.raises((TypeError, ValueError), match=f"cv={cv!r} is not folds; needed an int, 2"):
        held_out_probabilities(spy, *numbered(), cv=cv)


def test_folds_hold_equal_parts_of_each_class():
    index = np.repeat([0, 1, 2], [50, 20, 5])
    fold = assign_folds(index, np.arange(75), 5, np.random.default_rng(0))
    counts = np.array([np.bincount(fold[index == j], minlength=5) for j in range(3)])
    assert_array_equal(counts, [[10] * 5, [4] * 5, [1] * 5])


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12)), min_size=1, max_size=60),
    st.integers(2, 6),
)
def test_folds_keep_groups_together_and_are_of_equal_size(pairs, n_folds):
    index, together = np.array(pairs).T
    fold = assign_folds(index, together, n_folds, np.random.default_rng(0))
    for group in np.unique(together):
        assert len(set(fold[together == group])) == 1
    sizes = np.bincount([fold[together == g][0] for g in np.unique(together)], minlength=n_folds)
    assert np.ptp(sizes) <= 1


def test_a_class_that_is_missing_in_a_fold_has_no_probability_there():
    X, y = rows(100)
    y = y.copy()
    y[:20] = 2  # all of the first fold, and nowhere else
    P = held_out_probabilities(GaussianNB(), X, y, cv=KFold(5))
    assert P.shape == (100, 3)
    assert_array_equal(P[:20, 2], 0)
    assert (P[20:, 2] > 0).any()
    assert_allclose(P.sum(axis=1), 1)


def test_where_a_fold_leaves_one_class_it_has_all_the_probability():
    X, y = rows(60)
    y = (np.arange(60) < 30).astype(int)
    P = held_out_probabilities(GaussianNB(), X, y, cv=KFold(2))
    assert_array_equal(P, np.where(y[:, None] == 1, [1.0, 0.0], [0.0, 1.0]))


# -- Copies and groups -----------------------------------------------------------------------------


def test_copies_of_a_row_are_never_apart(spy):
    X, y = numbered(60)
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    y[::3] = 1 - y[::3]  # copies with different labels are copies all the same
    held_out_probabilities(spy, X, y, random_state=0)  # the spy fails if it has seen a copy
    assert len(scored()) == 180


@pytest.mark.parametrize("form", ["array", "float32", "csr", "pandas", "polars", "object"])
def test_copies_share_a_number_and_others_do_not(form):
    rng = np.random.default_rng(0)
    values = rng.integers(0, 5, size=(40, 3)).astype(float)
    values[3, 1] = -0.0
    values[4] = values[3]
    values[4, 1] = 0.0
    if form in ("array", "pandas"):
        values[7:9] = np.nan
    X = {
        "array": lambda: values,
        "float32": lambda: values.astype(np.float32),
        "csr": lambda: sparse.csr_array(values),
        "pandas": lambda: pytest.importorskip("pandas").DataFrame(values),
        "polars": lambda: pytest.importorskip("polars").DataFrame(values),
        "object": lambda: values.astype(str).astype(object),
    }[form]()
    group = find_equal_rows(X).copies
    keys = [tuple(row) for row in (np.nan_to_num(values, nan=-9) + 0.0).tolist()]
    if form == "object":
        keys = [tuple(row) for row in X.tolist()]
    for i in range(40):
        for j in range(40):
            assert (group[i] == group[j]) == (keys[i] == keys[j])


@pytest.mark.parametrize(("size", "is_category"), [(9, False), (10, True)])
def test_values_that_many_rows_share_are_a_category_and_no_copies(size, is_category):
    X = np.vstack([np.zeros((size, 2)), np.arange(20).reshape(10, 2) + 1.0])
    assert len(np.unique(find_equal_rows(X).copies)) == 10 + (size if is_category else 1)


@pytest.mark.parametrize("form", ["array", *slow("csr", "pandas")])
@pytest.mark.parametrize("name", ["forest", "linear", "boosting", *slow("auto")])
def test_rows_of_a_category_share_their_probabilities(name, form):
    X, y = categories()
    given = {
        "array": lambda: X,
        "csr": lambda: sparse.csr_array(X),
        "pandas": lambda: pytest.importorskip("pandas").DataFrame(X),
    }[form]()
    P = held_out_probabilities(name, given, y, random_state=0)
    for value in np.unique(X[:, 0]):
        rows = np.flatnonzero(X[:, 0] == value)
        assert len(np.unique(P[rows], axis=0)) == 1
        assert P[rows[0], 1] == pytest.approx(y[rows].mean(), abs=0.15)


def categories():
    """Return a column of 40, 30, 20 and 10 equal rows, and labels of each."""
    X = np.repeat([[0.0], [1.0], [2.0], [3.0]], [40, 30, 20, 10], axis=0)
    X = np.column_stack([X, X == 1, X == 2]).astype(float)
    y = np.concatenate(
        [
            np.arange(size) < ones
            for size, ones in zip((40, 30, 20, 10), (4, 12, 14, 9), strict=True)
        ]
    )
    return X, y.astype(int)


@pytest.mark.parametrize("form", ["list", "array", "pandas"])
def test_texts_are_taken_and_equal_ones_share(form):
    words = np.random.default_rng(0).choice(["good", "bad"], (100, 2))
    texts = [" ".join(pair) for pair in words]
    y = np.array([int("good" in text) for text in texts])
    given = {
        "list": lambda: texts,
        "array": lambda: np.array(texts, dtype=object),
        "pandas": lambda: pytest.importorskip("pandas").Series(texts),
    }[form]()
    pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression())
    P = held_out_probabilities(pipeline, given, y, random_state=0)
    same = np.flatnonzero(np.array(texts) == "good bad")
    assert len(same) >= 10
    assert len(np.unique(P[same], axis=0)) == 1


@pytest.mark.parametrize("library", ["pandas", *slow("polars")])
def test_columns_of_a_frame_are_numbered(library):
    frames = pytest.importorskip(library)
    columns = {
        "text": ["b", "a", None, "b"],
        "number": [1.5, None, 2.0, -1.0],
        "truth": [True, False, True, True],
        "day": [date(2024, 1, 2), date(2023, 1, 1), date(2025, 1, 1), None],
    }
    frame = frames.DataFrame(columns)
    expected = [[1, 1.5, 1, 1], [0, np.nan, 0, 0], [np.nan, 2, 1, 2], [1, -1, 1, np.nan]]
    assert_array_equal(number_columns(frame), np.array(expected))
    for name, has_numbers in (("text", False), ("number", True), ("truth", True), ("day", False)):
        rows = LabelledRows(frame[[name]], *4 * [np.zeros(4, int)], seed=0)
        assert rows.has_numbers == has_numbers


def test_what_a_category_shares_is_the_mean_by_weight():
    X, y = categories()
    weight = np.random.default_rng(0).integers(1, 3, len(y)).astype(float)
    weight[:40] = 0.0  # a whole category
    weight[45:50] = 0.0  # a part of one
    rows = LabelledRows(X, y, y, np.array([0, 1]), weight, seed=0)
    P = np.random.default_rng(1).dirichlet([1, 1], len(y))
    shared = rows.average_categories(P)
    assert_array_equal(shared[:40], P[:40])
    for value in (1, 2, 3):
        part = X[:, 0] == value
        mean = np.average(P[part], axis=0, weights=weight[part])
        assert_allclose(shared[part], np.tile(mean, (part.sum(), 1)))


def test_with_a_splitter_of_their_own_nobody_shares():
    X, y = categories()
    splitter = StratifiedKFold(5, shuffle=True, random_state=0)
    for cv, is_shared in ((5, True), (splitter, False)):
        P = held_out_probabilities("linear", X, y, cv=cv, random_state=0)
        assert (len(np.unique(P[:40], axis=0)) == 1) == is_shared


def test_rows_without_weight_make_no_category():
    X = np.zeros((12, 1))
    weight = np.repeat([1.0, 0.0], 6)
    assert find_equal_rows(X).is_category.all()
    assert not find_equal_rows(X, weight).is_category.any()
    assert len(np.unique(find_equal_rows(X, weight).copies)) == 1


def test_rows_without_weight_are_in_no_bag():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 3)), rng.integers(0, 2, 150)
    weight = rng.integers(0, 3, 150).astype(float)
    has_weight = weight > 0
    P = held_out_probabilities("forest", X, y, sample_weight=weight, random_state=0)
    kept = X[has_weight], y[has_weight]
    alone = held_out_probabilities(
        "forest", *kept, sample_weight=weight[has_weight], random_state=0
    )
    assert_allclose(P[has_weight], alone)
    forest = make_model("forest", 0).fit(*kept, sample_weight=weight[has_weight])
    assert_allclose(P[~has_weight], forest.predict_proba(X[~has_weight]))


def test_grouping_copies_leaves_a_sparse_matrix_as_it_is():
    thin = sparse.csr_array((np.ones(4), np.array([0, 0, 1, 1]), np.array([0, 2, 4])), shape=(2, 2))
    assert thin.nnz == 4  # two entries for each place
    find_equal_rows(thin)
    assert thin.nnz == 4


def test_stored_zeros_of_a_sparse_row_are_zeros():
    data, at = np.array([1.0, 1.0, 0.0]), np.array([0, 0, 1])
    thin = sparse.csr_array((data, at, np.array([0, 1, 3])), shape=(2, 2))
    group = find_equal_rows(thin).copies
    assert group[0] == group[1]


def test_groups_are_never_apart(spy):
    X, y = numbered()
    groups = np.array(["a", "b", "c", "d", "e", "f"])[np.arange(120) // 20]
    held_out_probabilities(spy, X, y, groups=groups, random_state=0)
    for seen, out in Spy.seen:
        assert not set(groups[list(seen)]) & set(groups[out])
    Spy.seen.clear()
    held_out_probabilities(spy, X, y, groups=groups, cv=GroupKFold(3))
    for seen, out in Spy.seen:
        assert not set(groups[list(seen)]) & set(groups[out])


def test_groups_hold_for_a_forest_too():
    X, y = rows(400)
    groups = np.arange(400) // 4
    X = X[groups * 4] + 1e-9 * X  # rows of a group are all but copies of each other
    y = np.random.default_rng(0).integers(2, size=100)[groups]  # and there is nothing to learn
    forest = RandomForestClassifier(30)
    apart = held_out_probabilities(forest, X, y, groups=groups, random_state=0)
    given = apart[np.arange(400), y]
    assert given.mean() < 0.6
    together = held_out_probabilities(forest, X, y, random_state=0)
    assert together[np.arange(400), y].mean() > 0.8


def test_groups_of_another_length_are_refused():
    with pytest.raises(ValueError, match="groups has 3 entries; needed one for each of 150 rows"):
        held_out_probabilities("linear", *rows(), groups=[1, 2, 3])


def test_merged_groups_are_the_parts_that_hang_together():
    one = np.array([0, 0, 1, 2, 3, 4])
    other = np.array(["x", "y", "y", "z", "z", "w"])
    merged = merge_groups(one, other)
    assert len({merged[0], merged[1], merged[2]}) == 1
    assert merged[3] == merged[4]
    assert len(set(merged)) == 3


# -- Out of bag ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [RandomForestClassifier, *slow(ExtraTreesClassifier)])
def test_out_of_bag_is_the_mean_over_the_trees_that_have_not_seen_a_row(kind):
    X, y = rows(80, K=3)
    X[40:50] = X[:10]  # copies
    names = np.array(["a", "b", "c"])
    forest = kind(40, bootstrap=True, random_state=5)
    found = held_out_probabilities(forest, X, names[y])
    fitted = kind(40, bootstrap=True, random_state=5).fit(X, names[y])
    copies = [np.flatnonzero((row == X).all(axis=1)) for row in X]
    by_tree = np.array([tree.predict_proba(X) for tree in fitted.estimators_])
    compared = 0
    for i in range(80):
        is_out = [not np.isin(copies[i], drawn).any() for drawn in fitted.estimators_samples_]
        if sum(is_out) >= 10:
            assert_allclose(found[i], by_tree[is_out, i].mean(axis=0))
            compared += 1
    assert compared > 50
    assert not hasattr(forest, "estimators_")  # what was given is not fitted


def test_rows_without_copies_have_the_out_of_bag_probabilities_of_scikit_learn():
    X, y = rows(200)
    forest = RandomForestClassifier(80, random_state=0, oob_score=True).fit(X, y)
    found = held_out_probabilities(RandomForestClassifier(80, random_state=0), X, y)
    assert_allclose(found, forest.oob_decision_function_)


def test_a_forest_without_bags_takes_folds():
    X, y = rows()
    P = held_out_probabilities(ExtraTreesClassifier(20, random_state=0), X, y, random_state=0)
    assert (P[np.arange(150), y] < 0.5).any()  # in the sample, each label would be certain


def test_rows_that_are_in_nearly_every_bag_are_held_out_as_well():
    X, y = rows(60)
    y = np.random.default_rng(1).integers(2, size=60)  # nothing to learn but by heart
    X = np.repeat(X[:12], 5, axis=0)
    y = np.repeat(y[:12], 5)
    y[0], y[-1] = 0, 1
    forest = RandomForestClassifier(15, random_state=0, max_samples=1.0)
    P = held_out_probabilities(forest, X, y, random_state=0)
    assert np.isfinite(P).all()
    assert_allclose(P.sum(axis=1), 1)
    assert P[np.arange(60), y].mean() < 0.7


# -- Models ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["auto", "linear", *slow("forest", "boosting")])
def test_named_models_learn_and_take_missing_numbers(name):
    X, y = rows(200, K=3)
    X[::7, 2] = np.nan
    names = np.array(["a", "b", "c"])
    P = held_out_probabilities(name, X, names[y], random_state=0)
    assert P.shape == (200, 3)
    assert_allclose(P.sum(axis=1), 1)
    assert 0.6 < (P.argmax(axis=1) == y).mean() < 1


@pytest.mark.parametrize("name", ["linear", *slow("auto", "forest", "boosting")])
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
def test_named_models_take_sparse_rows(name, form):
    X, y = rows(120)
    X[np.abs(X) < 0.4] = 0
    P = held_out_probabilities(name, form(X), y, random_state=0)
    assert (P.argmax(axis=1) == y).mean() > 0.7


def test_the_stack_is_no_worse_than_its_parts():
    X, y = rows(400)
    loss = {
        name: -np.log(held_out_probabilities(name, X, y, random_state=0)[np.arange(400), y]).mean()
        for name in ("auto", "linear")
    }
    assert loss["auto"] < loss["linear"] + 0.02


@pytest.mark.parametrize("library", ["pandas", *slow("polars")])
def test_frames_are_taken(library):
    frames = pytest.importorskip(library)
    X, y = rows()
    frame = frames.DataFrame({name: X[:, i] for i, name in enumerate("abc")})
    for model in ("linear", make_pipeline(StandardScaler(), GaussianNB())):
        P = held_out_probabilities(model, frame, frames.Series(y), random_state=0)
        assert (P.argmax(axis=1) == y).mean() > 0.75
    forest = held_out_probabilities("forest", frame, y, random_state=0)
    assert (forest.argmax(axis=1) == y).mean() > 0.75


def test_decision_values_are_taken_for_log_odds():
    X, y = rows()
    model = LinearSVC(random_state=0)
    cv = KFold(3)
    decision = cross_val_predict(model, X, y, cv=cv, method="decision_function")
    P = held_out_probabilities(model, X, y, cv=cv)
    assert_allclose(np.log(P[:, 1] / P[:, 0]), decision)
    X, y = rows(K=3)
    decision = cross_val_predict(RidgeClassifier(), X, y, cv=cv, method="decision_function")
    P = held_out_probabilities(RidgeClassifier(), X, y, cv=cv)
    expected = np.exp(decision)
    assert_allclose(P, expected / expected.sum(axis=1, keepdims=True))


def test_a_model_without_probabilities_or_decisions_is_refused():
    class Mute(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.n_features_in_ = X.shape[1]
            self.classes_ = np.unique(y)
            return self

    with pytest.raises(TypeError, match="Mute has neither predict_proba nor decision_function"):
        held_out_probabilities(Mute(), *rows())


def test_pipelines_and_searches_are_held_out_as_a_whole():
    X, y = rows(120)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    search = GridSearchCV(pipeline, {"logisticregression__C": [0.1, 1.0]}, cv=2)
    cv = KFold(3)
    for model in (pipeline, search):
        expected = cross_val_predict(model, X, y, cv=cv, method="predict_proba")
        assert_allclose(held_out_probabilities(model, X, y, cv=cv), expected)


def test_warnings_of_a_users_own_model_are_shown():
    X, y = rows()
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1))
    with pytest.warns(ConvergenceWarning):
        held_out_probabilities(model, X, y)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("autp", "estimator='autp' is not known; did you mean 'auto'"),
        ("Forest", "did you mean 'forest'"),
        ("tree", "needed one of 'auto', 'forest', 'linear', 'boosting'"),
    ],
)
def test_names_that_are_not_known_are_refused(name, message):
    with pytest.raises(ValueError, match=message):
        held_out_probabilities(name, *rows())


def test_bad_labels_are_refused():
    X, y = rows()
    with pytest.raises(ValueError, match="one class only"):
        held_out_probabilities("linear", X, np.zeros(150))
    with pytest.raises(ValueError, match="y holds NaN"):
        held_out_probabilities("linear", X, np.where(y, 1.0, np.nan))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        held_out_probabilities("linear", X, y[:-1])


# -- Weights ---------------------------------------------------------------------------------------


def test_weights_reach_the_model():
    X, y = rows()
    weight = np.random.default_rng(0).uniform(0.1, 3, size=150)
    cv = KFold(3)
    for model in (GaussianNB(), make_pipeline(StandardScaler(), GaussianNB())):
        found = held_out_probabilities(model, X, y, cv=cv, sample_weight=weight)
        for train, test in cv.split(X):
            scaler = StandardScaler().fit(X[train])
            Z = X if isinstance(model, GaussianNB) else scaler.transform(X)
            peer = GaussianNB().fit(Z[train], y[train], sample_weight=weight[train])
            assert_allclose(found[test], peer.predict_proba(Z[test]))


@pytest.mark.parametrize("name", ["auto", *slow("boosting")])
def test_named_models_take_weights(name):
    X, y = rows()
    heavy = held_out_probabilities(
        name, X, y, sample_weight=np.where(y == 1, 5.0, 1.0), random_state=0
    )
    plain = held_out_probabilities(name, X, y, random_state=0)
    assert heavy[:, 1].mean() > plain[:, 1].mean() + 0.02


def test_a_model_that_takes_no_weights_says_so():
    X, y = rows()
    for model in (KNeighborsClassifier(), make_pipeline(StandardScaler(), KNeighborsClassifier())):
        with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight"):
            held_out_probabilities(model, X, y, sample_weight=np.ones(150))


@pytest.mark.parametrize("name", ["linear", "forest"])
def test_rows_without_weight_are_scored_too(name):
    X, y = rows()
    weight = np.ones(150)
    weight[:10] = 0
    P = held_out_probabilities(name, X, y, sample_weight=weight, random_state=0)
    assert_allclose(P.sum(axis=1), 1)


@pytest.mark.parametrize("stray", ["a", *slow("z")])
@pytest.mark.parametrize("name", ["linear", "forest"])
def test_a_class_without_weight_has_no_column(name, stray):
    X, y = rows()
    y = np.array(["b", "c"], dtype=object)[y]
    y[:3] = stray
    weight = np.ones(150)
    weight[:3] = 0
    P = held_out_probabilities(name, X, y, sample_weight=weight, random_state=0)
    assert P.shape == (150, 2)
    assert_allclose(P.sum(axis=1), 1)


# -- Samples of many rows --------------------------------------------------------------------------


@pytest.mark.parametrize("n", [101, 250])
def test_many_rows_are_scored_by_models_of_two_samples(n, spy):
    X, y = numbered(n)
    P = held_out_probabilities(spy, X, y, max_train_rows=100, random_state=0)
    assert_array_equal(np.sort(scored()), np.arange(n))
    samples = {frozenset(seen) for seen, _ in Spy.seen}
    assert len(samples) == 2
    assert not frozenset.intersection(*samples)
    for sample in samples:
        assert len(sample) <= 100
        assert abs(y[list(sample)].mean() - 0.5) < 0.05  # stratified
    assert_allclose(P.sum(axis=1), 1)


def test_copies_and_groups_stay_together_in_samples(spy):
    X, y = numbered(60)
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    held_out_probabilities(spy, X, y, max_train_rows=70, random_state=0)
    X, y = numbered(180)
    groups = np.arange(180) // 6
    Spy.seen.clear()
    held_out_probabilities(spy, X, y, groups=groups, max_train_rows=70, random_state=0)
    for seen, out in Spy.seen:
        assert not set(groups[list(seen)]) & set(groups[out])


@pytest.mark.parametrize("name", ["auto", *slow("forest", "linear", "boosting")])
def test_named_models_of_samples_learn_too(name):
    X, y = rows(600)
    P = held_out_probabilities(name, X, y, max_train_rows=250, random_state=0)
    assert 0.8 < (P.argmax(axis=1) == y).mean() < 1


def test_with_folds_of_your_own_nothing_is_sampled(spy):
    X, y = numbered()
    held_out_probabilities(spy, X, y, cv=3, max_train_rows=20, random_state=0)
    assert {len(seen) for seen, _ in Spy.seen} == {80}


@pytest.mark.parametrize("limit", [1, 0, 2.5, None])
def test_a_limit_that_is_no_number_of_rows_is_refused(limit):
    with pytest.raises((TypeError, ValueError), match="is not a number of rows; needed an int, 2"):
        held_out_probabilities("linear", *rows(), max_train_rows=limit)


# -- Seeds, jobs and progress ----------------------------------------------------------------------


@pytest.mark.digits
@pytest.mark.parametrize("limit", [80, *slow(50_000)])
@pytest.mark.parametrize("name", ["forest", *slow("auto", "linear", "boosting")])
def test_the_same_seed_gives_the_same_bytes_whatever_the_number_of_jobs(name, limit):
    X, y = rows()
    options = {"random_state": 7, "max_train_rows": limit}
    one = held_out_probabilities(name, X, y, **options)
    other = held_out_probabilities(name, X, y, n_jobs=2, **options)
    assert other.tobytes() == one.tobytes()
    assert held_out_probabilities(name, X, y, random_state=8).tobytes() != one.tobytes()


def test_models_without_a_seed_get_one():
    X, y = rows()
    forest = RandomForestClassifier(20)
    one, two = (held_out_probabilities(forest, X, y, random_state=1) for _ in range(2))
    assert_array_equal(one, two)
    assert forest.random_state is None
    generators = [np.random.RandomState(5), np.random.RandomState(5)]
    one, two = (held_out_probabilities("linear", X, y, random_state=g) for g in generators)
    assert_array_equal(one, two)


@pytest.mark.slow  # two processes that import everything
def test_groups_of_copies_are_the_same_in_every_process():
    code = (
        "import numpy as np; from scipy import sparse\n"
        "from sorr.share.row_values import find_equal_rows\n"
        "X = np.arange(60.0).reshape(30, 2) % 11\n"
        "for rows in (X, sparse.csr_array(X), X.astype(str).astype(object)):\n"
        "    print(find_equal_rows(rows).copies.tolist())"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1


def test_progress_is_printed_on_request(capsys):
    X, y = rows(60)
    held_out_probabilities("linear", X, y, random_state=0)
    assert capsys.readouterr() == ("", "")
    held_out_probabilities("linear", X, y, random_state=0, verbose=2)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == 5
    assert lines[-1].startswith("[held_out_probabilities] ")
    assert lines[-1].endswith("fold by fold (5 of 5)")
    held_out_probabilities("forest", X, y, random_state=0, verbose=2)
    assert "tree by tree (200 of 200)" in capsys.readouterr().err


# -- Predictions of numbers ------------------------------------------------------------------------


class NumberSpy(RegressorMixin, BaseEstimator):
    """A regressor that remembers the first column, a row number, of what it saw and scored."""

    def fit(self, X, y):
        self.mean_ = float(np.mean(y))
        self.rows_ = set(np.asarray(X)[:, 0].astype(int))
        return self

    def predict(self, X):
        rows = np.asarray(X)[:, 0].astype(int)
        assert not self.rows_ & set(rows)
        Spy.seen.append((self.rows_, rows))
        return np.full(len(rows), self.mean_)


@pytest.fixture
def number_spy():
    Spy.seen.clear()
    return NumberSpy()


def numbers(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X @ [1.0, 2.0, -1.0] + np.abs(X[:, 0]) + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize("cv", [None, 3, KFold(4), "iterable", "list"])
def test_no_number_is_predicted_by_a_model_that_has_seen_it(cv, number_spy):
    X, _ = numbered()
    y = np.random.default_rng(1).normal(size=120)
    if isinstance(cv, str):
        splits = KFold(3).split(X)
        cv = splits if cv == "iterable" else list(splits)
    p = held_out_predictions(number_spy, X, y, cv=cv, random_state=0)
    assert p.shape == (120,)
    assert_array_equal(np.sort(scored()), np.arange(120))
    n_folds = {None: 5, 3: 3}.get(cv if cv is None or cv == 3 else 0)
    assert n_folds is None or len(Spy.seen) == n_folds


@pytest.mark.parametrize(
    "model",
    [Ridge(), make_pipeline(StandardScaler(), Ridge()), GridSearchCV(Ridge(), {"alpha": [1, 9]})],
)
@pytest.mark.parametrize("cv", [KFold(4), KFold(5, shuffle=True, random_state=3)])
def test_a_splitter_predicts_what_scikit_learn_would(model, cv):
    X, y = numbers()
    expected = cross_val_predict(model, X, y, cv=cv)
    assert_allclose(held_out_predictions(model, X, y, cv=cv), expected)


def test_groups_and_splitters_of_groups_hold_numbers_together(number_spy):
    X, _ = numbered()
    y, groups = np.random.default_rng(1).normal(size=120), np.arange(120) // 10
    for cv in (None, GroupKFold(4)):
        Spy.seen.clear()
        held_out_predictions(number_spy, X, y, cv=cv, groups=groups, random_state=0)
        for seen, out in Spy.seen:
            assert not set(groups[list(seen)]) & set(groups[out])


def test_a_splitter_that_does_not_hold_out_each_number_once_is_refused():
    X, y = numbers()
    with pytest.raises(ValueError, match=r"never or more than once; needed .* such as cv=5"):
        held_out_predictions(Ridge(), X, y, cv=ShuffleSplit(3, random_state=0))


def test_copies_with_numbers_are_never_apart(number_spy):
    X, _ = numbered(60)
    y = np.random.default_rng(1).normal(size=180)
    held_out_predictions(number_spy, np.repeat(X, 3, axis=0), y, random_state=0)
    assert len(scored()) == 180


@pytest.mark.parametrize("name", ["forest", "boosting", *slow("auto")])
def test_a_copy_does_not_give_its_number_away(name):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(100, 3)), 2, axis=0)
    y = np.repeat(rng.normal(size=100), 2)  # nothing to learn but by heart
    p = held_out_predictions(name, X, y, random_state=0)
    assert np.corrcoef(p, y)[0, 1] < 0.3


@pytest.mark.parametrize("name", ["linear", "forest"])
def test_rows_of_a_category_share_their_predictions(name):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(120, 1)).astype(float)
    y = X[:, 0] ** 2 + rng.normal(size=120)
    p = held_out_predictions(name, X, y, random_state=0)
    for value in range(4):
        assert len(np.unique(p[X[:, 0] == value].round(12))) == 1


@pytest.mark.parametrize("kind", [ExtraTreesRegressor, *slow(RandomForestRegressor)])
def test_forests_predict_numbers_out_of_bag(kind):
    X, y = numbers(80)
    X[40:50] = X[:10]  # copies
    found = held_out_predictions(kind(40, bootstrap=True, random_state=5), X, y)
    fitted = kind(40, bootstrap=True, random_state=5).fit(X, y)
    copies = [np.flatnonzero((row == X).all(axis=1)) for row in X]
    by_tree = np.array([tree.predict(X) for tree in fitted.estimators_])
    compared = 0
    for i in range(80):
        is_out = [not np.isin(copies[i], drawn).any() for drawn in fitted.estimators_samples_]
        if sum(is_out) >= 10:
            assert_allclose(found[i], by_tree[is_out, i].mean())
            compared += 1
    assert compared > 50


def test_numbers_without_copies_have_the_out_of_bag_predictions_of_scikit_learn():
    X, y = numbers(200)
    forest = RandomForestRegressor(80, random_state=0, oob_score=True).fit(X, y)
    found = held_out_predictions(RandomForestRegressor(80, random_state=0), X, y)
    assert_allclose(found, forest.oob_prediction_)


@pytest.mark.parametrize("name", ["linear", "boosting", *slow("auto", "forest")])
def test_named_models_learn_numbers_and_take_missing_ones(name):
    X, y = numbers(200)
    X[::7, 2] = np.nan
    p = held_out_predictions(name, X, y, random_state=0)
    assert 0.7 < np.corrcoef(p, y)[0, 1] < 0.999


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("name", ["linear", *slow("auto", "forest", "boosting")])
def test_named_models_of_numbers_take_sparse_rows(name, form):
    X, y = numbers()
    X[np.abs(X) < 0.3] = 0
    p = held_out_predictions(name, form(X), y, random_state=0)
    assert np.corrcoef(p, y)[0, 1] > 0.7


def test_weights_reach_a_regressor():
    X, y = numbers()
    weight = np.random.default_rng(0).uniform(0.1, 3, size=150)
    weight[:10] = 0
    found = held_out_predictions(Ridge(), X, y, cv=KFold(3), sample_weight=weight)
    for train, test in KFold(3).split(X):
        train = train[weight[train] > 0]
        peer = Ridge().fit(X[train], y[train], weight[train])
        assert_allclose(found[test], peer.predict(X[test]))


def test_where_all_numbers_to_learn_from_are_equal_that_is_predicted():
    X, y = numbers(60)
    y = np.where(np.arange(60) < 30, 1.0, 2.0)
    assert_array_equal(held_out_predictions(Ridge(), X, y, cv=KFold(2)), 3 - y)


@pytest.mark.parametrize("n", [101, 250])
def test_many_numbers_are_predicted_by_models_of_two_samples(n, number_spy):
    X, _ = numbered(n)
    y = np.random.default_rng(1).normal(size=n)
    held_out_predictions(number_spy, X, y, max_train_rows=100, random_state=0)
    assert_array_equal(np.sort(scored()), np.arange(n))
    samples = {frozenset(seen) for seen, _ in Spy.seen}
    assert len(samples) == 2
    assert max(map(len, samples)) <= 100


@pytest.mark.digits
@pytest.mark.parametrize("name", ["forest", *slow("auto", "linear", "boosting")])
def test_the_same_seed_predicts_the_same_bytes_whatever_the_number_of_jobs(name):
    X, y = numbers()
    one, two = (held_out_predictions(name, X, y, random_state=7, n_jobs=n) for n in (None, 2))
    assert one.tobytes() == two.tobytes()
    assert held_out_predictions(name, X, y, random_state=8).tobytes() != one.tobytes()


def test_bad_numbers_are_refused():
    X, y = numbers()
    missing = np.where(np.arange(150) == 4, np.nan, y)
    with pytest.raises(ValueError, match="y has 1 missing or infinite entries, the first in row 4"):
        held_out_predictions("linear", X, missing)
    with pytest.raises(TypeError, match="y holds values that are no numbers"):
        held_out_predictions("linear", X, ["a"] * 150)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        held_out_predictions("linear", X, y[:-1])
    with pytest.raises(ValueError, match="estimator='forrest' is not known"):
        held_out_predictions("forrest", X, y)
    with pytest.raises(ValueError, match="KNeighborsRegressor takes no sample_weight"):
        held_out_predictions(KNeighborsRegressor(), X, y, sample_weight=np.ones(150))


def test_progress_of_predictions_is_printed_on_request(capsys):
    held_out_predictions("linear", *numbers(60), random_state=0, verbose=2)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 5
    assert lines[-1].startswith("[held_out_predictions] ")
