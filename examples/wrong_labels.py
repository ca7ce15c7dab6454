"""Fit a classifier on labels of which some are wrong, and name the rows it left out.

Of 2000 rows in two classes, 300 of the positive class are called negative. The usual fit follows
them. Learning from the losses ranked after the first m does not; and the rows that are left out
are the suspects. How many there are in each class is estimated from the data.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression

from sorr import RankedRangeClassifier


def make_rows(n: int, n_wrong: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw two Gaussian classes, and call some rows of the positive one negative."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1, 1], size=n)
    X = rng.normal(size=(n, 2)) + np.outer(y, [1.2, 0.6])
    wrong = rng.choice(np.flatnonzero(y > 0), size=n_wrong, replace=False)
    y[wrong] = -1
    return X, y, wrong


def main() -> None:
    """Compare the usual fit with the one on a ranked range of losses."""
    X, y, wrong = make_rows(2000, 300, seed=0)
    X_clean, y_clean, _ = make_rows(20_000, 0, seed=1)

    usual = LogisticRegression(C=100.0).fit(X, y)
    robust = RankedRangeClassifier(m="auto", random_state=0).fit(X, y)

    left_out = np.flatnonzero(robust.outlier_mask_)
    found = np.isin(left_out, wrong).sum()
    print(f"accuracy on clean rows, usual fit:        {usual.score(X_clean, y_clean):.1%}")
    print(f"accuracy on clean rows, ranked-range fit: {robust.score(X_clean, y_clean):.1%}")
    print(f"rows left out: {len(left_out)}; wrong labels among them: {found} of {len(wrong)}")
    print(robust.share_.sentence)
    print(f"{robust.status_.name}: {robust.status_.sentence}")


if __name__ == "__main__":
    main()
