"""`judge_labels`: what it takes, and how it refuses what it cannot use."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sorr import judge_labels
from sorr.share.judging import as_log
from tests.share import simulate
from tests.slow import slow


@pytest.fixture(scope="module")
def two():
    return simulate.labelled(400, rate=0.06, scale=5.0)


@pytest.fixture(scope="module")
def three():
    return simulate.labelled(300, K=3, rate=0.06, scale=5.0)


# -- Labels and classes ----------------------------------------------------------------------------

LABELS = {
    "text": np.array(["a", "b", "c"]),
    "int": np.array([-1, 4, 10]),
    "float": np.array([0.5, 1.5, 2.5]),
    "object": np.array(["a", "b", "c"], dtype=object),
}


@pytest.mark.parametrize("kind", ["text", "float", *slow("int", "object")])
def test_labels_may_be_of_any_kind(kind, three):
    P, y, _ = three
    names = LABELS[kind]
    found, plain = judge_labels(P, names[y]), judge_labels(P, y)
    assert_array_equal(found.wrong_, plain.wrong_)
    assert_array_equal(found.classes_, names)
    assert_array_equal(found.suggested_, names[plain.suggested_])
    assert found.suggested_.dtype == names.dtype
    assert_array_equal(found.labels_, names[y])


def test_labels_may_be_bools_lists_and_series(two):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    P, y, _ = two
    plain = judge_labels(P, y)
    for labels in (y.astype(bool), y.tolist(), pandas.Series(y), polars.Series(y)):
        assert_array_equal(judge_labels(P, labels).wrong_, plain.wrong_)
    texts = pandas.Series(np.array(["no", "yes"])[y])
    for dtype in (object, "string", "category"):
        found = judge_labels(P, texts.astype(dtype))
        assert_array_equal(found.wrong_, plain.wrong_)
        assert found.classes_.tolist() == ["no", "yes"]


def test_probabilities_may_be_a_list_or_of_single_precision(two):
    P, y, _ = two
    plain = judge_labels(P, y)
    assert_array_equal(judge_labels(P.tolist(), y).wrong_, plain.wrong_)
    assert_allclose(judge_labels(P.astype(np.float32), y).wrong_, plain.wrong_, atol=1e-3)


def test_what_is_given_is_left_as_it_is(two):
    P, y = two[0].copy(), two[1]
    P[0] = [0.0, 1.0]
    weight = np.ones(len(y))
    before = P.copy(), y.copy(), weight.copy()
    judge_labels(P, y, sample_weight=weight, known={0: 1})
    for now, then in zip((P, y, weight), before, strict=True):
        assert_array_equal(now, then)


def test_classes_say_which_column_is_which(three):
    P, y, _ = three
    names = np.array(["low", "medium", "high"])  # not sorted
    found = judge_labels(P, names[y], classes=names)
    assert_array_equal(found.classes_, names)
    assert_array_equal(found.wrong_, judge_labels(P, y).wrong_)
    order = np.argsort(names)
    by_default = judge_labels(P[:, order], names[y])
    assert_allclose(by_default.wrong_, found.wrong_, atol=0.05)
    assert_array_equal(by_default.classes_, names[order])


def test_a_class_that_nobody_has_may_have_a_column(three):
    P, y, _ = three
    wide = np.column_stack([P[:, :2] * 0.99, np.full(len(y), 0.01) * P[:, :2].sum(1), P[:, 2]])
    found = judge_labels(wide, y, classes=[0, 1, 7, 2])
    assert_array_equal(found.count_[2], 0.0)
    assert found.classes_.tolist() == [0, 1, 7, 2]
    assert np.isfinite(found.wrong_).all()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_a_frame_are_matched_by_name(library, three):
    frames = pytest.importorskip(library)
    P, y, _ = three
    names = np.array(["a", "b", "c"])
    plain = judge_labels(P, names[y])
    mixed = frames.DataFrame({"c": P[:, 2], "a": P[:, 0], "b": P[:, 1]})
    found = judge_labels(mixed, names[y])
    assert_allclose(found.wrong_, plain.wrong_, atol=1e-6)  # sums in another order
    assert_array_equal(found.suggested_, plain.suggested_)


def test_columns_named_by_numbers_are_matched_too(two):
    pandas = pytest.importorskip("pandas")
    P, y, _ = two
    plain = judge_labels(P, y)
    backwards = pandas.DataFrame({1: P[:, 1], 0: P[:, 0]})
    assert_array_equal(judge_labels(backwards, y).wrong_, plain.wrong_)
    numbered = pandas.DataFrame(P)  # 0 and 1 are positions
    names = np.array(["no", "yes"])
    assert_array_equal(judge_labels(numbered, names[y]).wrong_, plain.wrong_)
    assert_array_equal(judge_labels(numbered, y == 1).wrong_, plain.wrong_)


def test_columns_with_other_names_follow_the_order_of_classes(two):
    pandas = pytest.importorskip("pandas")
    P, y, _ = two
    frame = pandas.DataFrame({"p_no": P[:, 0], "p_yes": P[:, 1]})
    names = np.array(["no", "yes"])
    plain = judge_labels(P, y)
    assert_array_equal(judge_labels(frame, names[y]).wrong_, plain.wrong_)
    assert_array_equal(judge_labels(frame, names[y], classes=names).wrong_, plain.wrong_)


# -- Decision values -------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["vector", "column", "columns"])
def test_decision_values_are_log_odds(shape, two):
    P, y, _ = two
    one = np.log(P[:, 1] / P[:, 0])
    scores = {"vector": one, "column": one[:, None], "columns": np.log(P)}[shape]
    found = judge_labels(scores, y, scores=True)
    assert_allclose(found.wrong_, judge_labels(P, y).wrong_, atol=1e-6)
    assert_allclose(found.evidence_, judge_labels(P, y).evidence_, rtol=1e-6)


def test_decision_values_of_several_classes_are_log_probabilities(three):
    P, y, _ = three
    found = judge_labels(np.log(P) + 7.0, y, scores=True)
    assert_allclose(found.wrong_, judge_labels(P, y).wrong_, atol=1e-3)


def test_huge_decision_values_are_fine(two):
    P, y, wrong = two
    found = judge_labels(500 * np.log(P), y, scores=True)
    assert np.isfinite(found.wrong_).all()
    assert found.has_evidence
    assert found.flagged_[wrong].mean() > 0.5


def test_probabilities_of_zero_and_one_are_fine(two):
    P, y, wrong = two
    hard = np.where(P > 1 - 1e-3, 1.0, np.where(P < 1e-3, 0.0, P))
    found = judge_labels(hard, y)
    assert np.isfinite(found.wrong_).all()
    assert found.flagged_[wrong].any()


# -- Weights ---------------------------------------------------------------------------------------


def test_counts_are_sums_of_weights(two):
    P, y, _ = two
    found = judge_labels(P, y, sample_weight=np.full(len(y), 2.0))
    assert_allclose(found.count_, np.bincount(y, 2.0 * found.wrong_))
    assert found.mass_.sum() == 800
    assert_allclose(found.share_, found.count_ / (2 * np.bincount(y)))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(3), r"sample_weight has shape \(3,\); needed one weight for each of the 400 rows"),
        (-np.ones(400), "negative weight"),
        (np.full(400, np.nan), "negative weight, NaN or infinity"),
        (np.zeros(400), "adds up to zero"),
    ],
)
def test_weights_that_are_no_masses_are_refused(weight, message, two):
    with pytest.raises(ValueError, match=message):
        judge_labels(two[0], two[1], sample_weight=weight)


# -- Known rows ------------------------------------------------------------------------------------


@pytest.mark.parametrize("thorough", [False, *slow(True)])
def test_known_rows_may_be_a_mapping_or_one_entry_for_each_row(two, thorough):
    pandas = pytest.importorskip("pandas")
    P, y, _ = two
    names = np.array(["no", "yes"])
    labels = names[y]
    right = {3: "yes", np.int64(5): "no", 0: labels[0]}
    expected = judge_labels(P, labels, known=right)
    rows = {int(row) for row in right}
    forms = np.asarray, list, pandas.Series
    for i, missing in enumerate((None, np.nan, pandas.NA, pandas.NaT)):
        column = np.array([right.get(row, missing) for row in range(len(y))], dtype=object)
        for form in forms if thorough else forms[i % 3 :][:1]:
            given = form(column)
            found = judge_labels(P, labels, known=given)
            assert set(np.flatnonzero(found.known_)) == rows
            assert_array_equal(found.wrong_, expected.wrong_)
    texts = pandas.Series(column).astype("string")
    assert_array_equal(judge_labels(P, labels, known=texts).wrong_, expected.wrong_)


def test_known_numbers_may_have_nan_between_them(two):
    P, y, _ = two
    column = np.full(len(y), np.nan)
    column[[1, 2]] = 1 - y[1], y[2]
    found = judge_labels(P, y, known=column)
    assert_array_equal(np.flatnonzero(found.known_), [1, 2])
    assert_array_equal(found.wrong_[[1, 2]], [1, 0])


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({400: 1}, "known names row 400; needed row numbers from 0 to 399"),
        ({-1: 1}, "known names row -1"),
        ({"first": 1}, "known names row 'first'"),
        ({1.5: 1}, "known names row 1.5"),
        ({0: 2}, "known holds 2, which is not a class; needed classes among 0, 1"),
        ({0: "yes"}, "known holds 'yes', which is not a class"),
        ([1, 0], r"known has shape \(2,\); needed one entry for each of the 400 rows"),
    ],
)
def test_known_rows_that_are_not_there_are_refused(known, message, two):
    with pytest.raises(ValueError, match=message):
        judge_labels(two[0], two[1], known=known)


def test_no_known_rows_are_the_same_as_none(two):
    P, y, _ = two
    plain = judge_labels(P, y)
    for known in ({}, [None] * len(y)):
        assert_array_equal(judge_labels(P, y, known=known).score_, plain.score_)


def test_what_is_thought_of_a_known_row_does_not_come_from_itself(two):
    P, y, _ = two
    plain = judge_labels(P, y)
    row = int(plain.order_[0])
    for right in (0, 1):
        found = judge_labels(P, y, known={row: right})
        assert found.log_odds_[row] == plain.log_odds_[row]
        assert found.wrong_[row] == (right != y[row])
        others = np.arange(len(y)) != row
        assert (found.log_odds_[others] != plain.log_odds_[others]).all()


def test_known_rows_come_last(two):
    P, y, _ = two
    known = {int(i): int(i % 2) for i in judge_labels(P, y).order_[:30]}
    found = judge_labels(P, y, known=known)
    assert set(found.order_[-30:].tolist()) == set(known)
    assert np.isfinite(found.score_[found.order_[:-30]]).all()


@pytest.mark.parametrize("label", [0, 1])
def test_a_label_whose_rows_are_found_wrong_is_suspected_more_than_another(label):
    P, y, _ = simulate.labelled(1500, rate=0.0, scale=2.0)
    doubt = 1 - judge_labels(P, y).given_probability_
    known = {}
    for each in (0, 1):
        worst = np.argsort(np.where(y == each, -doubt, 0))[:40:2]
        known |= {int(i): int(1 - y[i] if each == label else y[i]) for i in worst}
    found = judge_labels(P, y, known=known)
    left = ~found.known_ & (doubt > 0.7)
    mean = [found.wrong_[left & (y == each)].mean() for each in (label, 1 - label)]
    assert mean[0] > 2 * mean[1]


# -- Bad input -------------------------------------------------------------------------------------


def refused(P, y, message, error=ValueError, **options):
    with pytest.raises(error, match=message):
        judge_labels(P, y, **options)


def test_probabilities_that_do_not_add_up_to_one_are_refused(two):
    P, y, _ = two
    off = P.copy()
    off[7] = [0.4, 0.4]
    refused(off, y, r"row 7 add up to 0\.8, .* needed probabilities that add up to 1, or scores")
    refused(100 * P, y, "add up to 100")


def test_negative_probabilities_are_refused(two):
    P, y, _ = two
    off = P.copy()
    off[3] = [1.2, -0.2]
    refused(off, y, "row 3 add up to 1, the smallest is -0.2")
    judge_labels(off, y, scores=True)


def test_sums_that_are_off_by_rounding_are_accepted(two):
    P, y, _ = two
    found = judge_labels(np.round(P, 3) + 0.0004, y)
    assert found.can_judge


def test_missing_probabilities_are_refused(two):
    P, y, _ = two
    for bad in (np.nan, np.inf):
        off = P.copy()
        off[11, 1] = bad
        for scores in (False, True):
            refused(off, y, "NaN or infinity, first in row 11.*leave out rows", scores=scores)


def test_one_column_of_probabilities_is_refused_with_the_way_out(two):
    P, y, _ = two
    for one in (P[:, 1], P[:, 1:]):
        refused(one, y, r"needed a column for each class: .*np\.column_stack\(\[1 - p, p\]\)")


def test_a_missing_class_is_refused(three):
    P, y, _ = three
    narrow = P[:, :2] / P[:, :2].sum(axis=1, keepdims=True)
    refused(narrow, y, "2 columns for 3 classes; needed one for each class, or classes=")
    refused(P, np.minimum(y, 1), "3 columns for 2 classes")


def test_labels_that_are_not_among_the_classes_are_refused(three):
    P, y, _ = three
    names = np.array(["a", "b", "c"])
    message = "y holds 'c', which is not one of classes; needed classes among 'a', 'b', 'z'"
    refused(P, names[y], message, classes=["a", "b", "z"])
    refused(P, names[y], "a class more than once", classes=["a", "b", "b", "c"])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_with_a_column_that_is_no_label_is_refused(library, three):
    frames = pytest.importorskip(library)
    P, y, _ = three
    names = np.array(["a", "b", "c"])
    P = np.column_stack([0.9 * P, np.full(len(y), 0.1)])
    frame = frames.DataFrame(dict(zip("abcz", P.T, strict=True)))
    refused(frame, names[y], "a column 'z', but no row has that label; pass classes, or leave")
    found = judge_labels(frame, names[y], classes=list("abcz"))
    assert found.classes_.tolist() == list("abcz")


def test_one_class_is_refused(two):
    P, y, _ = two
    refused(P, np.zeros(len(y)), "y holds one class only, 0.0; needed two classes or more")


def test_one_row_is_refused_or_judged_as_too_few():
    refused([[0.3, 0.7]], ["a"], "one class only, 'a'")
    found = judge_labels([[0.312, 0.688]], ["a"], classes=["a", "b"])
    assert not found.can_judge
    assert "1 row" in found.sentence


def test_lengths_that_differ_are_refused(two):
    P, y, _ = two
    refused(P[:-1], y, "probabilities has 399 rows, y 400; needed one row for each label")


def test_nothing_is_refused():
    refused(np.empty((0, 2)), [], r"shape \(0,\)|shape \(0, 2\)")


@pytest.mark.parametrize("P", [np.ones((4, 2, 2)), np.float64(1.0)])
def test_probabilities_of_another_shape_are_refused(P):
    refused(P, [0, 1, 0, 1], "probabilities has shape")


def test_probabilities_that_are_no_numbers_are_refused():
    refused(
        [["a", "b"]] * 4,
        [0, 1, 0, 1],
        "probabilities has entries of type .*; needed numbers",
        TypeError,
    )


def test_labels_of_another_shape_and_missing_ones_are_refused(two):
    P, y, _ = two
    refused(P, np.column_stack([y, y]), r"y has shape \(400, 2\); needed one class for each row")
    missing = y.astype(float)
    missing[3] = np.nan
    refused(P, missing, "y holds NaN")


def test_missing_labels_of_text_are_refused(two):
    P, y, _ = two
    labels = np.array(["no", "yes"], dtype=object)[y]
    labels[3] = None
    with pytest.raises((TypeError, ValueError), match=r"y holds|missing|None"):
        judge_labels(P, labels)


# -- Warnings --------------------------------------------------------------------------------------


def test_two_decimals_raise_a_warning(two):
    P, y, _ = two
    second = np.round(P[:, 1], 2)
    with pytest.warns(UserWarning, match="rounded to two decimals .* needed three") as caught:
        judge_labels(np.column_stack([1 - second, second]), y)
    assert caught[0].filename == __file__
    second = np.round(P[:, 1], 3)
    judge_labels(np.column_stack([1 - second, second]), y)  # no warning


def test_three_decimals_of_a_model_that_is_mostly_sure_raise_a_warning():
    P, y, _ = simulate.labelled(400, scale=30.0)
    rounded = np.column_stack([1 - P[:, 1].round(3), P[:, 1].round(3)])
    with pytest.warns(
        UserWarning, match="three decimals or less, and 8.% of .* needed more"
    ) as caught:
        judge_labels(rounded, y)
    assert caught[0].filename == __file__
    judge_labels(np.log(P), y, scores=True)  # no warning
    rounded[-1] = [0.9995, 0.0005]
    judge_labels(rounded, y)  # nor if one row is not rounded


def test_probabilities_that_know_every_label_raise_a_warning(two):
    P, y, _ = two
    known = np.where(
        np.arange(2) == y[:, None], P.max(axis=1, keepdims=True), P.min(axis=1, keepdims=True)
    )
    with pytest.warns(UserWarning, match="All 400 labels .* use held_out_probabilities") as caught:
        judge_labels(known, y)
    assert caught[0].filename == __file__
    for row in (0, -1):
        doubtful = known.copy()
        doubtful[row] = known[row, ::-1]
        judge_labels(doubtful, y)  # one label that is not the most probable: no warning


def test_few_rows_may_all_be_most_probable(two):
    P, y, _ = two
    likely = np.flatnonzero(P.argmax(axis=1) == y)[:99]
    judge_labels(P[likely], y[likely])  # no warning


def test_labels_that_tie_with_all_others_are_not_most_probable(two):
    y = two[1]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The probabilities are rounded")
        found = judge_labels(np.full((len(y), 2), 0.5), y)
    assert not found.can_judge


def test_the_smallest_probabilities_there_are_have_a_logarithm():
    P = np.array([[1.0, 5e-324, 0.0], [0.5, 0.5, 0.0]])
    assert np.isfinite(as_log(P)).all()
