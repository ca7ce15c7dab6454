import pickle
import zlib

import pytest

from sorr.experiments import EXPERIMENTS, PROTOCOLS, Cell, Plan, RowFile, get_experiment
from tests.experiments.fakes import failing

EXPERIMENT = failing(RuntimeError())


def test_a_cell_reads_as_its_names_without_an_empty_setting():
    assert str(Cell("ours", "monk", "AoRR", "", 3)) == "ours monk AoRR 3"
    assert str(Cell("ours", "monk", "AoRR", "m=0.1", 0)) == "ours monk AoRR m=0.1 0"


def test_the_seed_of_a_cell_is_the_checksum_of_data_set_and_split():
    assert Cell("ours", "monk", "AoRR", "", 3).seed == zlib.crc32(b"monk 3")


def test_models_protocols_and_settings_share_the_seed_of_a_split_and_splits_do_not():
    cell = Cell("ours", "monk", "AoRR", "", 3)
    others = cell._replace(model="average"), cell._replace(protocol="paper", setting="hinge")
    assert {other.seed for other in others} == {cell.seed}
    assert cell._replace(split=4).seed != cell.seed
    assert cell._replace(dataset="titanic").seed != cell.seed


def test_a_plan_has_the_defaults_of_its_experiment():
    assert EXPERIMENT.plan() == Plan(("paper", "ours"), splits=3, quick=False)
    assert EXPERIMENT.plan(quick=True) == Plan(("paper", "ours"), splits=1, quick=True)


def test_a_plan_takes_what_it_is_told():
    assert EXPERIMENT.plan(("ours",), splits=2) == Plan(("ours",), splits=2, quick=False)
    assert EXPERIMENT.plan(splits=2, quick=True).splits == 2


@pytest.mark.parametrize("wanted", [("paper", "ours"), ("paper",), ("ours",)])
def test_an_experiment_of_one_protocol_follows_that_one_whatever_is_wanted(wanted):
    assert failing(RuntimeError(), protocols=("ours",)).plan(wanted).protocols == ("ours",)


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("tabel1", "did you mean 'table1'?"),
        ("fig-toys", "did you mean 'fig-toy'?"),
        ("xyz", "needed one of 'table1', 'table2'"),
    ],
)
def test_a_wrong_name_is_answered_with_the_closest_one(wrong, hint):
    with pytest.raises(ValueError, match=f"there is no experiment '{wrong}'") as caught:
        get_experiment(wrong)
    assert hint in str(caught.value)


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("quick", [True, False], ids=["quick", "full"])
def test_every_experiment_keeps_the_contract_of_the_runner(name, quick, tmp_path):
    experiment = get_experiment(name)
    assert experiment.name == name
    assert experiment.title
    assert set(experiment.protocols) <= set(PROTOCOLS)
    plan = experiment.plan(quick=quick)
    tasks = experiment.tasks(plan)
    cells = [cell for task in tasks for cell in task.cells]
    assert cells
    assert len(set(cells)) == len(cells), "a cell is measured once"
    assert {cell.protocol for cell in cells} == set(plan.protocols)
    assert all(task.cost > 0 and task.cells for task in tasks)
    for task in tasks:
        sent = pickle.loads(pickle.dumps(task))
        assert sent.cells == task.cells, "it may be measured in another process"
    columns = RowFile(tmp_path / "rows.csv", experiment.measures).columns
    assert len(set(columns)) == len(columns), "a measure has a column of its own"
