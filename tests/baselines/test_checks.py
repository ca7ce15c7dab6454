"""The list of checks that scikit-learn has for every estimator, without a single exception."""

import pytest
import sklearn
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from sorr.baselines import (
    BinaryRelevance,
    MulticlassSVM,
    PairwiseRanking,
    RobustMaxClassifier,
    TopKSVMClassifier,
)

pytestmark = [
    # The checks fit labels drawn at random and tiny separable blobs: these warnings are right.
    pytest.mark.filterwarnings("ignore::sorr.estimators.base.ConstantModelWarning"),
    pytest.mark.filterwarnings("ignore::sorr.estimators.base.SeparableWarning"),
]


# scikit-learn 1.6 makes two classes of three by which comes first: not the same ones for weighted
# rows and for repeated ones, which it shuffles.
KNOWS_TWO_CLASSES = parse_version(sklearn.__version__) >= parse_version("1.7")
HINGES = [RobustMaxClassifier(K=5.0, loss="hinge", norm=norm) for norm in ("l1", "l2")]
LABEL_MODELS = [MulticlassSVM(), PairwiseRanking(), TopKSVMClassifier()]


@pytest.mark.slow
@parametrize_with_checks([RobustMaxClassifier(), BinaryRelevance()])
def test_scikit_learn_finds_nothing_to_complain_about(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        RobustMaxClassifier(norm="l1"),
        *(HINGES if KNOWS_TWO_CLASSES else []),
        *LABEL_MODELS,
        PairwiseRanking(outputs="linear"),
    ]
)
def test_nor_about_other_models_losses_norms_and_outputs(estimator, check):
    check(estimator)
