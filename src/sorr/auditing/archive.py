"""The archive that skops makes of an object: its files, and the tree of types in one of them."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["LIMIT", "SCHEMA", "ModelError", "nodes", "numbered", "pack", "unpack"]

LIMIT = 2**28  # bytes of a file, and of what it holds: some hundred times a large model
SCHEMA = "schema.json"


class ModelError(ValueError):
    """A file is not a model of ours, or a model cannot become a file."""


def unpack(archive: bytes) -> dict[str, bytes]:
    """Return the files of an archive, each no longer than it says."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        infos = opened.infolist()
        size = sum(info.file_size for info in infos)
        if size > LIMIT:
            raise ModelError(f"holds {size:,} bytes when unpacked; a model has {LIMIT:,} at most")
        members = {}
        for info in infos:
            with opened.open(info) as member:
                members[info.filename] = member.read(info.file_size + 1)
    if len(members) != len(infos) or SCHEMA not in members:
        raise ModelError("holds another archive than skops writes; needed one that sorr wrote")
    return members


def pack(members: Mapping[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """Return the archive of these files, all of them of the same day."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, compression)
    return made.getvalue()


def numbered(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the same archive with objects and files counted, not named by where they lay."""
    schema = json.loads(members[SCHEMA])
    objects: dict[int, int] = {}
    files: dict[str, str] = {}
    for node in nodes(schema):
        if "__id__" in node:
            node["__id__"] = objects.setdefault(node["__id__"], len(objects) + 1)
        if isinstance(node.get("file"), str):
            node["file"] = files.setdefault(node["file"], f"{len(files) + 1}.npy")
    kept = {new: members[old] for old, new in files.items()}
    return kept | {SCHEMA: json.dumps(schema, separators=(",", ":")).encode("ascii")}


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every part of a schema that skops could make an object of."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if isinstance(part.get("__loader__"), str):
                yield part
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
