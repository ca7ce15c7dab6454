import numpy as np
import pytest
from sklearn.metrics import label_ranking_average_precision_score

from sorr.experiments import Cell
from sorr.experiments.label_sets.paper import measure_paper
from sorr.experiments.label_sets.released import released_tkml
from sorr.experiments.label_sets.splits import paper_split
from sorr.experiments.published import LoopSetting


def cell(model, k, split=0):
    return Cell("paper", "synthetic", model, f"k={k}", split)


def test_tkml_is_what_the_released_loop_ends_with():
    train, validation, test = paper_split("synthetic", 1)
    found = released_tkml(train, validation, 2, LoopSetting(1e4, 4, 50, 0.1))
    ((_, measured),) = measure_paper((cell("tkml", 2, split=1),))
    scores = found.scores(test.X)
    precision = label_ranking_average_precision_score(test.Y, scores)
    assert measured.values["precision"] == pytest.approx(100 * precision)
    assert measured.chosen["validation_accuracy"] == pytest.approx(100 * found.accuracy)
    best = [set(np.argsort(row)[-2:].tolist()) for row in scores]
    true = [set(np.flatnonzero(row).tolist()) for row in test.Y]
    right = [z <= y or y <= z for z, y in zip(best, true, strict=True)]
    assert measured.values["accuracy"] == pytest.approx(100 * np.mean(right))


def test_lr_and_lsep_choose_among_the_powers_of_ten_of_the_text():
    found = dict(measure_paper((cell("LR", 1), cell("LSEP", 1), cell("LSEP", 3))))
    powers = {10.0**i for i in range(6)}
    assert all(measured.chosen["C"] in powers for measured in found.values())
    assert all(measured.chosen["C_precision"] in powers for measured in found.values())


@pytest.mark.digits
def test_a_cell_has_the_same_numbers_whichever_others_are_measured():
    cells = (cell("LR", 1), cell("tkml", 1), cell("tkml", 2))
    together = dict(measure_paper(cells))
    assert list(together) == list(cells)
    for one in cells:
        ((_, alone),) = measure_paper((one,))
        assert (alone.values, alone.chosen) == together[one][:2]
