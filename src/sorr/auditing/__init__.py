"""Which rows of a table do not belong, why, and a model that was learned without them."""

from sorr.auditing.frames import audit
from sorr.auditing.report import AuditReport, Planted, audit_example, audit_table
from sorr.auditing.storage import ModelError, dump_model, load_model
from sorr.auditing.table import Table, TableError, read_table

__all__ = [
    "AuditReport",
    "ModelError",
    "Planted",
    "Table",
    "TableError",
    "audit",
    "audit_example",
    "audit_table",
    "dump_model",
    "load_model",
    "read_table",
]
