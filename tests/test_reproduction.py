"""The committed run is whole, and its tables are views of its rows, to the byte."""

import sys
from pathlib import Path

import pytest

from sorr.experiments import EXPERIMENTS, Cell, draw, get_experiment, row_file
from tests.slow import slow

pytestmark = pytest.mark.digits

RUN = Path(__file__).parents[1] / "docs" / "reproduction"
TABLES = [
    name for name in EXPERIMENTS if (RUN / f"{name}.md").exists() or (RUN / f"{name}.csv").exists()
]
DRAWN = [name for name in TABLES if any(RUN.glob(f"{name}*.png"))]
# Of all but one, the bytes beside the figure are compared by default without drawing it.
FIRST = [name for name in TABLES if name not in DRAWN or name == "fig-classwise"]


@pytest.fixture(autouse=True)
def no_data(monkeypatch, tmp_path_factory):
    """Hide data sets: the committed run is drawn without them."""
    for name in ("SORR_DATA", "SORR_CACHE"):
        monkeypatch.setenv(name, str(tmp_path_factory.getbasetemp() / "nothing is here"))


def drawn_in(folder, name):
    """Draw an experiment from a copy of its committed rows."""
    experiment = get_experiment(name)
    plan = experiment.plan()
    copy = row_file(experiment, plan, folder).path
    copy.parent.mkdir()
    copy.write_bytes(row_file(experiment, plan, RUN).path.read_bytes())
    return draw(experiment, plan, folder)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_cell_of_the_committed_run_has_its_row(name):
    experiment = get_experiment(name)
    plan = experiment.plan()
    rows = row_file(experiment, plan, RUN).read()
    cells = {cell for task in experiment.tasks(plan) for cell in task.cells}
    assert {Cell(*(row[field] for field in Cell._fields)) for row in rows} == cells


@pytest.mark.parametrize("name", DRAWN)
def test_without_matplotlib_all_is_written_but_the_figure(name, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="matplotlib"):
        drawn_in(tmp_path, name)
    written = [path for path in tmp_path.iterdir() if path.is_file()]
    assert {path.name for path in written} == {f"{name}.md", f"{name}.csv"}
    for path in written:
        assert path.read_bytes() == (RUN / path.name).read_bytes(), path.name


@pytest.mark.parametrize("name", [*FIRST, *slow(*(name for name in TABLES if name not in FIRST))])
def test_a_committed_table_is_what_its_rows_give(name, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    drawn = drawn_in(tmp_path, name)
    assert drawn
    for path in drawn:
        if path.suffix != ".png":  # the pixels of a figure depend on the version of matplotlib
            assert path.read_bytes() == (RUN / path.name).read_bytes(), path.name
        else:
            assert (RUN / path.name).exists()


def test_there_is_a_table_or_a_figure_of_every_experiment():
    shown = {path.stem for path in RUN.glob("*") if path.suffix in {".md", ".png"}}
    assert set(EXPERIMENTS) <= shown
