"""Values full of ties, weights, and ranks that fit them: what the laws are checked on."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

# Few distinct numbers, all sums of which are exact: ties are the rule and equality is exact.
exact = st.sampled_from([-2.0, -0.5, 0.0, 0.25, 1.0, 1.5, 3.0])
spread = st.floats(-1e6, 1e6, allow_nan=False, width=32)
masses = st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0, 3.5])


@st.composite
def rows(draw, elements=exact, min_size=1, max_size=30):
    return np.array(draw(st.lists(elements, min_size=min_size, max_size=max_size)))


@st.composite
def ranked(draw, elements=exact, max_size=30):
    """Draw values with a count m and a count k."""
    values = draw(rows(elements, max_size=max_size))
    k = draw(st.integers(1, len(values)))
    return values, draw(st.integers(0, k - 1)), k


@st.composite
def weighted(draw, elements=exact, max_size=30, mass=masses):
    """Draw values, weights that do not vanish, and two masses m < k in quarters."""
    values = draw(rows(elements, max_size=max_size))
    size = len(values)
    weight = np.array(draw(st.lists(mass, min_size=size, max_size=size)))
    weight[draw(st.integers(0, size - 1))] += 1.0
    quarters = math.floor(4 * weight.sum())
    k = draw(st.integers(1, quarters))
    return values, weight, draw(st.integers(0, k - 1)) / 4, k / 4
