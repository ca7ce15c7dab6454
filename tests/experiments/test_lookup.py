import pickle

import pytest

from sorr.experiments import EXPERIMENTS, PROTOCOLS, get_experiment
from sorr.experiments.rows import RowFile


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("tabel1", "did you mean 'table1'?"),
        ("fig-toys", "did you mean 'fig-toy'?"),
        ("xyz", "needed one of table1, table2"),
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
