"""Decisions in, a corrected table out: in text, only the cells that change differ."""

import csv
import io
import random
import zipfile
from dataclasses import replace

import pytest

pytest.importorskip("pandas", reason="tables are read by it")

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from sorr.auditing import read_table
from sorr.auditing.correction import _plan, apply_decisions, correct_file
from sorr.auditing.decisions import Decision, Decisions
from sorr.auditing.matching import table_mark
from sorr.auditing.original import original_of
from sorr.auditing.spellings import Labels
from sorr.auditing.table import Table, TableError
from sorr.auditing.table.files import examine
from sorr.auditing.table.rewriting import Written
from sorr.auditing.table.values import fingerprint_frame
from tests.auditing.table.test_workbooks import XLS
from tests.slow import examples


def decide(path, choices, target="label", sheet=None):
    """Return decisions about a file: a label for some rows, None for those to remove."""
    table = read_table(path, sheet=sheet)
    return decisions(choices, table_mark(table, target))


def decisions(choices, mark=""):
    return pd.DataFrame(
        {
            "row": list(choices),
            "decision": ["remove" if it is None else "relabel" for it in choices.values()],
            "new_label": ["" if it is None else it for it in choices.values()],
            "table": mark,
        }
    )


def decide_frame(frame, choices):
    """Return decisions about the label of a frame, which is its second column."""
    plain = frame.to_pandas() if hasattr(frame, "to_pandas") else frame
    return decisions(choices, f"{fingerprint_frame(plain)}-2")


def content_of(correction):
    content = correction.content
    return content if isinstance(content, bytes) else b"".join(content)


def corrected(path, choices, target="label", **options):
    found = correct_file(path, decide(path, choices, target, options.get("sheet")), **options)
    return content_of(found)


def table_of(path, data):
    path.write_bytes(data)
    return path


# -- Delimited text: a draft that knows where each of its cells is ---------------------------------

ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-be with mark", "utf-32", "cp1252")
BREAKS = ("\n", "\r\n", "\r")


def encoded(text, encoding):
    if encoding == "utf-16-be with mark":
        return b"\xfe\xff" + text.encode("utf-16-be")
    return text.encode(encoding)


class Draft:
    """Delimited text in parts, so that the right answer does not depend on any reader."""

    def __init__(self, seed, separator, encoding):
        self.rng, self.separator, self.encoding = random.Random(seed), separator, encoding
        self.labels = ["yes", "no", f"a{separator}b", 'say "hi"', "two\nlines", "naïve Étienne"]
        self.n_rows = self.rng.randint(28, 45)
        self.at = self.rng.randrange(4)
        self.breaks = self.rng.choice([*((it,) for it in BREAKS), BREAKS])
        self.records = []  # (number of the row or None, text before the label, label, text behind)
        if self.rng.random() < 0.3:
            self.add("The title of all this")
        self.add(separator.join(f"{it}" for it in self.names))
        ragged = self.rng.randrange(self.n_rows) if self.rng.random() < 0.5 else -1
        for row in range(self.n_rows):
            if self.rng.random() < 0.1:
                is_return = self.records[-1][-1].endswith("\r")  # which an LF would join
                self.add("  " if is_return else self.rng.choice(["", "  "]))
            if row == ragged:
                self.add("ragged")
            self.add_row(row)
        if self.rng.random() < 0.5:
            number, *texts, behind = self.records[-1]
            self.records[-1] = (number, *texts, behind.rstrip("\r\n"))

    @property
    def names(self):
        names = ["x", "word", "other"]
        return [*names[: self.at], "label", *names[self.at :]]

    def line_break(self):
        return self.rng.choice(self.breaks)

    def add(self, text):
        self.records.append((None, text, None, self.line_break()))

    def add_row(self, row):
        word = self.quote(self.rng.choice(["plain", "it's", f"q{self.separator}q", 'x"y\r\nz']))
        cells = [str(row % 7), word, self.rng.choice(["", "é", " b ", "7", '"q"'])]
        label = self.cell(self.labels[row % 6 if row < 12 else self.rng.randrange(6)])
        before = "".join(it + self.separator for it in cells[: self.at])
        behind = "".join(self.separator + it for it in cells[self.at :])
        self.records.append((row, before, label, behind + self.line_break()))

    def needs_quotes(self, text):
        return any(it in text for it in (self.separator, '"', "\r", "\n"))

    def quote(self, text):
        if self.needs_quotes(text) or self.rng.random() < 0.2:
            return '"' + text.replace('"', '""') + '"'
        return text

    def cell(self, label):
        """Return a label, white space around it, and whether it stands in quotes."""
        left, right = (self.rng.choice(["", "", " ", "  "]) for _ in "lr")
        return label, left, right, self.needs_quotes(label) or self.rng.random() < 0.3

    def written(self, cell):
        label, left, right, is_quoted = cell
        if is_quoted or self.needs_quotes(label):
            return '"' + left + label.replace('"', '""') + right + '"'
        return left + label + right

    def text(self, new=(), removed=()):
        """Return the text, with new labels of some rows, and without others."""
        new, parts = dict(new), []
        ends_with_break = self.records[-1][-1].endswith(("\r", "\n"))
        for number, before, cell, behind in self.records:
            if number is not None and number in removed:
                continue
            if cell is None:
                parts.append(before + behind)
            else:
                label, *style = cell
                parts.append(before + self.written((new.get(number, label), *style)) + behind)
        if not ends_with_break and parts and self.records[-1][0] in removed:
            last = parts[-1]
            broken = 2 if last.endswith("\r\n") else 1
            parts[-1] = last[:-broken]
        return "".join(parts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("drafts")


@given(
    seed=st.integers(0, 10**6),
    separator=st.sampled_from(",;\t|"),
    encoding=st.sampled_from(ENCODINGS),
    block=st.sampled_from([64, 1 << 20]),
)
def test_only_the_cells_that_change_differ_byte_for_byte(folder, seed, separator, encoding, block):
    draft = Draft(seed, separator, encoding)
    path = table_of(folder / "draft.csv", encoded(draft.text(), encoding))
    read = read_table(path).frame["label"].str.strip().tolist()
    as_read = dict(zip(draft.labels, read[:6], strict=True))  # of a guessed encoding
    rng = random.Random(seed)
    rows = rng.sample(range(draft.n_rows), 8)
    if rng.random() < 0.5:
        rows = sorted({*rows, draft.n_rows - 1})
    removed = set(rows[5:])
    new = {row: rng.choice(draft.labels) for row in rows[:5]}
    choices = {row: as_read[label] for row, label in new.items()} | dict.fromkeys(removed)
    asked = decide(path, choices)
    with pytest.MonkeyPatch.context() as patch:
        if encoding != "cp1252":  # which is guessed from the first blocks
            patch.setattr("sorr.auditing.table.files.BLOCK", block)
        found = content_of(correct_file(path, asked))
    assert found == encoded(draft.text(new, removed), encoding)


@given(seed=st.integers(0, 10**6), separator=st.sampled_from(",;\t|"))
def test_the_csv_module_finds_the_new_labels_and_nothing_else_new(folder, seed, separator):
    draft = Draft(seed, separator, "utf-8")
    path = table_of(folder / "referee.csv", draft.text().encode())
    rng = random.Random(seed)
    new = {row: rng.choice(draft.labels) for row in rng.sample(range(draft.n_rows), 6)}

    def rows(data):
        lines = io.StringIO(data.decode(), newline="")
        return [it for it in csv.reader(lines, delimiter=separator) if len(it) == 4][1:]

    before, after = rows(draft.text().encode()), rows(corrected(path, new))
    for row, (old, now) in enumerate(zip(before, after, strict=True)):
        label, other = now.pop(draft.at), old.pop(draft.at)
        assert now == old
        assert label.strip() == new.get(row, other.strip())


LINES = "name,label\n" + "".join(f"n{i},{'yes' if i % 2 else 'no'}\n" for i in range(12))


def test_a_file_without_changes_is_the_same_file(tmp_path):
    path = table_of(tmp_path / "t.csv", LINES.encode())
    found = correct_file(path, decide(path, {1: "yes", 2: "no"}))
    assert (content_of(found), found.changes) == (LINES.encode(), ())


def test_all_rows_may_go(tmp_path):
    path = table_of(tmp_path / "t.csv", LINES.encode().rstrip())
    found = correct_file(path, decide(path, dict.fromkeys(range(12))))
    assert content_of(found) == b"name,label"
    assert "All rows were removed" in found.notes[-1]


def test_a_file_in_mixed_encodings_keeps_both(tmp_path):
    lines = [b"name,label", "é,yes".encode(), b"\xe9\xa0,no \xa0", "ü€,yes".encode(), b"\xe9,no"]
    lines += [b"x,na\xc3\xafve", b"y,yes", b"z,na\xefve", b"w,no", b"v,x\xe2\x82"]
    lines[1:1] = ["ñ,yes".encode()] * 6  # most lines are UTF-8
    path = table_of(tmp_path / "t.csv", b"\n".join(lines))
    found = corrected(path, {7: "yes", 9: "naïve", 14: "no"})
    lines[8], lines[10] = b"\xe9\xa0,yes \xa0", b"\xe9," + "naïve".encode()
    lines[15] = b"v,no"
    assert found == b"\n".join(lines)


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("cp932", ("東京都の天気は晴れです", "大阪府の天気は雨です", "ソ表示のテスト")),
        ("gb18030", ("北京的天气很好", "上海今天下雨", "广州市很热")),
        ("koi8_r", ("погода в москве", "завтра будет дождь", "привет")),
    ],
)
def test_other_encodings_are_written_as_they_are_read(encoding, words, tmp_path):
    lines = ["名前|label" if encoding == "cp932" else "word|label"]
    lines += [f"{words[i % 3]}|{words[(i + 1) % 3]}" for i in range(30)]
    path = table_of(tmp_path / "t.csv", "\r\n".join(lines).encode(encoding))
    label = read_table(path).frame["label"]
    found = corrected(path, {4: label[0]})
    lines[5] = f"{words[1]}|{words[1]}"
    assert found == "\r\n".join(lines).encode(encoding)


def test_a_label_that_the_encoding_lacks_is_refused_with_the_line(tmp_path):
    path = table_of(tmp_path / "t.csv", LINES.encode())
    labels = Labels(pd.Series(["yes", "Łódź"] * 9), [Written(it, it, 9) for it in ("yes", "Łódź")])
    source = replace(examine(path, "t.csv"), encoding="cp1252")
    asked = Decisions((Decision(3, "relabel", "Łódź", "", "", 7),), (), "", "d.csv")
    with pytest.raises(TableError, match=r"line 7 of 'd\.csv': 'Łódź' cannot be .* Windows-1252"):
        _plan(asked, labels, "label", source)


@pytest.mark.parametrize(
    ("cells", "label", "written"),
    [
        (["Yes", "Yes", "yes", "no", "NO", "no"], "yes", "Yes"),
        (["Yes", "Yes", "yes", "no", "NO", "no"], "NO", "no"),
        (["1.0", "1.0", "1", "0", "0", "2"], "1", "1.0"),
        (["'A'", "A", "A", "b", "b", "b"], "A", "A"),
        (["=1+1", "=1+1", "@x", "@x", "@x", "-y"], "'=1+1", "=1+1"),
        (["007", "007", "7a", "7a", "7a", "7a"], "007", "007"),
        (["True", "True", "true", "False", "False", "False"], "TRUE", "True"),
    ],
)
def test_a_label_is_written_as_most_rows_write_it(cells, label, written, tmp_path):
    lines = [f"{i},{it}" for i, it in enumerate(cells * 4)]
    path = table_of(tmp_path / "t.csv", "\n".join(["x,label", *lines, ""]).encode())
    lines[-1] = f"{len(lines) - 1},{written}"
    expected = "\n".join(["x,label", *lines, ""]).encode()
    assert corrected(path, {len(lines) - 1: label}) == expected


@pytest.mark.parametrize(
    ("separator", "cells", "label", "written"),
    [
        (",", [f"{i / 4}" for i in range(40)], "0.1", "0.1"),
        (",", [f"{i / 4}" for i in range(40)], "3", "3.0"),
        (",", [f"{i}" for i in range(100, 140)], "3", "3"),
        (",", [f"{i}" for i in range(100, 140)], "3.5", "3.5"),
        (",", [f"{i}" for i in range(100, 140)], "1e300", "1e+300"),
        (";", [f"{i},25" for i in range(40)], "0.1", "0,1"),
        (";", [f"{i},25" for i in range(40)], "0,1", "0,1"),
        (",", [f'"{i},25"' for i in range(40)], "0.1", '"0,1"'),
    ],
)
def test_numbers_are_short_and_in_the_style_of_the_column(
    separator, cells, label, written, tmp_path
):
    lines = [f"n{i}{separator}{it}" for i, it in enumerate(cells)]
    path = table_of(tmp_path / "t.csv", "\n".join([f"x{separator}label", *lines, ""]).encode())
    lines[7] = f"n7{separator}{written}"
    expected = "\n".join([f"x{separator}label", *lines, ""]).encode()
    assert corrected(path, {7: label}) == expected


def test_spaces_after_separators_stay(tmp_path):
    lines = ["x, label, y", '1, "yes", 2', '2, no, "a, b"', "3,  yes , 4"] * 1
    lines += [f"{i}, no, 3" for i in range(10)]
    path = table_of(tmp_path / "t.csv", "\n".join(lines).encode())
    found = corrected(path, {0: "no", 1: "yes", 2: "no"}).decode().split("\n")
    assert found[1:4] == ['1, "no", 2', '2, yes, "a, b"', "3,  no , 4"]


def test_letters_behind_quotes_do_not_confuse_cells(tmp_path):
    lines = ["x,label,y", '1,"ye"s,2', '"a"b"c",no,"1"" ,"']
    lines += [f"{i},{'yes' if i % 2 else 'no'},3" for i in range(10)]
    path = table_of(tmp_path / "t.csv", "\n".join(lines).encode())
    found = corrected(path, {0: "no", 1: "yes"}).decode().split("\n")
    assert found[1:3] == ['1,"no",2', '"a"b"c",yes,"1"" ,"']


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz", "zst", "zip"])
def test_a_packed_file_is_packed_again_if_its_name_says_so(ending, tmp_path):
    if ending == "zst":
        pytest.importorskip("zstandard", reason="packs and unpacks it")
    plain = table_of(tmp_path / "t.csv", LINES.encode())
    asked = decide(plain, {0: "yes"})
    expected = LINES.replace("n0,no", "n0,yes").encode()
    first = content_of(correct_file(plain, asked, out=f"c.csv.{ending}"))
    path = table_of(tmp_path / f"t.csv.{ending}", first)
    assert read_table(path).frame["label"][0] == "yes"
    back = decide(path, {0: "no"})
    again = table_of(tmp_path / f"u.csv.{ending}", content_of(correct_file(path, back)))
    assert read_table(again).fingerprint == read_table(plain).fingerprint
    assert content_of(correct_file(path, back, out="c.csv")) == LINES.encode()
    assert expected != LINES.encode()


def test_other_files_of_an_archive_stay(tmp_path):
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("READ.ME", "about")
        archive.writestr("inside/t.csv", LINES)
    found = content_of(correct_file(path, decide(path, {0: "yes"})))
    with zipfile.ZipFile(io.BytesIO(found)) as archive:
        assert archive.namelist() == ["READ.ME", "inside/t.csv"]
        assert archive.read("READ.ME") == b"about"
        assert archive.read("inside/t.csv").startswith(b"name,label\nn0,yes\nn1,yes\n")


def test_a_column_without_name_and_values_does_not_shift_the_target(tmp_path):
    lines = [",x,label,"] + [f",{i},{'yes' if i % 2 else 'no'}," for i in range(20)]
    path = table_of(tmp_path / "t.csv", "\n".join(lines).encode())
    lines[3] = ",2,yes,"
    assert corrected(path, {2: "yes"}) == "\n".join(lines).encode()


def test_rows_are_found_by_their_id_in_a_file_that_has_changed(tmp_path):
    path = table_of(tmp_path / "t.csv", LINES.encode())
    asked = decide(path, {3: "no", 4: None}).assign(id=["n3", "n4"], given=["yes", "no"])
    names, *rows = LINES.splitlines()
    table_of(path, "\n".join([names, "new,yes", *rows[::-1]]).encode())
    with pytest.raises(TableError, match="is not the table"):
        correct_file(path, asked)
    found = correct_file(path, asked, id_column="name")
    kept = [it for it in rows[::-1] if it != "n4,no"]
    kept[kept.index("n3,yes")] = "n3,no"
    assert content_of(found).decode().split("\n") == [names, "new,yes", *kept]
    assert [it.line for it in found.changes] == [10, 11]


def test_a_file_that_changes_meanwhile_is_refused(tmp_path):
    path = table_of(tmp_path / "t.csv", LINES.encode())
    found = correct_file(path, decide(path, {0: "yes"}))
    table_of(path, LINES.encode() + b"more,yes\n")
    with pytest.raises(TableError, match="changed while it was read"):
        content_of(found)


def test_the_log_says_what_was_done_and_runs_nothing(tmp_path):
    lines = "name,label\n" + "".join(f"n{i},{'=1+1' if i % 2 else 'no'}\n" for i in range(12))
    path = table_of(tmp_path / "t.csv", lines.encode())
    found = correct_file(path, decide(path, {0: "=1+1", 5: None}).assign(id=["n0", "@n5"]))
    assert b"\nn0,=1+1\n" in content_of(found)
    assert found.log_csv() == (
        "row,line,id,decision,before,after\n0,2,n0,relabel,no,'=1+1\n5,7,'@n5,remove,'=1+1,\n"
    )


@pytest.mark.parametrize(
    ("name", "out", "told"),
    [
        ("t.csv", "c.xlsx", r"Name it 'c\.csv'"),
        ("t.csv", "c.parquet.gz", r"Name it 'c\.csv\.gz'"),
        ("t.csv", "c.jsonl", r"'t\.csv' is delimited text and stays so"),
    ],
)
def test_an_ending_of_another_format_is_refused_with_a_better_name(name, out, told, tmp_path):
    path = table_of(tmp_path / name, LINES.encode())
    with pytest.raises(TableError, match=told):
        correct_file(path, decide(path, {0: "yes"}), out=out)


def test_decisions_without_a_decision_are_refused(tmp_path):
    path = table_of(tmp_path / "t.csv", LINES.encode())
    with pytest.raises(TableError, match="no decision"):
        correct_file(path, pd.DataFrame({"row": [1], "decision": [""]}))


def test_standard_input_and_sheets_of_text_are_refused(tmp_path):
    path = table_of(tmp_path / "t.csv", LINES.encode())
    asked = decide(path, {0: "yes"})
    with pytest.raises(TableError, match="write it to a file first"):
        correct_file("-", asked)
    with pytest.raises(TableError, match="needs a workbook"):
        correct_file(path, asked, sheet="2024")


# -- JSON ------------------------------------------------------------------------------------------


def test_in_json_lines_only_the_value_of_the_target_changes(tmp_path):
    lines = ['{"x": 1.50,"label" : "caf\\u00e9", "z": {"label": "no"}}', "", '{"label":"no"}']
    lines += ['{"x":2, "label": "no", "label": "café"}', '{"x": 3, "label": null}', "{ }"]
    lines += ['{"x": 4, "label": "no"}'] * 8
    path = table_of(tmp_path / "t.jsonl", "\r\n".join(lines).encode())
    found = corrected(path, {0: "no", 1: "café", 2: "no", 3: "no", 4: "café", 12: None})
    lines[0] = lines[0].replace('"caf\\u00e9"', '"no"')
    lines[2] = '{"label":"caf\\u00e9"}'
    lines[3] = '{"x":2, "label": "no", "label": "no"}'
    lines[4] = '{"x": 3, "label": "no"}'
    lines[5] = '{"label":"caf\\u00e9" }'
    assert found == "\r\n".join(lines[:-1]).encode()


@pytest.mark.parametrize(
    ("values", "label", "written"),
    [
        (["true", "false"], "true", "true"),
        (["1", "0"], "1", "1"),
        (["1.0", "0.0"], "1", "1.0"),
        (['"1"', '"0"'], "1", '"1"'),
        (["1", "0", "1.0", "0", "1.0"], "1", "1.0"),
    ],
)
def test_a_value_of_json_keeps_its_type(values, label, written, tmp_path):
    lines = [f'{{"x": {i}, "label": {values[i % len(values)]}}}' for i in range(12)]
    path = table_of(tmp_path / "t.jsonl", "\n".join(lines).encode("utf-16"))
    lines[1] = f'{{"x": 1, "label": {written}}}'
    assert corrected(path, {1: label}) == "\n".join(lines).encode("utf-16")


def test_numbers_of_json_stay_numbers(tmp_path):
    lines = [f'{{"x": {i}, "label": {i}.25}}' for i in range(40)]
    path = table_of(tmp_path / "t.jsonl", "\n".join(lines).encode())
    lines[1] = '{"x": 1, "label": 0.1}'
    assert corrected(path, {1: "0.1"}) == "\n".join(lines).encode()


def test_a_list_of_json_stays_one(tmp_path):
    def text(rows):
        return '[\n  {"x": 1, "label": "' + '"},\n  {"x": 1, "label": "'.join(rows) + '"}\n]\n'

    rows = ["yes", "no"] * 6
    path = table_of(tmp_path / "t.json", text(rows).encode())
    found = corrected(path, {0: None, 1: "yes", 4: None, 10: None, 11: None})
    assert found.decode() == text(["yes", "yes", "no", "no", "yes", "no", "yes", "no"])


# -- Workbooks -------------------------------------------------------------------------------------


def workbook(path, labels):
    openpyxl = pytest.importorskip("openpyxl", reason="writes workbooks")
    book = openpyxl.Workbook()
    page = book.active
    page.title = "Data"
    page["B1"] = "A title"
    for column, name in enumerate(("x", "label", "sum"), start=2):
        page.cell(3, column, name)
    for i, label in enumerate(labels, start=4):
        page.cell(i, 2, i)
        cell = page.cell(i, 3)
        cell.value = label
        if isinstance(label, str):
            cell.data_type = "s"
        page.cell(i, 4, i / 2)
    page["C5"].font = openpyxl.styles.Font(bold=True, color="FFFF0000")
    page.merge_cells(
        start_row=len(labels) + 5, end_row=len(labels) + 5, start_column=2, end_column=4
    )
    page.cell(len(labels) + 5, 2, "the end")
    page.row_dimensions[8].height = 40
    other = book.create_sheet("Other")
    other["A1"] = "=SUM(Data!B4:B9)"
    book.save(path)
    return path


def sheets_of(data):
    openpyxl = pytest.importorskip("openpyxl", reason="reads what was written")
    return openpyxl.load_workbook(io.BytesIO(data))


def test_a_workbook_keeps_styles_and_other_sheets(tmp_path):
    path = workbook(tmp_path / "t.xlsx", ["yes", "no"] * 10)
    asked = decide(path, {1: "yes", 2: None, 3: None})
    found = correct_file(path, asked)
    book = sheets_of(content_of(found))
    page = book["Data"]
    assert (page["C5"].value, page["C5"].font.b, page["C5"].font.color.rgb) == (
        "yes",
        True,
        "FFFF0000",
    )
    assert [page.cell(i, 2).value for i in range(4, 8)] == [4, 5, 8, 9]
    assert page.row_dimensions[6].height == 40
    assert [str(it) for it in page.merged_cells.ranges] == ["B23:D23"]
    assert page["B23"].value == "the end"
    assert book["Other"]["A1"].value == "=SUM(Data!B4:B9)"
    assert any("not adjusted" in it and "opened and saved" in it for it in found.notes)
    again = table_of(tmp_path / "c.xlsx", content_of(found))
    assert read_table(again).frame["label"].tolist()[:3] == ["yes", "yes", "yes"]
    assert [it.line for it in found.changes] == [5, 6, 7]


@pytest.mark.parametrize(
    ("labels", "label", "value"),
    [
        ([1, 0], "1", 1),
        ([True, False], "True", True),
        (["=1+1", "no"], "=1+1", "=1+1"),
        (["Yes", "no"], "yes", "Yes"),
        ([i / 4 for i in range(40)], "0.1", 0.1),
    ],
)
def test_a_cell_of_a_workbook_keeps_its_type(labels, label, value, tmp_path):
    path = workbook(tmp_path / "t.xlsx", (labels * 20)[:40])
    cell = sheets_of(corrected(path, {1: label}))["Data"]["C5"]
    assert (cell.value, type(cell.value)) == (value, type(value))
    assert cell.data_type != "f"


def test_parts_that_are_lost_are_named(tmp_path):
    path = workbook(tmp_path / "t.xlsx", ["yes", "no"] * 10)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("xl/slicers/slicer1.xml", "<slicers/>")
    (note,) = [it for it in correct_file(path, decide(path, {1: "yes"})).notes if "gone" in it]
    assert "'slicers/slicer'" in note


def test_a_workbook_of_another_kind_is_refused(tmp_path):
    path = workbook(tmp_path / "t.xlsx", ["yes", "no"] * 10)
    asked = decide(path, {1: "yes"})
    with pytest.raises(TableError, match=r"is a workbook \(\.xlsx\) and stays so"):
        correct_file(path, asked, out="c.csv")
    with pytest.raises(TableError, match=r"Name it 'c\.xlsx'"):
        correct_file(path, asked, out="c.xlsm")


def test_a_missing_package_is_named_with_its_extra(tmp_path, monkeypatch):
    path = workbook(tmp_path / "t.xlsx", ["yes", "no"] * 10)
    asked = decide(path, {1: "yes"})
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(
        TableError, match=r'openpyxl, which is not installed: pip install "sorr\[excel'
    ):
        correct_file(path, asked)


def opendocument(path, labels):
    pytest.importorskip("odf", reason="writes OpenDocument")
    from odf.opendocument import OpenDocumentSpreadsheet
    from odf.table import Table, TableCell, TableRow
    from odf.text import P

    document = OpenDocumentSpreadsheet()
    page = Table(name="Data")
    document.spreadsheet.addElement(page)

    def row(cells, times=1):
        line = TableRow(numberrowsrepeated=times) if times > 1 else TableRow()
        for cell in cells:
            if isinstance(cell, str):
                it = TableCell(valuetype="string")
                it.addElement(P(text=cell))
            else:
                it = TableCell(valuetype="float", value=cell)
                it.addElement(P(text=str(cell)))
            line.addElement(it)
        page.addElement(line)

    row(["x", "label"])
    for i, label in enumerate(labels):
        row([i, label], times=3 if i == 4 else 1)
    document.save(path)
    return path


def test_opendocument_keeps_types_and_splits_repeated_rows(tmp_path):
    path = opendocument(tmp_path / "t.ods", ["yes", "no"] * 6)
    frame = read_table(path).frame
    assert len(frame) == 14
    found = table_of(tmp_path / "c.ods", corrected(path, {1: "yes", 5: "no", 6: None, 13: None}))
    frame.loc[[1, 5], "label"] = ["yes", "no"]
    expected = frame.drop(index=[6, 13]).reset_index(drop=True)
    pd.testing.assert_frame_equal(read_table(found).frame, expected)


def test_numbers_of_opendocument_stay_numbers(tmp_path):
    path = opendocument(tmp_path / "t.ods", [i / 4 for i in range(40)])
    found = read_table(table_of(tmp_path / "c.ods", corrected(path, {2: "0.1"}))).frame
    assert found["label"].dtype == np.float64
    assert found["label"][2] == 0.1


def test_values_of_xls_are_written_in_another_format(tmp_path):
    path = table_of(tmp_path / "t.xls", XLS)  # a, b; 1, x; 2.5, y
    asked = decide(path, {0: "y"}, "b")
    with pytest.raises(TableError, match=r"cannot be written; use out='t\.xlsx' or out='t\.csv'"):
        correct_file(path, asked)
    found = correct_file(path, asked, out="c.csv")
    assert content_of(found) == b"a,b\n1,y\n2.5,y\n"
    assert "without styles, formulas and other sheets" in found.notes[0]
    page = sheets_of(content_of(correct_file(path, asked, out="c.xlsx"))).active
    assert list(page.values) == [("a", "b"), (1, "y"), (2.5, "y")]


# -- Parquet and Feather ---------------------------------------------------------------------------


def arrow_table(labels):
    pa = pytest.importorskip("pyarrow", reason="reads and writes Parquet")
    n = len(labels)
    table = pa.table({"x": range(n), "label": labels, "nested": [[i] for i in range(n)]})
    return table.replace_schema_metadata({"who": "me"})


def test_parquet_keeps_schema_metadata_packing_and_groups(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="reads and writes Parquet")
    from pyarrow import parquet as pq

    table = arrow_table(pa.array(["yes", "no"] * 10).dictionary_encode())
    path = tmp_path / "t.parquet"
    packing = {"x": "zstd", "label": "none"}
    pq.write_table(table, path, compression=packing, use_dictionary=["label"], row_group_size=8)
    found = table_of(tmp_path / "c.pq", corrected(path, {1: "yes", 9: None, 19: None}))
    before, after = pq.ParquetFile(path), pq.ParquetFile(found)
    assert after.schema_arrow.equals(before.schema_arrow, check_metadata=True)
    for i in range(3):
        one, two = before.metadata.row_group(0).column(i), after.metadata.row_group(0).column(i)
        assert (one.compression, one.encodings) == (two.compression, two.encodings)
    sizes = [after.metadata.row_group(i).num_rows for i in range(after.num_row_groups)]
    assert sizes == [8, 7, 3]
    rows = [it for it in range(20) if it not in (9, 19)]
    expected = ["yes" if it == 1 else table["label"][it].as_py() for it in rows]
    assert after.read()["label"].to_pylist() == expected
    assert after.read()["nested"].to_pylist() == [[it] for it in rows]


@pytest.mark.parametrize("packing", ["uncompressed", "lz4", "zstd"])
def test_feather_keeps_schema_and_packing(packing, tmp_path):
    pytest.importorskip("pyarrow", reason="reads and writes Feather")
    from pyarrow import feather

    labels = ["yes", "no"] * 500
    path = tmp_path / "t.feather"
    feather.write_feather(arrow_table(labels), path, compression=packing)
    found = table_of(tmp_path / "c.feather", corrected(path, {1: "yes"}))
    labels[1] = "yes"
    again = tmp_path / "again.feather"
    feather.write_feather(arrow_table(labels), again, compression=packing)
    assert feather.read_table(found).equals(feather.read_table(again), check_metadata=True)
    assert abs(found.stat().st_size - again.stat().st_size) < 0.05 * again.stat().st_size


@pytest.mark.parametrize(
    ("kind", "labels", "label", "value"),
    [
        ("bool_", [True, False], "True", True),
        ("int8", [1, 0], "1", 1),
        ("float32", [0.5, 1.5], "0.5", 0.5),
        ("large_string", ["a", "b"], "a", "a"),
        ("int64", list(range(100, 140)), "7", 7),
        ("float64", [i / 4 for i in range(40)], "0.1", 0.1),
    ],
)
def test_a_column_of_parquet_keeps_its_type(kind, labels, label, value, tmp_path):
    pa = pytest.importorskip("pyarrow", reason="reads and writes Parquet")
    from pyarrow import parquet as pq

    path = tmp_path / "t.parquet"
    pq.write_table(arrow_table(pa.array((labels * 20)[:40], getattr(pa, kind)())), path)
    after = pq.read_table(table_of(tmp_path / "c.parquet", corrected(path, {1: label})))
    assert after.schema.field("label").type == getattr(pa, kind)()
    assert after["label"][1].as_py() == value


def test_a_number_that_does_not_fit_a_type_is_refused(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="reads and writes Parquet")
    from pyarrow import parquet as pq

    path = tmp_path / "t.parquet"
    pq.write_table(arrow_table(pa.array(range(100, 140))), path)
    with pytest.raises(TableError, match="has the type int64"):
        corrected(path, {1: "7.5"})


# -- Frames ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "dtype", "label"),
    [
        (["a", "b"], "str", "a"),
        (["a", "b"], "category", "a"),
        (["a", "b"], object, "a"),
        ([True, False], "bool", "True"),
        ([1, 0], "int8", "1"),
        ([1, None], "Int64", "1"),
        ([True, None, False], "boolean", "True"),
        ([0.5, 1.5], "float32", "0.5"),
    ],
)
def test_a_frame_of_pandas_keeps_types_and_index(labels, dtype, label):
    column = pd.Series((labels * 10)[:20], dtype=dtype)
    frame = pd.DataFrame({"x": range(20), "label": column}).set_axis(range(50, 70), axis=0)
    before = frame.copy(deep=True)
    found = apply_decisions(frame, decide_frame(frame, {1: label, 4: None}))
    pd.testing.assert_frame_equal(frame, before)
    expected = frame.copy()
    expected.iloc[1, 1] = frame.iloc[0, 1]
    pd.testing.assert_frame_equal(found, expected.drop(index=54))


def test_numbers_of_a_frame_become_floats_only_if_they_must():
    frame = pd.DataFrame({"x": 0, "label": range(100, 140)})
    found = apply_decisions(frame, decide_frame(frame, {1: "7"}))
    assert (found["label"].dtype, found["label"][1]) == ("int64", 7)
    found = apply_decisions(frame, decide_frame(frame, {1: "7.5"}))
    assert (found["label"].dtype, found["label"][1]) == ("float64", 7.5)


@pytest.mark.parametrize("kind", ["String", "Categorical", "Enum"])
def test_a_frame_of_polars_stays_one(kind):
    pl = pytest.importorskip("polars", reason="frames of its own")
    dtype = pl.Enum(["a", "b", "c"]) if kind == "Enum" else getattr(pl, kind)
    frame = pl.DataFrame(
        {"x": range(20), "label": pl.Series(["a", "b"] * 10, dtype=dtype), "y": [[1]] * 20}
    )
    before = frame.clone()
    found = apply_decisions(frame, decide_frame(frame, {1: "a", 4: None}))
    assert frame.equals(before)
    assert found.schema == frame.schema
    assert found["label"].to_list() == ["a", "a", "a", "b"] + ["b", "a"] * 7 + ["b"]
    assert found["x"].to_list() == [it for it in range(20) if it != 4]


def test_a_table_from_a_file_becomes_a_frame_also_if_it_is_a_sample(tmp_path):
    path = table_of(tmp_path / "t.csv", LINES.encode())
    asked = decide(path, {0: "yes", 1: "no", 2: "yes", 3: None, 4: None, 5: None})
    found = apply_decisions(read_table(path), asked)
    assert found["label"].tolist() == ["yes", "no", "yes", *["no", "yes"] * 3]
    sample = read_table(path, n_rows=6, random_state=1)
    found = apply_decisions(sample, asked)
    kept = [row for row in sample.rows.tolist() if row not in (3, 4, 5)]
    assert found["name"].tolist() == [f"n{row}" for row in kept]
    labels = {0: "yes", 1: "no", 2: "yes"}
    assert found["label"].tolist() == [labels.get(it, "yes" if it % 2 else "no") for it in kept]


def test_a_lazy_frame_and_other_things_are_refused():
    pl = pytest.importorskip("polars", reason="frames of its own")
    with pytest.raises(TableError, match="collect"):
        apply_decisions(pl.DataFrame({"label": ["a"]}).lazy(), decisions({0: "a"}))
    with pytest.raises(TableError, match="needed a DataFrame"):
        apply_decisions([["a"]], decisions({0: "a"}))
    with pytest.raises(TableError, match="two columns named 'a'"):
        apply_decisions(pd.DataFrame([[1, 2]], columns=["a", "a"]), decisions({0: "a"}))


# -- The original of a page ------------------------------------------------------------------------


def patched(original, choices, asked):
    """Return the text with labels replaced as a page does it, from the end."""
    data = bytearray(original.data)
    for at, row in sorted(enumerate(asked), key=lambda it: -it[1]):
        start, end, low, high = original.places[at].tolist()
        if row in choices and choices[row] is None:
            data[start:end] = b""
        elif row in choices:
            data[low:high] = original.labels[choices[row]]
    return bytes(data)


@settings(max_examples=examples(100, 12))
@given(seed=st.integers(0, 10**6), separator=st.sampled_from(",;\t|"))
def test_a_page_corrects_a_text_to_the_same_table(folder, seed, separator):
    draft = Draft(seed, separator, "utf-8")
    path = table_of(folder / "original.csv", draft.text().encode())
    table = read_table(path)
    rng = random.Random(seed)
    rows = rng.sample(range(draft.n_rows - 1), 6)
    choices = {row: rng.choice(draft.labels) for row in rows[:4]} | dict.fromkeys(rows[4:])
    found = original_of(table, np.array(rows), "label", draft.labels)
    again = read_table(table_of(folder / "patched.csv", patched(found, choices, rows)))
    ours = read_table(table_of(folder / "ours.csv", corrected(path, choices)))
    stripped = [it.frame.assign(label=it.frame["label"].str.strip()) for it in (again, ours)]
    pd.testing.assert_frame_equal(*stripped)


def test_a_page_keeps_the_quotes_of_a_cell(tmp_path):
    lines = ["x,label", '1," yes"', "2,no", '3,"yes"', *(f"{i},Yes" for i in range(10))]
    table = read_table(table_of(tmp_path / "t.csv", "\n".join(lines).encode()))
    found = original_of(table, np.array([2, 0]), "label", ["Yes", "no"])
    lines[1], lines[3] = '1," no"', '3,"no"'
    assert patched(found, {0: "no", 2: "no"}, [2, 0]) == "\n".join(lines).encode()


def test_a_page_gets_other_tables_as_csv(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="reads and writes Parquet")
    from pyarrow import parquet as pq

    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [1.5, None, 3.0], "label": ["a,b", "no", "=x\n"]}), path)
    found = original_of(read_table(path), np.array([1, 2]), "label", ["a,b", "no"])
    assert found.data == b'x,label\n1.5,"a,b"\n,no\n3,"=x\n"\n'
    records = [found.data[start:end] for start, end, *_ in found.places.tolist()]
    assert records == [b",no\n", b'3,"=x\n"\n']
    assert patched(found, {1: "a,b", 2: "no"}, [1, 2]) == b'x,label\n1.5,"a,b"\n,"a,b"\n3,no\n'


def test_a_large_table_is_not_carried_along():
    frame = pd.DataFrame({"x": range(50_001), "label": "a"})
    table = Table(frame, np.arange(50_001), None, 50_001, (), "large")
    assert original_of(table, np.array([1]), "label", ["a"]) is None
    wide = pd.DataFrame({"x": ["y" * 10_000] * 2000, "label": "a"})
    table = Table(wide, np.arange(2000), None, 2000, (), "wide")
    assert original_of(table, np.array([1]), "label", ["a"]) is None
