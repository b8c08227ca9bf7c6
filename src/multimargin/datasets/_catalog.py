"""The data sets that are known by name: what they are, and where they can be had."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any, Literal

__all__ = ["CATALOG", "PARTS", "CatalogEntry", "Part", "RemoteFile", "entry_of"]

Part = Literal["train", "test"]
PARTS: tuple[Part, ...] = ("train", "test")


@dataclass(frozen=True)
class RemoteFile:
    """A file that anybody may download.

    Attributes
    ----------
    url : str
        Its address.
    name : str
        Its name in the folder of its data set.
    sha256, md5 : str or None
        Its sums; None where nobody is known to have published one.
    bytes : int or None
        Its size, where it is known.
    """

    url: str
    name: str
    sha256: str | None = None
    bytes: int | None = None
    md5: str | None = None


@dataclass(frozen=True)
class CatalogEntry:
    """A data set.

    Attributes
    ----------
    name : str
        The name of the set and of its folder.
    title : str
        A description in a few words.
    n_train, n_test : int
        Number of samples; `n_test` is 0 where there are no test samples.
    n_classes : int
        Number of classes with training samples.
    n_features : int
        Number of features, test samples included.
    licence : str
        The licence in a few words.
    where : str
        Where it can be had: a page, or words.
    files : mapping of {"train", "test"} to RemoteFile
        The files that ``multimargin data fetch`` downloads; empty where that needs a registration.
    paper : str
        The name by which the paper calls this very set, or "".
    stand_in_for : str
        The name by which the paper calls the set that this one resembles, or "".
    made : bool
        Whether it is generated each time it is asked for, and so always there.
    """

    name: str
    title: str
    n_train: int
    n_test: int
    n_classes: int
    n_features: int
    licence: str
    where: str
    files: Mapping[Part, RemoteFile] = field(default_factory=dict)
    paper: str = ""
    stand_in_for: str = ""
    made: bool = False

    @property
    def remedy(self) -> str:
        """How to get it, in words."""
        return f"'multimargin data fetch {self.name}' gets it" if self.files else self.where

    @property
    def sizes(self) -> dict[Part, int]:
        """Number of samples of each part."""
        return {"train": self.n_train, "test": self.n_test}


def _entry(name: str, facts: dict[str, Any]) -> CatalogEntry:
    remote = {part: _remote(part, facts.pop(part)) for part in PARTS if part in facts}
    return CatalogEntry(name, licence=facts.pop("licence", "not stated"), files=remote, **facts)


def _remote(part: Part, facts: dict[str, Any]) -> RemoteFile:
    suffix = ".bz2" if facts["url"].endswith(".bz2") else ""
    return RemoteFile(name=f"{part}.libsvm{suffix}", **facts)


def _generated(like: CatalogEntry) -> CatalogEntry:
    """Return an entry of the same size, to be generated."""
    return replace(
        like,
        name=f"generator-{like.name}",
        title=f"generated texts of the size of {like.paper}",
        licence="none needed",
        where="made by multimargin when it is asked for by its name",
        paper="",
        stand_in_for=like.paper,
        made=True,
    )


def _read_catalog() -> dict[str, CatalogEntry]:
    text = (files("multimargin.datasets") / "data" / "catalog.toml").read_text(encoding="utf-8")
    entries = [_entry(name, facts) for name, facts in tomllib.loads(text).items()]
    entries += [_generated(entry) for entry in entries if entry.paper.startswith("LSHTC")]
    return {entry.name: entry for entry in entries}


CATALOG: dict[str, CatalogEntry] = _read_catalog()


def entry_of(name: str) -> CatalogEntry:
    """Return the entry of a name; `ValueError` with the known names for any other."""
    if name not in CATALOG:
        raise ValueError(f"no data set is called {name!r}; there are {', '.join(sorted(CATALOG))}")
    return CATALOG[name]
