import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier

from sorr.plots import DecisionBoundaryDisplay
from tests.plots.fakes import two_classes

plt = pytest.importorskip("matplotlib.pyplot", reason="plots are drawn with matplotlib")


def three_classes(n=90):
    rng = np.random.default_rng(0)
    index = np.arange(n) % 3
    return rng.normal(size=(n, 2)) + 4 * np.eye(3)[index][:, :2], index


def test_as_many_rows_are_marked_as_were_left_out():
    model, X, y = two_classes()
    display = DecisionBoundaryDisplay.from_estimator(model, X, y)
    marked = display.left_out_.get_offsets()
    assert len(marked) == model.outlier_mask_.sum()
    assert_array_equal(marked, X[model.outlier_mask_])
    assert display.left_out_.get_label() == f"left out ({len(marked)})"


def test_of_new_rows_those_are_marked_that_would_be_left_out():
    model, _, _ = two_classes()
    _, X, y = two_classes(n=150, seed=5)
    display = DecisionBoundaryDisplay.from_estimator(model, X, y)
    assert_array_equal(display.left_out_.get_offsets(), X[model.outlier_score(X, y) > 0])


def test_the_rows_of_each_class_have_a_colour_and_a_mark_of_their_own():
    model, X, y = two_classes()
    points = DecisionBoundaryDisplay.from_estimator(model, X, y).points_
    for label, drawn in zip(("no", "yes"), points, strict=True):
        assert_array_equal(drawn.get_offsets(), X[y == label])
        assert drawn.get_label() == f"label {label!r}"
    assert not np.array_equal(points[0].get_facecolor(), points[1].get_facecolor())
    sizes = [len(drawn.get_paths()[0].vertices) for drawn in points]
    assert sizes[0] != sizes[1]


def test_the_boundary_is_where_the_decision_is_zero():
    _, X, y = two_classes()
    model = LogisticRegression().fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(model, X, y)
    assert len(display.boundaries_) == 1
    line = display.boundaries_[0].get_paths()[0].vertices
    assert_allclose(model.decision_function(line), 0, atol=1e-9)
    assert display.left_out_ is None


@pytest.mark.parametrize(("n_classes", "n_boundaries"), [(2, 1), (3, 3)])
def test_the_regions_are_what_is_predicted(n_classes, n_boundaries):
    X, y = three_classes()
    X, y = X[y < n_classes], y[y < n_classes]
    model = LogisticRegression().fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(model, X, y, resolution=30)
    points = np.column_stack([side.ravel() for side in display.grid])
    assert_array_equal(display.scores.argmax(axis=-1).ravel(), model.predict(points))
    assert len(display.boundaries_) == n_boundaries
    assert len(display.points_) == n_classes


def test_a_model_without_decision_function_is_asked_for_predictions():
    X, y = three_classes()
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(tree, X, resolution=30)
    points = np.column_stack([side.ravel() for side in display.grid])
    assert_array_equal(display.scores.argmax(axis=-1).ravel(), tree.predict(points))
    assert display.points_ == []


def test_a_model_that_predicts_one_class_has_no_boundary():
    model, X, y = two_classes()
    model.decision_function = lambda X: np.ones(len(X))
    assert DecisionBoundaryDisplay.from_estimator(model, X, y).boundaries_ == []


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_columns_of_a_frame_name_the_axes_and_reach_the_model(library):
    frames = pytest.importorskip(library, reason=f"{library} is optional")
    _, X, y = two_classes()
    frame = frames.DataFrame({"height": X[:, 0], "weight": X[:, 1]})
    display = DecisionBoundaryDisplay.from_estimator(LogisticRegression().fit(frame, y), frame, y)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("height", "weight")


def test_a_sparse_matrix_is_drawn_as_a_dense_one():
    _, X, y = two_classes()
    model = LogisticRegression().fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(model, sparse.csr_array(X), y)
    assert_array_equal(display.X, X)


def test_two_models_can_be_drawn_side_by_side():
    _, X, y = two_classes()
    _, axes = plt.subplots(1, 2, layout="constrained")
    model = LogisticRegression().fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(model, X, y, ax=axes[1], name="plain")
    assert display.ax_ is axes[1]
    assert axes[1].get_title() == "Decision boundary of plain"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (3, r"X has shape \(60, 3\); needed two features: choose two columns"),
        (None, r"X has shape \(60,\); needed two features"),
    ],
)
def test_other_than_two_features_are_refused(columns, message):
    model, X, y = two_classes()
    X = X[:, 0] if columns is None else np.resize(X, (60, columns))
    with pytest.raises(ValueError, match=message):
        DecisionBoundaryDisplay.from_estimator(model, X, y)


@pytest.mark.parametrize("resolution", [1, 0])
def test_points_that_span_no_area_are_refused(resolution):
    model, X, y = two_classes()
    with pytest.raises(ValueError, match=f"resolution={resolution} is not .*; needed an int, 2 or"):
        DecisionBoundaryDisplay.from_estimator(model, X, y, resolution=resolution)
    assert DecisionBoundaryDisplay.from_estimator(model, X, y, resolution=2).surface_ is not None


def test_a_fitted_regressor_is_refused_for_what_it_is():
    _, X, _ = two_classes()
    with pytest.raises(TypeError, match="this Ridge has no classes_, though it is fitted"):
        DecisionBoundaryDisplay.from_estimator(Ridge().fit(X, X[:, 0]), X)


def test_a_model_that_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError, match="this LogisticRegression has no classes_"):
        DecisionBoundaryDisplay.from_estimator(LogisticRegression(), np.zeros((4, 2)))
