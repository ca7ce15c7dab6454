"""How the pages are built: `sphinx-build -W docs docs/_build`."""

from importlib import metadata

project = "sorr"
copyright = "2026, The sorr developers"  # noqa: A001
release = metadata.version("sorr")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
]
exclude_patterns = ["_build", "figures"]
templates_path = ["_templates"]
numpydoc_show_class_members = False
autodoc_typehints = "none"
myst_heading_anchors = 3

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["wide.css"]  # tables of ten columns
html_sidebars = {
    page: [] for page in ("index", "ranked", "benchmarks", "architecture", "reproduction/*")
}
html_theme_options = {"use_edit_page_button": False, "show_toc_level": 2}

myst_enable_extensions = ["dollarmath"]  # formulas as $...$ in pages
