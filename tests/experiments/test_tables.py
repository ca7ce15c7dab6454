import csv
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from sorr.experiments import Plan, tables
from sorr.experiments.tables import (
    Line,
    Table,
    compare_splits,
    fill_page,
    format_notes,
    format_table,
    read_notes,
    write_csv,
    write_figure,
)

PLAN = Plan(splits=3)
LINES = [
    Line("monk", "logistic", "average", 20.0),
    Line("monk", "logistic", "AoRR", 12.0, 0.5),
    Line("monk", "logistic", "softmax"),
    Line("titanic", "logistic", "average", 22.77),
]


def table(lines=LINES, **options):
    defaults = {"measure": "error", "baseline": "average", "lower_is_better": True}
    options = {"setting": "loss", **defaults, **options}
    return Table("table", "Errors", lambda _: lines, **options)


def rows(protocol, dataset, model, values, setting="logistic"):
    cell = {"protocol": protocol, "dataset": dataset, "model": model, "setting": setting}
    return [{**cell, "split": i, "error": value, "other": 1.0} for i, value in enumerate(values)]


MEASURED = [
    *rows("paper", "monk", "average", [18.0]),
    *rows("paper", "monk", "AoRR", [10.0, 12.0]),
    *rows("ours", "monk", "average", [20.0, 21.0, 25.0]),
    *rows("ours", "monk", "AoRR", [11.0, 13.0, 15.0]),
    *rows("ours", "monk", "softmax", [19.0]),
]
values = st.floats(-100, 100)


@given(st.lists(st.tuples(values, values), min_size=2, max_size=20))
def test_paired_differences_are_those_of_the_paired_t_test(pairs):
    first, second = np.array(pairs).T
    spread = stats.sem(first - second)
    assume(spread > 1e-6)  # below, the t test warns of lost digits
    found = compare_splits(dict(enumerate(first)), dict(enumerate(second)))
    assert found.error == pytest.approx(spread, rel=1e-9)
    assert found.mean / found.error == pytest.approx(
        stats.ttest_rel(first, second).statistic, rel=1e-6, abs=1e-9
    )
    assert found.splits == len(pairs)


def test_only_splits_that_both_have_are_compared_whatever_their_order():
    first, second = {5: 9.0, 0: 3.0, 1: 5.0}, {1: 2.0, 7: 99.0, 0: 1.0}
    assert compare_splits(first, second) == (2.5, 0.5, 2)


def test_one_split_has_no_standard_error_and_none_no_difference():
    mean, error, splits = compare_splits({0: 3.0}, {0: 1.0})
    assert (mean, math.isnan(error), splits) == (2.0, True, 1)
    mean, error, splits = compare_splits({0: 3.0}, {1: 1.0})
    assert (math.isnan(mean), math.isnan(error), splits) == (True, True, 0)


def test_a_record_holds_the_numbers_computed_by_hand():
    record = table().records(MEASURED, PLAN)[1]
    assert record == {
        "dataset": "monk",
        "setting": "logistic",
        "model": "AoRR",
        "printed": 12.0,
        "printed_spread": 0.5,
        "paper": 11.0,
        "paper_spread": pytest.approx(math.sqrt(2)),
        "paper_splits": 2,
        "paper_minus_printed": -1.0,
        "paper_minus_average": -8.0,  # over the one split that both have
        "paper_minus_average_error": pytest.approx(math.nan, nan_ok=True),
        "ours": 13.0,
        "ours_spread": pytest.approx(2.0),
        "ours_splits": 3,
        "ours_minus_printed": 1.0,
        "ours_minus_average": -9.0,
        "ours_minus_average_error": pytest.approx(1 / math.sqrt(3)),
        "reached": False,
    }


def test_the_page_says_what_the_records_hold(tmp_path):
    page, numbers = table(notes=lambda records: [f"{len(records)} lines."]).write(
        MEASURED, PLAN, tmp_path
    )
    title, preface, grid, notes = page.read_text().split("\n\n")
    assert title == "# Errors"
    counts = "over 1 to 2 splits (paper's protocol) and 1 to 3 splits (ours), and in"
    assert counts in " ".join(preface.split())
    lines = grid.split("\n")
    texts = [" | ".join(cell.strip() for cell in line.strip("|").split("|")) for line in lines]
    assert texts[0] == (
        "data set | loss | model | printed | paper's protocol | - printed | - average | "
        "ours | - printed | - average"
    )
    assert texts[2:] == [
        "monk | logistic | average | 20.00 | 18.00 | -2.00 |  | 22.00 (2.65) | +2.00† | ",
        "monk | logistic | AoRR | 12.00 (0.50) | 11.00 (1.41) | -1.00 | -8.00 | "
        "13.00 (2.00) | +1.00† | -9.00 (0.58)",
        "monk | logistic | softmax |  |  |  |  | 19.00 |  | -1.00",
    ]
    assert notes == "- 3 lines.\n"
    with numbers.open(newline="") as file:
        records = list(csv.DictReader(file))
    assert [record["ours"] for record in records] == ["22.0", "13.0", "19.0"]
    assert [record["reached"] for record in records] == ["False", "False", ""]


def test_equal_rows_give_equal_bytes_in_any_order(tmp_path):
    first = table().write(MEASURED, PLAN, tmp_path / "first")
    second = table().write(MEASURED[::-1], PLAN, tmp_path / "second")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_a_protocol_that_was_not_measured_is_left_blank(tmp_path):
    (record, *_) = table().records(MEASURED[:3], PLAN)
    assert math.isnan(record["ours"])
    assert record["reached"] is None
    page, _ = table().write(MEASURED[:3], PLAN, tmp_path)
    assert "| monk     | logistic | average | 20.00 " in page.read_text()
    assert "†" not in page.read_text().split("\n\n")[2]


def test_without_a_row_for_any_line_nothing_is_written(tmp_path):
    assert table().write(rows("ours", "phoneme", "AoRR", [1.0]), PLAN, tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("ours", "lower_is_better", "reached"),
    [
        (12.0, True, True),
        (12.004, True, True),  # the same to the digits that are printed
        (12.006, True, False),
        (11.5, True, True),
        (11.5, False, False),
        (11.996, False, True),
        (12.5, False, True),
    ],
)
def test_what_is_printed_is_reached_to_its_digits(ours, lower_is_better, reached):
    measured = rows("ours", "monk", "AoRR", [ours])
    (record,) = table(lower_is_better=lower_is_better).records(measured, PLAN)
    assert record["reached"] is reached


def test_a_printed_zero_is_a_printed_number():
    line = Line("monk", "logistic", "AoRR", 0.0)
    (record,) = table([line]).records(rows("ours", "monk", "AoRR", [1.0]), PLAN)
    assert (record["ours_minus_printed"], record["reached"]) == (1.0, False)


def test_a_line_may_read_another_measure_and_be_called_otherwise():
    line = Line("monk", "logistic", "AoRR", measure="other", label="top-1")
    (record,) = table([line]).records(MEASURED, PLAN)
    assert (record["setting"], record["ours"], record["paper"]) == ("top-1", 1.0, 1.0)


def test_a_quick_table_says_that_it_is_one(tmp_path):
    quick, _ = table().write(MEASURED[:1], Plan(splits=1, quick=True), tmp_path)
    _, note, preface, *_ = quick.read_text().split("\n\n")
    assert note.startswith("A quick run: too small")
    assert "over 1 split (paper's protocol), and in" in preface


def test_a_table_in_markdown_has_columns_as_wide_as_what_is_in_them():
    lines = format_table(["model", "error †"], [["average", "19.72"], ["τ", "9.00 (0.25)"]]).split(
        "\n"
    )
    assert lines == [
        "| model   | error †     |",
        "|---------|-------------|",
        "| average | 19.72       |",
        "| τ       | 9.00 (0.25) |",
        "",
    ]


def test_prose_is_wrapped_and_headings_tables_and_images_are_not(monkeypatch):
    words = " ".join(["eta - 1/2"] * 40)
    heading, image = f"# {words}", f"![{words}](figure.png)"
    grid = format_table([words], [["1.00"]])
    monkeypatch.setattr(tables, "read_text", lambda _: "{a}\n\n{b}\n\n{c}\n\n{d}\n{e}\n\n{f}\n")
    page = fill_page("page", a=heading, b=image, c=grid, d=words, e=format_notes([words] * 2), f="")
    top, picture, drawn, prose = page.split("\n\n")
    assert (top, picture, drawn) == (heading, image, grid.rstrip())
    lines = prose.rstrip().split("\n")
    assert max(map(len, lines)) <= 100 < len(" ".join(lines[:2]))
    assert [line[:2] for line in lines if line[:2] in ("- ", "  ")].count("- ") == 2
    assert not any(line.lstrip().startswith("- 1/2") for line in lines)
    assert " ".join(prose.split()) == f"{words} - {words} - {words}"


def test_notes_are_the_items_below_each_heading(monkeypatch):
    monkeypatch.setattr(
        tables, "read_text", lambda _: "## a\n\n- one\n  two\n- three\n\n## b c\n- 4\n"
    )
    assert read_notes("notes") == {"a": ["one two", "three"], "b c": ["4"]}


def test_records_are_written_as_they_are_and_nothing_for_none(tmp_path):
    records = [{"model": 'a, "b"', "error": 1 / 3}, {"model": "c", "error": None}]
    path = write_csv(tmp_path / "new" / "table.csv", records)
    with path.open(newline="", encoding="utf-8") as file:
        model, error = csv.DictReader(file)
    assert (model["model"], float(model["error"]), error["error"]) == ('a, "b"', 1 / 3, "")
    assert b"\r" not in path.read_bytes()


def test_no_records_are_an_empty_file(tmp_path):
    assert write_csv(tmp_path / "table.csv", []).read_bytes() == b""


def test_an_interruption_leaves_the_old_table(tmp_path, monkeypatch):
    path = write_csv(tmp_path / "table.csv", [{"model": "old"}])

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_csv(path, [{"model": "new and longer"}])
    assert path.read_text() == "model\nold\n"


def test_a_table_is_utf_8_and_takes_the_place_of_the_old_one(tmp_path):
    path = write_csv(tmp_path / "table.csv", [{"model": "old and longer"}])
    assert write_csv(path, [{"model": "†"}]) == path
    assert path.read_bytes() == "model\n†\n".encode()
    assert list(tmp_path.iterdir()) == [path]


def test_the_same_figure_has_the_same_bytes_and_is_closed(tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot", reason="figures are drawn with matplotlib")

    def image(name):
        figure, ax = plt.subplots()
        ax.plot([1, 2, 3])
        path = write_figure(tmp_path / name, figure)
        assert not plt.fignum_exists(figure.number)
        return path.read_bytes()

    first = image("first.png")
    assert first.startswith(b"\x89PNG")
    assert first == image("second.png")
    assert b"Software" not in first
