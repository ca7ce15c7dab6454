"""Wrong input, each with a message of its own."""

from types import MappingProxyType

import numpy as np
import pytest
from scipy import sparse

from sorr import RankedRangeClassifier
from sorr.estimators import ConstantModelWarning
from tests.estimators.problems import three_classes, wrong_labels

X, Y, _ = wrong_labels(n=60)


def spoiled(value):
    other = X.copy()
    other[3, 1] = value
    return other


def fit(X=X, y=Y, sample_weight=None, **parameters):
    model = RankedRangeClassifier(**({"random_state": 0, "C": 100.0} | parameters))
    return model.fit(X, y, sample_weight=sample_weight)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"X": spoiled(np.nan)}, "NaN"),
        ({"X": spoiled(np.inf)}, "infinity"),
        ({"X": X[:0], "y": Y[:0]}, "0 sample"),
        ({"X": X[:, :0]}, "0 feature"),
        ({"X": X[:, 0]}, "Expected 2D array, got 1D array"),
        ({"X": X[:1], "y": Y[:1]}, "one class only.*needed two"),
        ({"y": ["a"] * 60}, "one class only, 'a'.*needed two"),
        ({"y": Y[:-1]}, "inconsistent numbers of samples"),
        ({"y": X[:, 0]}, "Unknown label type: continuous"),
        ({"sample_weight": -np.ones(60)}, "negative weight"),
        ({"sample_weight": np.zeros(60)}, "adds up to zero"),
        ({"sample_weight": np.ones((60, 1))}, "needed one weight for each of the 60 rows"),
        ({"sample_weight": (Y == "yes") * 1.0}, "one class only, 'yes'"),
        ({"X": sparse.csr_array(X.astype(complex))}, "Complex data"),
        ({"X": np.array([["a", "b"]] * 60)}, "could not convert string"),
    ],
)
def test_wrong_data_is_refused(data, message):
    with pytest.raises(ValueError, match=message):
        fit(**data)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"m": 5}, "5 rows of every class or 5 rows in all"),
        ({"m": 5, "ranking": "pooled", "k": 61}, "k=61 exceeds the 60 values"),
        ({"m": 5, "ranking": "pooled", "k": 5}, "no rank between them"),
        ({"m": 29, "ranking": "pooled"}, "may drop 29"),
        ({"m": {"yes": 60}}, "in class 'yes': m=60 drops everything"),
        ({"m": {"maybe": 6}}, "'maybe', which is not a class of y"),
        ({"m": True}, "m=True is of type bool"),
        ({"k": True}, "k=True is of type bool"),
        ({"m": np.nan}, "m=nan is not a number"),
        ({"k": np.nan}, "k=nan is not a number"),
        ({"m": 1.0}, "can be read as one value and as all values"),
        ({"k": 1.0}, "can be read as one value and as all values"),
        ({"m": "automatic"}, "m='automatic' is not known; did you mean 'auto'"),
        ({"loss": "logistc"}, "did you mean 'logistic'"),
        ({"loss": "squared"}, "needed a loss over classes"),
        ({"loss": 3}, "needed a name such as 'logistic'"),
        ({"solver": "trimm"}, "solver='trimm' is not known; did you mean 'trim'"),
        ({"solver": None}, "needed one of 'trim', 'dca'"),
        ({"ranking": "within"}, "did you mean 'within_class'"),
        ({"solver": "topsum"}, "solver='topsum' is not known; needed one of 'trim', 'dca'"),
        ({"C": -1.0}, "C=-1.0 is not positive"),
        ({"C": "big"}, "needed a number"),
        ({"C": "big", "m": "auto"}, "needed a number"),
        ({"C": -1.0, "m": "auto"}, "C=-1.0 is not positive"),
        ({"tol": 0.0}, "needed a number above 0"),
        ({"max_iter": 0}, "needed an int, 1 or more"),
        ({"n_starts": 0}, "needed an int, 1 or more"),
        ({"class_weight": "balance"}, "balanced"),
        ({"class_weight": {"yes": 0.0}}, "a weight that is not positive and finite"),
        ({"class_weight": {"yes": np.inf}}, "a weight that is not positive and finite"),
        ({"class_weight": {"maybe": 2.0}}, "'maybe', which is not a class of y"),
        ({"class_weight": [1.0, 2.0]}, "needed a mapping"),
        ({"m": None}, "^m=None is of type NoneType"),
        ({"m": 0.0}, "^m=0.0 is not a fraction"),
        ({"verbose": "loud"}, "verbose='loud' is not an int"),
        ({"tol": -1.0, "solver": "dca"}, "needed a number above 0"),
        ({"n_starts": "all", "m": 0, "solver": "dca"}, "needed an int, 1 or more"),
        ({"fit_intercept": "no"}, "needed True or False"),
        ({"certify": 1}, "needed True or False"),
        ({"warm_start": 1}, "needed True or False"),
        ({"random_state": "seed"}, "'seed' cannot be used to seed"),
    ],
)
def test_wrong_parameters_are_refused_with_a_way_out(parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        fit(**({"m": 0.1} | parameters))  # which is not judged first


def test_a_loss_for_two_classes_is_refused_for_three():
    X, y = three_classes()
    with pytest.raises(ValueError, match=r"for two classes, and y holds 3.*OneVsRestClassifier"):
        fit(X, y, loss="squared_hinge")


def test_a_constant_feature_gets_no_coefficient():
    Z = np.column_stack([X, np.full(60, 5.0)])
    assert abs(fit(Z).coef_[0, -1]) < 1e-6


def test_rows_that_are_all_equal_give_the_constant_model_and_a_warning():
    with pytest.warns(ConstantModelWarning, match="Constant model"):
        model = fit(np.ones((60, 2)), np.repeat([0, 1], [20, 40]), m=0)
    np.testing.assert_allclose(model.predict_proba([[1.0, 1.0]]), [[1 / 3, 2 / 3]], rtol=1e-4)


def test_a_mapping_of_any_kind_and_numpy_keys_will_do():
    weights = MappingProxyType({np.str_("yes"): 2.0})
    model = fit(m={np.str_("yes"): np.int64(3)}, class_weight=weights)
    assert model.m_.tolist() == [0, 3]


def test_the_module_of_random_numbers_will_do_for_a_generator():
    assert fit(random_state=np.random).coef_.shape == (1, 3)


def test_another_number_of_features_at_prediction_is_refused():
    with pytest.raises(
        ValueError, match="X has 2 features, but RankedRangeClassifier is expecting 3"
    ):
        fit().predict(X[:, :2])
