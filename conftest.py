"""Examples in docstrings that need what is not installed are left out."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("matplotlib") else ["src/sorr/plots/*"]
