# SPDX-License-Identifier: MIT
"""The reference of the package, by Sphinx of its docstrings: make -C tools/python docs."""

project = "rfm"
author = "the rfm authors"
copyright = author
extensions = ["sphinx.ext.autodoc"]
default_role = "any"
autodoc_default_options = {"members": True, "undoc-members": True, "member-order": "bysource"}
autodoc_typehints = "description"
nitpicky = False
html_theme = "alabaster"
