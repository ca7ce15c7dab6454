"""The report as one HTML page: views of an audit, a template, and a style."""

from sorr.auditing.page.render import page

__all__ = ["page"]
