"""Tables from files: what is in them, where each row stands, and what is wrong with them."""

from sorr.auditing.table.frame import Table
from sorr.auditing.table.problems import TableError, plain, shown
from sorr.auditing.table.reading import SUFFIXES, read_table

__all__ = ["SUFFIXES", "Table", "TableError", "plain", "read_table", "shown"]
