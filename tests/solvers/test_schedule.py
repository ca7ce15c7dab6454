from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sorr.objectives import Groups
from sorr.solvers.schedule import KSchedule

PAPER = KSchedule.PAPER


def ks(groups, accuracy, schedule=PAPER):
    return [group.k for group in schedule.groups(groups, accuracy)]


@pytest.mark.parametrize(
    ("accuracy", "k"),
    [
        (0.0, 1001),
        (0.6999, 1001),
        (0.7, 500),
        (0.7999, 500),
        (0.8, 250),
        (0.9, 125),
        (0.9499, 125),
        (0.95, 62),
        (0.995, 31),
        (1.0, 31),
    ],
)
def test_the_schedule_of_the_paper_rounds_down_from_each_accuracy_on(accuracy, k):
    assert ks(Groups.of(1001, 20, None), accuracy) == [k]


def test_k_stays_a_row_above_m():
    assert ks(Groups.of(1001, 100, None), 1.0) == [101]
    assert ks(Groups.of(10, 9, None), 1.0) == [10]


def test_the_k_of_the_groups_themselves_is_replaced():
    assert ks(Groups.of(100, 5, 30), 0.0) == [100]


def test_m_the_rows_and_the_share_of_each_group_stay():
    labels = np.repeat([0, 1], [25, 75])
    groups = Groups.of(100, {0: 3, 1: 10}, {0: 20, 1: None}, labels)
    cut = PAPER.groups(groups, 0.8)
    assert [group.k for group in cut] == [6.0, 18.0]
    for before, after in zip(groups, cut, strict=True):
        assert (after.label, after.m, after.mass) == (before.label, before.m, before.mass)
        assert after.rows is before.rows
        assert_allclose(after.scale * after.width, before.scale * before.width)
    assert_allclose([group.scale for group in cut], [0.25 / 3, 0.75 / 8])
    assert_allclose(cut.total, 1)


def test_with_weights_k_is_a_mass_that_is_not_rounded():
    weight = np.full(10, 0.5)
    assert_allclose(ks(Groups.of(10, 0, None, weight=weight), 0.7), [2.5])
    assert_allclose(ks(Groups.of(10, 0, None, weight=weight), 0.9), [0.625])


def test_with_weights_a_row_above_m_is_one_of_average_mass():
    assert_allclose(ks(Groups.of(10, 0.5, None, weight=np.full(10, 0.5)), 0.995), [3.0])


def test_a_schedule_of_ones_own():
    schedule = KSchedule(accuracies=(0.5,), fractions=(0.1,))
    assert ks(Groups.of(100, 0, None), 0.49, schedule) == [100]
    assert ks(Groups.of(100, 0, None), 0.5, schedule) == [10]
    assert schedule.fraction(0.5) == 0.1


def test_the_default_is_that_of_the_paper_and_frozen():
    assert KSchedule() == PAPER
    with pytest.raises(FrozenInstanceError):
        PAPER.fractions = (0.5,)


@pytest.mark.parametrize(
    ("accuracies", "fractions", "message"),
    [
        ((0.5, 0.7), (0.5,), "2 accuracies and 1 fractions are given; needed a fraction for each"),
        ((0.7, 0.5), (0.5, 0.2), r"accuracies=\(0.7, 0.5\) do not increase within 0 and 1"),
        ((0.0, 0.5), (0.5, 0.2), "accuracies=.* do not increase"),
        ((0.5, 1.5), (0.5, 0.2), "accuracies=.* do not increase"),
        ((0.5, 0.7), (0.2, 0.5), r"fractions=\(0.2, 0.5\) do not decrease between 1 and 0"),
        ((0.5,), (1.0,), "fractions=.* do not decrease"),
        ((0.5,), (0.0,), "fractions=.* do not decrease"),
        ((0.5,), (float("nan"),), "fractions=.* do not decrease"),
    ],
)
def test_levels_out_of_order_are_refused(accuracies, fractions, message):
    with pytest.raises(ValueError, match=message):
        KSchedule(accuracies, fractions)
