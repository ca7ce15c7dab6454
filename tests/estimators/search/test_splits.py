"""Points of a grid on a split: the problems they solve are those of the estimators."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.model_selection import GroupKFold, PredefinedSplit, StratifiedKFold

import sorr.estimators.search.splits as splits
from sorr import RankedRangeClassifier, RankedRangeRegressor
from sorr.estimators import GridPoint as Point
from sorr.estimators import RankedRangeClassifierCV, RankedRangeRegressorCV, Rows
from sorr.estimators.search.grid import make_scoring
from sorr.estimators.search.splits import (
    Plan,
    Split,
    TrainingRows,
    make_splits,
    merge_copies,
    score_split,
)
from tests.estimators.problems import outlying, three_classes, wrong_labels

QUIET = pytest.mark.filterwarnings("ignore::sorr.estimators.base.NotConvergedWarning")


def parameters(model):
    """Return the parameters of a fitted model in the shape of a solver's."""
    coef = np.atleast_2d(model.coef_)
    theta = np.vstack([coef.T, np.atleast_1d(model.intercept_)])
    return theta[:, 0] if theta.shape[1] == 1 else theta


def plan_of(template, points):
    scoring = make_scoring(None, is_classifier(template))
    return Plan(template, points, scoring, rounds=2, seed=0)


@pytest.mark.parametrize("ranking", ["within_class", "pooled"])
@pytest.mark.parametrize("class_weight", [None, "balanced", {"yes": 3.0}])
@pytest.mark.parametrize("weighted", [False, True])
def test_ranks_are_those_of_a_fit(ranking, class_weight, weighted):
    X, y, _ = wrong_labels(n=90)
    weight = np.random.default_rng(0).uniform(0.5, 2, 90) if weighted else None
    options = {"ranking": ranking, "class_weight": class_weight, "random_state": 0}
    model = RankedRangeClassifier(m=0.07, k=0.81, C=50.0, **options).fit(X, y, weight)
    training = TrainingRows.of(Rows.with_mass(X, y, weight), RankedRangeClassifier(**options))
    problem = training.objective(model).with_groups(training.groups(0.07, 0.81)).with_ridge(50.0)
    assert problem.value(parameters(model)) == pytest.approx(model.objective_, rel=1e-9)


def test_ranks_of_numbers_are_those_of_a_fit():
    X, y, _ = outlying(n=60)
    model = RankedRangeRegressor(m=0.07, k=50, C=50.0, random_state=0).fit(X, y)
    training = TrainingRows.of(Rows.with_mass(X, y, None), model)
    problem = training.objective(model).with_groups(training.groups(0.07, 50)).with_ridge(50.0)
    assert problem.value(parameters(model)) == pytest.approx(model.objective_, rel=1e-9)


POINTS = [
    Point(0, None, 1.0),
    Point(0.1, None, 1.0),
    Point(0, None, 100.0),
    Point(0.1, None, 100.0),
]


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("ranking", ["within_class", "pooled"])
def test_scores_are_those_of_fits_one_by_one(loss, ranking):
    X, y, _ = wrong_labels(n=200)
    template = RankedRangeClassifier(loss=loss, ranking=ranking, random_state=0)
    split = Split(0, np.arange(130), np.arange(130, 200))
    scores = score_split(plan_of(template, POINTS), Rows.with_mass(X, y, None), split)
    for (m, k, C), score in zip(POINTS, scores, strict=True):
        model = RankedRangeClassifier(m, k, C=C, loss=loss, ranking=ranking, random_state=0)
        alone = model.fit(X[:130], y[:130]).score(X[130:], y[130:])
        assert abs(alone - score) <= 2 / 70  # paths are not polished: a row or two may differ


@pytest.mark.parametrize("kind", ["many classes", "many rows", "many columns", "sparse columns"])
def test_where_there_is_no_path_points_are_solved_in_turn(kind, monkeypatch):
    X, y, _ = wrong_labels(n=150)
    if kind == "many classes":
        X, y = three_classes(150)
    elif kind == "many rows":
        monkeypatch.setattr(splits, "_MAX_PRODUCTS", {True: 0, False: 0})
    else:
        X = np.hstack([X, np.random.default_rng(0).normal(size=(150, 70))])
    template = RankedRangeClassifier(random_state=0)
    given = sparse.csr_array(X) if kind == "sparse columns" else X
    split = Split(0, np.arange(100), np.arange(100, 150))

    def refuse(*_, **__):
        raise AssertionError("there should be no path")

    monkeypatch.setattr(splits, "solve_path", refuse)
    scores = score_split(plan_of(template, POINTS), Rows.with_mass(given, y, None), split)
    for i in (0, 2):  # the convex points, which have one minimum
        model = RankedRangeClassifier(0, C=POINTS[i].C).fit(X[:100], y[:100])
        assert abs(model.score(X[100:], y[100:]) - scores[i]) <= 1 / 50
    assert np.isfinite(scores).all()


def test_a_narrow_sparse_matrix_scores_as_a_dense_one():
    X, y, _ = wrong_labels(n=100)
    X[np.abs(X) < 0.5] = 0
    plan = plan_of(RankedRangeClassifier(), POINTS)
    split = Split(0, np.arange(70), np.arange(70, 100))
    dense = score_split(plan, Rows.with_mass(X, y, None), split)
    scores = score_split(plan, Rows.with_mass(sparse.csr_array(X), y, None), split)
    assert_allclose(scores, dense)


def test_points_with_the_same_ranks_have_the_same_score():
    X, y, _ = outlying(n=40)
    points = [
        Point(0, None, 1.0),
        Point(0.01, None, 1.0),
        Point(0.1, None, 1.0),
        Point(3, None, 1.0),
    ]
    plan = plan_of(RankedRangeRegressor(), points)
    scores = score_split(
        plan, Rows.with_mass(X, y, None), Split(0, np.arange(30), np.arange(30, 40))
    )
    assert scores[0] == scores[1] != scores[2] == scores[3]


def test_without_an_intercept_predictions_have_none():
    X, y, _ = wrong_labels(n=100)
    X = X + 3
    template = RankedRangeClassifier(0, fit_intercept=False, C=100.0)
    split = Split(0, np.arange(70), np.arange(70, 100))
    scores = score_split(
        plan_of(template, [Point(0, None, 100.0)]), Rows.with_mass(X, y, None), split
    )
    expected = template.fit(X[:70], y[:70]).score(X[70:], y[70:])
    assert abs(scores[0] - expected) <= 1 / 30


def test_default_folds_are_stratified_and_shuffled_by_the_seed():
    y = np.repeat([0, 1], [40, 10])
    X = np.zeros((50, 1))
    first, again, other = (make_splits(None, X, y, True, seed) for seed in (0, 0, 1))
    assert len(first) == 5
    assert all(y[test].sum() == 2 for _, test in first)
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a[1], b[1]) for a, b in zip(first, other, strict=True))
    assert not np.array_equal(first[0][1][:8], np.arange(8))


def test_a_small_class_makes_for_fewer_folds():
    y = np.repeat([0, 1], [40, 3])
    assert len(make_splits(None, np.zeros((43, 1)), y, True, 0)) == 3


# -- The comparison of a grid ----------------------------------------------------------------------


SMALL = {"m": [0, 0.1], "C": [1e2]}


@pytest.fixture(scope="module")
def data():
    return wrong_labels(n=120)[:2]


@pytest.fixture(scope="module")
def fitted(data):
    grid = {"m": [0, 0.1, 0.2], "k": [0.15, None], "C": [1.0, 1e2]}
    return RankedRangeClassifierCV(grid, cv=3, random_state=0).fit(*data)


# -- the table -----------------------------------------------------------------------------------


def test_the_table_has_a_row_for_each_point(fitted):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(fitted.cv_results_)
    assert len(table) == 12
    scores = table[[f"split{i}_test_score" for i in range(3)]].to_numpy()
    assert fitted.n_splits_ == 3
    assert_allclose(table.mean_test_score, scores.mean(axis=1))
    assert_allclose(table.std_test_score, scores.std(axis=1))
    assert_allclose(table.mean_test_error, 1 - table.mean_test_score)
    assert table.params[1] == {"m": 0.1, "k": 0.15, "C": 1.0}
    assert list(table.columns[:3]) == ["param_m", "param_k", "param_C"]


def test_impossible_points_have_no_score_and_say_why(fitted):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(fitted.cv_results_)
    is_out = table.left_out != ""
    assert_array_equal(is_out, (table.param_m == 0.2) & (table.param_k == 0.15))
    assert_array_equal(is_out, table.mean_test_score.isna())
    assert table.left_out[is_out].str.contains("no rank between them").all()
    assert (table.rank_test_score[is_out] > table.rank_test_score[~is_out].max()).all()


def test_the_best_row_is_the_one_of_the_best_parameters(fitted):
    table = fitted.cv_results_
    assert table["params"][fitted.best_index_] == fitted.best_params_
    assert table["mean_test_score"][fitted.best_index_] == fitted.best_score_
    assert fitted.best_score_ == np.nanmax(table["mean_test_score"])


def test_a_pooled_rank_that_could_drop_a_class_is_left_out():
    X, y, _ = wrong_labels(n=200)
    y[40:] = "no"
    n_few = (y == "yes").sum() / 200
    grid = {"m": [0, round(0.9 * n_few, 3), 0.5], "C": [1.0]}
    search = RankedRangeClassifierCV(grid, ranking="pooled", cv=3, random_state=0).fit(X, y)
    reasons = search.cv_results_["left_out"]
    assert reasons[0] == ""
    assert "more than 0.8 of the" in reasons[1]
    assert "would ignore that class" in reasons[2]


def test_counts_that_a_split_does_not_have_are_left_out(data):
    grid = {"m": [0], "k": [100, 60], "C": [1.0]}
    search = RankedRangeClassifierCV(grid, ranking="pooled", cv=3, random_state=0).fit(*data)
    assert search.cv_results_["left_out"].tolist() == [
        "",
        "in split 0: k=100 exceeds the 80 values; pass a fraction such as k=0.8, or k=None to "
        "keep down to the smallest value",
    ]


# -- splits and rules ----------------------------------------------------------------------------


def test_one_split_is_smoothed_and_several_are_not(data):
    X, y = data
    fold = np.where(np.arange(120) % 3 == 0, 0, -1)
    search = RankedRangeClassifierCV(SMALL, cv=PredefinedSplit(fold), random_state=0).fit(X, y)
    error = search.cv_results_["mean_test_error"]
    assert search.n_splits_ == 1
    assert_allclose(search.cv_results_["smoothed_test_error"], error.mean())
    several = RankedRangeClassifierCV(SMALL, cv=2, random_state=0).fit(X, y)
    assert "smoothed_test_error" not in several.cv_results_


@pytest.mark.parametrize("rule", ["error", "smoothed"])
def test_a_rule_can_be_asked_for(data, rule):
    X, y = data
    split = [(np.arange(80), np.arange(80, 120))]
    search = RankedRangeClassifierCV(SMALL, cv=split, rule=rule, random_state=0).fit(X, y)
    assert ("smoothed_test_error" in search.cv_results_) == (rule == "smoothed")


def test_splits_may_be_given_as_scikit_learn_gives_them(data):
    X, y = data
    folds = StratifiedKFold(3, shuffle=True, random_state=1)
    by_splitter, by_list = (
        RankedRangeClassifierCV(SMALL, cv=cv, random_state=0).fit(X, y)
        for cv in (folds, list(folds.split(X, y)))
    )
    scores = [search.cv_results_["mean_test_score"] for search in (by_splitter, by_list)]
    assert_array_equal(*scores)
    groups = list(GroupKFold(3).split(X, y, np.arange(120) % 6))
    assert RankedRangeClassifierCV(SMALL, cv=groups, random_state=0).fit(X, y).n_splits_ == 3


def test_scores_may_have_a_name(data):
    search = RankedRangeClassifierCV(SMALL, scoring="roc_auc", cv=3, random_state=0).fit(*data)
    assert_allclose(
        search.cv_results_["mean_test_error"], 1 - search.cv_results_["mean_test_score"]
    )
    X, y, _ = outlying(n=80)
    search = RankedRangeRegressorCV(SMALL, scoring="neg_mean_squared_error", cv=3).fit(X, y)
    assert_allclose(search.cv_results_["mean_test_error"], -search.cv_results_["mean_test_score"])


@pytest.mark.digits
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_weights_are_copies_to_the_last_bit_of_the_table(kind):
    X, y, _ = wrong_labels(n=60) if kind == "classes" else outlying(n=60)
    search = RankedRangeClassifierCV if kind == "classes" else RankedRangeRegressorCV
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, 60)
    rows = np.repeat(np.arange(60), weight)
    part, parts = np.arange(60) % 3, np.repeat(np.arange(60) % 3, weight)
    weighted, repeated = (
        search(SMALL, cv=PredefinedSplit(fold), random_state=0) for fold in (part, parts)
    )
    weighted.fit(X, y, sample_weight=weight)
    repeated.fit(X[rows], y[rows])
    for i in range(3):
        name = f"split{i}_test_score"
        # Scores are sums in another order; the models are the same to the last bit.
        assert_allclose(weighted.cv_results_[name], repeated.cv_results_[name], rtol=1e-12)
    assert weighted.best_params_ == repeated.best_params_
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-5)


@pytest.mark.digits
@pytest.mark.parametrize("kind", ["path", "in turn"])
def test_the_number_of_threads_changes_no_bit(kind, data):
    X, y = data if kind == "path" else three_classes(90)
    first, second = (
        RankedRangeClassifierCV(SMALL, cv=3, random_state=3, n_jobs=n).fit(X, y) for n in (1, 2)
    )
    assert first.coef_.tobytes() == second.coef_.tobytes()
    for name in ("mean_test_score", "std_test_score", "split2_test_score"):
        assert first.cv_results_[name].tobytes() == second.cv_results_[name].tobytes()


def test_any_kind_of_random_state_will_do(data):
    for state in (None, np.random.RandomState(0), np.random.default_rng(0)):
        search = RankedRangeClassifierCV(SMALL, cv=3, random_state=state).fit(*data)
        assert search.best_score_ > 0.8


def test_progress_is_shown_to_those_who_ask(data, capsys):
    RankedRangeClassifierCV(SMALL, cv=2, verbose=2, random_state=0).fit(*data)
    lines = capsys.readouterr().err.splitlines()
    assert any("[RankedRangeClassifierCV]" in line and "split 1: round" in line for line in lines)
    RankedRangeClassifierCV(SMALL, cv=2, random_state=0).fit(*data)
    assert capsys.readouterr().err == ""


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "smooth"}, "rule='smooth' is not known; did you mean 'smoothed'"),
        ({"ranking": "pool"}, "ranking='pool' is not known"),
        ({"loss": "squared"}, "needed a loss over classes"),
        ({"cv": []}, "cv yields no split"),
        ({"cv": [([], [0])]}, "split 0 has no row to fit"),
        ({"cv": [(range(119), [])]}, "split 0 has no row to score"),
        ({"cv": [(np.arange(0), np.arange(3))]}, "split 0 has no row to fit"),
        ({"grid": {"m": [0.4], "k": [0.3]}}, "none of the 3 points of the grid is possible"),
        ({"scoring": lambda *_: np.nan}, "no point of the grid has a score on every split"),
        ({"tol": 0.0}, "tol=0.0 is not a tolerance"),
    ],
)
def test_what_makes_no_sense_is_refused(data, options, message):
    options = {"grid": SMALL, "cv": 2} | options
    with pytest.raises(ValueError, match=message):
        RankedRangeClassifierCV(**options).fit(*data)


def test_a_split_that_fits_one_class_is_refused(data):
    X, y = data
    split = [(np.flatnonzero(y == "yes"), np.flatnonzero(y == "no"))]
    with pytest.raises(ValueError, match="split 0 fits one class only, 'yes'"):
        RankedRangeClassifierCV(SMALL, cv=split).fit(X, y)


def test_a_regression_refuses_losses_of_classes():
    X, y, _ = outlying(n=40)
    with pytest.raises(ValueError, match="needed a loss of residuals"):
        RankedRangeRegressorCV(SMALL, loss="logistic").fit(X, y)


@given(st.integers(0, 2**32 - 1))
def test_repeated_and_weighted_rows_become_the_same_in_any_order(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-1, 2, (8, 2)).astype(float), rng.integers(0, 2, 8)
    weight = rng.integers(1, 4, 8).astype(float)
    weight[0] = 6.0  # copies enough to be put together
    order = rng.permutation(8)
    copied = np.repeat(np.arange(8), weight.astype(int))
    rows, masses = merge_copies(X[order], y[order], weight[order])
    again, copies = merge_copies(X[copied], y[copied], None)
    assert_array_equal(X[order][rows], X[copied][again])
    assert_array_equal(y[order][rows], y[copied][again])
    assert_array_equal(masses, copies)
    assert masses.sum() == weight.sum()


def test_zeros_of_both_signs_are_the_same():
    X = np.array([[0.0], [-0.0], [0.0]])
    assert merge_copies(X, np.zeros(3), None)[1].tolist() == [3.0]


def test_rows_with_other_targets_stay_apart():
    X, y = np.zeros((4, 1)), np.array([0, 0, 1, 1])
    rows, weight = merge_copies(X, y, None)
    assert sorted(y[rows]) == [0, 1]
    assert weight.tolist() == [2.0, 2.0]


def test_few_copies_are_left_alone():
    X = np.arange(10.0)[:, None]
    X[1] = X[0]
    rows, weight = merge_copies(X, np.zeros(10), None)
    assert rows.tolist() == list(range(10))
    assert weight is None
