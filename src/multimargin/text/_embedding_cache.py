"""Vectors of texts on disk, by the encoder that made them and by the texts themselves."""

from __future__ import annotations

import contextlib
import hashlib
import os
import warnings
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.io._array_file import ModelFileError, read_arrays, write_arrays
from multimargin.io._cache_folder import cache_folder

Keys = NDArray[np.uint64]  # of texts: two numbers for each

# Fewer texts are embedded again rather than kept: a server that is asked for one at a time would
# fill the folder with files.
LEAST_KEPT = 64


def keys_of(texts: Iterable[str]) -> Keys:
    """Return 128 bits for each text, which no other text has."""
    digests = (
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        for text in texts
    )
    return np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, 2).astype(np.uint64)


class EmbeddingCache:
    """The vectors of one encoder, which `identity` says: its name and revision.

    They lie in ``$MULTIMARGIN_EMBEDDINGS``, or else in the user's cache; an empty variable keeps
    nothing. A file is written once, under a name of its own, and never changed, so that processes
    cannot disturb each other; one that is damaged is removed.
    """

    def __init__(self, identity: str) -> None:
        given = os.environ.get("MULTIMARGIN_EMBEDDINGS")
        top = cache_folder("embeddings") if given is None else Path(given) if given else None
        name = hashlib.blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=16)
        self._identity = identity
        self._folder = None if top is None else top / name.hexdigest()

    def find(self, keys: Keys, dimension: int | None) -> tuple[NDArray[np.bool_], NDArray[Any]]:
        """Return which texts are known, and an array with their vectors; other rows are undefined.

        `dimension` is that of the vectors; None takes it from the first file.
        """
        found, known = np.zeros(len(keys), dtype=bool), np.empty((len(keys), 0), dtype=np.float32)
        for stored, vectors in self._files():
            if not known.shape[1] and dimension in (None, vectors.shape[1]):
                known = np.empty((len(keys), vectors.shape[1]), dtype=np.float32)
            if vectors.shape[1] != known.shape[1]:
                continue
            left = np.flatnonzero(~found)
            at = np.searchsorted(stored[:, 0], keys[left, 0])
            at = np.minimum(at, len(stored) - 1)
            hit = (stored[at] == keys[left]).all(axis=1)
            known[left[hit]] = vectors[at[hit]]
            found[left[hit]] = True
            if found.all():
                break
        return found, known

    def add(self, keys: Keys, vectors: NDArray[Any]) -> None:
        """Keep the vectors of texts that `find` did not know; a warning where that fails."""
        if self._folder is None or len(keys) < LEAST_KEPT:
            return
        order = np.lexsort((keys[:, 1], keys[:, 0]))
        keys, vectors = keys[order], np.ascontiguousarray(vectors[order], dtype=np.float32)
        name = hashlib.blake2b(keys.tobytes(), digest_size=16).hexdigest()
        meta = {"kind": "text-embeddings", "encoder": self._identity}
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_arrays(self._folder / name, meta, {"keys": keys, "vectors": vectors})
        except OSError as error:
            warnings.warn(f"embeddings are not kept for the next time: {error}", stacklevel=2)

    def _files(self) -> Iterator[tuple[Keys, NDArray[Any]]]:
        if self._folder is None:
            return
        try:
            # Temporary files begin with a dot.
            paths = sorted(p for p in self._folder.iterdir() if not p.name.startswith("."))
        except OSError:
            return
        for path in paths:
            try:
                about = path.stat()
                yield _opened(path, about.st_mtime_ns, about.st_size, self._identity)
            except ModelFileError:
                with contextlib.suppress(OSError):
                    path.unlink()
            except OSError:
                continue  # removed, or not readable


@lru_cache(maxsize=4096)
def _opened(path: Path, changed: int, size: int, identity: str) -> tuple[Keys, NDArray[Any]]:
    """Return the keys, which rise, and the vectors of a file, read whole and checked once."""
    meta, arrays = read_arrays(path, verify=True)
    keys, vectors = arrays.get("keys"), arrays.get("vectors")
    if (
        meta.get("encoder") != identity
        or keys is None
        or vectors is None
        or keys.dtype != np.uint64
        or vectors.dtype != np.float32
        or vectors.ndim != 2
        or keys.shape != (len(vectors), 2)
        or not len(keys)
    ):
        raise ModelFileError(f"{path}: no embeddings of {identity}")
    return keys, vectors
