"""Cells on a split: the problems they solve are those of the estimators."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import sorr.estimators.search.splits as splits
from sorr import RankedRangeClassifier, RankedRangeRegressor
from sorr.estimators.search.grids import Cell
from sorr.estimators.search.scoring import make_scoring
from sorr.estimators.search.splits import Learned, Part, Plan, Split, make_splits, score_split
from tests.estimators.problems import outlying, three_classes, wrong_labels

QUIET = pytest.mark.filterwarnings("ignore::sorr.estimators.notices.NotConvergedWarning")


def parameters(model):
    """Return the parameters of a fitted model in the shape of a solver's."""
    coef = np.atleast_2d(model.coef_)
    theta = np.vstack([coef.T, np.atleast_1d(model.intercept_)])
    return theta[:, 0] if theta.shape[1] == 1 else theta


def plan_of(template, cells, rounds=2, is_classes=True):
    scoring = make_scoring(None, is_classes)
    return Plan(template, is_classes, cells, scoring, rounds, seed=0, reporter=None)


@pytest.mark.parametrize("ranking", ["within_class", "pooled"])
@pytest.mark.parametrize("class_weight", [None, "balanced", {"yes": 3.0}])
@pytest.mark.parametrize("weighted", [False, True])
def test_ranks_are_those_of_a_fit(ranking, class_weight, weighted):
    X, y, _ = wrong_labels(n=90)
    weight = np.random.default_rng(0).uniform(0.5, 2, 90) if weighted else None
    options = {"ranking": ranking, "class_weight": class_weight, "random_state": 0}
    model = RankedRangeClassifier(m=0.07, k=0.81, C=50.0, **options).fit(X, y, weight)
    learned = Learned.of(Part(X, y, weight), RankedRangeClassifier(**options), is_classes=True)
    problem = learned.objective(model).with_groups(learned.groups(0.07, 0.81)).with_ridge(50.0)
    assert problem.value(parameters(model)) == pytest.approx(model.objective_, rel=1e-9)


def test_ranks_of_numbers_are_those_of_a_fit():
    X, y, _ = outlying(n=60)
    model = RankedRangeRegressor(m=0.07, k=50, C=50.0, random_state=0).fit(X, y)
    learned = Learned.of(Part(X, y, None), model, is_classes=False)
    problem = learned.objective(model).with_groups(learned.groups(0.07, 50)).with_ridge(50.0)
    assert problem.value(parameters(model)) == pytest.approx(model.objective_, rel=1e-9)


CELLS = [Cell(0, None, 1.0), Cell(0.1, None, 1.0), Cell(0, None, 100.0), Cell(0.1, None, 100.0)]


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("ranking", ["within_class", "pooled"])
def test_scores_are_those_of_fits_one_by_one(loss, ranking):
    X, y, _ = wrong_labels(n=200)
    template = RankedRangeClassifier(loss=loss, ranking=ranking, random_state=0)
    split = Split(0, np.arange(130), np.arange(130, 200))
    found = score_split(plan_of(template, CELLS), Part(X, y, None), split)
    for (m, k, C), score in zip(CELLS, found, strict=True):
        model = RankedRangeClassifier(m, k, C=C, loss=loss, ranking=ranking, random_state=0)
        alone = model.fit(X[:130], y[:130]).score(X[130:], y[130:])
        assert abs(alone - score) <= 2 / 70  # paths are not polished: a row or two may differ


@pytest.mark.parametrize("kind", ["many classes", "many rows", "many columns", "sparse columns"])
def test_where_there_is_no_path_cells_are_solved_in_turn(kind, monkeypatch):
    X, y, _ = wrong_labels(n=150)
    if kind == "many classes":
        X, y = three_classes(150)
    elif kind == "many rows":
        monkeypatch.setattr(splits, "_LARGEST", {True: 0, False: 0})
    else:
        X = np.hstack([X, np.random.default_rng(0).normal(size=(150, 70))])
    template = RankedRangeClassifier(random_state=0)
    given = sparse.csr_array(X) if kind == "sparse columns" else X
    split = Split(0, np.arange(100), np.arange(100, 150))

    def refuse(*_, **__):
        raise AssertionError("there should be no path")

    monkeypatch.setattr(splits, "solve_path", refuse)
    found = score_split(plan_of(template, CELLS), Part(given, y, None), split)
    for i in (0, 2):  # the convex cells, which have one minimum
        model = RankedRangeClassifier(0, C=CELLS[i].C).fit(X[:100], y[:100])
        assert abs(model.score(X[100:], y[100:]) - found[i]) <= 1 / 50
    assert np.isfinite(found).all()


def test_a_narrow_sparse_matrix_scores_as_a_dense_one():
    X, y, _ = wrong_labels(n=100)
    X[np.abs(X) < 0.5] = 0
    plan = plan_of(RankedRangeClassifier(), CELLS)
    split = Split(0, np.arange(70), np.arange(70, 100))
    dense = score_split(plan, Part(X, y, None), split)
    found = score_split(plan, Part(sparse.csr_array(X), y, None), split)
    assert_allclose(found, dense)


def test_cells_with_the_same_ranks_have_the_same_score():
    X, y, _ = outlying(n=40)
    cells = [Cell(0, None, 1.0), Cell(0.01, None, 1.0), Cell(0.1, None, 1.0), Cell(3, None, 1.0)]
    plan = plan_of(RankedRangeRegressor(), cells, is_classes=False)
    found = score_split(plan, Part(X, y, None), Split(0, np.arange(30), np.arange(30, 40)))
    assert found[0] == found[1] != found[2] == found[3]


def test_without_an_intercept_predictions_have_none():
    X, y, _ = wrong_labels(n=100)
    X = X + 3
    template = RankedRangeClassifier(0, fit_intercept=False, C=100.0)
    split = Split(0, np.arange(70), np.arange(70, 100))
    found = score_split(plan_of(template, [Cell(0, None, 100.0)]), Part(X, y, None), split)
    expected = template.fit(X[:70], y[:70]).score(X[70:], y[70:])
    assert abs(found[0] - expected) <= 1 / 30


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
