import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sorr.datasets import make_imbalanced, make_multimodal
from sorr.experiments.toy.data import (
    AUTHORS,
    KINDS,
    Toy,
    bayes_error,
    has_file,
    population_error,
    row_error,
    toy_rows,
)

LINES = [(-1.0, -1.0, 3.0), (-14.4, -12.5, 35.9), (-1.0, 0.2, 0.5), (0.0, 1.0, -1.0)]


@pytest.fixture
def no_files(monkeypatch, tmp_path):
    monkeypatch.setenv("SORR_DATA", str(tmp_path))
    monkeypatch.setenv("SORR_CACHE", str(tmp_path))


@pytest.mark.parametrize(
    ("kind", "make"), [("balanced", make_multimodal), ("imbalanced", make_imbalanced)]
)
def test_rows_are_drawn_with_the_number_of_the_split_as_seed(kind, make):
    toy, wanted = toy_rows(kind, split=3, n_outliers=2), make(2, random_state=3)
    assert_array_equal(toy.X, wanted.data)
    assert_array_equal(toy.y, wanted.target)
    assert_array_equal(np.flatnonzero(toy.outliers), [0, 1])


@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize("kind", KINDS)
def test_the_authors_rows_have_one_outlier_and_an_unknown_distribution(kind):
    if not has_file(kind):
        pytest.skip(f"the authors' file of the {kind} toy set is not at hand")
    toy = toy_rows(kind + AUTHORS)
    assert toy.X.shape == (200, 2)
    assert toy.outliers.sum() == 1
    assert toy.bayes is None


@pytest.mark.usefixtures("no_files")
@pytest.mark.parametrize("kind", KINDS)
def test_files_that_are_not_there_are_not_fetched(kind):
    assert not has_file(kind)


def test_outliers_do_not_count_and_rows_on_the_line_count_half():
    X = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 5.0], [-1.0, 0.0], [-1.0, 1.0]])
    y = np.array([1, -1, 1, -1, 1])
    toy = Toy(X, y, np.array([False, False, False, False, True]), None)
    assert row_error(np.array([1.0, 0.0, 0.0]), toy) == 100 * (1 + 0.5) / 4


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("line", LINES)
def test_the_error_on_unseen_rows_is_that_of_a_large_sample(kind, line):
    theta, bayes = np.array(line), toy_rows(kind).bayes
    rng, n, wrong = np.random.default_rng(0), 200_000, 0.0
    for label, share, mean, deviation in bayes.components:
        rows = rng.normal(mean, deviation, size=(n, 2))
        wrong += share * np.mean(label * (rows @ theta[:2] + theta[2]) < 0)
    deviation_of_sample = np.sqrt(wrong * (1 - wrong) / n)
    assert_allclose(
        population_error(theta, bayes), 100 * wrong, rtol=0, atol=500 * deviation_of_sample
    )


def test_a_constant_is_wrong_on_the_other_class_and_without_an_intercept_on_half_of_all():
    bayes = toy_rows("imbalanced").bayes
    for intercept, wanted in ((0.3, 2.0), (-0.3, 98.0), (0.0, 50.0)):
        assert_allclose(population_error(np.array([0.0, 0.0, intercept]), bayes), wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_no_line_is_better_than_the_bayes_classifier(kind):
    bayes, least = toy_rows(kind).bayes, bayes_error(kind)
    rng = np.random.default_rng(1)
    errors = []
    for angle, distance in rng.uniform([0.4, 0.5], [1.2, 2.6], size=(500, 2)):
        errors.append(population_error(-np.array([np.cos(angle), np.sin(angle), -distance]), bayes))
    assert least <= min(errors) < 2 * least + 0.01
