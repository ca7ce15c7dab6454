"""The list of checks that scikit-learn has, for baselines over labels, without an exception."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from sorr.baselines import (
    BinaryRelevance,
    MulticlassSVM,
    PairwiseRanking,
    SoftmaxClassifier,
    TopKSVMClassifier,
)


@parametrize_with_checks(
    [
        BinaryRelevance(),
        MulticlassSVM(),
        PairwiseRanking(),
        PairwiseRanking(outputs="linear"),
        SoftmaxClassifier(),
        TopKSVMClassifier(),
    ]
)
def test_scikit_learn_finds_nothing_to_complain_about(estimator, check):
    check(estimator)
