from sorr.experiments.toy.notes import case_notes, gap_notes, line_notes, rank_notes


def record(protocol, model, k, population=1.0, **values):
    return {
        "protocol": protocol,
        "dataset": "balanced",
        "loss": "logistic",
        "model": model,
        "k": k,
        "draws": 10,
        "constant": 0,
        "objective": 0.5,
        "gap": 1e-9,
        "error_rows": 1.0,
        "error_population": population,
        "coef1": -1.0,
        "coef2": -2.0,
        "intercept": 3.0,
        **values,
    }


def test_models_without_a_line_are_counted_over_all_draws():
    records = [
        record("ours", "maximum", 1, constant=10),
        record("ours", "maximum", 1, constant=7, loss="hinge"),
        record("paper", "maximum", 1, constant=3),
    ]
    (note,) = line_notes(records)
    assert note.endswith("of our fits in the table: maximum on 17 of 20.")


def test_objectives_and_averages_are_compared_if_both_protocols_are_there():
    ours = [
        record("ours", "AoRR", 2, objective=0.02),
        record("ours", "AoRR", 2, objective=0.04, dataset="imbalanced"),
        record("ours", "average", 200, error_rows=0.5),
    ]
    paper = [
        record("paper", "AoRR", 2, objective=0.69),
        record("paper", "average", 200, error_rows=4.5),
    ]
    assert len(line_notes(ours)) == 1
    _, objectives, averages = line_notes(ours + paper)
    assert "is 0.0200 to 0.0400 (logistic) at its minimum, and 0.6900 (logistic) wh" in objectives
    assert "on 0.5 % of rows" in averages
    assert "on 4.5 % after" in averages


def test_errors_of_equal_ranks_are_compared():
    records = [
        record("ours", "AoRR", 2, 0.1),
        record("ours", "AoRR", 3, 0.2),
        record("ours", "AoRR", 4, 0.3),
        record("ours", "AT_k", 2, 50.0),
        record("ours", "AT_k", 3, 0.2),
        record("ours", "AT_k", 4, 0.25),
    ]
    (note,) = rank_notes(records)
    assert "at 1 of 3 points of (e) to (h), the same at 1, and one that is higher by up" in note
    assert "up to 0.05 at the others" in note
    assert note.endswith("Over all k it is at most 0.30 %, that of AT_k at most 50.00 %.")


def test_lines_are_said_to_be_chosen_by_accuracy_if_the_constant_model_is_no_worse():
    ours = record("ours", "maximum", 1, constant=10)
    above = record("paper", "maximum", 1, objective=0.6932, error_rows=0.4)
    below = record("paper", "AT_k", 20, objective=0.4, error_rows=3.0)
    assert "wrong on 0.4 % of rows" in line_notes([ours, above, below])[1]
    assert len(line_notes([ours, below])) == 1


def test_the_largest_gap_of_our_fits_is_told():
    records = [
        record("ours", "AT_k", 2, gap=2.1e-5),
        record("ours", "AT_k", 3),
        record("paper", "AT_k", 2, gap=float("nan")),
    ]
    (note,) = gap_notes(records)
    assert "of at most 2e-05 of the objective" in note
    assert gap_notes(records[2:]) == []


def test_lines_that_do_not_change_with_the_number_of_outliers_are_told():
    first, same = (record("ours", "AoRR", k, dataset=f"{k} outliers") for k in (2, 3))
    other = record("ours", "AoRR", 4, dataset="4 outliers", intercept=3.1)
    (note,) = case_notes([first, same])
    assert "the same line on the first draw in all 2 cases" in note
    assert case_notes([first, same, other]) == case_notes([first]) == []
