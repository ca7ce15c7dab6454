"""The k labels that are most likely right, against a comparison of all of them by loops."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sorr.estimators import set_decision
from sorr.estimators.set_decision import SetDecision, chance
from sorr.estimators.set_objective import distinct_sets


@st.composite
def problems(draw):
    """Draw label sets, their probabilities with many ties, and a number of labels."""
    n_labels = draw(st.integers(2, 6))
    numbers = draw(st.sets(st.integers(0, 2**n_labels - 1), min_size=1, max_size=12))
    sets = np.array([[number >> j & 1 for j in range(n_labels)] for number in sorted(numbers)])
    size = 3 * len(sets)
    parts = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    share = np.array(parts, dtype=float).reshape(3, -1)
    share[:, draw(st.integers(0, len(sets) - 1))] += 1
    share /= share.sum(axis=1, keepdims=True)
    return sets.astype(bool), share, draw(st.integers(1, n_labels - 1))


def many_labels(seed, n=40, n_labels=12, n_sets=60):
    """Return sets of two to five labels and probabilities of them."""
    rng = np.random.default_rng(seed)
    sets = rng.random((n_sets, n_labels)) < rng.uniform(0.15, 0.4)
    sets, _ = distinct_sets(sets)
    share = rng.dirichlet(np.full(len(sets), 0.3), size=n)
    return sets, share


def slow_chance(share, sets, chosen):
    total = 0.0
    for probability, labels in zip(share, sets, strict=True):
        true = set(np.flatnonzero(labels).tolist())
        total += probability * (chosen <= true or true <= chosen)
    return total


@given(problems())
def test_no_other_labels_are_more_likely_right(problem):
    sets, share, k = problem
    decide = SetDecision(sets, k)
    found = decide(share)
    assert decide.is_exact
    assert (found.sum(axis=1) == k).all()
    for row, chosen in zip(share, found, strict=True):
        every = [set(labels) for labels in combinations(range(sets.shape[1]), k)]
        chances = [slow_chance(row, sets, labels) for labels in every]
        own = set(np.flatnonzero(chosen).tolist())
        assert slow_chance(row, sets, own) == pytest.approx(max(chances), abs=1e-9)
        # of those as likely, the more probable labels, and of these the ones that come first
        tied = [z for z, c in zip(every, chances, strict=True) if c > max(chances) - 1e-9]
        marginal = row @ sets
        sums = [sum(marginal[j] for j in sorted(labels)) for labels in tied]
        assert own == next(
            z for z, total in zip(tied, sums, strict=True) if total > max(sums) - 1e-9
        )


@given(problems())
def test_chances_are_those_of_a_slow_loop(problem):
    sets, share, k = problem
    chosen = SetDecision(sets, k)(share)
    slow = [
        slow_chance(row, sets, set(np.flatnonzero(labels).tolist()))
        for row, labels in zip(share, chosen, strict=True)
    ]
    np.testing.assert_allclose(chance(share, sets, chosen), slow, atol=1e-12)


@given(problems())
@settings(deadline=None)
def test_rows_in_parts_are_the_rows_as_a_whole(problem):
    sets, share, k = problem
    whole = SetDecision(sets, k)(share)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(set_decision, "_CHUNK", 1)
        np.testing.assert_array_equal(SetDecision(sets, k)(share), whole)


@given(problems())
def test_a_single_label_is_found_by_exchange_as_well(problem):
    sets, share, _ = problem
    exact = SetDecision(sets, 1)(share)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(set_decision, "_MOST_PAIRS", 0)
        search = SetDecision(sets, 1)
        assert not search.is_exact
        found = search(share)
    np.testing.assert_allclose(
        chance(share, sets, found), chance(share, sets, exact), rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("k", [2, 3, 5, 8])
def test_exchange_comes_close_to_the_best_and_below_no_simple_choice(k, monkeypatch):
    is_best = []
    for seed in range(10):
        sets, share = many_labels(seed)
        exact = chance(share, sets, SetDecision(sets, k)(share))
        with monkeypatch.context() as patch:
            patch.setattr(set_decision, "_MOST_PAIRS", 0)
            chosen = SetDecision(sets, k)(share)
        assert (chosen.sum(axis=1) == k).all()
        found = chance(share, sets, chosen)
        search = set_decision._Search(share, sets, k)
        for simple in search.starts():
            assert (simple.sum(axis=1) == k).all()
            assert (found >= chance(share, sets, simple) - 1e-9).all()
        assert (found <= exact + 1e-9).all()
        is_best.append(found > exact - 1e-9)
    assert np.mean(is_best) > 0.9  # measured: 95 to 99 % of rows as spread out as these


def test_labels_that_fill_up_are_the_probable_ones():
    sets = np.array([[1, 0, 0, 0], [0, 0, 1, 1]], dtype=bool)
    found = SetDecision(sets, 2)(np.array([[0.9, 0.1]]))
    assert found.tolist() == [[True, False, True, False]]


def test_few_sets_of_many_labels_take_modest_memory():
    decide = SetDecision(np.ones((1, 30), dtype=bool), 6)  # 593,775 sets of 6 out of 30 labels
    assert not decide.is_exact
    assert decide(np.ones((2, 1))).sum(axis=1).tolist() == [6, 6]
