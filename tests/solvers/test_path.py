import numpy as np
import pytest

from sorr.objectives import RankedRangeObjective
from sorr.solvers import find_starts, grid, solve_path, trim
from tests.slow import slow
from tests.solvers.problems import classes, line, with_sentinels

M, K, C = [0, 10, 20], [15, 60, None], [1.0, 100.0]


@pytest.fixture(scope="module")
def data():
    return classes(120, 4, 3, noise=1.0)


@pytest.fixture(scope="module")
def path(data):
    return solve_path(RankedRangeObjective(*data), grid(M, K, C), random_state=0)


def test_the_cells_are_all_combinations(path):
    assert len(path) == 18
    assert path.theta.shape == (18, 5)
    i = path.cell(10, None, 100.0)
    assert (path.m[i], path.k[i], path.C[i]) == (10, np.inf, 100.0)
    with pytest.raises(KeyError, match="no cell with m=11"):
        path.cell(11, 60, 1.0)


def test_cells_without_ranks_are_marked(path):
    empty = ~path.is_valid
    np.testing.assert_array_equal(empty, (path.m >= path.k))
    assert empty.sum() == 2
    assert np.isnan(path.theta[empty]).all()
    assert np.isfinite(path.theta[~empty]).all()


def test_each_objective_is_that_of_its_parameters(data, path):
    for i in np.flatnonzero(path.is_valid):
        k = None if path.k[i] == np.inf else int(path.k[i])
        objective = RankedRangeObjective(*data, m=int(path.m[i]), k=k, C=path.C[i])
        assert objective.value(path.theta[i]) == pytest.approx(path.objective[i], rel=1e-9)


def test_convex_cells_are_solved(data, path):
    for k in K:
        lowest = trim(RankedRangeObjective(*data, k=k, C=100.0)).objective
        assert lowest * (1 - 1e-6) <= path.objective[path.cell(0, k, 100.0)] <= 1.001 * lowest


def test_cells_match_searches_of_their_own(data, path):
    worse = []
    for i in np.flatnonzero(path.is_valid & (path.m > 0)):
        k = None if path.k[i] == np.inf else int(path.k[i])
        objective = RankedRangeObjective(*data, m=int(path.m[i]), k=k, C=path.C[i])
        alone = objective.value(find_starts(objective, random_state=1)[0])
        worse.append(path.objective[i] / alone - 1)
    assert np.mean(np.array(worse) < 0.01) >= 0.8
    assert max(worse) < 0.1


def test_a_weaker_ridge_and_a_deeper_cut_never_cost_more(path):
    for m in M:
        for k in K:
            if path.is_valid[path.cell(m, k, 1.0)]:
                strong, weak = (path.objective[path.cell(m, k, c)] for c in C)
                assert weak <= strong
    for c in C:
        bottom = [path.objective[path.cell(m, None, c)] for m in M]
        assert bottom == sorted(bottom, reverse=True)


@pytest.mark.parametrize("kind", ["groups", "weights", *slow("sampled")])
def test_fractions_hold_in_groups_and_of_weights_and_on_many_rows(kind):
    n = 1200 if kind == "sampled" else 150
    X, y = classes(n, 3, 1, noise=0.7)
    rng = np.random.default_rng(0)
    options = {
        "groups": {"groups": rng.integers(0, 2, n)},
        "weights": {"sample_weight": rng.uniform(0, 2, n)},
        "sampled": {},
    }[kind]
    path = solve_path(
        RankedRangeObjective(X, y, "hinge", **options),
        grid([0.1, 0.2], [0.5, None], [10.0]),
        rounds=2,
        random_state=0,
    )
    for i in range(4):
        k = None if path.k[i] == np.inf else path.k[i]
        objective = RankedRangeObjective(X, y, "hinge", m=path.m[i], k=k, C=10.0, **options)
        assert objective.value(path.theta[i]) == pytest.approx(path.objective[i], rel=1e-9)
        alone = objective.value(find_starts(objective, random_state=1)[0])
        assert path.objective[i] <= 1.05 * alone


def test_the_same_seed_gives_the_same_path():
    X, y = line(80, 2, outliers=10)
    objective = RankedRangeObjective(X, y, "squared")
    first, again = (
        solve_path(objective, grid([5, 12], [40, 80], [10.0]), rounds=2, random_state=4)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.theta, again.theta)


def test_the_ranks_of_the_objective_do_not_matter(data):
    given = {"problems": grid([5, 10], [60], [10.0]), "rounds": 1, "random_state": 0}
    plain = solve_path(RankedRangeObjective(*data), **given)
    other = solve_path(RankedRangeObjective(*data, m=30, k=40, C=0.1), **given)
    np.testing.assert_allclose(other.objective, plain.objective, rtol=1e-6)


def test_progress_falls_from_round_to_round(data):
    steps = []
    objective = RankedRangeObjective(*data)
    solve_path(objective, grid(M, K, C), rounds=3, random_state=0, progress=steps.append)
    reached = [step.objective for step in steps]
    assert len(reached) == 4
    assert reached == sorted(reached, reverse=True)


def test_counts_within_groups_are_refused(data):
    X, y = data
    objective = RankedRangeObjective(X, y, groups=y)
    with pytest.raises(ValueError, match="10 is a count, but the rows are ranked within groups"):
        solve_path(objective, [(10, None, 1.0)])


@pytest.mark.parametrize(
    ("problems", "message"),
    [
        ([(1.0, 50, 1.0)], "m=1.0 can be read"),
        ([(5, 50, 0.0)], "C=0.0"),
        ([(5, 0, 1.0)], "k=0"),
        ([], "there are no problems"),
        ([(5, 50)], "is not a problem; needed m, k and C"),
    ],
)
def test_what_is_no_problem_is_refused(data, problems, message):
    with pytest.raises(ValueError, match=message):
        solve_path(RankedRangeObjective(*data), problems)


def test_many_parameters_are_refused():
    X, y = classes(100, 70)
    with pytest.raises(ValueError, match="at most 64 parameters"):
        solve_path(RankedRangeObjective(X, y), [(5, 50, 1.0)])


def test_an_absurd_target_spoils_no_cell_in_which_it_is_dropped():
    X, y = with_sentinels()
    path = solve_path(RankedRangeObjective(X, y, "squared"), grid([1, 10], [100, None], [1e6]))
    np.testing.assert_allclose(path.theta, np.tile([1, 2, 3, 0], (4, 1)), atol=1e-3)
