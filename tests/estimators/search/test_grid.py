from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import make_scorer, max_error

from sorr.estimators import GridPoint as Point
from sorr.estimators import ranking_of
from sorr.estimators.search.grid import ClassMasses, make_grid, make_scoring, mean_of_neighbours

HALVES = ClassMasses(np.array([60, 40]), ["a", "b"], is_pooled=True)
WITHIN = ClassMasses(np.array([60, 40]), ["a", "b"], is_pooled=False)
NUMBERS = ClassMasses(np.array([100]), [], is_pooled=True)


def test_the_paper_s_grid_has_its_values_of_k_and_c():
    grid = make_grid("paper", HALVES)
    assert grid.k == (1, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, None)
    assert grid.C == (1.0, 10.0, 1e2, 1e3, 1e4, 1e5)
    assert 0 in grid.m
    assert len(grid.points()) == np.prod(grid.shape)


def test_within_classes_the_paper_s_grid_has_no_count():
    assert make_grid("paper", WITHIN).k[0] == 0.1


@pytest.mark.parametrize("name", ["default", "paper"])
def test_named_grids_hold_the_average_loss(name):
    assert any(m == 0 and k is None for m, k, _ in make_grid(name, NUMBERS).points())


def test_the_default_grid_keeps_all_ranks_below_m():
    assert make_grid("default", HALVES).k == (None,)


def test_values_are_sorted_by_what_they_mean_and_each_comes_once():
    grid = make_grid({"m": [0.3, 20, 0, 0.1, 0.3], "k": [None, 0.5, 90], "C": [10, 1]}, HALVES)
    assert grid.m == (0, 0.1, 20, 0.3)
    assert grid.k == (0.5, 90, None)
    assert grid.C == (1.0, 10.0)


def test_what_a_mapping_does_not_name_is_as_by_default():
    default = make_grid("default", NUMBERS)
    grid = make_grid({"m": [0]}, NUMBERS)
    assert (grid.k, grid.C) == (default.k, default.C)


def test_points_change_m_fastest_and_c_slowest():
    points = make_grid({"m": [0, 0.1], "k": [0.5, None], "C": [1, 2]}, HALVES).points()
    assert [point.m for point in points[:3]] == [0, 0.1, 0]
    assert [point.C for point in points] == [1] * 4 + [2] * 4


@pytest.mark.parametrize(
    ("grid", "pool", "error", "message"),
    [
        ("papers", HALVES, ValueError, "grid='papers' is not known; did you mean 'paper'"),
        (3, HALVES, TypeError, "grid=3 is of type int; needed a name"),
        ({"c": [1]}, HALVES, ValueError, "values of 'c', which is not searched"),
        ({"m": 0.1}, HALVES, TypeError, r"is not a list; needed a list, \[0.1\]"),
        ({"m": "auto"}, HALVES, TypeError, "is not a list"),
        ({"m": []}, HALVES, ValueError, "is empty"),
        ({"m": ["auto"]}, HALVES, ValueError, "m='auto' is a choice of RankedRangeClassifier"),
        ({"m": [{"a": 1}]}, WITHIN, TypeError, "needed counts or fractions"),
        ({"m": [1.0]}, HALVES, ValueError, "m=1.0 can be read"),
        ({"m": [True]}, HALVES, TypeError, "m=True is of type bool"),
        ({"k": [0.0]}, HALVES, ValueError, "k=0.0 is not a fraction"),
        ({"m": [5]}, WITHIN, ValueError, "m=5 is a count, but rows are ranked within each class"),
        ({"k": [5]}, WITHIN, ValueError, "k=5 is a count, but rows are ranked within each class"),
        ({"C": [0]}, HALVES, ValueError, r"grid\['C'\]: C=0 is not positive"),
        ({"C": ["1"]}, HALVES, TypeError, r"grid\['C'\]: C='1' is of type str"),
        ({"C": [np.nan]}, HALVES, ValueError, "C=nan is not positive"),
    ],
)
def test_what_is_no_grid_is_refused(grid, pool, error, message):
    with pytest.raises(error, match=message):
        make_grid(grid, pool)


@pytest.mark.parametrize(
    ("m", "k", "pool", "reason"),
    [
        (0.1, None, HALVES, ""),
        (0.32, None, HALVES, ""),
        (0.33, None, HALVES, "more than 0.8 of the 40 rows of class 'b'"),
        (0.4, None, HALVES, "class 'b' has 40 of 100 rows"),
        (0.33, None, WITHIN, ""),
        (0.9, None, NUMBERS, ""),
        (0.5, 0.5, NUMBERS, "leave no rank between them"),
        (0, 101, NUMBERS, "k=101 exceeds the 100 values"),
    ],
)
def test_impossible_points_say_why(m, k, pool, reason):
    text = pool.obstacle(m, k)
    assert reason in text
    assert bool(text) == bool(reason)


def test_masses_are_whole_if_weights_are_and_hold_class_weights_if_pooled():
    index = np.array([0, 0, 1])
    plain = ClassMasses.of(index, None, classes=["a", "b"])
    assert plain.masses.dtype.kind == "i"
    weight = np.array([1.0, 2.0, 0.5])
    options = {"classes": ["a", "b"], "factor": np.array([1.0, 4.0])}
    np.testing.assert_allclose(ClassMasses.of(index, weight, **options).masses, [3, 2])
    np.testing.assert_allclose(
        ClassMasses.of(index, weight, **options, is_pooled=False).masses, [3, 0.5]
    )


AVERAGE = Point(0, None, 1e4)


def best(points, errors=None):
    """Return the point that comes first: of tied ones, unless errors are given."""
    errors = np.full(len(points), 0.2) if errors is None else np.array(errors)
    return points[ranking_of(errors, points, total=100.0)[0]]


def test_the_lowest_error_comes_first():
    assert best([AVERAGE, Point(0.1, None, 1.0)], [0.2, 0.15]) == Point(0.1, None, 1.0)


def test_ties_go_to_the_average_loss_whatever_its_ridge():
    assert best([Point(0.01, None, 1.0), AVERAGE, Point(0, 0.9, 1.0)]) == AVERAGE
    assert best([Point(0.01, None, 1.0), Point(0, 100, 1e4)]) == Point(0, 100, 1e4)


def test_then_to_the_point_that_keeps_most_ranks():
    points = [Point(0, 0.5, 1.0), Point(0.1, None, 1e4), Point(0.2, None, 1.0)]
    assert best(points) == Point(0.1, None, 1e4)


def test_then_to_the_smallest_c_and_last_to_the_smallest_m():
    assert best([Point(0.1, None, 10.0), Point(0.1, None, 1.0)]) == Point(0.1, None, 1.0)
    assert best([Point(20, 60, 1.0), Point(10, 50, 1.0)]) == Point(10, 50, 1.0)


def test_a_thousandth_of_the_error_is_a_tie_and_a_hundredth_is_none():
    points = [AVERAGE, Point(0.1, None, 1.0)]
    assert best(points, [1.0005, 1.0]) == AVERAGE
    assert best(points, [1.01, 1.0]) == points[1]


def test_errors_equal_up_to_rounding_are_tied_at_zero_too():
    assert best([Point(0.1, None, 1.0), AVERAGE], [0.0, 1e-17]) == AVERAGE


def test_every_point_with_an_error_has_a_place():
    points = [Point(0.1 * i, None, 1.0) if i else Point(0, None, 1.0) for i in range(5)]
    error = np.array([0.3, np.nan, 0.1, 0.2, np.nan])
    assert ranking_of(error, points, 100.0) == [2, 3, 0]


def test_smoothing_averages_the_neighbours_that_have_an_error():
    rng = np.random.default_rng(0)
    cube = rng.random((2, 3, 4))
    cube[0, 1, 2] = cube[1, 0, 0] = np.nan
    smooth = mean_of_neighbours(cube.ravel(), cube.shape).reshape(cube.shape)
    for i, j, k in np.ndindex(cube.shape):
        near = cube[max(i - 1, 0) : i + 2, max(j - 1, 0) : j + 2, max(k - 1, 0) : k + 2]
        expected = np.nan if np.isnan(cube[i, j, k]) else np.nanmean(near)
        assert_allclose(smooth[i, j, k], expected)


X = np.zeros((5, 1))


def predicts(values):
    return SimpleNamespace(predict=lambda _: np.asarray(values))


def test_classes_are_scored_by_the_share_of_right_predictions():
    scoring = make_scoring(None, is_classes=True)
    model, y = predicts(list("aabba")), np.array(list("abbbb"))
    assert scoring.score(model, X, y, None) == 0.6
    assert scoring.score(model, X, y, np.array([1.0, 2.0, 1.0, 1.0, 0.0])) == 0.6
    assert scoring.error(np.array([0.6])).tolist() == [0.4]


@pytest.mark.parametrize(
    "weight", [[1, 1, 1, 1, 1], [1, 0, 3, 1, 1], [2, 1, 1, 0, 0], [3, 1, 1, 1, 1]]
)
def test_numbers_are_scored_by_the_median_error_of_copies(weight):
    scoring = make_scoring(None, is_classes=False)
    y, errors = np.zeros(5), np.array([1.0, -2.0, 4.0, 8.0, 100.0])
    weight = np.array(weight, dtype=float)
    expected = -np.median(np.abs(np.repeat(errors, weight.astype(int))))
    assert scoring.score(predicts(errors), X, y, weight) == pytest.approx(expected, rel=1e-12)
    assert scoring.error(np.array([expected])).tolist() == [-expected]


def test_weights_of_any_size_have_a_median():
    scoring = make_scoring(None, is_classes=False)
    weight = np.array([0.1, 0.1, 0.3])
    score = scoring.score(predicts([1.0, 2.0, 3.0]), X[:3], np.zeros(3), weight)
    assert -3.0 <= score <= -1.0


def test_names_are_those_of_scikit_learn():
    scoring = make_scoring("neg_mean_absolute_error", is_classes=False)
    assert scoring.is_loss
    assert scoring.takes_weight
    assert not make_scoring("balanced_accuracy", is_classes=True).is_loss


def test_a_score_that_takes_no_weights_is_given_none():
    assert not make_scoring(make_scorer(max_error, greater_is_better=False), False).takes_weight
    scoring = make_scoring(lambda *given: len(given), is_classes=True)
    assert scoring.score(None, X, np.zeros(5), np.ones(5)) == 3


def test_what_is_no_score_is_refused():
    with pytest.raises(ValueError, match="acuracy"):
        make_scoring("acuracy", is_classes=True)
    with pytest.raises(TypeError, match="needed the name of one score"):
        make_scoring(["accuracy", "f1"], is_classes=True)
