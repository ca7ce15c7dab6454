"""The list of checks that scikit-learn has for every estimator.

What the wrapper fails, the wrapped model fails by itself, for the reason that is given.
"""

import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from sorr import (
    RankedRangeClassifier,
    RankedRangeRegressor,
    TopKMultilabelClassifier,
    TrimmedClassifier,
    TrimmedRegressor,
)

pytestmark = [
    # The checks fit tiny separable blobs and a few rows of noise, for which these are right.
    pytest.mark.filterwarnings("ignore::sorr.estimators.base.SeparableWarning"),
    pytest.mark.filterwarnings("ignore::sorr.estimators.base.ConstantModelWarning"),
    pytest.mark.filterwarnings("ignore::sorr.estimators.base.NotConvergedWarning"),
]

WEIGHTS = [
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
]


@parametrize_with_checks(
    [RankedRangeClassifier(), RankedRangeRegressor()],
)
def test_scikit_learn_finds_nothing_to_complain_about(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([TopKMultilabelClassifier()])
def test_nor_about_the_classifier_of_label_sets(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [TrimmedClassifier(LogisticRegression()), TrimmedRegressor(Ridge())],
)
def test_nor_about_any_model_in_the_wrappers(estimator, check):
    check(estimator)


BOOTSTRAP = "a bootstrap draws rows, not masses: extra trees with bootstrap=True fail too"


def failures_of_trees(estimator):
    """Return the checks that a bootstrap of rows cannot pass, and why."""
    is_forest = estimator.estimator in ("auto", "forest")
    return dict.fromkeys(WEIGHTS, BOOTSTRAP) if is_forest else {}


@pytest.mark.slow
@parametrize_with_checks(
    [
        *(TrimmedClassifier(name) for name in ("auto", "linear", "forest")),
        *(TrimmedRegressor(name) for name in ("auto", "linear", "forest")),
    ],
    expected_failed_checks=failures_of_trees,
)
def test_nor_about_named_models_in_the_wrappers(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        RankedRangeClassifier(m=0.1),
        RankedRangeRegressor(m=0.1),
        RankedRangeRegressor(loss="absolute"),
        RankedRangeRegressor(loss="huber", k=0.9),
        TopKMultilabelClassifier(loss="subset"),
        TopKMultilabelClassifier(loss="subset+logistic"),
        TopKMultilabelClassifier(loss="multilabel_hinge"),
    ],
)
def test_nor_with_other_losses_and_ranks(estimator, check):
    check(estimator)
