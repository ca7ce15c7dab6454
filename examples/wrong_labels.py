"""Fit a classifier on labels of which some are wrong, and name the rows it left out.

Of 1000 rows in two classes, 80 carry the wrong label, and they lie where they pull the hardest.
The usual fit bends towards them. Learning from the losses ranked after the first m does not; and
the rows that are left out are the suspects.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression

from sorr.objectives import RankedRangeObjective
from sorr.solvers import trim


def make_rows(n: int, n_wrong: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw two Gaussian classes, and call some rows of the positive one negative."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], size=n)
    X = rng.normal(size=(n, 2)) + np.outer(y, [1.2, 0.6])
    wrong = rng.choice(np.flatnonzero(y > 0), size=n_wrong, replace=False)
    X[wrong] += [2.0, -1.0]
    y[wrong] = -1.0
    return X, y, wrong


def main() -> None:
    """Compare the usual fit with the one on a ranked range of losses."""
    X, y, wrong = make_rows(1000, 80, seed=0)
    X_clean, y_clean, _ = make_rows(20_000, 0, seed=1)

    usual = LogisticRegression(C=100.0).fit(X, y)
    robust = trim(RankedRangeObjective(X, y, "logistic", m=100, C=1e4), random_state=0)

    predicted = np.sign(X_clean @ robust.coef + robust.intercept)
    dropped = np.flatnonzero(robust.row_weights == 0)
    found = np.isin(dropped, wrong).sum()
    print(f"accuracy on clean rows, usual fit:        {usual.score(X_clean, y_clean):.1%}")
    print(f"accuracy on clean rows, ranked-range fit: {np.mean(predicted == y_clean):.1%}")
    print(f"rows left out: {len(dropped)}; wrong labels among them: {found} of {len(wrong)}")
    print(f"{robust.status.name}: {robust.status.sentence}")


if __name__ == "__main__":
    main()
