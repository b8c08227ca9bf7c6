"""The catalogue of data sets: their names, sizes, licences and addresses."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any, Literal

Part = Literal["train", "test"]
PARTS: tuple[Part, ...] = ("train", "test")


@dataclass(frozen=True)
class RemoteFile:
    """A file that anybody may download."""

    url: str
    name: str  # in the folder of its data set
    sha256: str | None = None  # None: nobody is known to have published it
    bytes: int | None = None
    md5: str | None = None


@dataclass(frozen=True)
class CatalogEntry:
    name: str  # also of its folder
    title: str
    n_train: int
    n_test: int  # 0: there are no test samples
    n_classes: int  # with training samples
    n_features: int  # test samples included
    licence: str
    where: str  # it can be had: a page, or words
    files: Mapping[Part, RemoteFile] = field(default_factory=dict)  # none: needs a registration
    paper: str = ""  # the paper's name of this very set
    stand_in_for: str = ""  # the paper's name of the set that this one resembles
    made: bool = False  # generated each time it is asked for, and so always there

    @property
    def remedy(self) -> str:
        """The way to get it, in words."""
        return f"'multimargin data fetch {self.name}' gets it" if self.files else self.where

    @property
    def sizes(self) -> dict[Part, int]:
        return {"train": self.n_train, "test": self.n_test}


def _entry(name: str, facts: dict[str, Any]) -> CatalogEntry:
    remote = {}
    for part in PARTS:
        if file := facts.pop(part, None):
            suffix = ".bz2" if file["url"].endswith(".bz2") else ""
            remote[part] = RemoteFile(name=f"{part}.libsvm{suffix}", **file)
    return CatalogEntry(name, licence=facts.pop("licence", "not stated"), files=remote, **facts)


def _generated(like: CatalogEntry) -> CatalogEntry:
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
