"""The list of checks that scikit-learn has, for baselines over labels, without an exception."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sorr.baselines import (
    BinaryRelevance,
    MulticlassSVM,
    PairwiseRanking,
    TopKSVMClassifier,
)


@parametrize_with_checks(
    [
        BinaryRelevance(),
        MulticlassSVM(),
        PairwiseRanking(),
        TopKSVMClassifier(),
    ]
)
def test_scikit_learn_finds_nothing_to_complain_about(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([PairwiseRanking(outputs="linear")])
def test_nor_with_linear_outputs(estimator, check):
    check(estimator)
