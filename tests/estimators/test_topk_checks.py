"""The list of checks that scikit-learn has, for every loss over labels, without an exception."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sorr import TopKMultilabelClassifier

pytestmark = [
    # The checks fit a few rows of noise, and turn warnings off for themselves only in part.
    pytest.mark.filterwarnings("ignore::sorr.estimators.base.ConstantModelWarning"),
    pytest.mark.filterwarnings("ignore::sorr.estimators.base.NotConvergedWarning"),
]


@parametrize_with_checks([TopKMultilabelClassifier()])
def test_scikit_learn_finds_nothing_to_complain_about(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        TopKMultilabelClassifier(loss="subset"),
        TopKMultilabelClassifier(loss="subset+logistic"),
        TopKMultilabelClassifier(loss="multilabel_hinge"),
    ]
)
def test_nor_with_other_losses(estimator, check):
    check(estimator)
