"""Files that are written whole or not at all, and names that every system accepts."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

Content = bytes | str | Iterable[str] | Iterable[bytes]
"""Bytes, a text, or the pieces of either. Texts are written in UTF-8, line ends as given."""

_RESERVED = re.compile(r"(?i:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3])")
_NOT_ALLOWED = re.compile(r'[<>:"|?*\\/\x00-\x1f]')


def check_name(path: Path) -> None:
    r"""Refuse a path whose last part is no name of a file on Windows, on every system.

    A table that one person writes is often opened by another, whose system would take ``nul.csv``
    for a device and could not store ``a:b.csv`` at all.

    Examples
    --------
    >>> check_name(Path("nul.csv"))
    Traceback (most recent call last):
    ...
    ValueError: 'nul.csv' is no name on Windows, where 'nul' is a device; choose another name,
    such as 'nul_.csv'
    """
    name = path.name
    stem, dot, ending = name.partition(".")
    if _RESERVED.fullmatch(stem.rstrip(" ")):
        device = stem.rstrip(" ")
        raise ValueError(
            f"{name!r} is no name on Windows, where {device!r} is a device; choose another name, "
            f"such as {device + '_' + dot + ending!r}"
        )
    if found := _NOT_ALLOWED.search(name):
        better = _NOT_ALLOWED.sub("_", name)
        raise ValueError(
            f"{name!r} has {found[0]!r}, which Windows does not allow in names; choose another "
            f"name, such as {better!r}"
        )
    if name not in ("", "..") and name[-1] in ". ":
        better = name.rstrip(". ") or "table"
        raise ValueError(
            f"{name!r} ends with a {'dot' if name[-1] == '.' else 'space'}, which Windows removes; "
            f"choose another name, such as {better!r}"
        )


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
            pieces = [content] if isinstance(content, str | bytes) else content
            with complete[path].open("wb") as file:
                file.writelines(it.encode() if isinstance(it, str) else it for it in pieces)
        if before_move is not None:
            before_move()
        for path, file_aside in complete.items():
            file_aside.replace(path)
