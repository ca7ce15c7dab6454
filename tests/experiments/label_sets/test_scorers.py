import numpy as np
import pytest
from sklearn.metrics import label_ranking_average_precision_score

from sorr.experiments.label_sets.scorers import SCORERS, SUM, best, fit_both, fit_margins, fit_path
from sorr.experiments.label_sets.splits import our_split
from tests.experiments.label_sets.literal import literal_accuracy

TRAIN, VALIDATION, _ = our_split("synthetic", 0)


@pytest.mark.parametrize("name", ["LR", "LSEP linear", "subset"])
def test_what_is_measured_is_what_the_metrics_say(name):
    scorer = SCORERS[name]
    model = fit_path(scorer, 2, TRAIN, [1.0]).models[0]
    scores = VALIDATION.X @ model.coef_.T + model.intercept_
    assert scorer.accuracy(model, VALIDATION, 2) == literal_accuracy(VALIDATION.Y, scores, 2)
    assert scorer.precision(model, VALIDATION) == pytest.approx(
        label_ranking_average_precision_score(VALIDATION.Y, scores)
    )


def test_label_sets_are_ranked_for_precision_by_the_probability_of_each_label():
    scorer = SCORERS["label sets"]
    model = fit_path(scorer, 2, TRAIN, [1.0]).models[0]
    marginals = np.zeros(VALIDATION.Y.shape)
    for i, row in enumerate(model.predict_set_proba(VALIDATION.X)):
        for probability, members in zip(row, model.sets_, strict=True):
            marginals[i, np.flatnonzero(members)] += probability
    assert scorer.precision(model, VALIDATION) == pytest.approx(
        label_ranking_average_precision_score(VALIDATION.Y, marginals), abs=1e-6
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
