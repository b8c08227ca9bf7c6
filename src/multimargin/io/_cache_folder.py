"""The user's folder of things that can be made again."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder(name: str) -> Path:
    """Return the folder `name` in multimargin's part of the user's cache; it may not exist."""
    if sys.platform == "darwin":
        cache = Path.home() / "Library" / "Caches"
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "multimargin" / name
