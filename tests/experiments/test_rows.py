import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sorr.experiments import RefusedError, RowFile
from sorr.experiments.rows import KEY, exclusive

CELL = {"protocol": "ours", "dataset": "monk", "model": "AoRR", "setting": "", "split": 0}


@pytest.fixture
def file(tmp_path):
    return RowFile(tmp_path / "rows" / "some.csv", ["error"])


def row(split, **fields):
    return {**CELL, "split": split, "error": float(split), "chosen": {"m": '½, "τ"'}, **fields}


# One physical line is one row. These end a line for str.splitlines, not for us.
OTHER_LINE_ENDS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
texts = st.text(
    st.one_of(
        st.sampled_from('",; \t\\#' + OTHER_LINE_ENDS),
        st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"),
    )
)
plain = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text())
documents = st.dictionaries(st.text(), st.one_of(plain, st.lists(plain, max_size=3)), max_size=3)
rows = st.fixed_dictionaries(
    {
        **dict.fromkeys(["protocol", "dataset", "model", "setting", "status"], texts),
        **dict.fromkeys(["error", "objective", "gap", "seconds"], st.floats()),
        **dict.fromkeys(["chosen", "versions"], documents),
        **dict.fromkeys(["split", "seed"], st.integers(0, 2**32)),
    }
)


@settings(max_examples=50)  # each is several writes to the disk
@given(st.lists(rows, max_size=3, unique_by=lambda row: tuple(row[name] for name in KEY)))
def test_what_is_added_is_read_again_whatever_is_in_it(given_rows):
    with tempfile.TemporaryDirectory() as folder:
        file = RowFile(Path(folder) / "rows.csv", ["error"])
        for each in given_rows:
            file.add(each)
        np.testing.assert_equal(file.read(), given_rows)


def test_floats_of_numpy_are_kept_to_the_last_digit(file):
    chosen = {"C": np.float32(0.1), "m": np.int64(3), "grid": np.array([0.5, 1.0])}
    file.add(row(0, error=np.float64(1) / 3, gap=np.float32(0.1), chosen=chosen))
    (found,) = file.read()
    assert (found["error"], found["gap"]) == (1 / 3, float(np.float32(0.1)))
    assert found["chosen"] == {"C": float(np.float32(0.1)), "m": 3, "grid": [0.5, 1.0]}


def test_what_is_not_given_is_nothing_when_read(file):
    file.add({**CELL, "error": 1.0})
    (found,) = file.read()
    assert np.isnan([found["objective"], found["gap"], found["seconds"]]).all()
    assert (found["chosen"], found["versions"], found["status"], found["seed"]) == ({}, {}, "", 0)


@pytest.mark.parametrize("text", ["two\nlines", "two\rlines"])
def test_a_text_with_a_line_break_is_refused_and_nothing_is_written(file, text):
    with pytest.raises(ValueError, match="a row is one line; given 'two"):
        file.add(row(0, status=text))
    assert not file.path.exists()


def test_no_file_is_no_rows(file):
    assert file.read() == []


def test_of_two_rows_for_a_cell_the_first_counts(file):
    file.add(row(0))
    file.add(row(0, error=99.0))
    assert [found["error"] for found in file.read()] == [0.0]


def test_a_row_cut_anywhere_is_not_read_and_gives_way_to_the_next(file):
    for split in range(3):
        file.add(row(split))
    whole = file.path.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    assert len(whole) - last > 50
    for end in range(last, len(whole)):
        file.path.write_bytes(whole[:end])
        assert [found["split"] for found in file.read()] == [0, 1]
        file.add(row(2))
        assert file.path.read_bytes() == whole


def test_a_header_cut_anywhere_is_written_again(file):
    file.add(row(0))
    whole = file.path.read_bytes()
    for end in range(whole.find(b"\n") + 1):
        file.path.write_bytes(whole[:end])
        assert file.read() == []
        file.add(row(0))
        assert file.path.read_bytes() == whole


@pytest.mark.parametrize("place", ["½", "0.1"], ids=["in the middle", "at the end"])
def test_a_spoilt_line_costs_no_other_row(file, place):
    for split in range(3):
        file.add(row(split, versions={"sorr": "0.1"}))
    header, first, second, third = file.path.read_text(encoding="utf-8").splitlines()
    spoilt = second[: second.index(json.dumps(place)[1:-1])]  # it ends within quotes
    file.path.write_text("\n".join([header, first, spoilt, third, ""]), encoding="utf-8")
    assert [found["split"] for found in file.read()] == [0, 2]


def test_other_columns_are_refused_by_name(file):
    file.add(row(0))
    other = RowFile(file.path, ["accuracy"])
    with pytest.raises(RefusedError, match=r"some\.csv has the columns .*error.*; needed .*accur"):
        other.read()


def test_rows_of_many_threads_are_all_whole(file):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(file.add, map(row, range(200))))
    assert sorted(found["split"] for found in file.read()) == list(range(200))
    assert file.path.read_text().count("protocol") == 1


def test_rows_of_several_processes_are_all_whole(file):
    script = f"""if True:
        import sys
        from pathlib import Path
        from sorr.experiments.rows import RowFile
        for split in range(int(sys.argv[1]), 90, 3):
            chosen = {{"long": "x" * 5000}}
            file = RowFile(Path({str(file.path)!r}), ["error"])
            file.add({{**{CELL!r}, "split": split, "error": 1.0, "chosen": chosen}})
    """
    processes = [subprocess.Popen([sys.executable, "-c", script, str(i)]) for i in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    found = file.read()
    assert sorted(each["split"] for each in found) == list(range(90))
    assert {len(each["chosen"]["long"]) for each in found} == {5000}


def test_a_folder_is_held_by_one_run_at_a_time(tmp_path):
    with exclusive(tmp_path):
        for _ in range(2):  # a run that is refused sets nothing free
            with pytest.raises(RefusedError, match="another run writes"), exclusive(tmp_path):
                pytest.fail("two runs hold the folder")
    with exclusive(tmp_path):
        pass


def test_a_run_that_fails_sets_the_folder_free_and_its_error_is_its_own(tmp_path):
    with pytest.raises(BlockingIOError, match="of the run"), exclusive(tmp_path):
        raise BlockingIOError("of the run")
    with exclusive(tmp_path):
        pass
