"""Pages are true: their code runs and prints what they show, their names and links exist."""

import contextlib
import io
import re
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest

from tests.test_architecture import ROOMS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
WRAPPED = [
    *PAGES,
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs" / "reproduction").glob("*.md")),
]
LONGEST = 100
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
    imported = "".join(code for code, _ in examples(page))
    if "from sorr.plots import" in imported:
        pytest.importorskip("matplotlib").use("Agg")
    if "import pandas" in imported:
        pytest.importorskip("pandas", reason="tables are an extra")
    if "import torch" in imported:
        pytest.importorskip("torch", reason="networks need PyTorch")
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


def long_lines(text):
    """Return the lines of prose that are too long; tables, code and lone links may be."""
    prose = BLOCK.sub("", text).splitlines()
    return [
        line
        for line in prose
        if len(line) > LONGEST and not line.startswith("|") and " " in line.strip()
    ]


@pytest.mark.parametrize("page", WRAPPED, ids=lambda page: page.name)
def test_no_line_of_prose_is_too_long(page):
    assert long_lines(page.read_text(encoding="utf-8")) == []


def test_tables_code_and_links_may_be_long():
    word, prose = "x" * 101, "word " * 21
    assert long_lines(f"| {prose} |\n{word}\n```text\n{prose}\n```\n") == []
    assert long_lines(f"short\n{prose}\n") == [prose]


def test_the_reference_lists_names_of_the_doors():
    text = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    for module, lists in re.findall(r"currentmodule:: (\S+)\n(.*?)```", text, re.S):
        names = re.findall(r"^ {3}(\w+)$", lists, re.M)
        assert names, f"{module} has no names"
        if module == "sorr.nn" and not find_spec("torch"):
            continue
        missing = set(names) - set(import_module(module).__all__)
        assert not missing, f"{module} does not export {missing}"


def listed_chapters():
    """Return the chapters that the architecture page lists for each room, in its order."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`\w+`|every room) \| [^|]+ \| ([^|]+) \|$", text, re.M)
    return {room.strip("`"): set(re.findall(r"`([\w/]*\w)`", cell)) for room, cell in rows}


def test_the_architecture_page_names_every_file_of_the_source():
    source = ROOT / "src" / "sorr"
    listed = listed_chapters()
    assert listed.pop("every room") == {path.stem for path in source.glob("_[a-z]*.py")}
    del listed["metrics"]  # a room of one file
    assert set(listed) == {path.parent.name for path in source.glob("*/__init__.py")}
    for room, chapters in listed.items():
        files = [path.relative_to(source / room) for path in (source / room).rglob("*.py")]
        names = {path.with_suffix("").as_posix() for path in files if path.stem != "__init__"}
        assert chapters == {name.removeprefix("paper/") for name in names}, room


def test_the_architecture_page_and_its_picture_show_the_corridor():
    rooms = [room for room in listed_chapters() if room != "every room"]
    picture = (ROOT / "docs" / "_static" / "architecture.svg").read_text(encoding="utf-8")
    for position, room in enumerate(rooms):
        assert ROOMS[room].own <= set(rooms[:position]), f"{room} stands too far left"
        assert f">{room}</text>" in picture
