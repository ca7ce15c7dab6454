import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sorr import judge_labels
from sorr.ranked import Mass, ranked_range_weights

torch = pytest.importorskip("torch", reason="sorr.nn needs PyTorch")

from sorr.nn import RankedRangeLoss, RankTracker  # noqa: E402
from sorr.nn.tracker import estimate_transition, wrong_odds  # noqa: E402
from tests.nn.training import Run, blobs  # noqa: E402


def visited(losses, m, k=None, **options):
    """A tracker without classes whose rows were all visited once."""
    tracker = RankTracker(len(losses), m=m, k=k, **{"warmup": 0, "ramp": 1, **options})
    tracker.weigh(torch.tensor(losses), torch.arange(len(losses)))
    tracker.step()
    return tracker


# -- Which rows are dropped ------------------------------------------------------------------------


def test_the_largest_losses_are_dropped():
    assert visited([1.0, 5.0, 2.0, 4.0, 3.0], 2).dropped.tolist() == [
        False,
        True,
        False,
        True,
        False,
    ]
    assert visited([1.0, 5.0, 2.0, 4.0, 3.0], 0.4).dropped.sum() == 2


def test_k_leaves_out_the_easiest_rows():
    tracker = visited([1.0, 5.0, 2.0, 4.0, 3.0], 1, 4)
    assert tracker.dropped.tolist() == [True, True, False, False, False]


def test_the_loss_is_the_average_over_the_kept_rows():
    tracker = visited([1.0, 5.0, 2.0, 4.0], 1)
    losses = torch.tensor([1.0, 5.0, 2.0, 4.0], requires_grad=True)
    value = RankedRangeLoss(tracker=tracker)(losses, index=torch.arange(4))
    value.backward()
    assert value.item() == pytest.approx(7 / 3)
    assert_allclose(losses.grad, [1 / 3, 0, 1 / 3, 1 / 3], rtol=1e-6)


def test_batches_average_to_the_loss_of_all_rows():
    # The set is fixed for an epoch, so equal parts of it may be accumulated.
    tracker = visited(torch.arange(12.0).tolist(), 3)
    criterion, losses = RankedRangeLoss(tracker=tracker), torch.rand(12)
    whole = criterion(losses, index=torch.arange(12))
    parts = [criterion(losses[part], index=part) for part in torch.randperm(12).split(4)]
    torch.testing.assert_close(sum(parts) / 3, whole)


def test_no_row_is_dropped_in_the_warm_up_and_then_more_and_more():
    x, y, _ = blobs()
    run, found = Run(x, y, m=0.3, warmup=2, ramp=3), []
    losses = torch.rand(600)
    tracker = RankTracker(600, m=0.3, warmup=2, ramp=3)
    for _ in range(6):
        tracker.weigh(losses, torch.arange(600))
        found.append(int(tracker.dropped.sum()))
        tracker.step()
    assert found == [0, 0, 60, 120, 180, 180]
    assert run.tracker.epoch == 0


def test_the_set_stays_the_same_within_an_epoch():
    tracker = visited([1.0, 5.0, 2.0, 4.0], 1)
    before = tracker.dropped.clone()
    tracker.weigh(torch.tensor([9.0, 0.0]), torch.tensor([0, 1]))
    assert tracker.dropped.equal(before)
    tracker.step()
    assert tracker.dropped.tolist() == [True, False, False, False]


def test_a_row_that_was_predicted_right_is_never_dropped():
    x, y, _ = blobs(wrong=0.4)
    run = Run(x, y, m=0.9).train(6)
    right = run.tracker.logits.argmax(1) == y
    assert not (run.tracker.dropped & right).any()
    assert run.tracker.dropped.equal(~right)  # m is far too high, so all others are


def test_rows_that_were_not_visited_are_kept():
    tracker = RankTracker(6, m=0.5, warmup=0, ramp=1)
    tracker.weigh(torch.tensor([1.0, 2.0]), torch.tensor([4, 5]))
    tracker.step()
    assert tracker.dropped.nonzero()[:, 0].tolist() == [5]


def test_infinite_losses_of_dropped_rows_leave_the_loss_finite():
    tracker = visited([1.0, math.inf, 3.0], 1)
    losses = torch.tensor([1.0, math.inf, 3.0], requires_grad=True)
    value = RankedRangeLoss(tracker=tracker)(losses, index=torch.arange(3))
    value.backward()
    assert value.item() == pytest.approx(2)
    assert losses.grad.isfinite().all()


# -- How labels go wrong ---------------------------------------------------------------------------


def table(n=400, K=4, seed=0):
    rng = np.random.default_rng(seed)
    log_probs = np.log(rng.dirichlet(np.full(K, 0.3), n))
    return log_probs, rng.integers(0, K, n)


def test_rates_are_shares_of_labels_among_the_most_confident_rows():
    log_probs, labels = table()
    confidence, predicted = torch.tensor(log_probs).max(1)
    found = estimate_transition(predicted, confidence, torch.tensor(labels), 4)
    for j in range(4):
        rows = np.flatnonzero(log_probs.argmax(1) == j)
        order = rows[np.argsort(-log_probs[rows, j])][: math.ceil(0.25 * len(rows))]
        counts = np.bincount(labels[order], minlength=4) + 0.25
        assert_allclose(found[j], counts / counts.sum(), rtol=1e-12)


def test_a_class_that_is_never_predicted_has_even_rates():
    first = torch.zeros(8, dtype=torch.long)
    found = estimate_transition(first, torch.full((8,), 0.7), first, 3)
    assert_allclose(found[1], [1 / 3] * 3)


def test_odds_follow_from_the_rule_of_bayes():
    log_probs, labels = table()
    rates = np.random.default_rng(1).dirichlet(np.ones(4), 4)
    found = wrong_odds(torch.tensor(log_probs), torch.tensor(labels), torch.tensor(rates))
    joint = np.exp(log_probs) * rates[:, labels].T
    right = joint[np.arange(400), labels]
    assert_allclose(found, np.log((joint.sum(1) - right) / right), rtol=1e-9, atol=1e-9)


def test_auto_finds_wrong_labels_of_one_class_and_their_number():
    x, y, wrong = blobs(1500, wrong=0.4)
    tracker = Run(x, y).train(10).tracker
    assert tracker.dropped[wrong].float().mean() > 0.9
    assert tracker.dropped[~wrong].float().mean() < 0.05


def test_auto_drops_next_to_nothing_of_right_labels():
    x, y, _ = blobs(1500)
    assert Run(x, y).train(10).tracker.dropped.float().mean() < 0.02


def test_a_class_that_is_not_learned_is_not_dropped():
    # Class 0 is rare, and predicted nowhere. Of the other labels, five contradict the network.
    predicted = torch.tensor([1] * 50 + [2] * 50)
    labels = predicted.clone()
    labels[:6], labels[50:55] = 0, 1
    logits = 5.0 * torch.nn.functional.one_hot(predicted, 3)
    tracker = RankTracker(100, 3, m=0.5, warmup=0, ramp=1)
    losses = torch.nn.functional.cross_entropy(logits, labels, reduction="none")
    tracker.weigh(losses, torch.arange(100), logits, labels)
    tracker.step()
    assert tracker.dropped.nonzero()[:, 0].tolist() == [50, 51, 52, 53, 54]


# -- The judgement ---------------------------------------------------------------------------------


def test_the_judgement_is_that_of_two_looks():
    x, y, wrong = blobs(1500, wrong=0.4)
    tracker = Run(x, y).train(8).tracker
    judgement = tracker.judge(["a", "b", "c"])
    looks = [
        judge_labels(logits.double().numpy(), np.array(list("abc"))[y], scores=True)
        for logits in (tracker.logits, tracker.early_logits)
    ]
    expected = looks[0].confirm(looks[1])
    assert_allclose(judgement.score_, expected.score_)
    assert judgement.evidence_ == min(look.evidence_ for look in looks) > 0
    assert [name for name, _ in judgement.models_] == [
        "the network at the last visit",
        "the network in its first epoch with dropped rows",
    ]
    assert judgement.flagged_[wrong].mean() > 0.8
    assert judgement.to_csv().startswith("row,given,suggested")


def test_right_labels_are_not_called_wrong():
    x, y, _ = blobs(1500)
    judgement = Run(x, y).train(8).tracker.judge()
    assert judgement.verdict_ == "none"
    assert not judgement.flagged_.any()


def test_the_early_look_is_that_of_the_first_epoch_with_dropped_rows():
    x, y, _ = blobs()
    run = Run(x, y, warmup=1).train(2)
    early = run.tracker.logits.clone()
    run.train(4, first=2)
    assert run.tracker.early_logits.equal(early)


def test_in_the_warm_up_there_is_one_look():
    x, y, _ = blobs()
    assert len(Run(x, y).train(1).tracker.judge().models_) == 1


# -- Windows ---------------------------------------------------------------------------------------


def test_a_window_ranks_a_batch_among_the_last_losses():
    rng = np.random.default_rng(0)
    tracker = RankTracker(m=0.2, k=0.9, window=8, warmup=0, ramp=1)
    past = np.empty(0)
    for size in (3, 4, 5, 2, 9, 1):
        batch = rng.random(size).astype(np.float32)
        whole = np.concatenate([past[-8:], batch])
        n = len(whole)
        weights = ranked_range_weights(whole.astype(float), Mass(0.2 * n), Mass(0.9 * n))
        expected = weights[-size:] / (0.7 * size)
        assert_allclose(tracker.weigh(torch.tensor(batch)), expected, rtol=1e-5)
        past = np.concatenate([past, batch])
    assert tracker.epoch == 3


def test_a_window_warms_up_for_full_turns():
    tracker = RankTracker(m=0.5, window=4, warmup=1, ramp=1)
    batch = torch.tensor([1.0, 2.0, 3.0, 4.0])
    assert tracker.weigh(batch).tolist() == [0.25] * 4
    assert_allclose(tracker.weigh(batch), [0.5, 0.5, 0, 0])


# -- Checkpoints -----------------------------------------------------------------------------------


@pytest.mark.parametrize("batches", [0, 5])
def test_a_resumed_run_is_the_uninterrupted_one_bit_by_bit(batches, tmp_path):
    x, y, _ = blobs(wrong=0.4)
    whole = Run(x, y).train(7)
    first = Run(x, y).train(4)
    for index in first.order(4)[:batches]:
        first.train_batch(index)
    first.save(tmp_path / "checkpoint.pt")
    resumed = Run(x, y, seed=9)
    resumed.load(tmp_path / "checkpoint.pt")
    for index in resumed.order(4)[batches:]:
        resumed.train_batch(index)
    resumed.tracker.step()
    resumed.train(7, first=5)
    pairs = zip(whole.model.parameters(), resumed.model.parameters(), strict=True)
    assert all(one.equal(other) for one, other in pairs)
    assert whole.tracker.dropped.equal(resumed.tracker.dropped)
    assert whole.tracker.history == resumed.tracker.history


def test_the_history_tells_of_dropped_and_kept_rows():
    tracker = visited([1.0, 2.0, 3.0, 9.0], 1)
    (line,) = tracker.history
    assert (line["epoch"], line["n_dropped"]) == (1, 1)
    assert (line["dropped_50"], line["kept_50"]) == (9, 2)


# -- What is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ValueError, "needed one of them"),
        ({"n_rows": 9, "window": 9, "m": 1}, ValueError, "needed one of them"),
        ({"n_rows": 9}, ValueError, "m='auto' needs the predictions of classes"),
        ({"window": 9}, ValueError, "m='auto' needs"),
        ({"window": 9, "n_classes": 2}, ValueError, "does not go with a window"),
        ({"n_rows": 9, "n_classes": 1}, ValueError, "n_classes=1"),
        ({"n_rows": 9, "m": "many"}, ValueError, "m='many'"),
        ({"n_rows": 9, "m": 9}, ValueError, "9"),
        ({"n_rows": 9, "m": 1.0}, ValueError, "1.0"),
        ({"n_rows": "9", "m": 1}, TypeError, "n_rows='9'"),
        ({"n_rows": 9, "m": 1, "warmup": -1}, ValueError, "warmup=-1"),
        ({"n_rows": 9, "m": 1, "ramp": 0}, ValueError, "ramp=0"),
    ],
)
def test_arguments_that_cannot_be_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        RankTracker(**options)


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ((torch.ones(2), None), "index=None; needed the numbers of the rows"),
        ((torch.ones(2), torch.tensor([0, 9])), "index goes from 0 to 9"),
        ((torch.ones(2), torch.tensor([-1, 0])), "index goes from -1 to 0"),
        ((torch.ones(2), torch.tensor([0.0, 1.0])), "index has shape"),
        ((torch.ones(2), torch.tensor([0])), "index has shape"),
        ((torch.tensor([1.0, math.nan]), torch.arange(2)), "first at position 1"),
        ((torch.ones(2), torch.arange(2)), "was given losses only"),
        ((torch.ones(2), torch.arange(2), torch.ones(2, 4), torch.arange(2)), r"\(2, 3\)"),
        ((torch.ones(2), torch.arange(2), torch.ones(2, 3), torch.ones(2)), "an int for each"),
    ],
)
def test_batches_that_do_not_fit_are_refused(batch, message):
    with pytest.raises(ValueError, match=message):
        RankTracker(9, 3).weigh(*batch)


def test_a_judgement_needs_classes_and_every_row():
    with pytest.raises(ValueError, match="needs predictions of classes"):
        RankTracker(9, m=1).judge()
    with pytest.raises(ValueError, match="9 of 9 rows have not been visited"):
        RankTracker(9, 3).judge()
    x, y, _ = blobs(60)
    with pytest.raises(ValueError, match="2 names; needed one for each of 3"):
        Run(x, y).train(1).tracker.judge(["a", "b"])


def test_a_window_has_no_rows_to_name():
    tracker = RankTracker(m=0.1, window=9)
    for ask in (tracker.step, lambda: tracker.dropped):
        with pytest.raises(ValueError, match="is not for a window"):
            ask()


def test_epochs_that_never_end_are_noticed():
    tracker = RankTracker(4, m=1)
    for _ in range(3):
        tracker.weigh(torch.ones(4), torch.arange(4))
    with pytest.warns(RuntimeWarning, match="needed a call of step"):
        tracker.weigh(torch.ones(4), torch.arange(4))


def test_the_parameters_are_shown():
    assert repr(RankTracker(9, 3)) == "RankTracker(n_rows=9, n_classes=3, m='auto', k=None)"
    assert repr(RankTracker(m=0.1, window=9)) == "RankTracker(window=9, m=0.1, k=None)"
