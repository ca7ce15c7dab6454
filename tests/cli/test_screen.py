import io

import pytest

pytest.importorskip("rich", reason="the command line is an extra")

from rich.console import Console

from sorr.cli.screen import print_page
from sorr.experiments.pages import markdown

PAGE = f"""# Errors

Per cent, [not markup].

{markdown(["data set", "ours"], [["monk", "12.00 (0.50)"], ["splice [1]", ""]])}
- A note.
"""


def shown(width):
    text = io.StringIO()
    print_page(PAGE, Console(file=text, width=width))
    return [line.rstrip() for line in text.getvalue().splitlines()]


def test_a_page_is_shown_without_its_marks():
    assert [line for line in shown(60) if line] == [
        "Errors",
        "Per cent, [not markup].",
        " data set    ours",
        " ────────────────────────",
        " monk        12.00 (0.50)",
        " splice [1]",
        "- A note.",
    ]


def test_a_narrow_terminal_still_shows_every_number():
    assert max(map(len, shown(20))) <= 20
    assert "(0.50)" in " ".join(shown(20))
