from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from sorr.plots import TendencyDisplay
from tests.plots.fakes import pooled

M, K, C = (0, 0.1, 0.2), (0.5, 0.8, None), (1.0, 100.0)
CELLS = list(product(M, K, C))
ERROR = np.random.default_rng(0).permutation(len(CELLS)) / 100 + 0.1


def table(cells=CELLS, error=ERROR, **more):
    columns = {
        f"param_{name}": np.array([cell[i] for cell in cells], dtype=object)
        for i, name in enumerate("mkC")
    }
    return {**columns, "mean_test_error": error, "std_test_error": error / 10, **more}


def search(best=None, **options):
    best = CELLS[ERROR.argmin()] if best is None else best
    return SimpleNamespace(
        cv_results_=table(**options), best_params_=dict(zip("mkC", best, strict=True))
    )


def lowest(**fixed):
    """Return the error of the best cell with these parameters, by looking at each."""
    errors = [
        error
        for cell, error in zip(CELLS, ERROR, strict=True)
        if all(dict(zip("mkC", cell, strict=True))[name] == at for name, at in fixed.items())
    ]
    return min(errors)


def test_at_each_m_the_lowest_error_over_the_other_parameters_is_drawn():
    display = TendencyDisplay.from_estimator(search())
    assert_array_equal(display.line_.get_xdata(), M)
    assert_array_equal(display.line_.get_ydata(), [lowest(m=m) for m in M])


def test_at_each_k_likewise_and_none_is_all_of_the_rows():
    display = TendencyDisplay.from_estimator(search(), "k")
    assert_array_equal(display.line_.get_xdata(), [0.5, 0.8, 1.0])
    assert_array_equal(display.line_.get_ydata(), [lowest(k=k) for k in K])


def test_c_is_drawn_on_a_logarithmic_axis():
    display = TendencyDisplay.from_estimator(search(), "C")
    assert_array_equal(display.line_.get_ydata(), [lowest(C=c) for c in C])
    assert display.ax_.get_xscale() == "log"


@pytest.mark.parametrize("fixed", [{"k": None}, {"k": 0.8, "C": 100}, {"C": 1.0}])
def test_parameters_can_be_fixed(fixed):
    display = TendencyDisplay.from_estimator(search(), fixed=fixed)
    assert_array_equal(display.line_.get_ydata(), [lowest(m=m, **fixed) for m in M])


def test_the_line_of_the_average_loss_is_the_lowest_over_c_where_nothing_is_cut():
    display = TendencyDisplay.from_estimator(search())
    assert display.average == lowest(m=0, k=None)
    assert_array_equal(display.average_line_.get_ydata(), [display.average] * 2)
    at = TendencyDisplay.from_estimator(search(), fixed={"k": 0.5, "C": 100.0})
    assert at.average == lowest(m=0, k=None, C=100.0)


def test_without_the_average_loss_in_the_grid_there_is_no_such_line():
    rows = [i for i, cell in enumerate(CELLS) if cell[0] > 0 or cell[1] is not None]
    results = table([CELLS[i] for i in rows], ERROR[rows])
    assert TendencyDisplay.from_results(results).plot().average_line_ is None
    only_m = {name: results[name] for name in ("param_m", "mean_test_error")}
    assert TendencyDisplay.from_results(only_m).average is None


def test_the_band_is_one_standard_deviation_of_the_cells_that_are_drawn():
    display = TendencyDisplay.from_estimator(search())
    assert_allclose(display.spread, [lowest(m=m) / 10 for m in M])
    low, high = display.band_.get_datalim(display.ax_.transData).intervaly
    wanted = display.line_.get_ydata()
    assert_allclose([low, high], [0.9 * wanted.min(), 1.1 * wanted.max()])


def test_one_split_has_no_spread_and_no_band():
    results = table(std_test_error=np.zeros(len(CELLS)))
    assert TendencyDisplay.from_results(results).plot().band_ is None
    assert TendencyDisplay.from_results(table()).plot(band=False).band_ is None


def test_the_cell_that_was_chosen_is_marked_at_its_own_error():
    best = (0.1, 0.8, 1.0)  # a rule may take another one than the lowest
    display = TendencyDisplay.from_estimator(search(best))
    assert_array_equal(display.chosen_.get_xydata(), [[0.1, ERROR[CELLS.index(best)]]])
    assert display.chosen_.get_label() == "chosen: m = 0.1"


def test_the_cell_that_was_chosen_is_not_marked_where_it_is_not_drawn():
    display = TendencyDisplay.from_estimator(search((0.1, 0.8, 1.0)), fixed={"k": None})
    assert display.chosen_ is None


def test_cells_that_failed_are_passed_over():
    error = ERROR.copy()
    error[[i for i, cell in enumerate(CELLS) if cell[0] == 0.2]] = np.nan
    display = TendencyDisplay.from_results(table(error=error), best={"m": 0.2}).plot()
    assert_array_equal(display.line_.get_xdata(), [0, 0.1])
    assert display.chosen_ is None


def test_values_are_drawn_in_their_order_whatever_that_of_the_grid():
    display = TendencyDisplay([0.2, 0, 0.1], [3.0, 1.0, 2.0], spread=[0.3, 0.1, 0.2]).plot()
    assert_array_equal(display.line_.get_xydata(), [[0, 1], [0.1, 2], [0.2, 3]])
    assert_array_equal(display.spread, [0.1, 0.2, 0.3])


def test_the_ticks_of_fractions_are_percentages_that_are_not_rounded():
    display = TendencyDisplay([0, 0.1, 0.2], [1.0, 2.0, 3.0]).plot()
    display.ax_.set_xticks([0, 0.025, 0.1])
    display.figure_.canvas.draw()
    texts = [tick.get_text() for tick in display.ax_.get_xticklabels()]
    assert texts == ["0%", "2.5%", "10%"]


def test_among_counts_all_rows_come_last_and_are_named():
    display = TendencyDisplay([10, None, 20], [1.0, 3.0, 2.0], parameter="k").plot()
    assert_array_equal(display.line_.get_xdata(), [10, 20, 30])
    display.figure_.canvas.draw()
    assert display.ax_.get_xticklabels()[-1].get_text() == "all"
    assert "rank" in display.ax_.get_xlabel()


def test_a_count_among_fractions_is_a_share_where_the_number_of_rows_is_known():
    values, error = [1, 0.5, None], [3.0, 2.0, 1.0]
    display = TendencyDisplay(values, error, parameter="k", n_samples=50)
    assert_array_equal(display.positions, [0.02, 0.5, 1.0])
    assert TendencyDisplay(values, error, parameter="k").tick_labels == ["1", "0.5", "all"]
    cells = [(0, 1, 1.0), (0, 0.5, 1.0)]
    mixed = search((0, 0.5, 1.0), cells=cells, error=np.array([0.3, 0.2]))
    mixed.best_estimator_ = pooled(np.arange(50.0), 1, 50)
    drawn = TendencyDisplay.from_estimator(mixed, "k")
    assert_array_equal(drawn.line_.get_xdata(), [0.02, 0.5])


def test_a_mapping_for_each_class_is_drawn_by_name():
    values = [{"a": 0.1}, "auto", 0.2]
    results = {"param_m": values, "mean_test_error": [0.3, 0.2, 0.1]}
    display = TendencyDisplay.from_results(results, best={"m": "auto"}).plot()
    assert display.tick_labels == ["{'a': 0.1}", "auto", "0.2"]
    assert_array_equal(display.chosen_.get_xydata(), [[1, 0.2]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parameter": "tol"}, "parameter='tol' is not known; needed one of 'm', 'k', 'C'"),
        ({"fixed": {"m": 0.1}}, "'m' is to be drawn and is in fixed="),
        ({"fixed": {"k": 0.3}}, "fixed k=0.3 is not in the grid; needed one of 0.5, 0.8, None"),
        ({"fixed": {"tol": 1}}, "fixed has 'tol'; the grid is over m, k, C"),
    ],
)
def test_what_is_not_in_the_grid_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        TendencyDisplay.from_estimator(search(), **options)


def test_a_search_without_a_grid_over_k_is_refused():
    rows = [i for i, cell in enumerate(CELLS) if cell[1] is None]
    model = search(cells=[CELLS[i] for i in rows], error=ERROR[rows])
    with pytest.raises(ValueError, match=r"there is no grid over k.* search over several values"):
        TendencyDisplay.from_estimator(model, "k")


def test_a_table_without_errors_is_refused():
    results = {"param_m": [0, 0.1], "mean_test_score": [0.8, 0.9]}
    with pytest.raises(ValueError, match=r"hold 'param_m', 'mean_test_score'; needed .*_error'"):
        TendencyDisplay.from_results(results)


def test_a_search_that_is_not_fitted_is_refused():
    with pytest.raises(TypeError, match=r"has no cv_results_, .*such as RankedRangeClassifierCV"):
        TendencyDisplay.from_estimator(SimpleNamespace(coef_=np.zeros(2)))
    with pytest.raises(NotFittedError, match="has no cv_results_"):
        TendencyDisplay.from_estimator(SimpleNamespace())
