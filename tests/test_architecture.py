"""Guards of the house: rooms are entered by their doors, imports go one way, files are chapters."""

import ast
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

import pytest

import sorr

SOURCE = Path(__file__).parents[1] / "src" / "sorr"
STANDARD = frozenset(sys.stdlib_module_names)
SHARED = frozenset({"_checks", "_csv", "_files", "_progress", "_typing"})
"""Files at the root that any room may import."""
LONGEST = 700


class Room(NamedTuple):
    """What a room may import at any time, and what only inside of a function."""

    own: frozenset[str]
    others: frozenset[str]
    late: frozenset[str] = frozenset()


def _room(own="", others="", late=""):
    return Room(frozenset(own.split()), frozenset(others.split()), frozenset(late.split()))


CORE = "ranked losses objectives solvers"
MODELS = f"{CORE} share estimators baselines metrics datasets plots"
ROOMS = {
    "ranked": _room("", "numpy"),
    "losses": _room("ranked", "numpy scipy.special"),
    "objectives": _room("ranked losses", "numpy scipy"),
    "solvers": _room("ranked objectives", "numpy scipy joblib"),
    "share": _room(CORE, "numpy scipy sklearn joblib", "pandas"),
    "metrics": _room(CORE, "numpy scipy sklearn"),
    "estimators": _room(f"{CORE} share metrics", "numpy scipy sklearn joblib"),
    "baselines": _room(f"{CORE} estimators metrics", "numpy scipy sklearn joblib"),
    "nn": _room("ranked share", "numpy torch"),
    "dask": _room(
        f"{CORE} share estimators metrics", "numpy scipy sklearn joblib dask distributed"
    ),
    "datasets": _room("", "numpy scipy", "pandas sklearn"),
    "plots": _room("ranked", "numpy", "matplotlib sklearn"),
    "experiments": _room(
        MODELS, "numpy scipy sklearn joblib threadpoolctl", "matplotlib torch dask pandas rich"
    ),
    "auditing": _room(
        MODELS,
        "numpy scipy sklearn joblib",
        "sorr.dask torch dask pandas jinja2 skops pyarrow python_calamine charset_normalizer "
        "zstandard openpyxl odf polars",
    ),
    "cli": _room("experiments auditing estimators datasets", "typer rich"),
    "__main__": _room("cli"),
    "_checks": _room("", "numpy", "scipy sklearn"),
    "_csv": _room(),
    "_files": _room(),
    "_progress": _room(),
    "_typing": _room("", "numpy"),
}


def late_parts(node):
    """Return what of a node runs on first use or, because it is for type checkers, never."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return [node]
    if isinstance(node, ast.If) and getattr(node.test, "id", None) == "TYPE_CHECKING":
        return node.body
    return []


def imports(tree):
    """Yield every imported module of a syntax tree, and whether it is imported late."""
    parts = [part for node in ast.walk(tree) for part in late_parts(node)]
    late = {id(node) for part in parts for node in ast.walk(part)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, id(node) in late
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide which room is meant"
            for alias in node.names:
                # `from sorr import losses` and `from scipy import special` name a module last
                joined = f"{node.module}.{alias.name}"
                whole = node.module in {"sorr", "scipy"} or joined in modules()
                yield joined if whole else node.module, id(node) in late


@cache
def modules():
    """Return the path of every module of ours, by its dotted name."""
    return {
        ".".join(("sorr", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(
            ".__init__"
        ): path
        for path in sorted(SOURCE.rglob("*.py"))
    }


def breaches(room, source):
    """Return what a file of that room imports and may not."""
    if room not in ROOMS:
        return [f"there is no room {room!r} in the table: add it, with what it may import"]
    allowed = ROOMS[room]
    found = []
    for module, is_late in imports(ast.parse(source)):
        top, _, rest = module.partition(".")
        if top in STANDARD:
            continue
        if top == "sorr":
            target, _, inside = rest.partition(".")
            permitted = target in {room, "__version__", *SHARED} or target in allowed.own
            permitted = permitted or (is_late and f"sorr.{target}" in allowed.late)
            if permitted and inside and target != room:
                found.append(f"{room} passes the door of {target}: {module}")
        else:
            parts = module.split(".")
            names = {".".join(parts[: i + 1]) for i in range(len(parts))}
            permitted = bool(names & allowed.others) or (is_late and bool(names & allowed.late))
        if not permitted:
            found.append(f"{room} imports {module}")
    return found


def files():
    for name, path in modules().items():
        if name != "sorr":
            yield pytest.param(name.split(".")[1], path, id=name.removeprefix("sorr."))


@pytest.mark.parametrize(("room", "path"), list(files()))
def test_every_import_goes_back_along_the_corridor_and_through_a_door(room, path):
    assert breaches(room, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(("room", "path"), list(files()))
def test_a_file_is_a_chapter_that_can_be_read(room, path):
    assert room in ROOMS
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST


def public_names(source):
    """Return the line at which a file lists its public names, or nothing."""
    return [
        node.lineno
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"
    ]


@pytest.mark.parametrize(("room", "path"), list(files()))
def test_the_door_of_a_room_has_the_only_list_of_public_names(room, path):
    is_door = path.name in {"__init__.py", "metrics.py"}  # metrics is a room of one file
    assert is_door or public_names(path.read_text(encoding="utf-8")) == [], room


def imported_at_once(path):
    """Return which modules of ours a file imports when it is loaded, itself aside."""
    found = {
        module
        for module, is_late in imports(ast.parse(path.read_text(encoding="utf-8")))
        if module.startswith("sorr.") and not is_late
    }
    return {module for module in found if module in modules()}


def cycle_in(graph):
    """Return a cycle of modules that import each other, or nothing."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_no_files_import_each_other():
    assert cycle_in({name: imported_at_once(path) for name, path in modules().items()}) == []


def test_the_guard_sees_a_cycle():
    assert cycle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}}) != []


@pytest.mark.parametrize(
    ("room", "source"),
    [
        ("ranked", "import scipy"),
        ("ranked", "from sorr.losses import Hinge"),
        ("ranked", "def f():\n    from sorr import losses"),
        ("losses", "import scipy.optimize"),
        ("losses", "from scipy import optimize"),
        ("losses", "import sorr.objectives"),
        ("losses", "from sorr.ranked.reduce import top_sum"),
        ("losses", "def f():\n    from sorr.ranked import reduce"),
        ("objectives", "from sklearn.base import BaseEstimator"),
        ("solvers", "from sorr.losses import Hinge"),
        ("share", "from sorr.estimators import RankedRangeClassifier"),
        ("estimators", "def f():\n    import matplotlib.pyplot"),
        ("estimators", "from sorr.baselines import trimmed"),
        ("estimators", "import sorr.solvers.descent"),
        ("plots", "import matplotlib"),
        ("plots", "from sklearn.exceptions import NotFittedError"),
        ("plots", "if FLAG:\n    import matplotlib"),
        ("plots", "if TYPE_CHECKING:\n    pass\nelse:\n    import matplotlib"),
        ("plots", "if TYPE_CHECKING:\n    from sorr.estimators import RankedRangeClassifier"),
        ("plots", "def f():\n    from sorr.estimators import RankedRangeClassifier"),
        ("nn", "from sorr.solvers import trim"),
        ("auditing", "from sorr.dask import RankedRangeClassifier"),
        ("experiments", "import torch"),
        ("experiments", "import matplotlib.pyplot as plt"),
        ("experiments", "from sorr import cli"),
        ("experiments", "import sorr"),
        ("cli", "import numpy as np"),
        ("__main__", "import typer"),
        ("_checks", "from sorr.ranked import Mass"),
        ("utils", "import math"),
    ],
)
def test_the_guard_sees_an_import_that_is_not_allowed(room, source):
    assert breaches(room, source) != []


@pytest.mark.parametrize(
    ("room", "source"),
    [
        ("ranked", "import numpy as np\nfrom sorr.ranked.bounds import Mass\nimport math"),
        ("ranked", "from sorr._typing import FloatArray"),
        ("losses", "from scipy.special import expit\nfrom scipy import special"),
        ("losses", "from sorr import ranked"),
        ("plots", "def plot():\n    import matplotlib.pyplot as plt"),
        ("plots", "def plot():\n    from sklearn.exceptions import NotFittedError"),
        ("plots", "if TYPE_CHECKING:\n    from matplotlib.axes import Axes"),
        ("auditing", "def f():\n    from sorr.dask import RankedRangeClassifier"),
        ("experiments", "def run():\n    import torch"),
        ("experiments", "from sorr import __version__"),
        ("cli", "import typer\nfrom sorr.experiments import run"),
    ],
)
def test_the_guard_lets_through_what_the_table_allows(room, source):
    assert breaches(room, source) == []


HEAVY = ("torch", "dask", "matplotlib", "pandas")


def loaded_by(statement, folder):
    """Return which heavy packages a fresh interpreter has after running a statement.

    Empty stand-ins for them come first on its path, so that the test can fail on a machine
    which has none of them installed.
    """
    for name in HEAVY:
        (folder / f"{name}.py").write_text("")
    script = f"""
        import sys
        sys.path.insert(0, {str(folder)!r})
        {statement}
        print(*[name for name in {HEAVY} if name in sys.modules])
    """
    command = [sys.executable, "-c", dedent(script)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def test_importing_sorr_loads_nothing_heavy(tmp_path):
    assert loaded_by("import sorr", tmp_path) == []


@pytest.mark.parametrize("room", ["ranked", "losses", "plots", "experiments", "cli"])
def test_importing_a_room_loads_nothing_heavy(room, tmp_path):
    assert loaded_by(f"import sorr.{room}", tmp_path) == []


def test_the_guard_sees_a_heavy_import(tmp_path):
    assert loaded_by("import sorr, matplotlib", tmp_path) == ["matplotlib"]


def test_a_room_loads_on_first_use(tmp_path):
    statement = "import sorr; assert 'numpy' not in sys.modules; sorr.ranked.top_sum([1.0], 1)"
    assert loaded_by(statement, tmp_path) == []


def test_sorr_lists_its_rooms_and_nothing_that_is_not_there():
    assert {"ranked", "losses", "nn", "__version__"} <= set(dir(sorr))
    assert "nn" not in sorr.__all__  # a star would need torch
    assert sorr.losses.get_loss("hinge").name == "hinge"
    with pytest.raises(AttributeError, match="no attribute 'loses'"):
        sorr.loses  # noqa: B018
