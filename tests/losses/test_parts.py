"""The convex parts of the top-k losses."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sorr.losses import TopKMultilabel, TopKSubset
from sorr.losses.parts import TopViolations
from tests.losses.problems import GRID, difference, scores, targets

LOSSES = [cls(k) for cls in (TopKMultilabel, TopKSubset) for k in (1, 2, 3, 4)]
each = pytest.mark.parametrize("loss", LOSSES, ids=repr)
generic_and_ties = pytest.mark.parametrize("choices", [None, GRID], ids=["generic", "ties"])


@each
@generic_and_ties
def test_their_difference_is_the_loss(loss, choices):
    y, f = targets(loss), scores(loss, choices=choices)
    first, second = loss.convex_parts()
    assert_allclose(first.value(y, f) - second.value(y, f), loss.value(y, f), atol=1e-12)


@each
@generic_and_ties
def test_each_lies_above_its_tangents(loss, choices):
    y, f = targets(loss), scores(loss, choices=choices)
    there = scores(loss, seed=3)
    for part in loss.convex_parts():
        assert part.convex
        value, slope = part.value_and_gradient(y, f)
        tangent = value + np.einsum("ij,ij->i", slope, there - f)
        assert np.all(part.value(y, there) >= tangent - 1e-9)


@each
def test_slopes_are_those_of_finite_differences(loss):
    y, f = targets(loss), scores(loss)
    for part in loss.convex_parts():
        slope = difference(lambda g, part=part: part.value(y, g), f)
        assert_allclose(part.gradient(y, f), slope, atol=1e-7)


def test_the_violations_are_added_up_from_the_largest():
    y, f = np.array([[True, False, False]]), np.array([[0.0, 2.0, -0.5]])
    values = [TopViolations(j).value(y, f)[0] for j in (1, 2, 3)]
    assert_allclose(values, [3.0, 4.0, 4.5])


def test_a_sample_without_true_labels_costs_nothing():
    y, f = np.zeros((3, 5), dtype=bool), scores(TopKMultilabel(1), 3)
    for loss in LOSSES:
        for part in loss.convex_parts():
            value, slope = part.value_and_gradient(y, f)
            assert not value.any()
            assert not slope.any()
