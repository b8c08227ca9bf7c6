"""The address of the documentation, and of the page of a class in it."""

from __future__ import annotations

import os

# MULTIMARGIN_DOCS leads elsewhere, such as to a site built by `make docs`:
# file:///path/to/multimargin/build/docs/html
DOCUMENTATION = "https://multimargin.readthedocs.io/en/stable"


class DocumentedEstimator:
    """Makes the "?" of scikit-learn's HTML representation open our page of the class."""

    _doc_link_module = "multimargin"

    @property
    def _doc_link_template(self) -> str:
        # Braces of an address are its own: they go in as a value, not as a part of the template.
        return "{address}/api/generated/multimargin.{name}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        address = (os.environ.get("MULTIMARGIN_DOCS") or DOCUMENTATION).rstrip("/")
        # Estimators are public in the package itself, wherever their module is.
        return {"address": address, "name": type(self).__name__}
