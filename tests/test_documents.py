"""The code in README and docs runs and prints what stands below it."""

import contextlib
import io
import re
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(page):
    """Return each Python block of a page with the output that follows it, if any does."""
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [
        (code, text if kind == "text" else None)
        for (language, code), (kind, text) in pairwise([*blocks, ("", "")])
        if language == "python"
    ]


@pytest.mark.digits
@pytest.mark.parametrize("page", [page for page in PAGES if examples(page)], ids=lambda p: p.name)
def test_the_examples_of_a_page_print_what_it_says(page):
    if "from sorr.plots import" in page.read_text(encoding="utf-8"):
        pytest.importorskip("matplotlib").use("Agg")
    if "import pandas" in page.read_text(encoding="utf-8"):
        pytest.importorskip("pandas", reason="tables are an extra")
    names: dict[str, object] = {}
    for code, expected in examples(page):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page.name, "exec"), names)
        assert expected is None or printed.getvalue() == expected


def test_the_readme_and_the_guide_have_examples_with_output():
    for name in ("README.md", "docs/ranked.md"):
        assert any(text is not None for _, text in examples(ROOT / name))


def test_links_between_the_pages_lead_somewhere():
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
