"""Tables from files: their columns, the place of each row, and what is wrong with them."""

from sorr.auditing.table.reading import SUFFIXES, read_table
from sorr.auditing.table.values import (
    Argument,
    Table,
    TableError,
    format_probability,
    quote,
    quote_bare,
)

__all__ = [
    "SUFFIXES",
    "Argument",
    "Table",
    "TableError",
    "format_probability",
    "quote",
    "quote_bare",
    "read_table",
]
