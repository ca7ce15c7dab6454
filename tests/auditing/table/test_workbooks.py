"""Sheets of workbooks come back with the rows that Excel shows; hostile ones are refused."""

import base64
import datetime as dt
import struct
import sys
import time
import zipfile
import zlib
from contextlib import suppress

import numpy as np
import pytest

from sorr.auditing import TableError, read_table
from sorr.auditing.table import workbooks

pd = pytest.importorskip("pandas", reason="tables are read by pandas")
pytest.importorskip("python_calamine", reason="workbooks are read by calamine")

XLS = zlib.decompress(  # a sheet of a, b; 1, x; 2.5, y
    base64.b85decode(
        "c-rk)J!n%=6#ni@()`e-NlnF8D4}50+C^Mk+NXkcvQ!sE1WjxPX-OqISO=}vjDp~#xD>j$R9&>9gKiE&MF&9;5*<4U"
        "3Jz_a=YH=#O>2h+G^pI~an3#OoO9njx#!&ba^LI4bY=EocNJ?egb-"
        "?894&P^B@_>CQV_f6X)$PHLY~Dxg?LO7*%HCiwpUS|L!Iv`96SiW5Dt74I*D@_nJgBvO~e7lkW)H_LE#E_MUzAqqv{"
        "|(L%xapK0Tk2@1y1h`Jnh#)CnxQBmH|#6(4tcX-h&s_c8mtr)D=g@lsdum7B`<jbMN2Y;NN3H1vd9F$c-"
        "paG_Wz<t8e~NCM~Z)yo23f|dF_YxT|5D~SHvYJGGa{VgX9Ov5|P0x!$vx)Aace0~{QAV!iTJtveGx+pZ2(EBjgZEDr"
        "JZDT#R3Lir|<ut20B|G!-"
        "z0YqB=SSUB)J$`)_ILDcItX~Us(VQ1BrS}CzWwC8$glCKTPb&wXQURT?Hlbh!l4=ZT&J~9#@R!>b+^~aJ47xo9a-"
        "ope{y$<JU?8$l$n3$&Z1W)VNCk#YX$>qK;5~m@x%>UWmf+O@~&TYf|!#sv3usV)s7V;D5lB%J3Twf_^UPkmz@N4Y0j"
        "(mS3hP``#bCSJM>=)`TqXw>scIfI`BvvWncP<1S~8pEG#T6EG#UV4`u%4hs;?cV$Kp#^Ic~}sAfNt{I@uYNx3e_!So"
        "=C(v~pQQ2lI1L<P@M8|)K&FVr|Dqn9v_JmVN|xPIj<sOo>uhC8Ny-x6wc{8}S%{^9Yz12yWuP5"
    )
)
MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
ODF = "urn:oasis:names:tc:opendocument:xmlns"


def refusal(path, **options):
    with pytest.raises(TableError) as caught:
        read_table(path, **options)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 700
    return str(caught.value)


def archive(path, parts):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in parts.items():
            target.writestr(name, content)
    return path


def excel(path, rows, **more):
    """Write a workbook of one sheet, from the XML of its rows."""
    package = "http://schemas.openxmlformats.org/package/2006"
    office = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    return archive(
        path,
        {
            "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
            f'<Override PartName="/xl/workbook.xml" ContentType="{office}.sheet.main+xml"/>'
            f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{office}.worksheet+xml"/>'
            "</Types>",
            "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
            f'Type="{REL}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
            "xl/workbook.xml": f'<workbook {MAIN} xmlns:r="{REL}"><sheets>'
            '<sheet name="one" sheetId="1" r:id="r1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">'
            f'<Relationship Id="r1" Type="{REL}/worksheet" Target="worksheets/sheet1.xml"/>'
            "</Relationships>",
            "xl/worksheets/sheet1.xml": f"<worksheet {MAIN}><sheetData>{rows}</sheetData>"
            "</worksheet>",
            **more,
        },
    )


ROWS = (
    '<row r="1"><c r="A1" t="str"><v>a</v></c><c r="B1" t="str"><v>b</v></c></row>'
    '<row r="2"><c r="A2"><v>1</v></c><c r="B2" t="str"><v>x</v></c></row>'
)


def opendocument(path, rows):
    return archive(
        path,
        {
            "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
            "META-INF/manifest.xml": f'<m:manifest xmlns:m="{ODF}:manifest:1.0"/>',
            "content.xml": f'<o:document-content xmlns:o="{ODF}:office:1.0" '
            f'xmlns:office="{ODF}:office:1.0" xmlns:table="{ODF}:table:1.0" '
            f'xmlns:text="{ODF}:text:1.0"><office:body><office:spreadsheet>'
            f'<table:table table:name="one">{rows}</table:table>'
            "</office:spreadsheet></office:body></o:document-content>",
        },
    )


def cell(value, more=""):
    return (
        f'<table:table-cell office:value-type="string" {more}><text:p>{value}</text:p>'
        "</table:table-cell>"
    )


@pytest.fixture
def book(tmp_path):
    """Write a workbook with openpyxl, from the cells of its sheets by their places."""
    openpyxl = pytest.importorskip("openpyxl", reason="writes workbooks")

    def book(name="t.xlsx", **sheets):
        made = openpyxl.Workbook()
        made.remove(made.active)
        for title, (top, left, rows) in sheets.items():
            sheet = made.create_sheet(title)
            for i, row in enumerate(rows):
                for j, value in enumerate(row):
                    sheet.cell(top + i, left + j, value)
        made.save(tmp_path / name)
        return tmp_path / name

    return book


def test_columns_hold_numbers_dates_or_text_and_never_a_mixture(book):
    day, hour = dt.datetime(2020, 1, 2), dt.datetime(2020, 1, 3, 5)
    table = read_table(
        book(
            one=(
                *(1, 1),
                [
                    ["n", "x", "day", "flag", "mix", "code", "time", "nothing", "formula"],
                    [1, 1.5, day, True, 1, "007", dt.time(1, 2), None, "=1+1"],
                    [2, None, hour, False, "NA", "010", None, None, "x"],
                    [3, 2, None, True, day, "1", dt.time(3, 4), None, "y"],
                    [4, 2, day, None, "a ", "1", None, None, "z"],
                ],
            )
        )
    )
    frame = table.frame
    assert frame["n"].dtype == np.int64
    assert frame["x"].dtype == frame["nothing"].dtype == np.float64
    assert frame["day"].tolist()[:2] == [day, hour]
    assert pd.api.types.is_datetime64_any_dtype(frame["day"])
    assert frame["flag"].tolist()[:3] == ["True", "False", "True"]
    assert frame["mix"].fillna("-").tolist() == ["1", "-", "2020-01-02", "a "]
    assert frame["code"].tolist() == ["007", "010", "1", "1"]
    assert frame["time"].iloc[0] == "01:02:00"
    assert frame["formula"].tolist()[1:] == ["x", "y", "z"]
    assert table.lines.tolist() == [2, 3, 4, 5]
    assert (table.notes, table.separator, table.set_aside) == ((), None, ())


def test_lines_are_the_rows_that_excel_shows(book):
    rows = [["Sales"], [], ["id", "kind"], [1, "a"], [], [2, "b"]]
    table = read_table(book(one=(70, 3, rows)))
    assert list(table.frame.columns) == ["id", "kind"]
    assert table.lines.tolist() == [73, 75]
    assert "1 row above the names was skipped: 'Sales'." in table.notes
    assert any("blank rows were skipped" in note for note in table.notes)


def test_numbers_kept_as_text_are_numbers_beside_numbers(book):
    frame = read_table(book(one=(1, 1, [["a", "b"], ["5", "x"], [6, "y"], [" 7", "z"]]))).frame
    assert frame["a"].tolist() == [5, 6, 7]


def test_a_sheet_is_chosen_by_name_or_number_or_is_the_first_with_rows(book):
    path = book(empty=(1, 1, []), one=(1, 1, [["a"], [1]]), two=(1, 1, [["b"], [2]]))
    table = read_table(path)
    assert list(table.frame.columns) == ["a"]
    assert table.notes[0] == "This is the sheet 'one' of 3 in the workbook: 'empty', 'one', 'two'."
    for sheet in ("two", 3, "3"):
        assert list(read_table(path, sheet=sheet).frame.columns) == ["b"]
    assert "has no sheet 'three'; there are 'empty', 'one', 'two'" in refusal(path, sheet="three")
    assert "has no sheet '4'" in refusal(path, sheet=4)
    assert "the sheet 'empty' is empty" in refusal(path, sheet=1)


def test_only_workbooks_have_sheets(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    assert refusal(tmp_path / "t.csv", sheet=2) == "sheet=2 needs a workbook, and 't.csv' is none"


def test_a_sample_holds_its_rows_of_the_whole(book, monkeypatch):
    monkeypatch.setattr(workbooks, "_CHUNK", 7)
    path = book(one=(1, 1, [["i", "t"], *([i, f"t{i}"] for i in range(100))]))
    table = read_table(path, n_rows=30, random_state=0)
    assert table.frame["i"].tolist() == table.rows.tolist() == (table.lines - 2).tolist()
    assert (len(table.frame), table.n_rows) == (30, 100)
    assert read_table(path).frame["t"].tolist() == [f"t{i}" for i in range(100)]


def test_text_columns_and_repeated_names(book):
    table = read_table(book(one=(1, 1, [["a", "a", None], [1, 2, 0]])), text_columns=["a (2)"])
    assert list(table.frame.columns) == ["a", "a (2)", "column 3"]
    assert table.frame.iloc[0].tolist() == [1, "2", 0]


def test_xls_and_opendocument_are_read(tmp_path):
    (tmp_path / "t.xls").write_bytes(XLS)
    table = read_table(tmp_path / "t.xls")
    assert table.frame.to_numpy().tolist() == [[1.0, "x"], [2.5, "y"]]
    pytest.importorskip("odf", reason="writes OpenDocument")
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None], "day": [dt.datetime(2020, 1, 2)] * 2})
    frame.to_excel(str(tmp_path / "t.ods"), index=False)
    table = read_table(tmp_path / "t.ods")
    assert table.frame["a"].tolist() == [1, 2]
    assert table.frame["b"].isna().tolist() == [False, True]
    assert table.frame["day"].iloc[0] == dt.datetime(2020, 1, 2)
    assert table.lines.tolist() == [2, 3]


def test_a_workbook_is_known_by_its_content_also_packed(tmp_path, book):
    import gzip

    content = book(one=(1, 1, [["a"], [1]])).read_bytes()
    for name, written in (("t.csv", content), ("t.ods", content), ("t", gzip.compress(content))):
        (tmp_path / name).write_bytes(written)
        assert read_table(tmp_path / name).frame["a"].tolist() == [1]


def test_a_sheet_without_rows_is_refused(book):
    assert "has no sheet with a row of names" in refusal(book(one=(1, 1, [["a", "b"]])))
    assert "no rows below it" in refusal(book(one=(1, 1, [["a", "b"]])), sheet=1)


def test_a_damaged_workbook_is_refused(tmp_path):
    path = excel(tmp_path / "t.xlsx", ROWS)
    assert read_table(path).frame.to_numpy().tolist() == [[1, "x"]]
    whole = path.read_bytes()
    for content in (XLS[:600], XLS[:2000] + b"\xff" * 900, whole[:-60]):
        path.write_bytes(content)
        assert "'t.xlsx'" in refusal(path)
    excel(path, "<row><c></row>")
    assert "is not a workbook, or is damaged" in refusal(path)


def test_a_machine_without_calamine_is_told_what_to_install(tmp_path, monkeypatch):
    path = excel(tmp_path / "t.xlsx", ROWS)
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    assert refusal(path).endswith('pip install "sorr[audit]"')


# -- Hostile workbooks -----------------------------------------------------------------------------


STRAY = {
    "as usual": '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>',
    "single quotes": "<row r='1048576'><c r='XFD1048576'><v>1</v></c></row>",
    "spaces": '<row r = "1048576"><c\n r = "XFD1048576" ><v>1</v></c></row>',
    "small letters": '<row r="1048576"><c r="xfd1048576"><v>1</v></c></row>',
    "a row that lies": '<row r="3"><c r="XFD1048576"><v>1</v></c></row>',
    "cells without place": f'<row r="1048576">{"<c><v>1</v></c>" * 16384}</row>',
    "empty cells": f'<row r="1048576">{"<c/>" * 16383}<c><v>1</v></c></row>',
}


@pytest.mark.parametrize("rows", STRAY.values(), ids=STRAY)
def test_a_cell_far_away_is_refused_before_its_range_is_made(tmp_path, rows, monkeypatch):
    monkeypatch.setattr(workbooks, "available_memory", lambda: 4 << 30)
    message = refusal(excel(tmp_path / "t.xlsx", ROWS + rows))
    assert "'t.xlsx' has cells down to row 1,048,576 and column" in message
    assert "delete what stands far from the table" in message


def test_a_cell_with_a_prefix_far_away_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(workbooks, "available_memory", lambda: 4 << 30)
    sheet = (
        f'<x:worksheet {MAIN.replace("xmlns", "xmlns:x")}><x:sheetData><x:row r="9"><x:c '
        "r='XFD1048576'><x:v>1</x:v></x:c></x:row></x:sheetData></x:worksheet>"
    )
    path = excel(tmp_path / "t.xlsx", "", **{"xl/worksheets/sheet1.xml": sheet})
    assert "row 1,048,576 and column 16,384" in refusal(path)


def test_a_cell_in_the_last_row_of_a_narrow_table_is_no_trouble(tmp_path):
    path = excel(tmp_path / "t.xlsx", ROWS + '<row r="1048576"><c r="A1048576"><v>9</v></c></row>')
    table = read_table(path)
    assert table.frame["a"].tolist() == [1, 9]
    assert table.lines.tolist() == [2, 1048576]


def test_cells_without_a_place_follow_each_other(tmp_path):
    cells = [["a", "b"], ["1", "2"], ["3", "4"]]
    written = ["".join(f'<c t="str"><v>{it}</v></c>' for it in row) for row in cells]
    rows = "".join(f"<row>{it}</row>" for it in written)
    assert workbooks._last_of_excel(iter([rows.encode()])) == (3, 2)
    table = read_table(excel(tmp_path / "t.xlsx", rows))
    assert table.frame.to_numpy().tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("step", [7, 100, 10_000])
def test_the_last_cell_is_found_in_any_cut(step):
    sheet = "".join(
        f'<row r="{i}"><c r="A{i}"><v>1</v></c><c r="BC{i}"><v>1</v></c></row>'
        for i in range(1, 99)
    ).encode()
    parts = (sheet[i : i + step] for i in range(0, len(sheet), step))
    assert workbooks._last_of_excel(parts) == (98, 55)


def test_the_empty_rows_and_cells_that_libreoffice_repeats_are_no_trouble(tmp_path):
    table = read_table(
        opendocument(
            tmp_path / "t.ods",
            f"<table:table-row>{cell('a')}{cell('b')}"
            '<table:table-cell table:number-columns-repeated="16382"/></table:table-row>'
            f"<table:table-row table:number-rows-repeated='2'>{cell('1')}{cell('x')}"
            '</table:table-row><table:table-row table:number-rows-repeated="1048573">'
            '<table:table-cell table:number-columns-repeated="16384"/></table:table-row>',
        )
    )
    assert table.frame.to_numpy().tolist() == [[1, "x"], [1, "x"]]
    assert table.lines.tolist() == [2, 3]


@pytest.mark.parametrize(
    "rows",
    [
        "<table:table-row table:number-rows-repeated='1000000'>"
        + cell(1, "table:number-columns-repeated='16384'")
        + "</table:table-row>",
        "<table:table-row table:number-rows-repeated='1000000'>"
        "<table:table-cell table:number-columns-repeated='16384'/></table:table-row>"
        f"<table:table-row><table:table-cell table:number-columns-repeated='16384'/>{cell(1)}"
        "</table:table-row>",
    ],
)
def test_repeated_rows_and_cells_are_refused_before_they_are_made(tmp_path, rows, monkeypatch):
    monkeypatch.setattr(workbooks, "available_memory", lambda: 4 << 30)
    assert "has cells down to row 1,00" in refusal(opendocument(tmp_path / "t.ods", rows))


def with_sizes(content, size):
    """Let the directory of an archive say another size of each part, unpacked."""
    changed, at = bytearray(content), 0
    for mark, place in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        at = 0
        while (at := content.find(mark, at)) >= 0:
            changed[at + place : at + place + 4] = struct.pack("<I", size)
            at += 4
    return bytes(changed)


@pytest.mark.parametrize("lies", [False, True])
def test_a_zip_bomb_is_refused_whatever_size_it_says(tmp_path, monkeypatch, lies):
    monkeypatch.setattr(workbooks, "_GROWTH", 1 << 22)
    path = excel(tmp_path / "t.xlsx", ROWS, **{"xl/sharedStrings.xml": b" " * (1 << 25)})
    assert path.stat().st_size < 50_000
    if lies:
        path.write_bytes(with_sizes(path.read_bytes(), 100))
    start = time.perf_counter()
    assert "grows beyond reason when it is unpacked" in refusal(path)
    assert time.perf_counter() - start < 2


def test_the_cells_of_xlsb_are_looked_at_too(tmp_path, monkeypatch):
    monkeypatch.setattr(workbooks, "available_memory", lambda: 4 << 30)
    row = b"\x00\x04" + struct.pack("<I", 1_048_575)
    number = b"\x05\x10" + struct.pack("<IId", 16_383, 0, 1.0)
    parts = {"xl/workbook.bin": b"", "xl/worksheets/sheet1.bin": b"\x81\x01\x00" + row + number}
    assert "row 1,048,576 and column 16,384" in refusal(archive(tmp_path / "t.xlsb", parts))


def test_a_workbook_with_a_password_says_so(tmp_path, monkeypatch):
    import python_calamine

    def locked(*_, **__):
        raise python_calamine.PasswordError("locked")

    monkeypatch.setattr(
        python_calamine,
        "CalamineWorkbook",
        type("Book", (), {"from_filelike": staticmethod(locked)}),
    )
    path = excel(tmp_path / "t.xlsx", ROWS)
    assert refusal(path) == "'t.xlsx' has a password; open it and save it without one"


def test_the_cells_of_xls_are_looked_at_too(tmp_path, monkeypatch):
    monkeypatch.setattr(workbooks, "available_memory", lambda: 4 << 30)
    assert workbooks._last_of_xls(XLS) == (3, 2)
    place = XLS.find(b"\x7e\x02\x0a\x00") + 4  # of a number
    content = XLS[:place] + struct.pack("<HH", 65535, 65535) + XLS[place + 4 :]
    (tmp_path / "t.xls").write_bytes(content)
    assert "row 65,536 and column 65,536" in refusal(tmp_path / "t.xls")


@pytest.mark.parametrize("seed", range(20))
def test_damaged_xls_ends_in_a_table_or_one_line(tmp_path, monkeypatch, seed):
    monkeypatch.setattr(workbooks, "available_memory", lambda: 4 << 30)
    rng = np.random.default_rng(seed)
    content = bytearray(XLS)
    for place in rng.integers(0, len(XLS), 40):
        content[place] = rng.integers(256)
    (tmp_path / "t.xls").write_bytes(b"\xd0\xcf\x11\xe0" + content[4:])
    with suppress(TableError):
        assert read_table(tmp_path / "t.xls").n_rows > 0
