"""Fetch data sets from the web into the data folder, and compare them with sums."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from multimargin.datasets._catalog import CatalogEntry, Part, RemoteFile, entry_of
from multimargin.datasets._download import FetchError, download
from multimargin.datasets._sets import SHIPPED, default_folder, file_of
from multimargin.io._atomic import Replacement, atomic_write
from multimargin.io._compressed import DataFileError
from multimargin.io._svmlight import load_svmlight

SUMS = "SHA256SUMS"  # as `sha256sum --check` reads it
_SUMS_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")


def fetch_set(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    report: Callable[[str], None] | None = None,
) -> list[Path]:
    """Download a data set of the catalogue; the only function here that uses the network.

    A file gets its name only when its sum is the published one, or else the one of the first
    download, and it has the samples, classes and features of the catalogue. A download that fails
    leaves nothing behind; files that are there already stay as they are. Needs pooch
    (``pip install "multimargin[fetch]"``).

    Parameters
    ----------
    name : str
        A name of the catalogue (``multimargin data list`` shows it).
    folder : path-like, default=None
        The files go to a folder `name` in it; by default ``$MULTIMARGIN_DATA`` or a cache folder.
    report : callable, default=None
        Called with one line about each file.

    Returns
    -------
    files : list of Path
        The files of the set.

    Raises
    ------
    FetchError
        If a file cannot be had or is not what it should be, or is not offered for download.
    ImportError
        If pooch is not installed.
    OSError
        If it cannot be written.
    ValueError
        If the catalogue has no such name.

    Examples
    --------
    >>> from multimargin.datasets import fetch_set
    >>> fetch_set("usps", "data")  # doctest: +SKIP
    [PosixPath('data/usps/train.libsvm.bz2'), PosixPath('data/usps/test.libsvm.bz2')]
    """
    entry = entry_of(name)
    report = report or (lambda line: None)
    if not entry.files:
        if name == SHIPPED or entry.made:
            raise FetchError(f"{name} is part of multimargin: there is nothing to download")
        raise FetchError(f"{name} cannot be downloaded by a command: {entry.where}")
    place = Path(default_folder() if folder is None else folder) / entry.name
    place.mkdir(parents=True, exist_ok=True)
    try:
        return [_fetch_part(entry, part, place, report) for part in entry.files]
    finally:
        # Only an empty folder is removed: one in which nothing has been fetched.
        with contextlib.suppress(OSError):
            place.rmdir()


def _fetch_part(
    entry: CatalogEntry, part: Part, place: Path, report: Callable[[str], None]
) -> Path:
    remote = entry.files[part]
    there = file_of(entry.name, part, place.parent)
    if there is not None:
        if verify_set(entry.name, place.parent).get(there.name) is False:
            raise FetchError(
                f"{there} is not what was fetched: its sum differs from the one in {place / SUMS}; "
                "move it away, then run the same command again"
            )
        report(f"{there} is there already")
        return there
    target = place / remote.name
    report(f"fetching {remote.url}")
    new = Replacement(target)
    try:
        with open(new.fd, "wb", closefd=False) as file:
            download(remote.url, file, place, size=remote.bytes)
        found = _check_sums(remote, new.temporary, recorded_sums(place).get(remote.name))
        _check_content(entry, part, new.temporary)
        new.commit()
    except BaseException:
        new.discard()
        raise
    _record(place, remote.name, found)
    trust = f"no published sum to compare with, its own is now in {SUMS}"
    if remote.sha256 is not None or remote.md5 is not None:
        trust = "the published sum"
    report(f"{target}: {target.stat().st_size:,} bytes, {trust}")
    return target


def _check_sums(remote: RemoteFile, file: Path, recorded: str | None) -> str:
    """Compare a file with what is known of it; return its SHA-256 sum."""
    for kind, expected in (("md5", remote.md5), ("sha256", remote.sha256)):
        if expected is not None and (found := _sum(file, kind)) != expected:
            raise FetchError(
                f"{remote.url}: its {kind} sum is {found} instead of the published {expected}; "
                "what was received is removed. Try again, and if that does not help, the file "
                "was changed where it comes from"
            )
    found = _sum(file, "sha256")
    if recorded is not None and found != recorded:
        raise FetchError(
            f"{remote.url}: its sha256 sum is {found}, but {recorded} when it was first fetched, "
            f"as {file.parent / SUMS} says; what was received is removed. If the file was changed "
            "where it comes from and you want the new one, delete that line"
        )
    return found


def _sum(file: Path, kind: str) -> str:
    # MD5 guards against accidents only, which is all that those who published it can have meant.
    digest = hashlib.new(kind, usedforsecurity=False)
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: digest).hexdigest()


def recorded_sums(place: Path) -> dict[str, str]:
    """Return the sums that the files of a set had when they were first fetched."""
    try:
        lines = (place / SUMS).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    return {found[2]: found[1] for line in lines if (found := _SUMS_LINE.fullmatch(line))}


def _record(place: Path, name: str, found: str) -> None:
    sums = {**recorded_sums(place), name: found}
    with atomic_write(place / SUMS) as file:
        file.write("".join(f"{value}  {key}\n" for key, value in sorted(sums.items())).encode())


def verify_set(name: str, folder: str | os.PathLike[str]) -> dict[str, bool | None]:
    """Tell which files of a set still have the sums recorded when they were fetched.

    None where no sum was recorded; False also where a file with a sum is gone.
    """
    entry = entry_of(name)
    place = Path(folder) / entry.name
    sums = recorded_sums(place)
    same: dict[str, bool | None] = {}
    for part in entry.sizes:
        if file := file_of(name, part, folder):
            expected = sums.pop(file.name, None)
            same[file.name] = None if expected is None else _sum(file, "sha256") == expected
    return same | dict.fromkeys(sums, False)


def _check_content(entry: CatalogEntry, part: Part, file: Path) -> None:
    url = entry.files[part].url
    try:
        X, y = load_svmlight(file, n_features=entry.n_features)
    except DataFileError as error:
        raise FetchError(
            f"{url}: it cannot be read and is removed ({error}); it may be a page that says why "
            "the file is not to be had, so look at it in a browser"
        ) from None
    expected = {"samples": (X.shape[0], entry.sizes[part])}
    if part == "train":
        expected["classes"] = (len(np.unique(y)), entry.n_classes)
    for what, (found, wanted) in expected.items():
        if found != wanted:
            raise FetchError(
                f"{url}: it has {found:,} {what} instead of {wanted:,} and is removed; the file "
                "was changed where it comes from"
            )
