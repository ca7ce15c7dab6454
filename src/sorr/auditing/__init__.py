"""From a table to its wrong labels, a reason for each, and a model without them."""

from importlib import import_module
from typing import Any

# The file of each name. They load late, so that a wrong path is refused before anything heavy.
_FILES = {
    "AuditReport": "report",
    "Column": "columns",
    "Correction": "correction",
    "Decisions": "decisions",
    "Finding": "findings",
    "Fitted": "fit",
    "MODELS": "judges",
    "ModelError": "storage",
    "Planted": "report",
    "Roles": "rows",
    "Table": "table",
    "TableError": "table",
    "apply_decisions": "correction",
    "as_judge": "judges",
    "audit": "entry",
    "audit_example": "entry",
    "audit_table": "entry",
    "correct_file": "correction",
    "dump_model": "storage",
    "fit_table": "fit",
    "format_probability": "table",
    "load_model": "storage",
    "new_categories": "preparation",
    "read_decisions": "decisions",
    "read_table": "table",
    "quote": "table",
}
__all__ = list(_FILES)


def __getattr__(name: str) -> Any:
    if name in _FILES:
        return getattr(import_module(f"sorr.auditing.{_FILES[name]}"), name)
    raise AttributeError(f"module 'sorr.auditing' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
