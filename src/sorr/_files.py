"""Files that are written whole or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

Content = bytes | str | Iterable[str]
"""Bytes, a text, or the pieces of a text. Texts are written in UTF-8, their line ends as given."""


def write_atomically(path: Path, content: Content) -> Path:
    """Write one file: an interruption leaves the old file, or none. Return its path."""
    write_all_atomically({path: content})
    return path


def write_all_atomically(
    contents: Mapping[Path, Content], before_move: Callable[[], None] | None = None
) -> None:
    """Write the files of one folder aside, then move all of them to their places.

    The folder is made if it is missing. A link at the place of a file is replaced, and what it
    leads to is left alone. `before_move` is called when all files are complete; if it raises an
    error, nothing is moved.
    """
    (folder,) = {path.parent for path in contents}
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".sorr-", dir=folder) as aside:
        complete = {path: Path(aside) / path.name for path in contents}
        for path, content in contents.items():
            if isinstance(content, bytes):
                complete[path].write_bytes(content)
                continue
            with complete[path].open("w", encoding="utf-8", newline="") as file:
                file.writelines([content] if isinstance(content, str) else content)
        if before_move is not None:
            before_move()
        for path, file_aside in complete.items():
            file_aside.replace(path)
