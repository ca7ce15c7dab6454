import os
import tempfile

import pytest

from sorr.cli.outputs import check_places, write_files


def test_files_are_there_and_nothing_else(tmp_path):
    folder = tmp_path / "a" / "b"
    places = [folder / "x.txt", folder / "y.bin", folder / "z.csv"]
    check_places(places, force=False)
    assert not (tmp_path / "a").exists()  # asking leaves no trace
    contents = ["é\r\n", b"\x00\xff", iter(["1\n", "2\n"])]
    write_files(dict(zip(places, contents, strict=True)), force=False)
    assert [path.read_bytes() for path in places] == ["é\r\n".encode(), b"\x00\xff", b"1\n2\n"]
    assert sorted(folder.iterdir()) == places


def test_what_is_there_is_not_overwritten_unless_forced(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("old")
    for act in (
        lambda: check_places([tmp_path / "y", path], force=False),
        lambda: write_files({path: "new", tmp_path / "y": "new"}, force=False),
    ):
        with pytest.raises(FileExistsError, match=r"x\.txt exists already; --force overwrites"):
            act()
    assert [it.name for it in tmp_path.iterdir()] == ["x.txt"]
    assert path.read_text() == "old"
    check_places([path], force=True)
    write_files({path: "new"}, force=True)
    assert path.read_text() == "new"


def test_all_that_are_there_are_named_at_once(tmp_path):
    for name in "ab":
        (tmp_path / name).touch()
    with pytest.raises(FileExistsError, match=r"a, .*b exist already"):
        check_places([tmp_path / "a", tmp_path / "b"], force=False)


def test_a_folder_at_the_place_of_a_file_is_never_replaced(tmp_path):
    (tmp_path / "x").mkdir()
    with pytest.raises(IsADirectoryError, match="x is a folder; name another place"):
        check_places([tmp_path / "x"], force=True)


def test_a_file_at_the_place_of_a_folder_is_refused(tmp_path):
    (tmp_path / "x").touch()
    with pytest.raises(NotADirectoryError, match="x is no folder; name another place"):
        check_places([tmp_path / "x" / "y" / "z.csv"], force=True)


def test_a_place_that_cannot_be_written_to_is_refused_at_once(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", refuse)
    with pytest.raises(
        PermissionError, match=r"nothing can be written to .* \(Permission denied\)"
    ):
        check_places([tmp_path / "x"], force=True)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is forbidden to root"
)
def test_a_folder_without_the_right_to_write_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="nothing can be written to"):
        check_places([tmp_path / "x"], force=True)


@pytest.mark.parametrize("is_broken", [False, True])
def test_a_link_is_replaced_and_never_followed(tmp_path, is_broken):
    victim = tmp_path / "victim"
    if not is_broken:
        victim.write_text("precious")
    path = tmp_path / "x.txt"
    path.symlink_to(victim)
    with pytest.raises(FileExistsError):
        check_places([path], force=False)
    write_files({path: "new"}, force=True)
    assert path.read_text() == "new"
    assert not path.is_symlink()
    assert is_broken != victim.exists()
    assert is_broken or victim.read_text() == "precious"


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_interruption_leaves_the_old_files_and_no_others(tmp_path, error):
    def lines():
        yield "half"
        raise error

    old = tmp_path / "x.txt"
    old.write_text("old")
    with pytest.raises(error):
        write_files({old: "new", tmp_path / "y.txt": lines()}, force=True)
    assert [it.name for it in tmp_path.iterdir()] == ["x.txt"]
    assert old.read_text() == "old"


def test_files_have_the_usual_rights(tmp_path):
    usual, path = tmp_path / "usual", tmp_path / "x"
    usual.touch()
    write_files({path: "x"}, force=False)
    assert path.stat().st_mode == usual.stat().st_mode
