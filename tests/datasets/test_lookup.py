"""Data sets by name: all of them, and good advice for other names."""

import inspect

import numpy as np
import pytest

from sorr import datasets
from sorr.datasets import DATASETS, load_dataset


def loader(name):
    return getattr(datasets, "load_" + name.replace("-", "_"))


def test_the_names_are_those_of_the_paper_and_one_more():
    assert DATASETS == (
        "monk",
        "australian",
        "phoneme",
        "titanic",
        "splice",
        "emotions",
        "scene",
        "yeast",
        "mnist",
        "fashion-mnist",
    )


@pytest.mark.parametrize("name", DATASETS)
def test_all_loaders_take_the_same_options_by_keyword(name):
    options = {
        option: parameter.default
        for option, parameter in inspect.signature(loader(name)).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    assert options == {"return_X_y": False, "as_frame": False, "data_home": None, "download": True}


@pytest.mark.parametrize("name", DATASETS)
def test_a_name_gives_what_its_function_gives(name, data_folder):
    options = {"subset": "test"} if "mnist" in name else {}
    by_name = load_dataset(name, data_home=data_folder, download=False, **options)
    same = loader(name)(data_home=data_folder, download=False, **options)
    np.testing.assert_array_equal(by_name.data, same.data)
    np.testing.assert_array_equal(by_name.target, same.target)


def test_options_are_passed_on(data_folder):
    X, _ = load_dataset("australian", variant="keel", data_home=data_folder, return_X_y=True)
    assert X[0, 1] == 2208
    with pytest.raises(TypeError, match="unexpected keyword argument 'variant'"):
        load_dataset("monk", variant="keel")


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("Monk", "did you mean monk?"),
        ("fashion_mnist", "did you mean fashion-mnist?"),
        ("titanc", "did you mean titanic?"),
        ("iris", "needed monk, australian, "),
        (3, "needed monk, australian, "),
    ],
)
def test_another_name_is_refused_with_the_closest_ones(name, advice):
    with pytest.raises(ValueError, match="is not the name of a data set") as caught:
        load_dataset(name)
    assert advice in str(caught.value)
