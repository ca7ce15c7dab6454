import math

from sorr.experiments.toy.summary import find, is_constant, summarise


def row(split, error, coef=(1.0, 2.0, 3.0), model="AoRR", setting="hinge k=2", k=2):
    line = dict(zip(("coef1", "coef2", "intercept"), coef, strict=True))
    return {
        "protocol": "ours",
        "dataset": "balanced",
        "model": model,
        "setting": setting,
        "split": split,
        "chosen": {"m": 1, "k": k},
        "objective": error / 8,
        "gap": split / 1e6,
        "error_rows": error,
        "error_population": error + 1,
        **line,
    }


def test_errors_are_means_over_draws_and_the_line_is_that_of_the_first():
    (record,) = summarise([row(1, 4.0, (9.0, 9.0, 9.0)), row(0, 2.0)])
    assert record["error_rows"] == 3.0
    assert record["error_rows_spread"] == math.sqrt(2)
    assert record["error_population"] == 4.0
    assert record["objective"] == 3 / 8
    assert record["gap"] == 1e-6
    assert record["draws"] == 2
    assert [record[name] for name in ("coef1", "coef2", "intercept")] == [1.0, 2.0, 3.0]
    assert (record["loss"], record["k"]) == ("hinge", 2)


def test_without_the_first_draw_there_is_no_line_and_of_one_draw_no_spread():
    (record,) = summarise([row(3, 4.0)])
    assert math.isnan(record["coef1"])
    assert math.isnan(record["error_rows_spread"])


def test_draws_without_a_line_are_counted():
    (record,) = summarise([row(0, 2.0), row(1, 50.0, (0.0, 0.0, 0.3)), row(2, 50.0, (0.0,) * 3)])
    assert record["constant"] == 2
    assert not is_constant(record)


def test_every_rank_and_loss_has_a_record_of_its_own():
    rows = [
        row(0, 1.0),
        row(0, 2.0, k=3, setting="hinge k=3"),
        row(0, 3.0, setting="logistic k=2"),
    ]
    records = summarise(rows)
    assert len(records) == 3
    assert find(records, loss="hinge", k=3)[0]["error_rows"] == 2.0
    assert find(records, loss="hinge", k=4) == []
