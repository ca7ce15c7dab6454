"""The displays on searches of this library."""

import numpy as np
from numpy.testing import assert_array_equal

from sorr.estimators import RankedRangeClassifierCV
from sorr.plots import DecisionBoundaryDisplay, RankedLossDisplay, TendencyDisplay


def noisy_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 2))
    y = (X @ [3.0, 1.0] + rng.normal(size=160) > 0) ^ (rng.random(160) < 0.1)
    return X, np.where(y, "spam", "ham")


def test_the_curve_of_a_search_is_the_lowest_error_of_its_results():
    rows = noisy_rows()
    grid = {"m": [0, 0.1, 0.2], "k": [0.5, None], "C": [1.0, 100.0]}
    search = RankedRangeClassifierCV(grid, cv=2, random_state=0).fit(*rows)
    results = search.cv_results_
    error = results["mean_test_error"]
    for name, places in (("m", [0, 0.1, 0.2]), ("k", [0.5, 1.0])):
        display = TendencyDisplay.from_estimator(search, name)
        column = list(results[f"param_{name}"])
        wanted = [
            min(e for e, cell in zip(error, column, strict=True) if cell == value)
            for value in grid[name]
        ]
        assert_array_equal(display.line_.get_xydata(), np.column_stack([places, wanted]))
        assert display.chosen[0] == search.best_params_[name]
        assert display.average == min(
            e
            for e, m, k in zip(error, results["param_m"], results["param_k"], strict=True)
            if m == 0 and k is None
        )
    assert RankedLossDisplay.from_estimator(search, *rows).is_fit
    boundary = DecisionBoundaryDisplay.from_estimator(search, *rows, resolution=20)
    assert len(boundary.left_out_.get_offsets()) == search.best_estimator_.outlier_mask_.sum()
