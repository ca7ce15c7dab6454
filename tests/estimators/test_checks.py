"""The list of checks that scikit-learn has for every estimator, without a single exception."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sorr import RankedRangeClassifier, RankedRangeRegressor, TopKMultilabelClassifier

pytestmark = [
    # The checks fit tiny separable blobs and a few rows of noise, for which these are right.
    pytest.mark.filterwarnings("ignore::sorr.estimators.base.SeparableWarning"),
    pytest.mark.filterwarnings("ignore::sorr.estimators.base.ConstantModelWarning"),
    pytest.mark.filterwarnings("ignore::sorr.estimators.base.NotConvergedWarning"),
]


@parametrize_with_checks(
    [RankedRangeClassifier(), RankedRangeRegressor(), TopKMultilabelClassifier()]
)
def test_scikit_learn_finds_nothing_to_complain_about(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        RankedRangeClassifier(m="auto"),
        RankedRangeRegressor(loss="absolute"),
        RankedRangeRegressor(loss="huber", k=0.9),
        TopKMultilabelClassifier(loss="subset"),
        TopKMultilabelClassifier(loss="subset+logistic"),
        TopKMultilabelClassifier(loss="multilabel_hinge"),
    ]
)
def test_nor_with_other_losses_and_ranks(estimator, check):
    check(estimator)
