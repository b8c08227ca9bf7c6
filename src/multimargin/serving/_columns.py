"""The weights of a model by feature in a file, which several processes map and share."""

from __future__ import annotations

import os
from pathlib import Path

from multimargin.io._array_file import read_arrays, write_arrays
from multimargin.models._feature_major import WeightsByFeature

_KIND = "weights-by-feature"


def write_columns(weights: WeightsByFeature, model: list[int], path: Path) -> None:
    """Write the weights of the model file of this `identity`, asked for before it was opened."""
    meta = {"kind": _KIND, "model": model}
    write_arrays(path, meta, weights._asdict(), durable=False)


def read_columns(path: str, model_path: str) -> WeightsByFeature | None:
    """Map what `write_columns` has written; None if the model file is another one by now."""
    meta, arrays = read_arrays(path)
    if meta["model"] != identity(model_path):
        return None
    return WeightsByFeature(*(arrays[name] for name in WeightsByFeature._fields))


def identity(path: str) -> list[int]:
    """What changes when a file is replaced."""
    about = os.stat(path)  # noqa: PTH116
    return [about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns]
