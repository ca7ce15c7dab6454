"""Monk and Titanic: rows counted by other means, and the files where they are at hand."""

import hashlib
from collections import Counter
from itertools import product

import numpy as np
import pytest

from sorr.datasets.catalogue import TABLES
from sorr.datasets.rules import make_monk, make_titanic


def test_monk_is_every_combination_in_order_with_its_rule():
    expected = []
    for a1, a2, a3, a4, a5, a6 in product(*(range(1, size + 1) for size in (3, 3, 2, 3, 4, 2))):
        positive = (a5 == 3 and a4 == 1) or (a5 != 4 and a2 != 3)
        expected.append([a1, a2, a3, a4, a5, a6, int(positive)])
    np.testing.assert_array_equal(make_monk(), expected)
    assert sum(row[-1] for row in expected) == 228


def test_titanic_has_the_margins_of_the_board_of_trade():
    table = make_titanic()
    passage, age, sex, outcome = table.T
    assert table.shape == (2201, 4)
    assert Counter(passage.tolist()) == {-1.87: 325, -0.923: 285, 0.0214: 706, 0.965: 885}
    assert Counter(age.tolist()) == {-0.228: 2092, 4.38: 109}
    assert Counter(sex.tolist()) == {0.521: 1731, -1.92: 470}
    assert Counter(outcome.tolist()) == {1.0: 711, -1.0: 1490}
    assert Counter(passage[outcome == 1].tolist()) == {
        -1.87: 203,
        -0.923: 118,
        0.0214: 178,
        0.965: 212,
    }
    assert len(np.unique(table[:, :3], axis=0)) == 14


def test_titanic_has_no_fewer_errors_than_its_description_says():
    fewest = 0
    for row in np.unique(make_titanic()[:, :3], axis=0):
        same = (make_titanic()[:, :3] == row).all(axis=1)
        fewest += min((make_titanic()[same, 3] == outcome).sum() for outcome in (-1, 1))
    assert f"{fewest / 2201:.1%}" == "20.9%"
    assert "20.9 %" in TABLES["titanic"].text


def test_each_kind_of_passenger_is_spread_over_titanic():
    table = make_titanic()
    for kind in np.unique(table, axis=0):
        places = np.flatnonzero((table == kind).all(axis=1))
        for end in (500, 1000, 1500):
            expected = len(places) * end / len(table)
            assert abs((places < end).sum() - expected) <= 1


@pytest.mark.parametrize(("name", "make"), [("monk", make_monk), ("titanic", make_titanic)])
def test_generated_tables_are_those_of_the_catalogue(name, make):
    table = make()
    assert table.shape == TABLES[name].part.shape
    assert hashlib.sha256(table.astype("<f8").tobytes()).hexdigest() == TABLES[name].sha256


def test_monk_is_the_authors_file(data_folder):
    content = np.loadtxt(data_folder / "monk.csv.gz", delimiter=",", skiprows=1)
    np.testing.assert_array_equal(make_monk(), content)


def test_titanic_is_keels_file_in_another_order(data_folder):
    content = np.loadtxt(data_folder / "titanic.csv.gz", delimiter=",", skiprows=1)
    assert Counter(map(tuple, make_titanic().tolist())) == Counter(map(tuple, content.tolist()))
