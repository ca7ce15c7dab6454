"""What an audit says: a verdict that agrees with itself, honest gains, and what has changed."""

from dataclasses import replace

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from sorr.auditing import audit_table  # noqa: E402
from sorr.auditing.entry import example  # noqa: E402
from sorr.auditing.sentences import Gain, count_noun, write_percent  # noqa: E402
from tests.auditing.hostile import quickly  # noqa: E402
from tests.auditing.tables import line, mixed, table  # noqa: E402
from tests.slow import slow  # noqa: E402


@pytest.fixture(scope="module")
def robots():
    return example(0)


@pytest.fixture(scope="module")
def report(robots):
    return audit_table(robots.table, "friendly")


@pytest.fixture(scope="module")
def priced():
    return audit_table(table(line()), "price")


def decided(report, words):
    """Return decisions on the first suspects, one for each word."""
    order = report.order
    judgement = report.fitted.judgement
    filled = [*words, *[""] * (len(order) - len(words))]
    return pd.DataFrame(
        {
            "row": report.rows.numbers[order],
            "given": report.rows.y[order],
            "suggested": judgement.suggested_[order],
            "tier": judgement.tier_[order],
            "decision": filled,
            "table": report.fingerprint,
        }
    )


def test_the_headline_counts_what_the_tiers_hold(report):
    tiers = report.tiers
    assert tiers[3] > 20
    assert report.headline.startswith(f"{tiers[3]} labels are almost surely wrong")
    assert sum(tiers.values()) == len(report.order)


def test_no_evidence_is_called_no_evidence():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    frame["y"] = np.where(frame["a"] + rng.normal(size=300) > 0, "yes", "no")
    found = audit_table(table(frame), "y")
    assert found.headline.startswith("No evidence of wrong labels")
    assert found.verdict == "none"
    assert found.meaning.startswith("Nothing suggests that labels are wrong at random.")
    assert found.gain is None
    assert "instead of" not in found.meaning


def test_a_model_that_knows_nothing_does_not_judge():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=200), "y": rng.choice(["u", "v"], 200)})
    found = audit_table(table(frame), "y")
    assert found.headline == "The labels cannot be judged"


def test_a_headline_of_asked_rows_still_says_what_the_evidence_is():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    frame["y"] = np.where(frame["a"] + rng.normal(size=300) > 0, "yes", "no")
    found = quickly(audit_table, table(frame), "y", model="linear", m=12)
    assert found.headline == "12 rows dropped, as asked; no evidence of wrong labels"


def test_numbers_are_called_targets(priced):
    assert "6 targets are almost surely wrong" in priced.headline
    assert "6 of 200 targets" in priced.meaning
    assert "off by" in priced.meaning


def test_a_gain_needs_two_standard_errors():
    before, after = np.repeat([1.0, 0.0], [10, 90]), np.repeat([1.0, 0.0], [2, 98])
    clear = Gain.of(before, after)
    assert (clear.before, clear.after) == (0.1, 0.02)
    assert clear.is_better
    assert not clear.is_worse
    # Eight rows of a hundred changed, all for the better: the error is that of eight coins.
    assert clear.error == pytest.approx((0.08 * 0.92 / 100) ** 0.5)
    same = Gain.of(before, before)
    assert not same.is_better
    assert not same.is_worse
    assert Gain.of(after, before).is_worse


def test_no_gain_is_called_no_gain(report):
    assert report.gain is not None
    expected = "instead of" if report.gain.is_better else "brings no measurable gain"
    assert expected in report.meaning


def test_models_without_wrong_labels_make_fewer_errors_on_kept_rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(800, 4))
    frame = pd.DataFrame(X, columns=list("abcd"))
    truth = np.where(X @ [2.0, -1.0, 1.0, 0.0] > 0, "yes", "no")
    wrong = rng.random(800) < 0.15
    frame["y"] = np.where(wrong, np.where(truth == "yes", "no", "yes"), truth)
    found = audit_table(table(frame), "y", model="boosting")
    assert found.gain is not None
    assert found.gain.is_better
    assert "instead of" in found.meaning


def test_a_second_round_says_what_was_decided_and_what_changed(robots, report):
    words = ["relabel"] * 12 + ["unsure", "remove"]
    second = audit_table(robots.table, "friendly", decisions=decided(report, words))
    assert second.since.startswith(
        "You made 14 decisions so far: 12 relabelled, 1 removed, 1 left as unsure."
    )
    assert "12 of them are corrected now" in second.meaning
    asked = set(report.rows.numbers[report.order[:12]].tolist())
    assert not asked & set(second.rows.numbers[second.order].tolist())
    assert report.since == ""


def test_when_all_is_corrected_no_suspect_is_left(robots, report):
    words = ["relabel"] * len(report.order)
    second = audit_table(robots.table, "friendly", decisions=decided(report, words))
    assert second.headline == "No suspect label is left"
    assert second.since.endswith("no other row is suspect.")
    assert (second.rows.y != second.rows.given).sum() == len(report.order)


def test_rows_that_were_removed_are_not_judged_again(robots, report):
    words = ["remove"] * 5
    second = audit_table(robots.table, "friendly", decisions=decided(report, words))
    assert len(second.rows) == len(report.rows) - 5
    gone = report.rows.numbers[report.order[:5]]
    assert not np.isin(gone, second.rows.numbers).any()


def test_labels_that_were_confirmed_make_others_like_them_less_suspect(robots, report):
    words = ["keep"] * 20
    second = audit_table(robots.table, "friendly", decisions=decided(report, words))
    before = report.fitted.judgement.wrong_[report.order[20:]]
    after = second.fitted.judgement.wrong_[report.order[20:]]
    assert after.mean() < before.mean()
    assert second.rows.known.sum() == 20


@pytest.mark.parametrize("model", ["auto", *slow("linear")])
def test_the_unit_of_a_number_does_not_decide_whether_there_is_a_gain(model):
    frames = (line(), line().assign(price=lambda it: it["price"] / 10_000))
    found = [audit_table(table(frame), "price", model=model).gain for frame in frames]
    assert found[0].is_better
    assert found[1].is_better
    assert found[1].error == pytest.approx(found[0].error / 10_000, rel=0.2)


@pytest.mark.parametrize("model", ["auto", *slow("linear")])
def test_known_numbers_are_not_asked_again(model, priced):
    first = priced
    order = first.order
    decisions = pd.DataFrame(
        {
            "row": first.rows.numbers[order],
            "given": first.rows.y[order],
            "decision": ["relabel"] * 3 + ["keep"] * (len(order) - 3),
            "new_label": [100.5] * 3 + [None] * (len(order) - 3),
        }
    )
    second = audit_table(table(line()), "price", model=model, decisions=decisions)
    assert not set(order.tolist()) & set(second.order.tolist())
    assert (second.rows.y[order[:3]] == 100.5).all()
    assert second.rows.known.sum() == len(order)


def test_a_label_of_a_small_class_takes_its_row_out():
    frame = mixed()
    frame.loc[[100, 101], "y"] = "maybe"
    first = audit_table(table(frame), "y")
    row = int(first.rows.numbers[first.order[0]])
    decisions = pd.DataFrame(
        {"row": [row], "given": [frame["y"][row]], "decision": "relabel", "new_label": "maybe"}
    )
    second = audit_table(table(frame), "y", decisions=decisions)
    assert row not in second.rows.numbers
    assert len(second.rows) == len(first.rows) - 1


def test_a_class_may_vanish_by_decisions(robots):
    frame = robots.table.frame.copy()
    odd = np.flatnonzero(frame["friendly"] == "yes")[:8]
    frame.loc[odd, "friendly"] = "perhaps"
    decisions = pd.DataFrame(
        {"row": odd, "given": "perhaps", "decision": "relabel", "new_label": "yes"}
    )
    second = audit_table(table(frame), "friendly", decisions=decisions)
    assert second.fitted.classes == ["no", "yes"]
    assert second.rows.known.sum() == 8


def test_weak_evidence_is_not_outdone_by_the_headline(report):
    weak = replace(report.fitted.judgement, evidence_=1.0)
    found = replace(report, fitted=replace(report.fitted, judgement=weak))
    assert found.verdict == "weak"
    assert found.headline.startswith("30 labels look wrong, on weak evidence")


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0 %"), (0.029, "2.9 %"), (0.0003, "0.03 %"), (1.0, "100 %")]
)
def test_shares_are_written_as_people_do(share, text):
    assert write_percent(share) == text


def test_one_is_singular():
    assert [count_noun(n, "row") for n in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
