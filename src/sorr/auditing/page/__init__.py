"""The report as one page: views of an audit, the template that shows them, and its style."""

from sorr.auditing.page.render import page

__all__ = ["page"]
