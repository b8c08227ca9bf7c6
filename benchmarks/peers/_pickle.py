"""Models that are saved by ``pickle``, as scikit-learn's are."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any


def saver(model: Any) -> tuple[str, Callable[[Path], None]]:
    """The value that ``train`` returns as "save"."""

    def save(folder: Path) -> None:
        with (folder / "model").open("wb") as file:
            pickle.dump(model, file, protocol=pickle.HIGHEST_PROTOCOL)

    return "pickle", save
