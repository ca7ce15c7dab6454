"""Draw the floor plan of the source: `python docs/figures/architecture.py`.

The picture is plain SVG text, so every run writes the same bytes. It has a light background of its
own and is readable on light and on dark pages.
"""

from html import escape
from pathlib import Path
from typing import NamedTuple

WIDTH, HEIGHT = 1144, 436
LEFT, COLUMN, CLI = 14, 144, 108
TOP, DEPTH, CORRIDOR = 56, 124, 72
INK, SOFT, PAPER, FLOOR = "#22303c", "#51606d", "#ffffff", "#eef1f4"
DOOR, WALL = 22, 3

GROUPS = {
    "mathematics": ("the mathematics", "#dcebf7", "#2a6fa8"),
    "models": ("models", "#dff0e2", "#2f7d4f"),
    "support": ("data and figures", "#f6ecd2", "#96700f"),
    "reports": ("what people run", "#f8e0da", "#b8412c"),
}


class Room(NamedTuple):
    """A box of the plan: what the room is for, and the rooms it may import."""

    name: str
    purpose: tuple[str, str]
    imports: tuple[str, ...]
    group: str


# Columns of the plan from left to right, the room above the corridor first. A room may import
# rooms whose door is further left, and no others. None is room to grow.
COLUMNS: tuple[tuple[Room, Room | None], ...] = (
    (
        Room(
            "ranked", ("which ranks are", "kept, and their sums"), ("no other room",), "mathematics"
        ),
        Room("losses", ("one loss per row,", "with derivatives"), ("ranked",), "mathematics"),
    ),
    (
        Room(
            "objectives",
            ("ranked losses of a", "linear model + ridge"),
            ("ranked, losses",),
            "mathematics",
        ),
        Room(
            "solvers",
            ("from an objective", "to its minimum"),
            ("ranked, objectives",),
            "mathematics",
        ),
    ),
    (
        Room("share", ("how many labels", "are wrong"), ("the mathematics",), "models"),
        Room("metrics", ("how good are", "the predictions?"), ("the mathematics",), "models"),
    ),
    (
        Room(
            "estimators",
            ("scikit-learn models:", "fit, predict, search"),
            ("the mathematics,", "share, metrics"),
            "models",
        ),
        Room(
            "baselines",
            ("the models that", "we compare with"),
            ("the mathematics,", "estimators, metrics"),
            "models",
        ),
    ),
    (
        Room("nn", ("PyTorch: losses,", "and which to drop"), ("ranked, share",), "models"),
        None,
    ),
    (
        Room(
            "datasets", ("the paper's data,", "toys, wrong labels"), ("no other room",), "support"
        ),
        Room("plots", ("figures of losses", "and models"), ("ranked",), "support"),
    ),
    (
        Room(
            "experiments",
            ("the paper's tables", "and figures"),
            ("all to the left",),
            "reports",
        ),
        Room(
            "auditing",
            ("the wrong labels of", "a table, a report"),
            ("all to the left but", "experiments"),
            "reports",
        ),
    ),
)
COMMAND = Room(
    "cli",
    ("the command", "sorr"),
    ("experiments,", "auditing,", "estimators,", "datasets"),
    "reports",
)


def text(x, y, words, *, size=12.5, fill=INK, weight="normal", anchor="start", style="normal"):
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" fill="{fill}" font-weight="{weight}" '
        f'text-anchor="{anchor}" font-style="{style}">{escape(words)}</text>'
    )


def line(*points, colour=INK, width=WALL, extra=""):
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    stroke = f'stroke="{colour}" stroke-width="{width:g}"'
    return f'<polyline points="{path}" fill="none" {stroke} {extra}/>'


def label(room, x, y):
    """Write the name of a room, its purpose, and what it may import."""
    colour = GROUPS[room.group][2]
    yield text(x, y, room.name, size=16, fill=colour, weight="bold")
    for i, words in enumerate(room.purpose):
        yield text(x, y + 19 + 15 * i, words)
    for i, words in enumerate(room.imports):
        start = "\u2190 " if i == 0 else "\u2003"
        yield text(x, y + 55 + 14 * i, start + words, size=11.5, fill=SOFT, style="italic")


def draw_room(room, x, *, above):
    """Draw a room of a column: its floor, its walls with a door to the corridor, its label."""
    if room is None:
        wall = TOP + DEPTH + (0 if above else CORRIDOR)
        yield line((x, wall), (x + COLUMN, wall))
        return
    top = TOP if above else TOP + DEPTH + CORRIDOR
    wall = top + DEPTH if above else top  # the one along the corridor
    inside = -1 if above else 1
    hinge = x + (22 if above else 96)
    right, far = x + COLUMN, top if above else top + DEPTH
    floor = GROUPS[room.group][1]
    yield f'<rect x="{x:g}" y="{top:g}" width="{COLUMN}" height="{DEPTH}" fill="{floor}"/>'
    yield line(
        (hinge, wall), (x, wall), (x, far), (right, far), (right, wall), (hinge + DOOR, wall)
    )
    swing = f"{hinge + DOOR:g},{wall:g} A{DOOR},{DOOR} 0 0 {1 if inside > 0 else 0}"
    leaf = f"{hinge:g},{wall + inside * DOOR:g}"
    yield (
        f'<path d="M{swing} {leaf} L{hinge:g},{wall:g}" fill="none" '
        f'stroke="{GROUPS[room.group][2]}" stroke-width="1.6"/>'
    )
    yield from label(room, x + 11, top + (24 if above else 44))


def draw_command(x):
    """Draw the room at the end of the corridor."""
    bottom = TOP + 2 * DEPTH + CORRIDOR
    middle = TOP + DEPTH + CORRIDOR / 2
    floor, colour = GROUPS[COMMAND.group][1:]
    yield f'<rect x="{x:g}" y="{TOP}" width="{CLI}" height="{bottom - TOP}" fill="{floor}"/>'
    yield line(
        (x, middle - DOOR / 2), (x, TOP), (x + CLI, TOP), (x + CLI, bottom), (x, bottom),
        (x, middle + DOOR / 2),
    )  # fmt: skip
    yield (
        f'<path d="M{x:g},{middle + DOOR / 2:g} A{DOOR},{DOOR} 0 0 0 {x + DOOR:g},'
        f'{middle - DOOR / 2:g} L{x:g},{middle - DOOR / 2:g}" fill="none" stroke="{colour}" '
        'stroke-width="1.6"/>'
    )
    yield from label(COMMAND, x + 11, TOP + 24)


def draw_corridor(end):
    """Draw the corridor and the two ways through it."""
    top = TOP + DEPTH
    yield f'<rect x="{LEFT}" y="{top}" width="{end - LEFT}" height="{CORRIDOR}" fill="{FLOOR}"/>'
    yield line((LEFT, top), (LEFT, top + CORRIDOR))
    travel = "numbers travel this way: loss, ranked range, objective, minimum, model, report"
    imports = "imports go this way only, and through the doors"
    first, last = LEFT + 14, end - 36
    for y, begin, finish, words in (
        (top + 27, first, last, travel),
        (top + 53, last, first, imports),
    ):
        yield line(
            (begin, y), (finish, y), colour=SOFT, width=1.5, extra='marker-end="url(#arrow)"'
        )
        middle, half = (LEFT + end) / 2, 3.4 * len(words) + 8
        yield (
            f'<rect x="{middle - half:g}" y="{y - 9}" width="{2 * half:g}" height="18" '
            f'fill="{FLOOR}"/>'
        )
        yield text(middle, y + 4, words, fill=SOFT, anchor="middle")


def draw_groups():
    """Write the name of each group above its columns."""
    spans = {"mathematics": (0, 2), "models": (2, 5), "support": (5, 6), "reports": (6, 7)}
    for name, (first, last) in spans.items():
        words, _, colour = GROUPS[name]
        begin, finish = LEFT + first * COLUMN + 4, LEFT + last * COLUMN - 4
        finish += CLI if name == "reports" else 0
        yield line((begin, 42), (finish, 42), colour=colour, width=2.5)
        yield text((begin + finish) / 2, 33, words, size=13.5, fill=colour, anchor="middle")


def draw(path: Path) -> None:
    end = LEFT + len(COLUMNS) * COLUMN
    base = TOP + 2 * DEPTH + CORRIDOR + 14
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="Helvetica, Arial, sans-serif" role="img">',
        "<title>The rooms of sorr along their corridor</title>",
        '<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" '
        f'markerHeight="9" orient="auto"><path d="M0,1 L10,5 L0,9 z" fill="{SOFT}"/></marker>'
        "</defs>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="10" fill="{PAPER}"/>',
        *draw_groups(),
        *draw_corridor(end),
    ]
    for number, (upper, lower) in enumerate(COLUMNS):
        parts += draw_room(upper, LEFT + number * COLUMN, above=True)
        parts += draw_room(lower, LEFT + number * COLUMN, above=False)
    parts += draw_command(end)
    shared = "_checks, _csv, _files, _progress, _typing: the files that every room may import"
    parts += [
        f'<rect x="{LEFT}" y="{base}" width="{end + CLI - LEFT}" height="32" fill="{FLOOR}" '
        f'stroke="{INK}" stroke-width="1.5"/>',
        text((LEFT + end + CLI) / 2, base + 21, shared, anchor="middle"),
        "</svg>",
    ]
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    draw(Path(__file__).parents[1] / "_static" / "architecture.svg")
