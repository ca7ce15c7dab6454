"""Files that are written whole or not at all."""

import os
from pathlib import Path

import pytest

from sorr._files import check_name, write_all_atomically, write_atomically


def test_a_file_is_written_into_a_folder_that_is_made(tmp_path):
    path = tmp_path / "new" / "folder" / "table.csv"
    assert write_atomically(path, b"a,b\n") == path
    assert path.read_bytes() == b"a,b\n"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("content", "written"),
    [
        ("é\r\nb\n", "é\r\nb\n".encode()),
        (iter(["a\n", "b\n"]), b"a\nb\n"),
        (b"\x00\xff", b"\x00\xff"),
        (iter([b"\x00", b"\xff"]), b"\x00\xff"),
    ],
)
def test_texts_and_bytes_are_written_as_they_are(content, written, tmp_path):
    path = write_atomically(tmp_path / "file", content)
    assert path.read_bytes() == written


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    def lines():
        yield "half of it\n"
        raise OSError("the disk is full")

    path = write_atomically(tmp_path / "file", "old")
    with pytest.raises(OSError, match="the disk is full"):
        write_atomically(path, lines())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_several_files_are_moved_only_when_all_are_complete(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"

    def refuse():
        assert not first.exists()
        assert not second.exists()
        raise FileExistsError("taken")

    with pytest.raises(FileExistsError, match="taken"):
        write_all_atomically({first: "1", second: b"2"}, refuse)
    assert list(tmp_path.iterdir()) == []
    write_all_atomically({first: "1", second: b"2"})
    assert (first.read_text(), second.read_text()) == ("1", "2")


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_is_replaced_and_not_followed(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("untouched")
    link.symlink_to(target)
    write_atomically(link, "new")
    assert (target.read_text(), link.read_text(), link.is_symlink()) == ("untouched", "new", False)


@pytest.mark.skipif(os.name == "nt", reason="modes are those of POSIX")
def test_a_file_has_the_usual_mode(tmp_path):
    usual = tmp_path / "usual"
    usual.write_text("")
    path = write_atomically(tmp_path / "file", "")
    assert path.stat().st_mode == usual.stat().st_mode


@pytest.mark.parametrize(
    ("name", "better"),
    [
        ("NUL", "NUL_"),
        ("con.tar.gz", "con_.tar.gz"),
        ("Lpt9 .csv", "Lpt9_.csv"),
        ("com\u00b9.csv", "com\u00b9_.csv"),
        ("conout$", "conout$_"),
        ("a:b.csv", "a_b.csv"),
        ("two\nlines", "two_lines"),
        ("a\\b", "a_b"),
        ("end.", "end"),
        ("end. ", "end"),
        ("...", "table"),
    ],
)
def test_a_name_that_windows_does_not_have_is_refused_with_a_better_one(name, better):
    with pytest.raises(ValueError, match="Windows") as caught:
        check_name(Path("folder") / name)
    assert str(caught.value).endswith(f"such as {better!r}")
    assert len(str(caught.value).splitlines()) == 1
    check_name(Path("folder") / better)


@pytest.mark.parametrize(
    "name", ["c.csv", "com10.csv", "console", "nullable.csv", ".hidden", "\u00e9"]
)
def test_other_names_are_fine(name):
    check_name(Path("nul") / name)
