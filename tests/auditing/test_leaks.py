import pytest

pytest.importorskip("pandas", reason="tables are an extra")

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from sorr.auditing.leaks import find_leaks
from tests.slow import examples


def hard(n=400, seed=0, classes=("no", "yes")):
    """Return columns that say something about a label, and the labels."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n)
    y = np.array(classes)[np.digitize(score, np.linspace(-0.8, 0.8, len(classes) + 1)[1:-1])]
    frame = pd.DataFrame(
        {
            "good": score + rng.normal(size=n),
            "noise": rng.normal(size=n),
            "town": rng.choice(["Rome", "Bonn", "Oslo"], n),
        }
    )
    return frame, y


def line(n=300, seed=0):
    rng = np.random.default_rng(seed)
    size = rng.gamma(2.0, size=n)
    frame = pd.DataFrame({"size": size, "noise": rng.normal(size=n)})
    return frame, np.exp(size + 0.5 * rng.normal(size=n))


def found(frame, y, task="classification", **options):
    return {leak.column: leak for leak in find_leaks(frame, y, task, **options)}


def test_a_table_without_a_leak_has_none():
    assert found(*hard()) == {}
    assert found(*hard(classes=("a", "b", "c"))) == {}
    assert found(*line(), "regression") == {}


@pytest.mark.parametrize(
    "recode",
    [
        lambda y: np.where(y == "yes", "Y", "N").astype(object),
        lambda y: np.where(y == "yes", 7.0, 3.0),
        lambda y: np.where(y == "yes", 1.0, np.nan),
        lambda y: np.where(y == "yes", None, "there"),
        lambda y: pd.to_datetime(np.where(y == "yes", "2024-05-01", "2021-02-03")),
        lambda y: pd.to_datetime(
            np.where(y == "yes", 1_700_000_000, 1_600_000_000) + np.arange(len(y)), unit="s"
        ).tz_localize("UTC"),
        lambda y: np.arange(len(y)) % 20 + np.where(y == "yes", 20.0, 0.0),
        lambda y: np.where(y == "yes", 1.0, 0.0) + np.linspace(0, 0.5, len(y)),
    ],
    ids=[
        "texts",
        "numbers",
        "missing number",
        "missing text",
        "days",
        "times",
        "many values",
        "interval",
    ],
)
def test_a_column_that_recodes_the_label_is_a_recoding(recode):
    frame, y = hard()
    frame["code"] = recode(y)
    leaks = found(frame, y)
    assert list(leaks) == ["code"]
    assert leaks["code"].is_recoding
    assert leaks["code"].error < 0.01 < 0.1 < leaks["code"].error_of_others
    assert len(leaks["code"].rows) == 0


@pytest.mark.parametrize("recode", [lambda y: 100 - 3 * y, np.log, lambda y: 1 / y, np.sqrt])
def test_a_monotone_function_of_a_number_is_a_recoding(recode):
    frame, y = line()
    frame["same"] = recode(y)
    leaks = found(frame, y, "regression")
    assert list(leaks) == ["same"]
    assert leaks["same"].is_recoding
    assert leaks["same"].error < 0.05 < 0.3 < leaks["same"].error_of_others


def test_columns_that_say_the_same_do_not_hide_each_other():
    frame, y = hard(classes=("a", "b", "c"))
    code = np.unique(y, return_inverse=True)[1]
    frame["fine"] = [f"{label}{i % 4}" for i, label in enumerate(y)]
    frame["rate"] = code + 0.6 * np.random.default_rng(1).random(len(y))
    leaks = found(frame, y)
    assert set(leaks) == {"fine", "rate"}
    assert all(leak.is_recoding for leak in leaks.values())


def test_a_code_from_before_labels_were_spoiled_is_named_with_its_rows_and_not_left_out():
    frame, truth = hard()
    frame["code"] = np.where(truth == "yes", "Y", "N").astype(object)
    wrong = np.random.default_rng(1).choice(len(truth), 20, replace=False)
    y = truth.copy()
    y[wrong] = np.where(truth[wrong] == "yes", "no", "yes")
    leak = found(frame, y)["code"]
    assert not leak.is_recoding
    assert leak.error == pytest.approx(0.05)
    assert leak.rows.tolist() == sorted(wrong)


def test_a_number_from_before_targets_were_spoiled_is_not_left_out():
    frame, truth = line()
    frame["same"] = 3 * truth
    y = truth.copy()
    wrong = np.arange(0, 300, 20)
    y[wrong] = np.where(truth[wrong] > np.median(truth), truth.min(), truth.max())
    leak = found(frame, y, "regression")["same"]
    assert not leak.is_recoding
    assert len(np.intersect1d(leak.rows, wrong)) >= 12


def test_a_strong_column_is_nothing_special_where_the_target_is_easy():
    from sklearn.datasets import load_iris

    iris = load_iris(as_frame=True)
    assert found(iris.data, iris.target.to_numpy()) == {}


def test_one_value_for_each_class_is_a_recoding_even_where_the_target_is_easy():
    from sklearn.datasets import load_iris

    iris = load_iris(as_frame=True)
    frame = iris.data.assign(species=iris.target_names[iris.target].astype(object))
    leaks = found(frame, iris.target.to_numpy())
    assert list(leaks) == ["species"]
    assert leaks["species"].is_recoding


def test_a_column_without_repetitions_says_nothing():
    frame, y = hard()
    frame["name"] = [f"{label}-{i}" for i, label in enumerate(y)]
    assert found(frame, y) == {}


def test_a_noisy_leak_is_named_but_not_left_out():
    frame, y = hard(n=1000)
    frame["late"] = np.where(y == "yes", 1.0, 0.0) + 0.25 * np.random.default_rng(1).normal(
        size=1000
    )
    leak = found(frame, y)["late"]
    assert not leak.is_recoding
    assert 0.005 < leak.error < 0.06


def test_few_rows_outside_of_the_largest_class_are_no_evidence():
    y = np.array(["no"] * 96 + ["yes"] * 4)
    assert found(pd.DataFrame({"code": y.astype(object), "x": np.arange(100.0) % 7}), y) == {}


def test_a_leak_is_found_in_a_sample_and_its_rows_in_the_whole_table():
    frame, truth = hard(n=30_000)
    frame["code"] = np.where(truth == "yes", "Y", "N").astype(object)
    y = truth.copy()
    y[[5, 29_000]] = np.where(truth[[5, 29_000]] == "yes", "no", "yes")
    leak = found(frame, y)["code"]
    assert leak.is_recoding
    assert leak.rows.tolist() == [5, 29_000]


@settings(max_examples=examples(10, 3), deadline=None)
@given(st.permutations(range(5)), st.integers(0, 5))
def test_names_of_labels_and_the_order_of_columns_do_not_matter(order, seed):
    frame, y = hard(n=120, seed=seed, classes=("a", "b", "c"))
    frame["code"] = np.char.add("k", y).astype(object)
    frame["rate"] = np.unique(y, return_inverse=True)[1] + np.linspace(0, 0.5, 120)
    renamed = np.array(["z", "x", "y"])[np.unique(y, return_inverse=True)[1]]
    first = found(frame, y)
    second = found(frame.iloc[:, list(order)], renamed)
    assert set(first) == set(second) == {"code", "rate"}
    assert first["code"].error == second["code"].error == 0.0
    assert first["code"].is_recoding == second["code"].is_recoding


def test_the_same_seed_gives_the_same_result():
    frame, y = line()
    frame["close"] = y + 0.02 * np.random.default_rng(1).normal(size=len(y))
    first, second = (found(frame, y, "regression", seed=3)["close"] for _ in range(2))
    assert (first.error, first.error_of_others) == (second.error, second.error_of_others)


def test_a_measure_of_entities_with_one_label_each_is_no_recoding():
    rng = np.random.default_rng(0)
    entity = np.repeat(np.arange(150), 4)
    y = rng.choice(["yes", "no"], 150)[entity]
    frame = pd.DataFrame({"height": rng.normal(size=150)[entity], "noise": rng.normal(size=600)})
    (leak,) = find_leaks(frame, y, "classification")
    assert leak.column == "height"
    assert not leak.is_recoding
    few = np.repeat(np.arange(6), 100)
    frame["height"] = rng.normal(size=6)[few]
    (leak,) = find_leaks(frame, np.array(list("yynnyn"))[few], "classification")
    assert leak.is_recoding, "six values of a hundred rows each are a code"


def test_a_column_that_is_often_wrong_gives_nothing_away_however_many_classes_there_are():
    rng = np.random.default_rng(0)
    y = rng.choice([f"c{i}" for i in range(20)], 2000)
    said = np.where(rng.random(2000) < 0.15, rng.permutation(y), y)
    frame = pd.DataFrame({"said": said.astype(object), "noise": rng.normal(size=2000)})
    assert find_leaks(frame, y, "classification") == []
