import numpy as np
import pytest

from sorr.objectives import (
    RankedRangeObjective,
    constant_model,
    is_constant,
    refuse_lost_class,
    subsample,
)
from tests.solvers.problems import classes


def test_a_sample_of_few_rows_is_the_objective_itself():
    X, y = classes()
    objective = RankedRangeObjective(X, y, m=5)
    assert subsample(objective, 60, np.random.default_rng(0)) is objective


@pytest.mark.parametrize("weighted", [False, True])
def test_the_ranks_of_a_sample_shrink_with_its_rows_and_leave_room_for_outliers(weighted):
    X, y = classes(5000)
    weight = np.random.default_rng(0).uniform(0.5, 1.5, 5000) if weighted else None
    objective = RankedRangeObjective(X, y, m=0.1, k=0.5, sample_weight=weight)
    group = subsample(objective, 1000, np.random.default_rng(0)).groups.groups[0]
    assert group.mass == pytest.approx(1000, rel=0.05)
    assert 100 < group.m <= 135
    assert group.width == pytest.approx(400, rel=0.05)
    assert group.scale * group.width == pytest.approx(1.0)


def test_a_small_class_survives_the_drop_in_a_sample():
    X, y = classes(20_000)
    y[:] = 1.0
    y[:2400] = -1.0
    objective = RankedRangeObjective(X, y, m=2000)  # fewer than the small class has
    sample = subsample(objective, 1000, np.random.default_rng(0))
    assert sample.groups.groups[0].m < np.count_nonzero(sample.y == -1)


def test_every_group_and_class_is_in_a_sample():
    X, y = classes(5000)
    y[:30] = -1.0
    labels = np.zeros(5000)
    labels[:60] = 1.0
    objective = RankedRangeObjective(X, y, m=0.1, groups=labels)
    sample = subsample(objective, 500, np.random.default_rng(0))
    rare = sample.groups.groups[1]
    assert rare.label == 1.0
    assert len(rare.rows) >= 10
    assert set(sample.y[rare.rows]) == {-1.0, 1.0}
    assert sum(g.scale * g.width for g in sample.groups) == pytest.approx(1.0)


def test_a_narrow_range_keeps_enough_rows_of_a_sample_to_fit():
    X, y = classes(5000)
    objective = RankedRangeObjective(X, y, m=500, k=501)
    group = subsample(objective, 500, np.random.default_rng(0)).groups.groups[0]
    assert group.width >= objective.n_parameters


# -- models without coefficients ----------------------------------------------------------------


def test_the_best_constant_of_uneven_classes_ranked_within_classes_is_their_log_odds():
    X, y = np.zeros((40, 1)), np.repeat([1.0, -1.0], [30, 10])
    objective = RankedRangeObjective(X, y, k=0.5, C=1.0, groups=y)
    assert constant_model(objective)[-1] == pytest.approx(np.log(3), rel=1e-5)


def test_a_real_target_is_never_called_constant():
    X, y = classes(20)
    regression = RankedRangeObjective(X, y, "squared")
    assert not is_constant(regression, regression.at(np.zeros(regression.shape)))
    classes_of_two = RankedRangeObjective(X, y, k=5)
    assert is_constant(classes_of_two, classes_of_two.at(np.zeros(4)))
    assert not is_constant(classes_of_two, classes_of_two.at(np.array([-1.0, 0.0, 0.0, 0.0])))


def test_each_group_has_to_spare_some_of_each_class():
    X, y = np.zeros((20, 1)), np.repeat([1.0, -1.0], [16, 4])
    sides = np.tile([0, 1], 10)
    with pytest.raises(ValueError, match="class -1 has a mass of 4"):
        refuse_lost_class(RankedRangeObjective(X, y, m=0.4, groups=sides))
    refuse_lost_class(RankedRangeObjective(X, y, m=0.1, groups=sides))
    weight = np.where(y < 0, 3.0, 1.0)
    refuse_lost_class(RankedRangeObjective(X, y, m=0.35, sample_weight=weight))
