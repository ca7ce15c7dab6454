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


def rows(n):
    return torch.arange(n)


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


@pytest.mark.parametrize(
    ("n", "m", "k"), [(4, 0.9, None), (2, 0.8, None), (10, 0.99, None), (4, 0.5, 0.6)]
)
def test_at_least_one_row_is_kept(n, m, k):
    tracker = visited(torch.arange(float(n)).tolist(), m, k)
    assert tracker.dropped.sum() == n - 1
    assert_allclose(tracker.weigh(torch.rand(n), torch.arange(n)).sum(), 1, rtol=1e-6)


def test_rows_without_a_visit_do_not_scale_the_loss():
    tracker = RankTracker(8, m=0.5, warmup=0, ramp=1)
    losses, rows = torch.tensor([1.0, 1.0, 3.0, 3.0]), torch.arange(4)
    tracker.weigh(losses, rows)
    tracker.step()
    assert RankedRangeLoss(tracker=tracker)(losses, index=rows).item() == pytest.approx(1)


def test_a_step_without_any_visit_drops_nothing_and_warns():
    tracker = RankTracker(8, 3, warmup=0, ramp=1)
    with pytest.warns(RuntimeWarning, match="no row was visited in this epoch") as found:
        tracker.step()
    assert found[0].filename == __file__
    assert not tracker.dropped.any()
    assert_allclose(tracker.weigh(torch.rand(0), torch.arange(0), torch.rand(0, 3), rows(0)), [])


def test_both_ends_of_the_range_come_with_the_ramp():
    tracker, losses = RankTracker(30, m=0.2, k=0.8, warmup=1, ramp=3), torch.rand(30)
    found = []
    for _ in range(3):
        tracker.weigh(losses, rows(30))
        tracker.step()
        order = losses.argsort(descending=True)
        found.append(tracker.dropped[order].nonzero()[:, 0].tolist())
    assert found == [[0, 1, 28, 29], [*range(4), *range(26, 30)], [*range(6), *range(24, 30)]]


def test_rows_that_are_dropped_are_none_of_the_easiest():
    # Rows 0 and 1 contradict the network, and have the smallest losses all the same.
    labels = rows(10) % 2
    logits = 5.0 * torch.nn.functional.one_hot(labels, 2)
    logits[:2] = logits[:2].flip(1)
    tracker = RankTracker(10, 2, m=0.2, k=0.8, warmup=0, ramp=1)
    tracker.weigh(torch.arange(10.0), rows(10), logits, labels)
    tracker.step()
    assert tracker.dropped.nonzero()[:, 0].tolist() == [0, 1, 2, 3]


def test_the_number_of_rows_to_drop_may_change():
    tracker = visited([1.0, 5.0, 2.0, 4.0, 3.0], 1)
    tracker.m = 0.6
    tracker.weigh(tracker.losses.clone(), rows(5))
    tracker.step()
    assert tracker.dropped.sum() == 3


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


def test_odds_of_many_rows_are_those_of_each(monkeypatch):
    log_probs, labels = map(torch.tensor, table())
    rates = torch.tensor(np.random.default_rng(1).dirichlet(np.ones(4), 4))
    expected = wrong_odds(log_probs, labels, rates)
    monkeypatch.setattr("sorr.nn.tracker._ENTRIES", 100)
    assert wrong_odds(log_probs, labels, rates).equal(expected)


def after_one_step(logits, labels):
    tracker = RankTracker(*logits.shape, warmup=0, ramp=1)
    losses = torch.nn.functional.cross_entropy(logits, labels, reduction="none")
    tracker.weigh(losses, rows(len(labels)), logits, labels)
    tracker.step()
    return tracker.dropped


def test_auto_drops_a_quarter_more_than_the_confident_rows_tell():
    # Of 400 rows that are predicted to be of class 0, the first 100 are the confident ones; of 200
    # rows of class 1, all of which are labelled so, 50. Half a label is added to each count.
    logits = torch.zeros(600, 2)
    logits[:400, 0] = torch.linspace(9, 1, 400)
    logits[400:, 1] = torch.linspace(9, 1, 200)
    labels = logits.argmax(1)
    labels[:20] = labels[100:300] = 1
    dropped = after_one_step(logits, labels)
    assert dropped.sum() == round(1.25 * (400 * 20.5 / 101 + 200 * 0.5 / 51))
    assert dropped[:20].all()
    # With 60 of them, class 0 has more rows with label 1 than class 1 has: none of them goes.
    labels[:60] = 1
    assert not after_one_step(logits, labels).any()


def test_only_differences_of_logits_count():
    logits = torch.zeros(400, 2)
    logits[:200, 0] = logits[200:, 1] = torch.linspace(9, 1, 200)
    labels = logits.argmax(1)
    labels[:20] = 1
    dropped = after_one_step(logits, labels)
    assert dropped[:20].all()
    # Now the least confident rows have the largest logits.
    shifted = logits - 2 * logits.max(dim=1, keepdim=True).values
    assert after_one_step(shifted, labels).equal(dropped)


def test_there_may_be_hundreds_of_classes():
    predicted = rows(600) % 300
    rates = estimate_transition(predicted, torch.rand(600), predicted, 300)
    assert rates.argmax(1).equal(rows(300))


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
        for logits in (tracker.logits, tracker._early_logits)
    ]
    expected = looks[0].confirm(looks[1], keep_odds=True)
    assert_allclose(judgement.score_, expected.score_)
    assert_allclose(judgement.log_odds_, looks[0].log_odds_)
    assert judgement.evidence_ == min(look.evidence_ for look in looks) > 0
    assert [name for name, _ in judgement.models_] == [
        "the network at the last visit",
        "the network in its first epoch with dropped rows",
    ]
    assert judgement.flagged_[wrong].mean() > 0.8
    assert judgement.to_csv().startswith("row,given,suggested")


def test_rows_that_came_late_have_one_look():
    x, y, _ = blobs(wrong=0.4)
    run = Run(x, y, warmup=1)
    for epoch in range(4):
        for index in run.order(epoch):
            run.train_batch(index[(index < 500) | (epoch > 1)])
        run.tracker.step()
    early = run.tracker._early_logits
    assert early[500:].isnan().all()
    assert early[:500].isfinite().all()
    early[500:] = run.tracker.logits[500:]
    expected = run.tracker.judge()
    early[500:] = torch.nan
    assert_allclose(run.tracker.judge().score_, expected.score_)


def test_masked_classes_are_judged_as_improbable():
    x, y, wrong = blobs(1500, wrong=0.4)
    tracker = Run(x, y).train(8).tracker
    expected = tracker.judge()
    masked = torch.full((1500, 1), -math.inf)
    wide = RankTracker(1500, 4)
    for name in ("logits", "_early_logits"):
        setattr(wide, name, torch.cat([getattr(tracker, name), masked], dim=1))
    wide.labels, wide.epoch = tracker.labels, tracker.epoch
    found = wide.judge()
    assert found.verdict_ == expected.verdict_
    assert (found.flagged_ == expected.flagged_).mean() > 0.99
    assert found.flagged_[wrong].mean() > 0.8


@pytest.mark.parametrize("n_classes", [2, 3])
def test_of_one_label_nothing_is_known(n_classes):
    logits, labels = torch.randn(60, n_classes), torch.zeros(60, dtype=torch.long)
    tracker = RankTracker(60, n_classes)
    tracker.weigh(torch.rand(60), rows(60), logits, labels)
    assert tracker.judge().verdict_ == "none"


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
    assert run.tracker._early_logits.equal(early)


def test_without_a_warm_up_the_early_look_is_that_of_the_second_epoch():
    x, y, _ = blobs()
    run = Run(x, y, warmup=0).train(1)
    assert len(run.tracker.judge().models_) == 1  # nothing was dropped in the first one
    run.train(2, first=1)
    assert run.tracker._early_logits.equal(run.tracker.logits)
    assert len(run.tracker.judge().models_) == 2


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


def test_both_ends_of_a_window_come_with_the_ramp():
    tracker = RankTracker(m=0.25, k=0.75, window=4, warmup=0, ramp=2)
    batch = torch.tensor([1.0, 2.0, 3.0, 4.0])
    # First half of the cuts: of four losses, from 0.5 to 3.5.
    assert_allclose(tracker.weigh(batch), np.array([0.5, 1, 1, 0.5]) / 3, rtol=1e-6)
    found = tracker.weigh(batch)  # of eight losses, from 2 to 6
    assert_allclose(found, np.array([0, 1, 1, 0]) * 2 / 4)


def test_a_window_may_begin_with_an_empty_batch():
    tracker = RankTracker(m=0.25, window=4)
    assert tracker.weigh(torch.empty(0)).tolist() == []
    assert tracker.weigh(torch.ones(4)).tolist() == [0.25] * 4


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


def test_a_window_resumes_where_it_was():
    batches = torch.rand(9, 5, generator=torch.Generator().manual_seed(0))
    whole, first, resumed = (RankTracker(m=0.2, window=16, warmup=0) for _ in range(3))
    expected = [whole.weigh(batch) for batch in batches]
    for batch in batches[:5]:
        first.weigh(batch)
    resumed.load_state_dict(first.state_dict())
    found = [resumed.weigh(batch) for batch in batches[5:]]
    assert all(one.equal(other) for one, other in zip(found, expected[5:], strict=True))


@pytest.mark.parametrize("options", [{"n_rows": 8, "n_classes": 3}, {"window": 9, "m": 0.1}])
def test_a_checkpoint_of_another_tracker_is_refused(options):
    state = RankTracker(9, 3).state_dict()
    with pytest.raises((ValueError, RuntimeError), match="the checkpoint is of another"):
        RankTracker(**options).load_state_dict(state)


@pytest.mark.parametrize("n_classes", [None, 4])
def test_a_checkpoint_that_is_refused_changes_nothing(n_classes):
    other, tracker = RankTracker(9, n_classes, m=1), RankTracker(9, 3)
    other.losses.fill_(1)
    for state in (other.state_dict(), {"_extra_state": {}}):
        with pytest.raises((ValueError, RuntimeError), match="the checkpoint is of another"):
            tracker.load_state_dict(state)
        assert tracker.losses.isnan().all()


@pytest.mark.filterwarnings("ignore")  # of PyTorch, about a run without processes
def test_a_distributed_checkpoint_resumes(tmp_path):
    checkpoint = pytest.importorskip("torch.distributed.checkpoint")
    first = visited([1.0, 5.0, 2.0], 1)
    checkpoint.save(first.state_dict(), checkpoint_id=tmp_path)
    resumed = RankTracker(3, m=1)
    state = resumed.state_dict()
    checkpoint.load(state, checkpoint_id=tmp_path)
    resumed.load_state_dict(state)
    assert resumed.history == first.history
    assert resumed.epoch == 1
    assert resumed.dropped.equal(first.dropped)


def test_the_tables_are_no_buffers_and_keep_their_precision():
    x, y, _ = blobs()
    for change in (torch.nn.Module.double, torch.nn.Module.half, torch.nn.Module.bfloat16):
        tracker = change(RankedRangeLoss(tracker=RankTracker(600, 3))).tracker
        assert list(tracker.buffers()) == []
        assert tracker.losses.dtype == tracker.logits.dtype == torch.float32
    run = Run(x.double(), y)
    run.model.double()
    run.criterion.double()
    assert run.train(4).tracker.dropped.dtype == torch.bool
    window = RankTracker(window=9, m=0.5).half()
    assert window.weigh(torch.rand(4).half()).shape == (4,)


def test_the_tables_move_with_the_module():
    tracker = RankTracker(9, 3).to("meta")
    assert {table.device.type for table in tracker._state().values()} == {"meta"}


def test_a_tracker_made_without_memory_starts_empty():
    with torch.device("meta"):
        criterion = RankedRangeLoss(tracker=RankTracker(9, 3))
    tracker = criterion.to_empty(device="cpu").tracker
    assert tracker.losses.isnan().all()
    assert not tracker.dropped.any()
    assert (tracker.labels == -1).all()


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
        ((torch.ones(2), torch.tensor([True, False])), "dtype torch.bool"),
        ((torch.ones(2), rows(2), torch.ones(2, 3), torch.tensor([-100, 1])), "goes from -100 to"),
        ((torch.ones(2), rows(2), torch.ones(2, 3), torch.tensor([0, 3])), "to 2, because"),
    ],
)
def test_batches_that_do_not_fit_are_refused(batch, message):
    with pytest.raises(ValueError, match=message):
        RankTracker(9, 3).weigh(*batch)


def test_soft_labels_of_two_classes_are_refused():
    batch = torch.ones(2), rows(2), torch.ones(2), torch.tensor([0.3, 1.0])
    with pytest.raises(ValueError, match=r"an int for each row. For other targets, use"):
        RankTracker(9, 2).weigh(*batch)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32])
def test_rows_and_labels_may_be_small_ints(dtype):
    tracker = RankTracker(9, 3)
    numbers = torch.tensor([5, 2], dtype=dtype)
    tracker.weigh(torch.tensor([1.0, 2.0]), numbers, torch.rand(2, 3), torch.ones(2, dtype=dtype))
    assert tracker.losses[[5, 2]].tolist() == [1, 2]
    assert tracker.losses.isfinite().sum() == 2
    assert tracker.labels[5] == 1


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
    criterion = RankedRangeLoss(tracker=tracker)
    with pytest.warns(RuntimeWarning, match=r"without a call of RankTracker.step\(\)") as found:
        criterion(torch.ones(4), index=torch.arange(4))
    assert found[0].filename == __file__
    tracker.step()
    for _ in range(9):  # a sampler may take its time
        criterion(torch.ones(4), index=torch.arange(4))


def test_numbers_of_other_rows_are_noticed():
    x, y, _ = blobs(60)
    run = Run(x, y).train(2)
    order = torch.randperm(60)  # rows in the order of an epoch, numbered in that order
    with pytest.warns(RuntimeWarning, match="of 50 rows have another label than at") as found:
        run.criterion(run.model(x[order[:50]]), y[order[:50]], index=rows(50))
    assert found[0].filename == __file__


def test_the_parameters_are_shown():
    assert repr(RankTracker(9, 3)) == "RankTracker(n_rows=9, n_classes=3, m='auto', k=None)"
    assert repr(RankTracker(m=0.1, window=9)) == "RankTracker(window=9, m=0.1, k=None)"
