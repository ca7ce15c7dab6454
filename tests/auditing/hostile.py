"""A table that would rather be a program, and a quick audit of it."""

import pytest

pytest.importorskip("jinja2", reason="the page is an extra")

import numpy as np

from sorr.auditing import Roles, Table, audit_table, variations

pd = pytest.importorskip("pandas", reason="tables are an extra")

SCRIPT = "</script><script>window.__pwned=1</script>"
IMAGE = '"><img src=x onerror="window.__pwned=2">'
YES, NO = "<b>yes</b>' onclick='window.__pwned=3", '\u2067לא\u2069 & "no"'
COLUMN = "{{ 7*7 }}<script>window.__pwned=4</script>"
TURNED = "a\"b'c`\u2028<&>"
TEXTS = (
    SCRIPT,
    IMAGE,
    "=cmd|' /C calc'!A0",
    "\u202eelif\u202c.txt",
    "שלום",
    "مرحبا",
    "😀",
    "x" * 5000,
)
FLIPPED = 12


def hostile(n=200, seed=0):
    """Return rows of which the first few have wrong labels, with texts that no page should run."""
    rng = np.random.default_rng(seed)
    x, texts = rng.normal(size=n), np.array(TEXTS, dtype=object)
    x += np.sign(x)
    y = np.where(x > 0, YES, NO)
    y[:FLIPPED] = np.where(y[:FLIPPED] == YES, NO, YES)
    return pd.DataFrame(
        {
            COLUMN: x,
            TURNED: texts[np.arange(n) % len(texts)],
            "W" * 300: rng.normal(size=n),
            "id": [f"{SCRIPT}{i}" for i in range(n)],
            "target</script>": y,
        }
    )


def quickly(audit, *arguments, **options):
    """Return an audit with fewer variations: of a page, they change the numbers alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(variations, "_RESAMPLES", 6)
        patch.setattr(variations, "_POINTS", 10)
        patch.setattr(variations, "_FOLDS", 2)
        return audit(*arguments, **options)


def hostile_report(model="linear"):
    frame, numbers = hostile(), np.arange(200)
    table = Table(frame, numbers, numbers + 2, len(frame), (), '"<i>evil</i>.csv')
    roles = Roles("target</script>", id_column="id", group=(TURNED,))
    return quickly(audit_table, table, roles, model=model)
