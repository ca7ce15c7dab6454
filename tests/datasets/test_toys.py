"""Toy sets: their shape, their outliers, and the two files that they are like."""

import pickle

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import multivariate_normal, norm

from sorr.datasets import BayesClassifier, Gaussian, load_toy, make_imbalanced, make_multimodal

MAKERS = {"balanced": make_multimodal, "imbalanced": make_imbalanced}
COUNTS = [0, 1, 2, 3, 4, 5, 10, 20, 50]
makers = pytest.mark.parametrize("make", MAKERS.values())


def is_separable(X, y):
    """Return whether a linear program finds a line with all rows on their side."""
    rows = -y[:, np.newaxis] * np.column_stack([X, np.ones(len(X))])
    return linprog(np.zeros(3), rows, -np.ones(len(X)), bounds=(None, None)).status == 0


@makers
@pytest.mark.parametrize("count", COUNTS)
def test_labels_keep_their_numbers_whatever_the_outliers(make, count):
    toy = make(count, random_state=0)
    assert toy.data.shape == (200, 2)
    assert (toy.target == -1).sum() == (100 if make is make_multimodal else 4)
    assert set(toy.target.tolist()) == {-1, 1}
    assert toy.outliers.sum() == count
    assert (toy.target[toy.outliers] == 1).all()


@makers
@pytest.mark.parametrize("seed", range(10))
def test_a_line_parts_the_classes_once_outliers_are_left_out(make, seed):
    toy = make(20, random_state=seed)
    assert is_separable(toy.data[~toy.outliers], toy.target[~toy.outliers])
    assert not is_separable(toy.data, toy.target)


def test_a_set_that_no_line_parts_is_drawn_again():
    """About one seed in a hundred is such: draw by hand what the first draw would have been."""
    redrawn = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        parts = (((0, 0), 0.2, 90), ((1, 1), 0.25, 10), ((2, 2), 0.22, 100))
        X = np.concatenate([rng.normal(mean, width, (size, 2)) for mean, width, size in parts])
        toy = make_multimodal(0, random_state=seed)
        if np.array_equal(X, toy.data):
            continue
        redrawn += 1
        along = toy.data.sum(axis=1)
        assert along[:100].max() < along[100:].min()
        along = X.sum(axis=1)
        assert along[:100].max() >= along[100:].min()
    assert 0 < redrawn < 15


@makers
def test_more_outliers_leave_the_first_ones_and_all_other_rows(make):
    most = make(50, random_state=3)
    clean = make(0, random_state=3)
    for count in COUNTS:
        toy = make(count, random_state=3)
        np.testing.assert_array_equal(toy.data[:count], most.data[:count])
        np.testing.assert_array_equal(toy.data[count:], clean.data[count:])


@makers
def test_outliers_lie_amid_the_blue_class(make):
    toy = make(50, random_state=0)
    blue = toy.bayes.components[-1]
    assert (toy.bayes(toy.data[toy.outliers]) == -1).all()
    # three standard errors of the mean of 50 rows
    margin = 3 * blue.deviation / 50**0.5
    np.testing.assert_allclose(toy.data[toy.outliers].mean(axis=0), blue.mean, atol=margin)


def test_the_first_outlier_is_where_the_authors_put_theirs():
    assert make_multimodal(random_state=0).data[0].tolist() == [2.0, 2.5]
    assert make_imbalanced(random_state=0).data[0].tolist() == [1.0, 1.15]


@makers
def test_the_same_seed_gives_the_same_set(make):
    first = make(5, random_state=7)
    again = make(5, random_state=np.random.default_rng(7))
    other = make(5, random_state=8)
    np.testing.assert_array_equal(first.data, again.data)
    assert not np.array_equal(first.data, other.data)
    assert make(5).data.shape == (200, 2)


@makers
def test_without_outliers_the_bayes_classifier_is_right(make):
    toy = make(0, random_state=0)
    np.testing.assert_array_equal(toy.bayes(toy.data), toy.target)
    assert 1e-4 < toy.bayes.error() < 1e-3
    assert sum(component.share for component in toy.bayes.components) == pytest.approx(1)


@makers
def test_sets_can_be_sent_to_other_processes(make):
    toy = make(2, random_state=0)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(toy)).data, toy.data)


@makers
@pytest.mark.parametrize("count", [-1, 51])
def test_too_many_outliers_are_refused(make, count):
    with pytest.raises(
        ValueError, match=f"n_outliers={count} is not a count; needed an int, from 0 to 50"
    ):
        make(count)


@makers
@pytest.mark.parametrize("count", [1.0, True, "1"])
def test_outliers_are_a_whole_number(make, count):
    with pytest.raises(TypeError, match="is not a count; needed an int"):
        make(count)


def test_the_authors_sets_are_two():
    with pytest.raises(
        ValueError, match="name='toy' is not known; needed one of 'balanced', 'imba"
    ):
        load_toy("toy")


@pytest.mark.parametrize("name", MAKERS)
def test_an_authors_set_that_is_not_there_is_named(name):
    with pytest.raises(FileNotFoundError, match=r"toy_data\d_1.csv.gz is not in"):
        load_toy(name, download=False)


@pytest.mark.parametrize("name", MAKERS)
def test_sets_are_like_those_of_the_authors(name, data_folder):
    authors = load_toy(name, data_home=data_folder)
    ours = MAKERS[name](1, random_state=0)
    np.testing.assert_array_equal(authors.target, ours.target)
    np.testing.assert_array_equal(authors.outliers, ours.outliers)
    np.testing.assert_array_equal(authors.data[0], ours.data[0])
    assert authors.bayes == ours.bayes
    wrong = authors.bayes(authors.data) != authors.target
    np.testing.assert_array_equal(wrong, authors.outliers)


@pytest.mark.parametrize("name", MAKERS)
def test_the_authors_rows_fit_the_distribution_that_ours_are_drawn_from(name, data_folder):
    authors = load_toy(name, data_home=data_folder)
    start = 0
    for _, share, mean, deviation in authors.bayes.components:
        stop = start + round(200 * share)
        rows = authors.data[start:stop][~authors.outliers[start:stop]]
        start = stop
        # 2.5 standard errors, for ten means and five deviations
        margin = 2.5 * deviation / len(rows) ** 0.5
        np.testing.assert_allclose(rows.mean(axis=0), mean, atol=margin)
        width = np.sqrt(((rows - rows.mean(axis=0)) ** 2).sum() / (2 * len(rows) - 2))
        assert width == pytest.approx(deviation, abs=margin / 2)


# -- The Bayes classifier --------------------------------------------------------------------------


MIXTURE = BayesClassifier(
    (
        Gaussian(1, 0.5, (0.0, 0.0), 0.7),
        Gaussian(1, 0.1, (2.0, 1.0), 0.4),
        Gaussian(-1, 0.4, (1.0, 2.0), 0.9),
    )
)


@pytest.mark.parametrize("share", [0.5, 0.3, 0.02])
@pytest.mark.parametrize("deviation", [0.2, 1.0])
def test_of_two_equal_gaussians_the_error_is_known(share, deviation):
    distance = 5**0.5  # between the means, in deviations
    bayes = BayesClassifier(
        (
            Gaussian(1, share, (2 * deviation, deviation), deviation),
            Gaussian(-1, 1 - share, (0.0, 0.0), deviation),
        )
    )
    shift = np.log((1 - share) / share) / distance
    expected = share * norm.cdf(shift - distance / 2) + (1 - share) * norm.sf(shift + distance / 2)
    assert bayes.error() == pytest.approx(expected, rel=1e-3)


def test_the_decision_is_the_logarithm_of_the_odds():
    X = np.random.default_rng(0).normal(1.0, 1.5, size=(50, 2))
    density = {1: np.zeros(50), -1: np.zeros(50)}
    for label, share, mean, deviation in MIXTURE.components:
        density[label] += share * multivariate_normal(mean, deviation**2 * np.eye(2)).pdf(X)
    odds = np.log(density[1] / density[-1])
    np.testing.assert_allclose(MIXTURE.decision_function(X), odds, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(MIXTURE.predict(X), np.sign(odds))
    np.testing.assert_array_equal(MIXTURE(X), MIXTURE.predict(X))
    assert set(MIXTURE(X).tolist()) == {-1, 1}


def test_the_error_is_the_share_of_rows_that_are_predicted_wrong():
    rng, n = np.random.default_rng(0), 200_000
    wrong = 0.0
    for label, share, mean, deviation in MIXTURE.components:
        X = rng.normal(mean, deviation, size=(n, 2))
        wrong += share * np.mean(MIXTURE(X) != label)
    # three standard errors of the share of n rows
    assert MIXTURE.error() == pytest.approx(wrong, abs=3 * 0.5 / n**0.5)


def test_far_from_all_centres_the_decision_stays_finite():
    assert np.isfinite(MIXTURE.decision_function([[1e3, 1e3], [-1e3, 0.0]])).all()


def test_it_can_be_sent_to_other_processes():
    assert pickle.loads(pickle.dumps(MIXTURE)) == MIXTURE
