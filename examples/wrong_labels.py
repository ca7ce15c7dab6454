"""Fit a classifier on labels of which some are wrong, and name the rows it left out.

Of 1000 rows in two classes, 80 carry the wrong label, and they lie where they pull the hardest.
The usual fit bends towards them. Dropping the largest losses (ranks 1 to m) and fitting the rest,
over and over, does not; and the rows that stay dropped are the suspects.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression

from sorr.losses import Logistic
from sorr.ranked import ranked_range_weights


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
    model = usual
    for _ in range(20):
        losses = Logistic().value(y, model.decision_function(X))
        weights = ranked_range_weights(losses, m=0.1)
        model = LogisticRegression(C=100.0).fit(X, y, sample_weight=weights)

    dropped = np.flatnonzero(weights == 0)
    found = np.isin(dropped, wrong).sum()
    print(f"accuracy on clean rows, usual fit:        {usual.score(X_clean, y_clean):.1%}")
    print(f"accuracy on clean rows, ranked-range fit: {model.score(X_clean, y_clean):.1%}")
    print(f"rows left out: {len(dropped)}; wrong labels among them: {found} of {len(wrong)}")


if __name__ == "__main__":
    main()
