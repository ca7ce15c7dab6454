"""The list of checks that scikit-learn has for every estimator, without a single exception."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sorr.baselines import RobustMaxClassifier

pytestmark = [
    # The checks fit labels drawn at random and tiny separable blobs: these warnings are right.
    pytest.mark.filterwarnings("ignore::sorr.estimators.notices.ConstantModelWarning"),
    pytest.mark.filterwarnings("ignore::sorr.estimators.notices.SeparableWarning"),
]


@parametrize_with_checks(
    [
        RobustMaxClassifier(),
        RobustMaxClassifier(norm="l1"),
        RobustMaxClassifier(K=5.0, loss="hinge"),
        RobustMaxClassifier(K=5.0, loss="hinge", norm="l1"),
    ]
)
def test_scikit_learn_finds_nothing_to_complain_about(estimator, check):
    check(estimator)
