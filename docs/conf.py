"""How the site is built: `make docs`, then open docs/_build/html/index.html. It needs no network, then or later."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from rankone import __version__

project = "rankone"
author = "the rankone authors"
copyright = "the rankone authors; MIT licence"
version = release = __version__

extensions = ["generated", "myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["_build"]
default_role = "code"  # `name` in a docstring is code, as it is in Markdown

myst_heading_anchors = 3  # [text](page.md#a-heading) works here as it does on a forge
smartquotes_action = "D"  # dashes only: quotes stay as they are typed

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
napoleon_numpy_docstring = False

html_theme = "furo"
html_title = f"rankone {release}"
html_copy_source = False
html_show_search_summary = False  # the search would fetch every page it found, which a browser refuses to a file
html_show_sphinx = False
html_last_updated_fmt = None
html_static_path = ["_static"]
html_css_files = ["site.css"]
