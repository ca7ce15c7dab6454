"""Cells compared: the table, the splits, the rules, and what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GroupKFold, PredefinedSplit, StratifiedKFold

from sorr.estimators.search import RankedRangeClassifierCV, RankedRangeRegressorCV
from tests.estimators.problems import outlying, three_classes, wrong_labels

SMALL = {"m": [0, 0.1], "C": [1e2]}


@pytest.fixture(scope="module")
def data():
    return wrong_labels(n=120)[:2]


@pytest.fixture(scope="module")
def fitted(data):
    grid = {"m": [0, 0.1, 0.2], "k": [0.15, None], "C": [1.0, 1e2]}
    return RankedRangeClassifierCV(grid, cv=3, random_state=0).fit(*data)


# -- the table -----------------------------------------------------------------------------------


def test_the_table_has_a_row_for_each_cell(fitted):
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


def test_impossible_cells_have_no_score_and_say_why(fitted):
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
        ({"grid": {"m": [0.4], "k": [0.3]}}, "none of the 3 cells of the grid is possible"),
        ({"scoring": lambda *_: np.nan}, "no cell of the grid has a score on every split"),
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
