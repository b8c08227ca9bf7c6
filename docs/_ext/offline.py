"""The built site loads nothing from elsewhere: the build fails if a page would."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import SphinxError

# What a browser loads by itself, unlike a link that a reader may follow.
_LOADED_BY_HTML = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc(?:set)?\s*=\s*[\"'](?:https?:)?//"
    r"|<link\b(?![^>]*rel\s*=\s*[\"']canonical)[^>]*\bhref\s*=\s*[\"'](?:https?:)?//",
    re.IGNORECASE,
)
_LOADED_BY_CSS = re.compile(
    r"url\(\s*[\"']?(?:https?:)?//|@import\s+[\"'](?:https?:)?//", re.IGNORECASE
)


def external_loads(folder: Path) -> list[str]:
    """Say where the pages of a folder load something from another place."""
    found = []
    for file in sorted(folder.rglob("*")):
        pattern = {".html": _LOADED_BY_HTML, ".css": _LOADED_BY_CSS}.get(file.suffix)
        if pattern is None:
            continue
        text = file.read_text(encoding="utf-8")
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            extract = text[match.start() : match.start() + 120].splitlines()[0]
            found.append(f"{file.relative_to(folder)}:{line}: {extract}")
    return found


def _check(app: Sphinx, failure: Exception | None) -> None:
    if failure is not None or app.builder.format != "html":
        return
    found = external_loads(Path(app.outdir))
    if found:
        raise SphinxError("these pages need a network:\n" + "\n".join(found))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the check."""
    app.connect("build-finished", _check, priority=900)  # after all files are there
    return {"parallel_read_safe": True, "parallel_write_safe": True}
