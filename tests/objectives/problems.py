"""Small problems full of ties, and what their objective is, straight from its definition."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from sorr.losses import get_loss
from sorr.objectives import RankedRangeObjective
from sorr.ranked import Mass
from tests.ranked.referees import segments

ONE_OUTPUT = ["logistic", "hinge", "squared", "absolute"]
SEVERAL_OUTPUTS = ["softmax", "multiclass_hinge", "lsep"]
CONVEX = [*ONE_OUTPUT, *SEVERAL_OUTPUTS]
N_OUTPUTS = 3


class Problem(NamedTuple):
    """The arguments of an objective, and two points to compare it at."""

    X: Any
    y: Any
    loss: str
    options: dict[str, Any]
    start: Any
    end: Any

    def objective(self, **changes: Any) -> RankedRangeObjective:
        return RankedRangeObjective(
            changes.pop("X", self.X), self.y, self.loss, **{**self.options, **changes}
        )


def target(loss, n, random):
    if loss in ("logistic", "hinge"):
        return random.choice([-1.0, 1.0], n)
    if loss in ("squared", "absolute"):
        return random.integers(-2, 3, n).astype(float)
    if loss == "lsep":
        return random.random((n, N_OUTPUTS)) < 0.5
    return random.integers(N_OUTPUTS, size=n)


def parameters(loss, d, random):
    """Draw halves: with whole features, losses are often tied."""
    shape = (d + 1,) if loss in ONE_OUTPUT else (d + 1, N_OUTPUTS)
    return random.integers(-2, 3, shape) / 2


@st.composite
def tied(draw, losses=CONVEX, max_rows=12):
    """Draw a problem with ties, and possibly with weights, with groups, with both."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    loss = draw(st.sampled_from(losses))
    n, d = draw(st.integers(2, max_rows)), draw(st.integers(1, 3))
    X = random.integers(-1, 2, (n, d)).astype(float)
    options: dict[str, Any] = {"C": draw(st.sampled_from([0.5, 10.0, np.inf]))}
    if loss in SEVERAL_OUTPUTS:
        options["n_outputs"] = N_OUTPUTS
    if draw(st.booleans()):
        weight = random.choice([0.0, 0.5, 1.0, 2.0, 3.0], n)
        weight[random.integers(n)] += 1.0
        options["sample_weight"] = weight
    total = options["sample_weight"].sum() if "sample_weight" in options else n
    if draw(st.booleans()):
        options["groups"] = random.integers(2, size=n)
        options["m"] = draw(st.sampled_from([0, 0.2, 0.3]))
        options["k"] = draw(st.sampled_from([0.6, 0.7, None]))
    else:
        quarters = int(4 * total)
        k = draw(st.integers(1, quarters))
        options["m"] = Mass(draw(st.integers(0, k - 1)) / 4)
        options["k"] = Mass(k / 4)
    start, end = parameters(loss, d, random), parameters(loss, d, random)
    return Problem(X, target(loss, n, random), loss, options, start, end)


def generic(loss="logistic", n=60, d=3, seed=0, **options):
    """Return a problem without ties."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, d))
    if loss in SEVERAL_OUTPUTS:
        options.setdefault("n_outputs", N_OUTPUTS)
    shape = (d + 1,) if loss in ONE_OUTPUT else (d + 1, N_OUTPUTS)
    start, end = random.standard_normal((2, *shape))
    y = target(loss, n, random)
    if loss in ("squared", "absolute"):
        y = y + random.standard_normal(n)
    return Problem(X, y, loss, options, start, end)


def plain_losses(problem, theta):
    """Return the individual losses at parameters, from the formula of the predictor."""
    X = problem.X.toarray() if hasattr(problem.X, "toarray") else problem.X
    raw = X @ theta[:-1] + theta[-1]
    loss = get_loss(problem.loss)
    return loss.value(loss.check_target(problem.y, problem.options.get("n_outputs")), raw)


def plain_shares(values, weight, m, k):
    """Return the share of each value in the average of ranks m to k, by laying segments."""
    return segments(values, weight, m, k) / (k - m)


def plain_value(problem, theta):
    """Sort the losses of each group, cut, average; add the ridge."""
    losses, options = plain_losses(problem, theta), problem.options
    n = len(losses)
    weight = options.get("sample_weight", np.ones(n))
    labels = options.get("groups", np.zeros(n, dtype=int))
    value = 0.0
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        mass = weight[rows].sum()
        if mass > 0:
            m, k = plain_ends(options, mass, whole="sample_weight" not in options)
            shares = plain_shares(losses[rows], weight[rows], m, k)
            value += mass / weight.sum() * (shares @ losses[rows])
    return value + np.sum(theta[:-1] ** 2) / (2 * options.get("C", 1.0))


def plain_ends(options, mass, whole):
    """Return m and k of a group in mass."""
    m, k = options.get("m", 0), options.get("k")
    if isinstance(m, float) and not isinstance(m, Mass):
        m = np.floor(round(m * mass, 9)) if whole else m * mass
    if k is None:
        k = mass
    elif isinstance(k, float) and not isinstance(k, Mass):
        k = np.ceil(round(k * mass, 9)) if whole else k * mass
    return float(m), float(k)
