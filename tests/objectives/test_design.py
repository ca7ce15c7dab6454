import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from sorr.objectives import Design, solve_symmetric

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((40, 3)) * (RANDOM.random((40, 3)) < 0.7)
FORMS = {"dense": lambda matrix: matrix, "csr": sparse.csr_array}

each_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
each_outputs = pytest.mark.parametrize("outputs", [(), (2,)], ids=["one output", "two outputs"])
each_intercept = pytest.mark.parametrize("intercept", [True, False])


def with_ones(matrix, intercept):
    return np.column_stack([matrix, np.ones(len(matrix))]) if intercept else matrix


@each_form
@each_outputs
@each_intercept
def test_predicting_and_pulling_are_products_with_a_column_of_ones(form, outputs, intercept):
    design, full = Design(form(X), intercept=intercept), with_ones(X, intercept)
    theta = RANDOM.standard_normal((full.shape[1], *outputs))
    residual = RANDOM.standard_normal((40, *outputs))
    assert design.n_parameters == full.shape[1]
    assert_allclose(design.predict(theta), full @ theta, rtol=1e-13, atol=1e-13)
    assert_allclose(design.pull(residual), full.T @ residual, rtol=1e-13, atol=1e-13)


@each_form
@each_intercept
def test_the_gram_matrix_of_one_output_is_the_weighted_sum_of_outer_products(form, intercept):
    weight, full = RANDOM.random(40), with_ones(X, intercept)
    expected = sum(w * np.outer(row, row) for w, row in zip(weight, full, strict=True))
    assert_allclose(Design(form(X), intercept=intercept).gram(weight), expected, atol=1e-12)


@each_form
@each_intercept
def test_the_gram_matrix_of_several_outputs_is_a_sum_of_kronecker_products(form, intercept):
    root, full = RANDOM.standard_normal((40, 2, 2)), with_ones(X, intercept)
    weight = root @ root.transpose(0, 2, 1)
    expected = sum(
        np.kron(np.outer(row, row), block) for block, row in zip(weight, full, strict=True)
    )
    assert_allclose(Design(form(X), intercept=intercept).gram(weight), expected, atol=1e-12)


@each_form
@pytest.mark.parametrize("wide", [np.float32, np.float64])
def test_results_take_the_precision_of_what_is_multiplied(form, wide):
    design = Design(form(X.astype(np.float32)))
    theta, residual = RANDOM.standard_normal(4).astype(wide), RANDOM.random(40).astype(wide)
    assert design.dtype == np.float32
    assert design.predict(theta).dtype == wide
    assert design.pull(residual).dtype == wide
    assert design.gram(residual).dtype == np.float64
    exact = with_ones(X.astype(np.float32).astype(np.float64), True)
    # a few units in the last place of the narrower of the two
    tolerance = 1e-5 if wide == np.float32 else 1e-13
    assert_allclose(design.predict(theta), exact @ theta, rtol=tolerance, atol=tolerance)
    assert_allclose(design.pull(residual), exact.T @ residual, rtol=tolerance, atol=tolerance)


def test_rows_in_many_blocks_add_up_as_in_one():
    long = RANDOM.standard_normal((70_000, 9)).astype(np.float32)
    design, full = Design(long), with_ones(long.astype(np.float64), True)
    assert len(design._blocks()) > 2
    theta, residual = RANDOM.standard_normal(10), RANDOM.random(70_000)
    assert_allclose(design.predict(theta), full @ theta, rtol=1e-12, atol=1e-12)
    assert_allclose(design.pull(residual), full.T @ residual, rtol=1e-10)
    assert_allclose(design.gram(residual), (full * residual[:, None]).T @ full, rtol=1e-10)


@each_form
def test_taking_rows_and_changing_the_precision_keep_the_rest(form):
    design, rows = Design(form(X), intercept=False), np.array([3, 1, 3])
    theta = RANDOM.standard_normal(3)
    assert_allclose(design.take(rows).predict(theta), X[rows] @ theta)
    assert design.take(rows).intercept is False
    assert design.astype(np.float32).dtype == np.float32
    assert design.astype(np.float64).X is design.X or design.is_sparse


@each_form
@each_intercept
def test_a_row_of_mass_two_counts_as_two_in_the_sizes_of_columns(form, intercept):
    mass = RANDOM.integers(0, 3, 40).astype(float)
    design = Design(form(X), intercept=intercept)
    copies = Design(form(np.repeat(X, mass.astype(int), axis=0)), intercept=intercept)
    weighted = design.with_sizes_by_mass(mass)
    assert_allclose(weighted.sizes, copies.sizes)
    full = with_ones(X, intercept)
    assert_allclose(design.sizes, np.sqrt(np.square(full).mean(axis=0)))
    weighted.pull(np.zeros(40))
    assert design.passes == 1


def test_products_are_counted():
    design = Design(X)
    design.predict(np.ones(4))
    design.pull(np.zeros(40))
    design.gram(np.zeros(40))
    assert design.passes == 3
    design.take(np.arange(10)).pull(np.zeros(10))
    assert design.passes == 3.25
    design.count(30)
    assert design.passes == 4


@each_form
@each_outputs
@each_intercept
def test_coefficients_of_zero_need_no_look_at_the_rows(form, outputs, intercept):
    design = Design(form(X), intercept=intercept)
    theta = np.zeros((design.n_parameters, *outputs))
    theta[3:] = 2.5
    assert_array_equal(design.predict(theta), np.full((40, *outputs), 2.5 * intercept))
    assert design.passes == 0


def test_arguments_are_left_untouched():
    design, theta, residual = Design(X), np.ones(4), np.ones(40)
    before = X.copy()
    design.predict(theta)
    design.pull(residual)
    design.gram(residual)
    assert_array_equal(X, before)
    assert_array_equal(theta, 1)
    assert_array_equal(residual, 1)


@pytest.mark.parametrize("scales", [np.ones(6), np.logspace(-8, 8, 6)])
def test_systems_of_any_scale_are_solved(scales):
    rng = np.random.default_rng(0)
    root = rng.standard_normal((6, 6))
    M = (root @ root.T + 0.1 * np.eye(6)) * scales[:, None] * scales
    expected = rng.standard_normal(6) / scales
    assert_allclose(solve_symmetric(M)(M @ expected), expected, rtol=1e-8)


def test_a_singular_matrix_still_gives_a_solution_of_a_consistent_system():
    M = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    solution = solve_symmetric(M)(np.array([2.0, 2.0, 0.0]))
    assert_allclose(M @ solution, [2.0, 2.0, 0.0], atol=1e-6)


def test_an_indefinite_matrix_falls_back_to_least_squares():
    M = np.array([[1.0, 2.0], [2.0, 1.0]])
    assert_allclose(solve_symmetric(M)(np.array([3.0, 3.0])), [1.0, 1.0], rtol=1e-6)


def test_products_do_not_warn_of_invalid_values():
    X = np.array([[np.inf, np.inf]], dtype=np.float32)  # some kernels give a false alarm
    theta = np.array([1.0, -1.0], dtype=np.float32)
    assert np.isnan(Design(X, intercept=False).predict(theta)).all()
