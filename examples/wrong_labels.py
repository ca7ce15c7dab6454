"""Train a classifier on data with wrong labels, and list the rows it dropped.

There are 2000 rows in two classes. 300 rows of the positive class are labelled as negative. An
ordinary logistic regression follows the wrong labels. `RankedRangeClassifier` judges the labels,
drops the rows that are probably wrong, and learns from the others.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression

from sorr import RankedRangeClassifier


def make_rows(n: int, n_wrong: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw two Gaussian classes, and label some positive rows as negative."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1, 1], size=n)
    X = rng.normal(size=(n, 2)) + np.outer(y, [1.2, 0.6])
    wrong = rng.choice(np.flatnonzero(y > 0), size=n_wrong, replace=False)
    y[wrong] = -1
    return X, y, wrong


def main() -> None:
    """Compare an ordinary fit with one that drops suspect rows."""
    X, y, wrong = make_rows(2000, 300, seed=0)
    X_clean, y_clean, _ = make_rows(20_000, 0, seed=1)

    usual = LogisticRegression().fit(X, y)
    robust = RankedRangeClassifier(random_state=0).fit(X, y)

    dropped = np.flatnonzero(robust.outlier_mask_)
    n_found = np.isin(dropped, wrong).sum()
    print(f"accuracy on clean rows, logistic regression: {usual.score(X_clean, y_clean):.1%}")
    print(f"accuracy on clean rows, ranked range:        {robust.score(X_clean, y_clean):.1%}")
    print(f"dropped rows: {len(dropped)}; they contain {n_found} of {len(wrong)} wrong labels")
    print(robust.judgement_.sentence)
    print(f"{robust.status_.name}: {robust.status_.sentence}")


if __name__ == "__main__":
    main()
