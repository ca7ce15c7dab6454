import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import label_ranking_average_precision_score
from sklearn.multiclass import OneVsRestClassifier

from sorr.experiments import Cell
from sorr.experiments.label_sets.ours import Contest, measure_ours
from sorr.experiments.label_sets.scorers import SUM
from sorr.experiments.label_sets.splits import our_split
from tests.experiments.label_sets.literal import literal_accuracy

CANDIDATES = (0.3, 3.0, 30.0)
SPLIT = our_split("synthetic", 0)


@pytest.fixture(scope="module")
def contest():
    return Contest(SPLIT, candidates=CANDIDATES)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_lr_is_that_of_scikit_learn_with_c_chosen_on_validation_rows(contest, k):
    train, validation, test = SPLIT
    models = [
        OneVsRestClassifier(LogisticRegression(C=C / len(train.X), tol=1e-9, max_iter=1000)).fit(
            train.X, train.Y
        )
        for C in CANDIDATES
    ]
    scores = [[model.decision_function(part.X) for model in models] for part in (validation, test)]
    accuracies = [literal_accuracy(validation.Y, found, k) for found in scores[0]]
    precisions = [label_ranking_average_precision_score(validation.Y, f) for f in scores[0]]
    by_accuracy, by_precision = np.argmax(accuracies), np.argmax(precisions)

    found = contest.outcome("LR", k)
    assert (found.C, found.C_precision) == (CANDIDATES[by_accuracy], CANDIDATES[by_precision])
    assert found.validation_accuracy == pytest.approx(max(accuracies))
    assert found.validation_precision == pytest.approx(max(precisions))
    assert found.accuracy == literal_accuracy(test.Y, scores[1][by_accuracy], k)
    assert found.precision == pytest.approx(
        label_ranking_average_precision_score(test.Y, scores[1][by_precision])
    )


@pytest.mark.parametrize("name", ["LR", "label sets", SUM])
def test_what_is_chosen_does_not_depend_on_the_test_rows(contest, name):
    test = SPLIT.test._replace(Y=~SPLIT.test.Y)
    other = Contest(SPLIT._replace(test=test), candidates=CANDIDATES).outcome(name, 2)
    found = contest.outcome(name, 2)
    assert (found.C, found.C_precision) == (other.C, other.C_precision)
    assert found.validation_accuracy == other.validation_accuracy
    assert found.precision != other.precision


def test_the_sum_of_two_scores_takes_the_c_of_lr_for_its_logistic_part(contest):
    found, peer = contest.outcome(SUM, 2), contest.outcome("LR", 2)
    assert found.C[1] == peer.C
    assert found.C_precision[1] == peer.C_precision
    assert found.C[0] in CANDIDATES
    assert (found.model.C, found.model.C_logistic) == found.C


def test_a_model_that_knows_no_k_is_fitted_once():
    contest = Contest(SPLIT, candidates=(3.0,))
    assert contest.path("LR", 1) is contest.path("LR", 3)
    assert contest.path("subset", 1) is contest.path("subset", 1)
    assert contest.path("subset", 1) is not contest.path("subset", 3)


def test_an_outcome_becomes_a_row_in_per_cent(contest):
    found = contest.outcome("label sets", 2)
    values, chosen, objective, gap, status, _ = found.measured()
    assert values == {"accuracy": 100 * found.accuracy, "precision": 100 * found.precision}
    assert chosen["C"] == found.C
    assert chosen["validation_precision"] == 100 * found.validation_precision
    assert objective == found.model.objective_
    assert gap == found.model.gap_
    assert status == "OPTIMAL"
    assert np.isnan(contest.outcome("LR", 2).measured().objective)


@pytest.mark.digits
def test_a_cell_has_the_same_numbers_whichever_others_are_measured():
    cells = tuple(Cell("ours", "synthetic", "LR", f"k={k}", 1) for k in (1, 2, 3))
    together = dict(measure_ours(cells))
    assert list(together) == list(cells)
    (_, alone), *_ = measure_ours(cells[2:])
    assert (alone.values, alone.chosen) == together[cells[2]][:2]
