"""The first model that says something, among parameters from best to worst."""

import numpy as np
import pytest

from sorr import ConstantModelWarning, RankedRangeClassifier
from sorr.estimators.search.refit import _is_harder, fit_first

TEMPLATE = RankedRangeClassifier(ranking="pooled", random_state=0)
FEW = [{"m": 0, "k": k, "C": C} for k in (1, 2, 3, 0.1) for C in (0.1, 1.0, 10.0, 1e4)]
ALL = {"m": 0, "k": None, "C": 1e4}


def rows(n=120):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 2))
    return X, np.where(X[:, 0] + 2 * random.normal(size=n) > 0, 1, 0)


def test_many_constant_models_are_passed_over():
    X, y = rows()
    model, place = fit_first(TEMPLATE, [*FEW, ALL], X, y)
    assert place == len(FEW) == 16
    assert model.k is None
    assert np.ptp(model.decision_function(X)) > 0.1


def test_what_must_be_constant_is_not_fitted(monkeypatch):
    fitted = []
    fit = RankedRangeClassifier.fit

    def noted(self, X, y, sample_weight=None):
        fitted.append((self.k, self.C))
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(RankedRangeClassifier, "fit", noted)
    X, y = rows()
    fit_first(TEMPLATE, [*FEW[::-1], ALL], X, y)  # the easiest first
    assert fitted == [(0.1, 1e4), (None, 1e4)]


def test_if_all_are_constant_the_first_is_taken_and_warns():
    X, y = rows()
    with pytest.warns(ConstantModelWarning):
        model, place = fit_first(TEMPLATE, FEW, X, y)
    assert place == 0
    assert (model.k, model.C) == (1, 0.1)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((0, 0.5, 1.0), (0, None, 1.0), True),
        ((0, 10, 1.0), (0.1, 0.5, 1.0), True),
        ((0.2, 0.5, 1.0), (0.1, 0.5, 1.0), False),
        ((0.1, None, 1.0), (0.1, 0.9, 1.0), False),
        ((0.1, 0.9, 2.0), (0.1, 0.9, 1.0), False),
    ],
)
def test_harder_means_no_rank_and_no_ridge_in_its_favour(one, other, expected):
    named = [dict(zip("mkC", cell, strict=True)) for cell in (one, other)]
    assert _is_harder(*named, 100) is expected
