"""The folder of checkpoints: a folder per step, with a file per rank and a manifest.

step-000012/rank-00000.arrays   the parts of a rank (`multimargin.io._array_file`)
step-000012/manifest.json       written last: without it the checkpoint is not finished
"""

from __future__ import annotations

import contextlib
import json
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from multimargin.io._atomic import atomic_write
from multimargin.parallel._collectives import plain

MANIFEST = "manifest.json"
FORMAT_VERSION = 1

_STEP = re.compile(r"step-(\d{6,})")
# Finished files, and temporary ones of a writer that was killed.
_OURS = re.compile(r"rank-\d{5,}\.arrays|manifest\.json|\.(rank-|manifest).*\.tmp")


class ManifestError(ValueError):
    """A manifest that is damaged or not there."""


def step_folder(folder: Path, step: int) -> Path:
    return folder / f"step-{step:06d}"


def share_name(rank: int) -> str:
    return f"rank-{rank:05d}.arrays"


def steps(folder: Path) -> list[int]:
    """Return the steps in a folder, finished or not, in rising order."""
    found = ((path, _STEP.fullmatch(path.name)) for path in folder.iterdir())
    return sorted(int(match[1]) for path, match in found if match and path.is_dir())


def remove_step(folder: Path, step: int) -> None:
    """Remove the files of a step, and its folder if nothing else lies there."""
    place = step_folder(folder, step)
    # The manifest first: an interrupted removal leaves nothing that looks complete.
    (place / MANIFEST).unlink(missing_ok=True)
    for path in list(place.iterdir()):
        if _OURS.fullmatch(path.name):
            path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        place.rmdir()


def write_manifest(place: Path, manifest: Mapping[str, Any]) -> None:
    """Write a manifest: a line of JSON, and a line with its checksum."""
    line = json.dumps(dict(manifest), default=plain).encode()
    with atomic_write(place / MANIFEST) as file:
        file.write(b"%s\ncrc32 %08x\n" % (line, zlib.crc32(line)))


def read_manifest(place: Path) -> dict[str, Any]:
    """Read a manifest; ManifestError if it is damaged or not there."""
    try:
        line, _, rest = (place / MANIFEST).read_bytes().partition(b"\n")
    except FileNotFoundError:
        raise ManifestError("it was not finished") from None
    except OSError as error:
        raise ManifestError(f"its manifest cannot be read: {error}") from error
    if rest != b"crc32 %08x\n" % zlib.crc32(line):
        raise ManifestError("the checksum of its manifest is wrong")
    manifest = json.loads(line)
    if not isinstance(manifest, dict) or "format" not in manifest:
        raise ManifestError("its manifest is not one of multimargin")
    return manifest
