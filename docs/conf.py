"""The documentation site: `make docs` builds it into build/docs/html, without a network."""

import sys
from pathlib import Path

import multimargin

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "multimargin"
author = "The multimargin developers"
project_copyright = author
version = release = multimargin.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_gallery.gen_gallery",
    # Our own, in _ext:
    "command_line",
    "offline",
]
exclude_patterns = ["_ext", "_templates", "gallery/**/*.ipynb", "gallery/**/*.py"]
templates_path = ["_templates"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
# `names` in docstrings become links where there is something to link to.
default_role = "py:obj"

# ------------------------------------------------------------ pages

myst_enable_extensions = ["attrs_block", "colon_fence", "deflist", "dollarmath", "amsmath"]
myst_heading_anchors = 3
# Included parts of the README begin below the heading of the page.
suppress_warnings = ["myst.header"]

# ------------------------------------------------------------ API reference

autosummary_generate = True
autosummary_context = {
    # scikit-learn's, whose docstrings refer to its own pages.
    "borrowed": [
        "get_metadata_routing",
        "get_params",
        "score",
        "set_callbacks",
        "set_fit_request",
        "set_params",
        "set_score_request",
    ]
}
autodoc_typehints = "none"  # the docstrings say types, with shapes
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# ------------------------------------------------------------ gallery

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "gallery.by_reading_order",
    "reset_modules": ("gallery.reset_figures",),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "capture_repr": ("__repr__",),
    "doc_module": ("multimargin",),
    "backreferences_dir": "api/generated/examples",
    "inspect_global_variables": False,
    "write_computation_times": False,
    "image_srcset": ["2x"],
    "thumbnail_size": (400, 280),
}

# ------------------------------------------------------------ HTML

html_theme = "furo"
html_title = f"multimargin {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#1f5f8b",
        "color-brand-content": "#1f5f8b",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7fb8e0",
        "color-brand-content": "#7fb8e0",
    },
}
pygments_style = "friendly"
pygments_dark_style = "native"
