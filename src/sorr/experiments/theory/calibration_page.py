"""The page of the calibration: what the rows say, in tables and in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sorr.experiments.cells import Plan
from sorr.experiments.pages import markdown
from sorr.experiments.rows import Row

__all__ = ["calibration_page", "numbers", "verdict"]

_SAME = 1e-6  # of a minimum that is the one of the constant model, relatively


def numbers(setting: str) -> dict[str, float]:
    """Return the numbers of a setting, by name.

    Examples
    --------
    >>> numbers("mu=0.1 nu=0.5")
    {'mu': 0.1, 'nu': 0.5}
    """
    pairs = (part.partition("=") for part in setting.split())
    return {name: float(number) for name, _, number in pairs}


def verdict(row: Row) -> str:
    """Return what a row says of the sign of what minimises.

    "right": all minimisers have that of Bayes' rule; "at infinity": likewise, but the infimum is
    only approached; "zero": zero minimises, and at one point nothing else; "any": one minimiser
    has it and another has not. Nothing is said where no excess was measured.
    """
    if math.isnan(row["excess"]):
        return ""
    if row["excess"] > 0:
        is_endless = math.isinf(row["low"]) and row["low"] == row["high"]
        return "at infinity" if is_endless else "right"
    if row["dataset"] == "point":
        return "zero" if row["low"] == row["high"] == 0 else "any"
    return "zero" if row["infimum"] >= 1 - _SAME else "any"


def calibration_page(
    point: Sequence[Row], points: Sequence[Row], printed: Sequence[Row], plan: Plan
) -> str:
    """Return the page: one point, a population of three points, and the ranks the paper prints."""
    return _PAGE.format(
        quick=" A quick run: less of everything." if plan.quick else "",
        point=_point_table(point),
        points=_points_table(points),
        printed=_printed_table(printed),
    )


def _point_table(rows: Sequence[Row]) -> str:
    """Count verdicts over the probabilities, for each loss and pair of thresholds."""
    found: dict[tuple[str, float, float], list[Row]] = {}
    for row in rows:
        found.setdefault((row["model"], row["lower"], row["upper"]), []).append(row)
    lines = []
    for (loss, lower, upper), group in found.items():
        said = [verdict(row) for row in group]
        counts = [str(said.count(word)) for word in ("right", "at infinity", "zero", "any")]
        least = min(row["excess"] for row in group)
        lines.append([loss, f"{lower:g}", f"{upper:g}", *counts, f"{least:.4f}"])
    header = ["loss", "lambda", "lambda-hat", "right", "at infinity", "zero", "any", "least excess"]
    return markdown(header, lines)


def _points_table(rows: Sequence[Row]) -> str:
    """Return verdicts in a grid: mu to the right, nu downwards."""
    said: dict[tuple[float, float], dict[str, None]] = {}
    for row in rows:
        at = numbers(row["setting"])
        said.setdefault((at["nu"], at["mu"]), {})[verdict(row)] = None
    heads = sorted({mu for _, mu in said})
    lines = [
        [f"{nu:g}", *(" / ".join(said.get((nu, mu), {})) for mu in heads)]
        for nu in sorted({nu for nu, _ in said})
    ]
    return markdown(["nu \\ mu", *(f"{mu:g}" for mu in heads)], lines)


def _printed_table(rows: Sequence[Row]) -> str:
    """Return middle rank, error and minimum of each split beside each other."""
    found: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row["dataset"], row["model"], row["setting"]), []).append(row)
    lines = []
    for (name, loss, setting), group in found.items():
        at, n = numbers(setting), group[0]["chosen"]["rows"]
        middle = 50 * (at["m"] + at["k"]) / n
        errors = ", ".join(f"{row['error']:.1f}" for row in group)
        minima = ", ".join(f"{row['infimum']:.3f}" for row in group)
        ranks = [f"{at['k']:g}", f"{at['m']:g}", f"{n}", f"{middle:.1f}"]
        lines.append([name, loss, *ranks, errors, minima])
    header = ["data set", "loss", "k", "m", "rows", "(m + k) / 2, %", "error, %", "minimum"]
    return markdown(header, lines)


_PAGE = """\
# Calibration (Theorem 2 of the paper), in numbers

Losses are scaled to s(0) = 1, as in the proof. Eta is the probability of the positive class at a
point; Bayes' rule predicts the sign of eta - 1/2. *Excess* is by how much the infimum over zero and
the wrong sign lies above the infimum over all predictions: where it is positive, every minimiser
has the sign of Bayes' rule, and so has all that tends to the infimum.{quick}

## One point, thresholds given

The theorem: if 0 <= lambda < lambda-hat, there is a minimiser of
eta g(s(t)) + (1 - eta) g(s(-t)), g(s) = [s - lambda]_+ - [s - lambda-hat]_+, with the sign of
eta - 1/2. How often, over the values of eta that were tried (all minima in closed form):

{point}
*right*: all minimisers have the sign. *at infinity*: as right, but nothing minimises: the infimum
is approached as t grows. *zero*: t = 0 is the only minimiser. *any*: one minimiser has the sign,
others have not.

- lambda < s(0): the statement holds, and more: *every* minimiser has the sign. For the logistic
  loss with lambda = 0 and a finite lambda-hat the infimum can be at infinity, on the right side:
  read literally, there is no minimiser then.
- lambda = s(0): **the statement is wrong.** g(s(t)) is zero for t >= 0 and positive for t < 0, so
  that zero is the only minimiser for any eta, and zero has no sign. The proof differentiates at
  zero, where g(s(t)) has a corner: its second case should read lambda < 1, not lambda <= 1.
- lambda > s(0): true by the letter, and empty. All t with s(-|t|) <= lambda minimise, zero and
  both signs among them; the proof does not treat this case.
- lambda = lambda-hat: g is zero, and everything minimises.

## Three points, ranks given

The theorem takes thresholds as given. Here they are found: the ranked range between the fractions
mu and nu of a population of three points, weights 0.5, 0.3, 0.2 and eta = 0.95, 0.7, 0.4, is
minimised over all predictions, globally (signs and orders are enumerated, the rest is in closed
form). Bayes' rule errs in R = 19.5 %. Either all signs are right (*right*, *at infinity*), or the
constant model f = 0 is a minimiser (*zero*), or another one has a wrong sign somewhere (*any*).
Both losses; where they differ, logistic / hinge:

{points}
One rule tells which, here and in the random populations of our tests:

1. mu + nu <= 2 R: **the constant model is optimal**, with lambda = lambda-hat = s(0). To turn a
   wrong sign never raises the ranked range. With all signs right the rows that Bayes' rule gets
   wrong rank above all others, and away from zero the R - mu of them in the range lose at least
   what the first nu - R others gain, as s is convex.
2. mu <= R < (mu + nu) / 2: all signs are right at every minimiser.
3. mu > R: more is dropped than Bayes' rule gets wrong. The infimum is zero, lambda = lambda-hat,
   and wrong signs cost nothing at points whose mass times |2 eta - 1| adds up to mu - R at most.

So lambda < lambda-hat, which the theorem assumes, is no formality: it is what fails in 1 and 3.
And lambda is never above s(0) at a minimum, where f = 0 would be better, and equal to it only where
f = 0 is a minimum too: the gap in the proof is an edge, the assumption is not.

## The ranks the paper prints

The rule is about all functions and many rows. What does it say of linear models on some hundred?
Half of the rows of each data set (one number for each split), the printed k, m and C. *Error* is
that of a fit by the average loss, on the same rows, in the place of R. *Minimum* is the objective
that `trim` finds, relative to that of f = 0: at 1.000 nothing better than a constant was found.

{printed}
As the rule would have it, the less the middle rank exceeds the error, the nearer the minimum is to
the constant model. It is a guide and no more: the best linear model can err less than the average
fit does, as on Monk, and then there is more to gain.
"""
