import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sorr.solvers.bfgs import lower

START = np.array([3.0, -2.0, 5.0])
CURVATURE = np.array([1.0, 10.0, 1000.0])


def bowl(point):
    return float(CURVATURE @ point**2) / 2, CURVATURE * point


def kinks(point):
    return float(CURVATURE @ np.abs(point)), CURVATURE * np.sign(point)


def ridge_of_maxima(point):
    """Return the largest of some planes, whose lowest point is known to be zero at zero."""
    planes = np.vstack([np.eye(3), -np.ones((1, 3))]) * [1.0, 5.0, 20.0]
    heights = planes @ point
    return float(heights.max()), planes[heights.argmax()]


def points_of(function, max_steps, tol=0.0):
    """Return the start, and the point after each step."""
    points = [START]
    for steps in range(1, max_steps + 1):
        point = lower(function, START, max_steps=steps, tol=tol)
        if not np.array_equal(point, points[-1]):
            points.append(point)
    return points


@pytest.mark.parametrize("function", [bowl, kinks, ridge_of_maxima])
def test_it_finds_the_lowest_point_with_and_without_kinks(function):
    point = lower(function, START, max_steps=500, tol=0.0)
    assert function(point)[0] < 1e-7 * function(START)[0]


@pytest.mark.parametrize("function", [bowl, kinks, ridge_of_maxima])
def test_it_never_goes_up(function):
    values = [function(point)[0] for point in points_of(function, 50)]
    assert len(values) > 5
    assert np.all(np.diff(values) < 0)


def test_the_shape_of_the_point_does_not_matter():
    flat = lower(bowl, START, max_steps=20, tol=0.0)
    column = lower(
        lambda point: (bowl(point[:, 0])[0], bowl(point[:, 0])[1][:, None]),
        START[:, None],
        max_steps=20,
        tol=0.0,
    )
    assert_array_equal(column[:, 0], flat)


def test_the_start_is_returned_where_nothing_is_lower():
    assert_array_equal(lower(bowl, np.zeros(3), max_steps=10, tol=0.0), np.zeros(3))


def test_steps_are_counted():
    assert len(points_of(kinks, 3)) == 1 + 3


def test_it_stops_when_ten_steps_change_little():
    def raised(point):
        value, slope = kinks(point)
        return value + 1.0, slope

    values = [raised(point)[0] for point in points_of(raised, 250, tol=0.1)]
    assert 10 < len(values) < 200
    assert values[-11] - values[-1] <= 0.1 * values[-1]
    assert values[-12] - values[-2] > 0.1 * values[-2]


def test_a_region_without_values_is_not_entered():
    def half_plane(point):
        if point[0] < 1:
            return np.nan, np.full(3, np.nan)
        return bowl(point)

    point = lower(half_plane, START, max_steps=200, tol=0.0)
    assert point[0] >= 1
    assert half_plane(point)[0] < bowl(START)[0]
