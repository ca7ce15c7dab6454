"""A table that would rather be a program, and a quick audit of it."""

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("jinja2", reason="the page is an extra")

import numpy as np

from sorr.auditing import Roles, audit_table, read_table, variations

pd = pytest.importorskip("pandas", reason="tables are an extra")

SCRIPT = "</script><script>window.__pwned=1</script>"
IMAGE = '"><img src=x onerror="window.__pwned=2">'
YES, NO = "<b>yes</b>' onclick='window.__pwned=3", '\u2067לא\u2069 & "no"'
FORMULA = "=cmd|' /C calc'!A0"
COLUMN = "{{ 7*7 }}<script>window.__pwned=4</script>"
TURNED = "a\"b'c`\u2028<&>"
TARGET = "target</script>"
TEXTS = (
    SCRIPT,
    IMAGE,
    "=cmd|' /C calc'!A0",
    "\u202eelif\u202c.txt",
    "bell\x07 and \x1b[31mred",
    "שלום",
    "مرحبا",
    "😀",
    "x" * 5000,
)
FLIPPED, ROWS = 30, 300


def hostile(n=ROWS, seed=0):
    """Return rows of which the first few have wrong labels, with texts that no page should run."""
    rng = np.random.default_rng(seed)
    labels, texts = np.array([YES, NO, FORMULA], dtype=object), np.array(TEXTS, dtype=object)
    kind = rng.integers(0, 3, n)
    centre = np.array([[0.0, 4.0], [-4.0, -3.0], [4.0, -3.0]])[kind]
    x = (centre + rng.normal(size=(n, 2))).round(4)
    given = kind.copy()
    given[:FLIPPED] = (kind[:FLIPPED] + 1 + rng.integers(0, 2, FLIPPED)) % 3
    return pd.DataFrame(
        {
            COLUMN: x[:, 0],
            TURNED: texts[np.arange(n) % len(texts)],
            "W" * 300: x[:, 1],
            "id": [f"{'=' * (i % 3 == 0)}{SCRIPT}{i}" for i in range(n)],
            TARGET: labels[given],
        }
    )


def quickly(audit, *arguments, **options):
    """Return an audit with fewer variations: of a page, they change the numbers alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(variations, "_RESAMPLES", 6)
        patch.setattr(variations, "_POINTS", 10)
        patch.setattr(variations, "_FOLDS", 2)
        return audit(*arguments, **options)


def hostile_file(folder):
    """Write the table as a file, and return its path."""
    path = Path(folder) / "evil.csv"
    path.write_bytes(hostile().to_csv(index=False, lineterminator="\r\n").encode())
    return path


def hostile_report(model="linear", decisions=None):
    with tempfile.TemporaryDirectory() as folder:
        table = read_table(hostile_file(folder))
    table = replace(table, name='"<i>evil</i>.csv')
    roles = Roles(TARGET, id_column="id", group=(TURNED,))
    options = {} if decisions is None else {"decisions": decisions}
    return quickly(audit_table, table, roles, model=model, **options)
