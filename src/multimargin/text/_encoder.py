"""Encoders: from texts to vectors, in batches, checked, and kept on disk if they have a name."""

from __future__ import annotations

import hashlib
import importlib.util
import threading
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.estimator._observers import progress_bar
from multimargin.text._embedding_cache import EmbeddingCache, keys_of
from multimargin.text._raw_columns import BadValue, BadValuesError

_BATCH = 512  # texts that an encoder gets at a time
_KEEP_EVERY = 30.0  # seconds of work that an interruption may lose
_READ = 1 << 22

_NOT_FINITE = "returned NaN or infinity for this text"

_loading = threading.Lock()


class _BadVectorError(Exception):
    """A text whose vector is not finite."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def check_encoder(given: Any) -> None:
    """Raise an error unless this can be an encoder; a name needs its package to be installed."""
    if isinstance(given, str):
        folder = Path(given)
        if not given or (given[0] in "./~" and not folder.is_dir()):
            raise ValueError(f"encoder {given!r}: there is no such folder")
        if importlib.util.find_spec("sentence_transformers") is None:
            raise ImportError(_needs_package(given))
    elif not callable(given) and not hasattr(given, "encode"):
        raise ValueError(
            "encoder must be the name of a sentence-transformers model, an object with "
            f".encode(texts), or a function from a list of texts to an array, got {given!r}"
        )


class TextEncoder:
    """An encoder, its name and revision if it has any, and the dimension of its vectors.

    `source` is a name, an object with ``.encode(texts)`` or a function; None is an encoder that a
    model file could not hold, `described` says which. Attributes are None where they are not known.
    """

    def __init__(
        self,
        source: Any,
        *,
        described: str | None = None,
        revision: str | None = None,
        dimension: int | None = None,
    ) -> None:
        self.source, self.revision, self.dimension = source, revision, dimension
        # A folder is found from everywhere.
        self.name = source if isinstance(source, str) else None
        if self.name is not None and Path(self.name).is_dir():
            self.name = str(Path(self.name).resolve())
        self._on_hub = self.name is not None and not Path(self.name).is_absolute()
        self._is_checked = False
        kind = source if hasattr(source, "__qualname__") else type(source)
        self.described = described or self.name or f"{kind.__module__}.{kind.__qualname__}"

    def replaced_by(self, source: Any) -> TextEncoder:
        """Return the same encoder from elsewhere, such as a folder that has moved.

        A ValueError says that a name is one of another revision.
        """
        check_encoder(source)
        other = TextEncoder(source, revision=self.revision, dimension=self.dimension)
        if other.name is None:
            other.revision = None
        else:
            other.check_revision()
        return other

    def check_revision(self) -> None:
        """Raise a ValueError if the folder of this name is gone, or is of another revision."""
        assert self.name is not None
        # The hub gives the revision that it is asked for. A folder is read once, not for each text.
        if self._on_hub or self._is_checked:
            return
        if not Path(self.name).is_dir():
            raise ValueError(
                f"encoder {self.name!r}: there is no such folder; if it has moved, say where to: "
                "load_model(path, encoder=...), or --encoder"
            )
        found = revision_of(self.name)
        if self.revision not in (None, found):
            raise ValueError(
                f"encoder {self.name!r} is revision {found}, but the model was trained with "
                f"revision {self.revision}"
            )
        self._is_checked = True

    def embed(
        self, texts: Sequence[str], column: str | None = None, *, shows: bool = False
    ) -> NDArray[np.float32]:
        """Return a vector for each text; equal texts are embedded once.

        `column` is where the texts are from, for messages; `shows` lets a progress bar appear.
        """
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        distinct, order = list(places), [places[text] for text in texts]
        try:
            vectors = self._vectors(distinct, shows)
        except _BadVectorError as error:
            bad = BadValue(column, texts.index(error.text), f"{self._who} {_NOT_FINITE}")
            raise BadValuesError([bad]) from None
        self.dimension = vectors.shape[1]
        return vectors if len(distinct) == len(order) else vectors[order]

    def _vectors(self, texts: list[str], shows: bool) -> NDArray[np.float32]:
        """Return the vectors of different texts, those that are on disk from there."""
        identity = self._identity()
        if identity is None:
            return self._computed(texts, lambda begin, made: None, shows)
        cache, keys = EmbeddingCache(identity), keys_of(texts)
        found, vectors = cache.find(keys, self.dimension)
        if found.all():
            return vectors
        if found.any():
            self.dimension = vectors.shape[1]
        missing = np.flatnonzero(~found)

        def keep(begin: int, made: NDArray[np.float32]) -> None:
            cache.add(keys[missing[begin : begin + len(made)]], made)

        made = self._computed([texts[place] for place in missing], keep, shows)
        if not found.any():
            return made
        vectors[missing] = made
        return vectors

    def _identity(self) -> str | None:
        """Return what the vectors on disk belong to, None for an encoder that may change."""
        if self.name is None:
            return None
        self.revision = self.revision or revision_of(self.name)
        if self.revision is None:  # the hub's is known once it is on this machine
            loaded_encoder(self.name, None)
            self.revision = revision_of(self.name)
        if self.revision is None:
            return None
        # The revision of a folder is its content, wherever it is.
        return f"{self.name}@{self.revision}" if self._on_hub else self.revision

    def _computed(
        self, texts: list[str], keep: Callable[[int, NDArray[np.float32]], None], shows: bool
    ) -> NDArray[np.float32]:
        """Embed texts by batches; `keep` gets the vectors from a place on, now and then."""
        encode = self._function()
        done: list[NDArray[np.float32]] = []
        kept, since = 0, time.monotonic()
        # It appears where the work takes more than a second.
        bar = progress_bar(total=len(texts), desc="embedding", delay=1, disable=not shows)
        try:
            for begin in range(0, len(texts), _BATCH):
                batch = texts[begin : begin + _BATCH]
                done.append(self._checked(encode(batch), batch))
                bar.update(len(batch))
                if time.monotonic() - since > _KEEP_EVERY:
                    keep(kept * _BATCH, np.concatenate(done[kept:]))
                    kept, since = len(done), time.monotonic()
        finally:
            bar.close()
            if kept < len(done):  # also after Ctrl-C
                keep(kept * _BATCH, np.concatenate(done[kept:]))
        return np.concatenate(done)

    def _function(self) -> Callable[[list[str]], Any]:
        source = self.source
        if source is None:
            raise ValueError(
                f"the model was trained with an encoder that has no name, {self.described}: pass "
                "it again, load_model(path, encoder=...)"
            )
        if self.name is not None:
            self.check_revision()
            source = loaded_encoder(self.name, self.revision)
        encode: Callable[[list[str]], Any] = getattr(source, "encode", source)
        return encode

    @property
    def _who(self) -> str:
        return f"the encoder {self.described}"

    def _checked(self, given: Any, batch: list[str]) -> NDArray[np.float32]:
        """Return what an encoder gave for some texts as an array, if it is what was asked for."""
        try:
            with np.errstate(over="ignore"):
                vectors = np.asarray(given, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self._who} returned no array of numbers: {error}") from None
        if vectors.ndim != 2 or not vectors.shape[1]:
            raise ValueError(
                f"{self._who} returned an array of shape {vectors.shape}: it must have a row of "
                "numbers for each text"
            )
        if len(vectors) != len(batch):
            raise ValueError(f"{self._who} returned {len(vectors)} rows for {len(batch)} texts")
        self.dimension = self.dimension or vectors.shape[1]
        if vectors.shape[1] != self.dimension:
            raise ValueError(
                f"{self._who} returned vectors of {vectors.shape[1]} numbers, but those before, "
                f"of training or of other texts, have {self.dimension}"
            )
        finite = np.isfinite(vectors).all(axis=1)
        if not finite.all():
            raise _BadVectorError(batch[int(np.argmin(finite))])
        return vectors


def revision_of(name: str) -> str | None:
    """Return the commit of a model of the hub that is on this machine, or a hash of a folder.

    None if there is neither.
    """
    folder = Path(name)
    if folder.is_dir():
        return _content_hash(folder)
    if importlib.util.find_spec("huggingface_hub") is None:
        return None
    from huggingface_hub import try_to_load_from_cache

    for repository in (name, f"sentence-transformers/{name}"):
        for file in ("modules.json", "config.json"):
            try:
                there = try_to_load_from_cache(repository, file)
            except ValueError:  # no name of the hub
                continue
            if isinstance(there, str):
                return Path(there).parent.name
    return None


def _content_hash(folder: Path) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(folder).as_posix()}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as file:
            while part := file.read(_READ):
                digest.update(part)
    return digest.hexdigest()


def loaded_encoder(name: str, revision: str | None) -> Any:
    """Return a sentence-transformers model; the last ones stay in memory."""
    with _loading:  # folds in threads need the same one
        return _loaded(name, revision)


@lru_cache(maxsize=2)
def _loaded(name: str, revision: str | None) -> Any:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise ImportError(_needs_package(name)) from None
    try:
        # A folder has the revision that it has.
        of_hub = None if Path(name).is_absolute() else revision
        return SentenceTransformer(name, revision=of_hub)
    except Exception as error:  # of many kinds, all about this name
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ValueError(f"encoder {name!r} cannot be loaded: {first}") from None


def _needs_package(name: str) -> str:
    return (
        f"encoder {name!r} needs sentence-transformers: pip install 'multimargin[embeddings]'; or "
        "pass an object with .encode(texts)"
    )
