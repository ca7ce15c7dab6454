from itertools import pairwise

import pytest

pytest.importorskip("pandas", reason="tables are an extra")

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from sorr.auditing import variations
from sorr.auditing.fit import fit_rows, largest
from sorr.auditing.variations import _counts, _folds, _half, resample, sweep
from tests.auditing.tables import clear, line, mixed, rows, three_classes
from tests.slow import slow


def quietly(done, label):
    assert 0.0 <= done <= 1.0
    assert label


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=30), st.data()
)
def test_the_largest_of_each_group_are_found_and_no_more(pairs, data):
    losses, groups = np.array(pairs, dtype=float).T
    groups = groups.astype(int)
    sizes = np.bincount(groups, minlength=3)
    counts = np.array([data.draw(st.integers(0, int(size))) for size in sizes])
    found = largest(losses, groups, counts)
    for group, count in enumerate(counts):
        inside = losses[(groups == group) & found]
        outside = losses[(groups == group) & ~found]
        assert len(inside) == count
        assert not len(inside) or not len(outside) or inside.min() >= outside.max()


@given(st.lists(st.tuples(st.integers(2, 300), st.floats(0, 0.6)), min_size=1, max_size=4))
def test_positions_grow_from_none_through_the_choice_to_a_large_share(pairs):
    sizes = np.array([size for size, _ in pairs])
    chosen = np.floor(sizes * [share for _, share in pairs]).astype(np.int64)
    steps = _counts(sizes, chosen, sizes - 1)
    assert not steps[0].any()
    assert any(np.array_equal(counts, chosen) for counts in steps)
    for before, after in pairwise(steps):
        assert (after >= before).all()
        assert after.sum() > before.sum()
    assert all((counts < sizes).all() for counts in steps)


@pytest.fixture(scope="module", params=["three", "numbers", *slow("two", "pooled")])
def fitted(request):
    if request.param == "numbers":
        return fit_rows(rows(line(), "price"), model="linear", m=0.05)
    frame = three_classes() if request.param == "three" else mixed()
    return fit_rows(rows(frame), model="linear", m=9 if request.param == "pooled" else 0.05)


@pytest.fixture(scope="module")
def swept(fitted):
    return sweep(fitted, 0, 1, quietly)


def test_the_chosen_position_is_that_of_the_audit(fitted, swept):
    chosen = swept.points[swept.chosen]
    np.testing.assert_array_equal(chosen.dropped, fitted.dropped)
    np.testing.assert_array_equal(chosen.counts, fitted.model.m_)
    kept_most = np.array(
        [
            fitted.model.losses_[~fitted.dropped & (fitted.groups == g)].max()
            for g in range(len(chosen.cuts))
        ]
    )
    assert (chosen.cuts >= kept_most).all()


def test_every_position_leaves_out_as_many_rows_as_it_says(fitted, swept):
    for position in swept.points:
        found = np.bincount(fitted.groups, position.dropped, minlength=len(position.counts))
        np.testing.assert_array_equal(found, position.counts)
        assert position.share == position.dropped.mean()
        assert (np.diff(position.curves, axis=1) <= 0).all()


def test_with_nothing_left_out_the_sweep_ends_at_the_plain_fit(fitted, swept):
    plain = clone(fitted.model).set_params(m=0).fit(fitted.X, fitted.rows.y)
    losses = plain.row_losses(fitted.X, fitted.rows.y)
    tops = [losses[fitted.groups == group].max() for group in range(len(swept.points[0].cuts))]
    np.testing.assert_allclose(swept.points[0].curves[:, 0], tops, rtol=1e-3)
    assert np.isnan(swept.points[0].cuts).all()


def test_errors_are_those_of_fits_that_have_not_seen_a_row(fitted, swept):
    rng = np.random.default_rng(0)
    fold = _folds(fitted.class_of_row, rng)
    wrong = np.zeros(len(fold))
    for i in range(fold.max() + 1):
        inside, y = fold != i, fitted.rows.y
        model = clone(fitted.model).set_params(m=0).fit(fitted.X[inside], y[inside])
        predicted = model.predict(fitted.X[~inside])
        is_class = bool(fitted.classes)
        wrong[~inside] = predicted != y[~inside] if is_class else abs(predicted - y[~inside])
    first = swept.points[0]
    assert first.error == pytest.approx(wrong.mean(), rel=1e-3)
    assert first.kept_error == pytest.approx(wrong[~fitted.dropped].mean(), rel=1e-3)
    assert first.gain_error == 0.0
    assert all(it.gain_error > 0 for it in swept.points if it.kept_error != first.kept_error)


@pytest.mark.slow
def test_halves_say_how_often_a_row_is_left_out(fitted, monkeypatch):
    monkeypatch.setattr(variations, "_RESAMPLES", 8)
    found = resample(fitted, 0, 1, quietly)
    assert len(found.shares) == 8
    assert found.dropped.mean() == pytest.approx(found.shares.mean())
    assert found.dropped[fitted.dropped].mean() > 5 * found.dropped[~fitted.dropped].mean()
    again = resample(fitted, 0, 2, quietly)
    np.testing.assert_array_equal(found.dropped, again.dropped)
    assert (resample(fitted, 1, 1, quietly).dropped != found.dropped).any()


def test_where_rows_are_flagged_that_is_the_choice_and_others_are_dropped_by_loss(monkeypatch):
    monkeypatch.setattr(variations, "_RESAMPLES", 4)
    monkeypatch.setattr(variations, "_POINTS", 8)
    fitted = fit_rows(rows(clear()), model="linear")
    swept = sweep(fitted, 0, 1, quietly)
    chosen = swept.points[swept.chosen]
    np.testing.assert_array_equal(chosen.dropped, fitted.dropped)
    np.testing.assert_array_equal(chosen.counts, fitted.counts)
    for group, curve in enumerate(chosen.curves):
        inside = fitted.groups == group
        assert curve[0] == fitted.losses[inside & fitted.dropped].max()
        assert curve[-1] == fitted.losses[inside & ~fitted.dropped].min()
    other = swept.points[swept.chosen + 1]
    assert other.counts.sum() > chosen.counts.sum()
    shares = resample(fitted, 0, 1, quietly).shares
    np.testing.assert_allclose(shares, fitted.dropped.mean())


def test_a_half_has_rows_of_every_class_and_half_of_each():
    class_of_row = np.repeat([0, 1, 2], [1, 10, 101])
    half = _half(class_of_row, np.random.default_rng(0))
    assert np.bincount(class_of_row[half]).tolist() == [1, 5, 51]
    assert len(set(half.tolist())) == len(half)


@pytest.mark.slow
def test_of_many_rows_the_fits_see_a_part_and_judge_all(monkeypatch):
    monkeypatch.setattr(variations, "_MAX_FIT_ROWS", 60)
    monkeypatch.setattr(variations, "_MAX_VALIDATED_ROWS", 60)
    fitted = fit_rows(rows(mixed()), model="linear", m=0.05)
    swept = sweep(fitted, 0, 1, quietly)
    np.testing.assert_array_equal(swept.points[swept.chosen].dropped, fitted.dropped)
    assert all(len(it.dropped) == 240 for it in swept.points)


def test_a_row_alone_in_its_class_is_never_held_out():
    fold = _folds(np.array([0] * 10 + [1]), np.random.default_rng(0))
    assert fold[-1] == -1
    assert np.bincount(fold[:-1]).tolist() == [2, 2, 2, 2, 2]


def test_a_number_of_all_rows_can_be_left_out_where_a_class_is_rare():
    frame = mixed(n=300)
    frame["y"] = np.where(frame.index < 19, "bad", "good")
    fitted = fit_rows(rows(frame), model="linear", m=5)
    swept = sweep(fitted, 0, 1, quietly)
    assert max(int(it.counts.sum()) for it in swept.points) <= 18
    assert resample(fitted, 0, 1, quietly).shares.tolist() == [5 / 300] * 20


def test_folds_of_many_small_classes_are_even():
    fold = _folds(np.repeat(np.arange(30), 4), np.random.default_rng(0))
    assert np.bincount(fold).tolist() == [24] * 5
    frame = three_classes(n=12)
    fitted = fit_rows(rows(frame), model="linear", m=0)
    assert np.isfinite(sweep(fitted, 0, 1, quietly).points[0].error)


def test_a_single_outlier_is_left_out_of_the_fits_that_hold_other_rows_out():
    frame = line(n=60, off=1)
    swept = sweep(fit_rows(rows(frame, "price"), model="linear", m=1), 0, 1, quietly)
    first, chosen = swept.points[0], swept.points[swept.chosen]
    assert chosen.kept_error < 0.9 * first.kept_error
    clean = line(n=60, off=0)
    without = sweep(fit_rows(rows(clean, "price"), model="linear", m=0), 0, 1, quietly).points[0]
    assert chosen.kept_error == pytest.approx(without.error, rel=0.1)


def test_rows_that_are_alike_are_counted_one_by_one():
    rng = np.random.default_rng(0)
    kinds = {name: rng.choice(["p", "q"], 400) for name in ("a", "b")}
    y = np.where((kinds["a"] == "p") ^ (rng.random(400) < 0.15), "yes", "no")
    fitted = fit_rows(rows(pd.DataFrame(kinds | {"y": y})), model="linear", m=0.05)
    np.testing.assert_array_equal(np.bincount(fitted.groups, fitted.dropped), fitted.counts)
    out = [int(it.dropped.sum()) for it in sweep(fitted, 0, 1, quietly).points]
    assert out == sorted(set(out))
