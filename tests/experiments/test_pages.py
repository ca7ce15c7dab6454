import csv
from pathlib import Path

import pytest

from sorr.experiments.pages import markdown, write_csv, write_figure, write_text


def test_a_table_in_markdown_has_columns_as_wide_as_what_is_in_them():
    lines = markdown(["model", "error †"], [["average", "19.72"], ["τ", "9.00 (0.25)"]]).split("\n")
    assert lines == [
        "| model   | error †     |",
        "|---------|-------------|",
        "| average | 19.72       |",
        "| τ       | 9.00 (0.25) |",
        "",
    ]


def test_records_are_written_as_they_are_and_nothing_for_none(tmp_path):
    records = [{"model": 'a, "b"', "error": 1 / 3}, {"model": "c", "error": None}]
    path = write_csv(tmp_path / "new" / "table.csv", records)
    with path.open(newline="", encoding="utf-8") as file:
        model, error = csv.DictReader(file)
    assert (model["model"], float(model["error"]), error["error"]) == ('a, "b"', 1 / 3, "")
    assert b"\r" not in path.read_bytes()


def test_no_records_are_an_empty_file(tmp_path):
    assert write_csv(tmp_path / "table.csv", []).read_bytes() == b""


def test_an_interruption_leaves_the_old_page(tmp_path, monkeypatch):
    path = write_text(tmp_path / "page.md", "old")
    real = Path.write_bytes

    def half(self, content):
        real(self, content[: len(content) // 2])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(KeyboardInterrupt):
        write_text(path, "new and longer")
    assert path.read_text() == "old"


def test_a_page_is_utf_8_and_takes_the_place_of_the_old_one(tmp_path):
    path = write_text(tmp_path / "page.md", "old and longer")
    assert write_text(path, "†\n") == path
    assert path.read_bytes() == "†\n".encode()
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
