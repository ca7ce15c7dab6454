"""Tables from files: what is in them, where each row stands, and what is wrong with them."""

from sorr.auditing.table.reading import SUFFIXES, read_table
from sorr.auditing.table.values import Table, TableError, quote, quote_bare

__all__ = ["SUFFIXES", "Table", "TableError", "quote", "quote_bare", "read_table"]
