"""Small tables whose answers are known."""

import numpy as np
import pandas as pd

from sorr.auditing import Table
from sorr.auditing.entry import example
from sorr.auditing.rows import Roles, labelled_rows
from sorr.auditing.table.values import fingerprint_frame


def table(frame, name="the table", lines=None):
    n = len(frame)
    return Table(frame, np.arange(n), lines, n, (), name, fingerprint=fingerprint_frame(frame))


def rows(frame, target="y", task="auto", **roles):
    return labelled_rows(table(frame), Roles(target, **roles), task)


def mixed(n=240, seed=0, flipped=8):
    """Return numbers, texts and labels, the first few of which are wrong."""
    rng = np.random.default_rng(seed)
    age, town = rng.normal(40, 10, n), rng.choice(["Rome", "Bonn", "Oslo"], n)
    score = (age - 40) / 5 + np.where(town == "Rome", 2.0, -1.0)
    y = np.where(score + 0.3 * rng.normal(size=n) > 0, "yes", "no")
    y[:flipped] = np.where(y[:flipped] == "yes", "no", "yes")
    age[flipped + 5 : flipped + 25] = np.nan
    return pd.DataFrame({"age": age, "town": town, "noise": rng.normal(size=n), "y": y})


def three_classes(n=240, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.array(["a", "b", "c"])[np.argmax(X + 0.2 * rng.normal(size=(n, 3)), axis=1)]
    frame = pd.DataFrame(X, columns=["p", "q", "r"])
    frame["y"] = y
    return frame


def line(n=200, seed=0, off=6):
    """Return a regression of which the first few numbers are far off."""
    rng = np.random.default_rng(seed)
    size, rooms = rng.normal(100, 20, n), rng.integers(1, 6, n)
    price = 3.0 * size + 20.0 * rooms + rng.normal(0, 5, n)
    price[:off] += 200.0
    return pd.DataFrame({"size": size, "rooms": rooms, "price": price})


def clear(n=432, flipped=30):
    """Return the robots of the example, the first few with a wrong label: any model sees that."""
    frame, wrong = example().table.frame, example().wrong
    other = frame["friendly"].map({"yes": "no", "no": "yes"})
    frame["y"] = frame.pop("friendly").where(~wrong, other)
    order = np.argsort(~wrong, kind="stable")
    frame = frame.iloc[order].reset_index(drop=True).head(n)
    frame.loc[: flipped - 1, "y"] = frame["y"][:flipped].map({"yes": "no", "no": "yes"})
    return frame
