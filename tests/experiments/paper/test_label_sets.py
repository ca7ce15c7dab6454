import zlib

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import label_ranking_average_precision_score
from sklearn.multiclass import OneVsRestClassifier

from sorr.experiments import Cell
from sorr.experiments.paper.label_sets import (
    SCORERS,
    SUM,
    Contest,
    best,
    fit_both,
    fit_margins,
    fit_path,
    measure_ours,
    measure_paper,
    our_split,
    paper_split,
)
from sorr.experiments.paper.released import run_label_set_loop
from sorr.experiments.published import LoopSetting
from tests.experiments.paper.literal import literal_accuracy


def generated():
    return make_multilabel_classification(
        100, 8, n_classes=6, allow_unlabeled=False, random_state=0
    )


def sets_of(split):
    """Return the rows of all parts, each as one tuple of numbers with its labels, sorted."""
    return sorted(
        (*np.round(x, 9), *y) for part in split for x, y in zip(part.X, part.y, strict=True)
    )


@pytest.mark.parametrize("draw", [our_split, paper_split])
def test_parts_are_a_half_and_two_quarters_of_rows_that_have_labels(draw):
    split = draw("synthetic", 0)
    assert [len(part.X) for part in split] == [50, 25, 25]
    assert all(part.y.dtype == bool and part.y.any(axis=1).all() for part in split)


@pytest.mark.parametrize("draw", [our_split, paper_split])
def test_a_split_is_the_same_each_time_and_another_for_another_number(draw):
    first, again, other = draw("synthetic", 3), draw("synthetic", 3), draw("synthetic", 4)
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.X, two.X)
        np.testing.assert_array_equal(one.y, two.y)
    assert not np.array_equal(first.train.y, other.train.y)


def test_our_columns_are_standardised_by_training_rows_alone():
    train, validation, test = our_split("synthetic", 0)
    np.testing.assert_allclose(train.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(train.X.std(axis=0), 1)
    assert np.abs(np.vstack([validation.X, test.X]).mean(axis=0)).max() > 0.01


def test_our_order_is_drawn_by_the_names_of_the_data_set_and_the_split():
    _, Y = generated()
    order = np.random.default_rng(zlib.crc32(b"synthetic 2")).permutation(len(Y))
    found = np.vstack([part.y for part in our_split("synthetic", 2)])
    np.testing.assert_array_equal(found, Y[order] > 0)


def test_the_papers_columns_go_from_minus_one_to_one_over_all_rows():
    X = np.vstack([part.X for part in paper_split("synthetic", 0)])
    np.testing.assert_allclose(X.min(axis=0), -1)
    np.testing.assert_allclose(X.max(axis=0), 1)


def test_the_papers_splits_hold_the_same_rows_drawn_by_seeds_from_one():
    X, Y = generated()
    low, high = X.min(axis=0), X.max(axis=0)
    order = np.random.RandomState(1).permutation(len(X))
    first = paper_split("synthetic", 0)
    np.testing.assert_allclose(
        first.train.X, (-1 + 2 * (X - low) / (high - low))[order[:50]], atol=1e-7
    )
    np.testing.assert_array_equal(first.test.y, Y[order[75:]] > 0)
    assert sets_of(first) == sets_of(paper_split("synthetic", 5))


TRAIN, VALIDATION, _ = our_split("synthetic", 0)


@pytest.mark.parametrize("name", ["LR", "LSEP linear", "subset"])
def test_what_is_measured_is_what_the_metrics_say(name):
    scorer = SCORERS[name]
    model = fit_path(scorer, 2, TRAIN, [1.0]).models[0]
    scores = VALIDATION.X @ model.coef_.T + model.intercept_
    assert scorer.accuracy(model, VALIDATION, 2) == literal_accuracy(VALIDATION.y, scores, 2)
    assert scorer.precision(model, VALIDATION) == pytest.approx(
        label_ranking_average_precision_score(VALIDATION.y, scores)
    )


def test_label_sets_are_ranked_for_precision_by_the_probability_of_each_label():
    scorer = SCORERS["label sets"]
    model = fit_path(scorer, 2, TRAIN, [1.0]).models[0]
    marginals = np.zeros(VALIDATION.y.shape)
    for i, row in enumerate(model.predict_set_proba(VALIDATION.X)):
        for probability, members in zip(row, model.sets_, strict=True):
            marginals[i, np.flatnonzero(members)] += probability
    assert scorer.precision(model, VALIDATION) == pytest.approx(
        label_ranking_average_precision_score(VALIDATION.y, marginals), abs=1e-6
    )


def test_a_path_has_a_model_for_each_candidate_with_the_factor_of_the_scorer():
    path = fit_path(SCORERS["LSEP"], 1, TRAIN, [0.3, 3.0])
    assert [model.C for model in path.models] == pytest.approx([4.8, 48.0])
    assert np.linalg.norm(path.models[0].coef_) < np.linalg.norm(path.models[1].coef_)
    assert path.seconds > 0


def test_the_margins_of_the_sum_are_fitted_for_each_candidate():
    weak, strong = fit_margins(2, TRAIN, [0.1, 10.0])
    assert weak.coef.shape == (8, 6)
    assert np.linalg.norm(weak.coef) < np.linalg.norm(strong.coef)


def test_the_sum_takes_a_c_for_each_of_its_parts():
    model = fit_both(2, 1.0, 30.0, TRAIN)
    assert (model.loss, model.k, model.C, model.C_logistic) == (SUM, 2, 1.0, 30.0)
    assert not np.allclose(model.coef_, fit_both(2, 1.0, 0.3, TRAIN).coef_)


def test_ties_go_to_the_first():
    assert best([0.1, 0.4, 0.4]) == 1


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
            train.X, train.y
        )
        for C in CANDIDATES
    ]
    scores = [[model.decision_function(part.X) for model in models] for part in (validation, test)]
    accuracies = [literal_accuracy(validation.y, found, k) for found in scores[0]]
    precisions = [label_ranking_average_precision_score(validation.y, f) for f in scores[0]]
    by_accuracy, by_precision = np.argmax(accuracies), np.argmax(precisions)

    found = contest.outcome("LR", k)
    assert (found.C, found.C_precision) == (CANDIDATES[by_accuracy], CANDIDATES[by_precision])
    assert found.validation_accuracy == pytest.approx(max(accuracies))
    assert found.validation_precision == pytest.approx(max(precisions))
    assert found.accuracy == literal_accuracy(test.y, scores[1][by_accuracy], k)
    assert found.precision == pytest.approx(
        label_ranking_average_precision_score(test.y, scores[1][by_precision])
    )


@pytest.mark.parametrize("name", ["LR", "label sets", SUM])
def test_what_is_chosen_does_not_depend_on_the_test_rows(contest, name):
    test = SPLIT.test._replace(y=~SPLIT.test.y)
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


def cell(model, k, split=0):
    return Cell("paper", "synthetic", model, f"k={k}", split)


def test_tkml_is_what_the_released_loop_ends_with():
    train, validation, test = paper_split("synthetic", 1)
    found = run_label_set_loop(train, validation, 2, LoopSetting(1e4, 4, 50, 0.1))
    ((_, measured),) = measure_paper((cell("tkml", 2, split=1),))
    scores = found.scores(test.X)
    precision = label_ranking_average_precision_score(test.y, scores)
    assert measured.values["precision"] == pytest.approx(100 * precision)
    assert measured.chosen["validation_accuracy"] == pytest.approx(100 * found.accuracy)
    best = [set(np.argsort(row)[-2:].tolist()) for row in scores]
    true = [set(np.flatnonzero(row).tolist()) for row in test.y]
    right = [z <= y or y <= z for z, y in zip(best, true, strict=True)]
    assert measured.values["accuracy"] == pytest.approx(100 * np.mean(right))


def test_lr_and_lsep_choose_among_the_powers_of_ten_of_the_text():
    found = dict(measure_paper((cell("LR", 1), cell("LSEP", 1), cell("LSEP", 3))))
    powers = {10.0**i for i in range(6)}
    assert all(measured.chosen["C"] in powers for measured in found.values())
    assert all(measured.chosen["C_precision"] in powers for measured in found.values())


@pytest.mark.digits
def test_a_cell_of_the_paper_has_the_same_numbers_whichever_others_are_measured():
    cells = (cell("LR", 1), cell("tkml", 1), cell("tkml", 2))
    together = dict(measure_paper(cells))
    assert list(together) == list(cells)
    for one in cells:
        ((_, alone),) = measure_paper((one,))
        assert (alone.values, alone.chosen) == together[one][:2]
