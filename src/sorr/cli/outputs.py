"""Files of a command: nothing is overwritten unasked, and each is written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

__all__ = ["Content", "check_places", "write_files"]

Content = str | bytes | Iterable[str]


def check_places(paths: Iterable[Path], force: bool) -> None:
    """Refuse places that are taken or cannot be written to: to be asked before the work begins."""
    places = list(paths)
    _check_taken(places, force)
    for folder in dict.fromkeys(path.parent for path in places):
        ground = next(it for it in (folder, *folder.absolute().parents) if os.path.lexists(it))
        if not ground.is_dir():
            raise NotADirectoryError(f"{ground} is no folder; name another place with --out")
        try:
            with tempfile.TemporaryDirectory(prefix=".sorr-", dir=ground):
                pass
        except OSError as error:
            raise PermissionError(
                f"nothing can be written to {ground} ({error.strerror}); name another place with "
                "--out"
            ) from error


def write_files(contents: Mapping[Path, Content], force: bool) -> None:
    """Write files into one folder: under other names first, and moved when all are there.

    A link at the place of a file is replaced; what it leads to is left alone.
    """
    (folder,) = {path.parent for path in contents}
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".sorr-", dir=folder) as aside:
        whole = {path: Path(aside) / path.name for path in contents}
        for path, content in contents.items():
            _write(whole[path], content)
        _check_taken(contents, force)
        for path, file in whole.items():
            file.replace(path)


def _write(path: Path, content: Content) -> None:
    if isinstance(content, bytes):
        path.write_bytes(content)
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines([content] if isinstance(content, str) else content)


def _check_taken(paths: Iterable[Path], force: bool) -> None:
    taken = [path for path in paths if os.path.lexists(path)]
    for path in taken:
        if path.is_dir() and not path.is_symlink():
            raise IsADirectoryError(f"{path} is a folder; name another place with --out")
    if taken and not force:
        names = ", ".join(map(str, taken))
        exist = "exists" if len(taken) == 1 else "exist"
        raise FileExistsError(
            f"{names} {exist} already; --force overwrites, --out names another place"
        )
