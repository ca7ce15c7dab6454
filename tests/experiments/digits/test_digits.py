"""Digits with wrong labels: which are flipped, and that nothing else changes."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.utils import Bunch

from sorr.datasets import MNIST_FLIPS, flip_pairs
from sorr.experiments import seed_of
from sorr.experiments.digits import digits as mnist_digits
from sorr.experiments.digits.digits import SMALL, images_of, noise_of, noisy_digits, setting_of


@pytest.mark.parametrize("noise", [20, 40])
def test_the_share_of_each_digit_that_is_flipped_is_exact(noise):
    digits, _ = noisy_digits(SMALL, noise, 0)
    for digit in range(10):
        own = digits.y_clean == digit
        wrong = digits.y[own] != digit
        expected = int(noise / 100 * own.sum()) if digit in MNIST_FLIPS else 0
        assert wrong.sum() == expected == digits.wrong[own].sum()
        assert set(digits.y[own][wrong]) <= {MNIST_FLIPS.get(digit)}


def test_wrong_rows_are_counted_by_the_label_that_they_were_given():
    digits, _ = noisy_digits(SMALL, 30, 0)
    expected = [np.sum((digits.y == j) & (digits.y_clean != j)) for j in range(10)]
    assert digits.per_class(digits.wrong) == expected
    assert expected[0] == 0 < expected[7]


def test_the_flips_are_drawn_by_the_names_and_the_number_of_the_run():
    digits, images = noisy_digits(SMALL, 20, 3)
    assert digits.seed == seed_of(SMALL, 20, 3) % 2**31
    assert_array_equal(digits.y, flip_pairs(images.y, MNIST_FLIPS, 0.2, digits.seed).y)
    assert_array_equal(digits.y, noisy_digits(SMALL, 20, 3)[0].y)


def test_without_noise_all_labels_are_right():
    digits, images = noisy_digits(SMALL, 0, 0)
    assert not digits.wrong.any()
    assert_array_equal(digits.y, images.y)


def test_small_digits_are_tested_on_rows_that_are_not_trained_on():
    images = images_of(SMALL, 1)
    assert len(images.y) + len(images.y_test) == 1797
    trained = {row.tobytes() for row in images.X}
    assert sum(row.tobytes() in trained for row in images.X_test) == 0
    assert images.X.max() == 1
    assert images.X.dtype == np.float32


def test_the_pixels_of_mnist_go_from_zero_to_one_in_its_own_two_parts(monkeypatch):
    def load(name, subset):
        assert name == "mnist"
        pixels = np.array([[0, 51], [255, 102]], dtype=np.uint8)
        return Bunch(data=pixels if subset == "train" else pixels[1:], target=np.array([7, 2])[:2])

    monkeypatch.setattr(mnist_digits, "load_dataset", load)
    images = mnist_digits._mnist.__wrapped__()
    assert_array_equal(images.X, np.array([[0, 0.2], [1, 0.4]], dtype=np.float32))
    assert_array_equal(images.X_test, images.X[1:])


@pytest.mark.parametrize("noise", [0, 20, 30, 40])
def test_a_setting_names_its_noise(noise):
    assert noise_of(setting_of(noise)) == noise
