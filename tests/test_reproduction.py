"""The tables of the committed run are views of its rows, to the byte."""

from pathlib import Path

import pytest

from sorr.experiments import EXPERIMENTS, draw, get_experiment, row_file

RUN = Path(__file__).parents[1] / "docs" / "reproduction"
TABLES = [
    name for name in EXPERIMENTS if (RUN / f"{name}.md").exists() or (RUN / f"{name}.csv").exists()
]


@pytest.mark.parametrize("name", TABLES)
def test_a_committed_table_is_what_its_rows_give(name, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    experiment = get_experiment(name)
    plan = experiment.plan()
    rows = row_file(experiment, plan, RUN).path
    copy = row_file(experiment, plan, tmp_path).path
    copy.parent.mkdir()
    copy.write_bytes(rows.read_bytes())
    drawn = draw(experiment, plan, tmp_path)
    assert drawn
    for path in drawn:
        if path.suffix != ".png":  # the pixels of a figure depend on the version of matplotlib
            assert path.read_bytes() == (RUN / path.name).read_bytes(), path.name
        else:
            assert (RUN / path.name).exists()


def test_there_is_a_table_or_a_figure_of_every_experiment():
    shown = {path.stem for path in RUN.glob("*") if path.suffix in {".md", ".png"}}
    assert set(EXPERIMENTS) <= shown
