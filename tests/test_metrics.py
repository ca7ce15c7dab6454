"""Metrics against slow loops, scikit-learn and their laws, on scores full of ties."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import label_ranking_average_precision_score, top_k_accuracy_score

import sorr
from sorr import metrics
from sorr.metrics import (
    average_precision,
    class_wise_error,
    topk_accuracy,
    topk_multilabel_accuracy,
)

FORMS = [np.asarray, sparse.csr_array, sparse.csc_matrix, lambda y: np.asarray(y, dtype=bool)]
few = st.sampled_from([-np.inf, -1.0, 0.0, -0.0, 0.5, 2.0, np.inf])
masses = st.sampled_from([0.0, 0.25, 1.0, 2.0, 3.5])


@st.composite
def problems(draw):
    """Draw an indicator, scores, a number of labels and masses that do not vanish."""
    n, labels = draw(st.integers(1, 8)), draw(st.integers(2, 6))
    size = n * labels
    y = np.array(draw(st.lists(st.integers(0, 1), min_size=size, max_size=size)))
    scores = np.array(draw(st.lists(few, min_size=size, max_size=size)))
    weight = np.array(draw(st.lists(masses, min_size=n, max_size=n)))
    weight[draw(st.integers(0, n - 1))] += 1.0
    k = draw(st.integers(1, labels - 1))
    return y.reshape(n, labels), scores.reshape(n, labels), k, weight


def ranking(scores):
    """Return the labels from the best to the worst: of ties, the one that comes first."""
    return sorted(range(len(scores)), key=lambda j: (-scores[j], j))


def slow_accuracy(y, scores, k, weight):
    right = 0.0
    for truth, row, mass in zip(y, scores, weight, strict=True):
        true, best = set(np.flatnonzero(truth).tolist()), set(ranking(row)[:k])
        right += mass * (best <= true or true <= best)
    return right / weight.sum()


def slow_precision(y, scores, weight):
    total = 0.0
    for truth, row, mass in zip(y, scores, weight, strict=True):
        rank = {label: i + 1 for i, label in enumerate(ranking(row))}
        true = np.flatnonzero(truth).tolist()
        share = 0.0
        for j in true:
            above = [t for t in true if rank[t] <= rank[j]]
            share += len(above) / rank[j] / len(true)
        total += mass * (share if true else 1.0)
    return total / weight.sum()


@given(problems())
def test_topk_multilabel_accuracy_is_that_of_a_slow_loop(problem):
    y, scores, k, weight = problem
    accuracy = topk_multilabel_accuracy(y, scores, k=k, sample_weight=weight)
    assert accuracy == pytest.approx(slow_accuracy(y, scores, k, weight), abs=1e-12)
    ones = np.ones(len(y))
    assert topk_multilabel_accuracy(y, scores, k=k) == slow_accuracy(y, scores, k, ones)


@given(problems())
def test_average_precision_is_that_of_a_slow_loop(problem):
    y, scores, _, weight = problem
    found = average_precision(y, scores, sample_weight=weight)
    assert found == pytest.approx(slow_precision(y, scores, weight), abs=1e-12)


@given(problems(), st.data())
def test_topk_accuracy_is_that_of_a_slow_loop(problem, data):
    _, scores, k, weight = problem
    n, n_classes = scores.shape
    column = st.integers(0, n_classes - 1)
    index = np.array(data.draw(st.lists(column, min_size=n, max_size=n)))
    classes = np.array(["f", "e", "d", "c", "b", "a"])[:n_classes]
    slow = [
        sum(
            mass * (j in ranking(row)[:size])
            for j, row, mass in zip(index, scores, weight, strict=True)
        )
        / weight.sum()
        for size in (k, 1)
    ]
    found = topk_accuracy(classes[index], scores, [k, 1], classes=classes, sample_weight=weight)
    np.testing.assert_allclose(found, slow, atol=1e-12)
    one_hot = np.eye(n_classes, dtype=int)[index]
    sets = topk_multilabel_accuracy(one_hot, scores, k=k, sample_weight=weight)
    assert found[0] == pytest.approx(sets, abs=1e-12)  # the same where each row has one label


@given(problems(), st.data())
def test_class_wise_error_is_that_of_a_slow_loop(problem, data):
    _, _, _, weight = problem
    n = len(weight)
    names = st.lists(st.sampled_from("abc"), min_size=n, max_size=n)
    y, guess = data.draw(names), data.draw(names)
    found = class_wise_error(y, guess, classes=["c", "a", "b"], sample_weight=weight)
    for name, error in zip("cab", found, strict=True):
        rows = [i for i in range(n) if y[i] == name]
        mass = sum(weight[i] for i in rows)
        if mass == 0:
            assert np.isnan(error)
        else:
            assert error == pytest.approx(sum(weight[i] for i in rows if guess[i] != name) / mass)


@given(problems())
def test_every_form_of_an_indicator_gives_the_same(problem):
    y, scores, k, _ = problem
    first = (
        topk_multilabel_accuracy(y, scores, k=k),
        average_precision(y, scores),
    )
    for form in FORMS:
        assert topk_multilabel_accuracy(form(y), scores, k=k) == first[0]
        assert average_precision(form(y), scores) == first[1]


@given(problems())
@settings(deadline=None)
def test_rows_in_parts_are_the_rows_as_a_whole(problem):
    y, scores, k, weight = problem
    classes = np.arange(y.shape[1])
    index = y.argmax(axis=1)

    def figures():
        return (
            topk_multilabel_accuracy(y, scores, k=k, sample_weight=weight),
            average_precision(y, scores, sample_weight=weight),
            *topk_accuracy(index, scores, k, classes=classes, sample_weight=weight),
        )

    whole = figures()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, "_CHUNK_SIZE", 5)
        assert figures() == whole


@given(problems())
def test_a_weight_is_a_number_of_copies(problem):
    y, scores, k, weight = problem
    copies = np.ceil(weight).astype(int)
    many = np.repeat(np.arange(len(y)), copies)
    assert topk_multilabel_accuracy(
        y, scores, k=k, sample_weight=copies
    ) == topk_multilabel_accuracy(y[many], scores[many], k=k)
    assert average_precision(y, scores, sample_weight=copies) == pytest.approx(
        average_precision(y[many], scores[many]), abs=1e-12
    )


def test_average_precision_is_scikit_learns_without_ties():
    rng = np.random.default_rng(0)
    y = (rng.random((200, 7)) < 0.3).astype(int)
    y[:5], y[5:10] = 0, 1
    scores = rng.normal(size=y.shape)
    weight = rng.random(200)
    theirs = label_ranking_average_precision_score(y, scores, sample_weight=weight)
    assert average_precision(y, scores, sample_weight=weight) == pytest.approx(theirs, abs=1e-12)


def test_tied_labels_rank_in_their_order():
    y, tied = [[1, 0, 0], [0, 0, 1]], np.zeros((2, 3))
    assert topk_multilabel_accuracy(y, tied, k=1) == 0.5
    assert average_precision(y, tied) == pytest.approx((1 + 1 / 3) / 2)
    assert topk_accuracy([0, 1, 2], np.zeros((3, 3)), [1, 2]).tolist() == pytest.approx(
        [1 / 3, 2 / 3]
    )


def test_rows_with_no_label_or_all_labels_are_right():
    y, scores = [[0, 0, 0], [1, 1, 1]], [[1, 2, 3], [3, 2, 1]]
    assert topk_multilabel_accuracy(y, scores, k=2) == 1.0
    assert average_precision(y, scores) == 1.0


def test_topk_accuracy_is_scikit_learns_without_ties():
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(300, 6))
    y = np.r_[np.arange(6), rng.integers(6, size=294)]
    ours = topk_accuracy(y, scores)
    theirs = [top_k_accuracy_score(y, scores, k=k) for k in range(1, 6)]
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_two_classes_take_the_score_of_the_second():
    y, score = np.array(["no", "yes", "yes", "no"]), np.array([-1.0, 2.0, 0.0, 0.0])
    assert topk_accuracy(y, score, 1).tolist() == [0.75]  # of a tie, the first class


def test_every_prediction_outside_of_the_classes_is_wrong():
    assert class_wise_error([0, 1, 1], [9, 1, 0]).tolist() == [1.0, 0.5]


def test_the_room_is_there():
    assert sorr.metrics.average_precision is average_precision
    assert "metrics" in dir(sorr)


def test_a_million_rows_take_a_moment_and_modest_memory():
    rng = np.random.default_rng(0)
    scores = rng.random((1_000_000, 10), dtype=np.float64)
    y = sparse.csr_array(np.eye(10, dtype=bool)[rng.integers(10, size=1_000_000)])
    tracemalloc.start()
    accuracy = topk_multilabel_accuracy(y, scores, k=3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert accuracy == pytest.approx(0.3, abs=0.01)
    assert peak < scores.nbytes


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (
            lambda: topk_multilabel_accuracy([[1, 2]], [[1, 2]], k=1),
            ValueError,
            "holds 2; needed 0",
        ),
        (
            lambda: topk_multilabel_accuracy([["a", "b"]], [[1, 2]], k=1),
            ValueError,
            "holds 'a'; needed",
        ),
        (
            lambda: topk_multilabel_accuracy([[1, np.nan]], [[1, 2]], k=1),
            ValueError,
            "contains NaN",
        ),
        (lambda: topk_multilabel_accuracy([1, 0], [[1, 2]], k=1), ValueError, "topk_accuracy"),
        (lambda: topk_multilabel_accuracy([[1, 0]], [1, 2], k=1), ValueError, "scores has shape"),
        (lambda: topk_multilabel_accuracy([[1, 0]], [[1, 2, 3]], k=1), ValueError, "same shape"),
        (lambda: topk_multilabel_accuracy([[1, 0]], [[1, np.nan]], k=1), ValueError, "NaN"),
        (lambda: topk_multilabel_accuracy([[1, 0]], [[1, 2]], k=2), ValueError, "k=2 .* among 2"),
        (lambda: topk_multilabel_accuracy([[1, 0]], [[1, 2]], k=0), ValueError, "k=0"),
        (lambda: topk_multilabel_accuracy([[1, 0]], [[1, 2]], k=1.0), TypeError, "float"),
        (lambda: topk_multilabel_accuracy([[1, 0]], [[1, 2]], k=True), TypeError, "bool"),
        (
            lambda: topk_multilabel_accuracy([[1, 0]], [[1, 2]], k=1, sample_weight=[-1]),
            ValueError,
            "negative",
        ),
        (lambda: average_precision(np.empty((0, 3)), np.empty((0, 3))), ValueError, r"\(0, 3\)"),
        (lambda: topk_accuracy([0, 2], np.zeros((2, 3)), 1), ValueError, "pass classes"),
        (lambda: topk_accuracy([0, 1, 2], np.zeros((3, 3))), ValueError, "k=3 classes"),
        (
            lambda: topk_accuracy([0, 5], np.zeros((2, 2)), 1, classes=[0, 1]),
            ValueError,
            "holds 5",
        ),
        (
            lambda: topk_accuracy([0, 0], np.zeros((2, 2)), 1, classes=[0, 0]),
            ValueError,
            "more than once",
        ),
        (lambda: topk_accuracy([0, 1, 1], np.zeros((2, 2)), 1), ValueError, "same shape"),
        (lambda: topk_accuracy([[0], [1]], np.zeros((2, 2)), 1), ValueError, "one class for each"),
        (lambda: topk_accuracy([0, np.nan], np.zeros((2, 2)), 1), ValueError, "NaN"),
        (lambda: class_wise_error(["1", "2"], [1, 2]), TypeError, "one type"),
        (lambda: class_wise_error(np.array(["1", "2"], object), [1, 2]), TypeError, "one type"),
        (lambda: class_wise_error([1, 2], [1]), ValueError, "same shape"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_way_out(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_entries_stored_twice_are_added_up_and_refused():
    y = sparse.csr_matrix(([1, 1], [0, 0], [0, 2]), shape=(1, 2))
    with pytest.raises(ValueError, match="holds 2; needed 0 and 1 only"):
        average_precision(y, [[1, 2]])
    assert y.nnz == 2  # what was given stays as it was


def test_an_indicator_of_objects_is_one_of_numbers():
    Y, scores = np.array([[1, 0], [0, 1]], dtype=object), np.eye(2)
    assert topk_multilabel_accuracy(Y, scores, k=1) == 1


def test_sets_of_labels_are_refused_with_a_way_to_an_indicator():
    with pytest.raises(ValueError, match="MultiLabelBinarizer"):
        topk_multilabel_accuracy([{0}, {1}, set()], np.eye(3), k=1)


def test_too_few_classes_for_the_usual_counts_are_told_the_argument():
    with pytest.raises(ValueError, match=r"k=3 classes cannot be chosen among 3.*pass ks"):
        topk_accuracy([0, 1, 2], np.eye(3))
