import numpy as np
import pytest
from scipy import sparse

from sorr.baselines.span import in_own_span


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_coefficients_in_the_span_predict_the_same_and_have_the_same_norm(form):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((8, 30)) < 0.5, rng.standard_normal((8, 30)), 0.0)
    X[3] = X[5]  # one dimension less
    rows, back = in_own_span(form(X))
    coef = rng.standard_normal((rows.shape[1], 2))
    assert rows.shape[1] <= 8
    np.testing.assert_allclose(X @ back(coef), rows @ coef, atol=1e-10)
    np.testing.assert_allclose(rows @ rows.T, X @ X.T, atol=1e-10)
    inside = back(rows.T)  # what the rows are combined of
    np.testing.assert_allclose(np.linalg.norm(inside), np.linalg.norm(rows), rtol=1e-10)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_rows_of_zeros_span_nothing(form):
    rows, back = in_own_span(form(np.zeros((3, 5))))
    assert rows.shape[1] >= 1  # an empty matrix is not what solvers are tested with
    np.testing.assert_allclose(rows @ rows.T, 0.0, atol=1e-300)
    np.testing.assert_array_equal(back(np.zeros(rows.shape[1])), np.zeros(5))


def test_as_many_rows_as_features_stay_as_they_are():
    X = np.eye(4)
    rows, back = in_own_span(X)
    assert rows is X
    assert back(X) is X
