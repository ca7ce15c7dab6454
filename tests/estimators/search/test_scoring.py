from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import make_scorer, max_error

from sorr.estimators.search.scoring import make_scoring

X = np.zeros((5, 1))


def predicts(values):
    return SimpleNamespace(predict=lambda _: np.asarray(values))


def test_classes_are_scored_by_the_share_of_right_predictions():
    scoring = make_scoring(None, is_classes=True)
    model, y = predicts(list("aabba")), np.array(list("abbbb"))
    assert scoring.score(model, X, y, None) == 0.6
    assert scoring.score(model, X, y, np.array([1.0, 2.0, 1.0, 1.0, 0.0])) == 0.6
    assert scoring.error(np.array([0.6])).tolist() == [0.4]


@pytest.mark.parametrize(
    "weight", [[1, 1, 1, 1, 1], [1, 0, 3, 1, 1], [2, 1, 1, 0, 0], [3, 1, 1, 1, 1]]
)
def test_numbers_are_scored_by_the_median_error_of_copies(weight):
    scoring = make_scoring(None, is_classes=False)
    y, errors = np.zeros(5), np.array([1.0, -2.0, 4.0, 8.0, 100.0])
    weight = np.array(weight, dtype=float)
    expected = -np.median(np.abs(np.repeat(errors, weight.astype(int))))
    assert scoring.score(predicts(errors), X, y, weight) == pytest.approx(expected, rel=1e-12)
    assert scoring.error(np.array([expected])).tolist() == [-expected]


def test_weights_of_any_size_have_a_median():
    scoring = make_scoring(None, is_classes=False)
    weight = np.array([0.1, 0.1, 0.3])
    found = scoring.score(predicts([1.0, 2.0, 3.0]), X[:3], np.zeros(3), weight)
    assert -3.0 <= found <= -1.0


def test_names_are_those_of_scikit_learn():
    scoring = make_scoring("neg_mean_absolute_error", is_classes=False)
    assert scoring.is_loss
    assert scoring.takes_weight
    assert not make_scoring("balanced_accuracy", is_classes=True).is_loss


def test_a_score_that_takes_no_weights_is_given_none():
    assert not make_scoring(make_scorer(max_error, greater_is_better=False), False).takes_weight
    scoring = make_scoring(lambda *given: len(given), is_classes=True)
    assert scoring.score(None, X, np.zeros(5), np.ones(5)) == 3


def test_what_is_no_score_is_refused():
    with pytest.raises(ValueError, match="acuracy"):
        make_scoring("acuracy", is_classes=True)
    with pytest.raises(TypeError, match="needed the name of one score"):
        make_scoring(["accuracy", "f1"], is_classes=True)
