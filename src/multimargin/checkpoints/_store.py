"""Checkpoints: the state of a run on disk, from which the same command resumes it."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import secrets
import socket
import time
import warnings
from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from multimargin.checkpoints._folder import (
    FORMAT_VERSION,
    MANIFEST,
    ManifestError,
    read_manifest,
    remove_step,
    share_name,
    step_folder,
    steps,
    write_manifest,
)
from multimargin.checkpoints._lock import FolderLock
from multimargin.io._array_file import read_arrays, write_arrays
from multimargin.io._atomic import sync_folder
from multimargin.parallel._collectives import allgather_value, broadcast_value, plain, raise_on_all
from multimargin.parallel._communicator import Communicator

Part = Mapping[str, NDArray[Any]]

KEPT = 2  # the newest may be lost with the host that wrote it
_PATIENCE = 5.0  # seconds for a run that is ending to release the folder


class Checkpoint:
    def __init__(self, place: Path, manifest: Mapping[str, Any]) -> None:
        self.step: int = manifest["step"]
        self.common: dict[str, Any] = manifest["common"]  # as rank 0 gave it to `write`
        self._place, self._files, self._parts = place, manifest["files"], manifest["parts"]
        self._open: dict[int, tuple[dict[str, Any], dict[str, NDArray[Any]]]] = {}
        self.names: tuple[str, ...] = tuple(self._parts)  # of all ranks that wrote parts

    def part(self, name: str) -> dict[str, NDArray[Any]]:
        """Return the arrays of one part, memory-mapped and read-only.

        Copy arrays that are to be kept: newer checkpoints replace the file, and a network file
        system may drop its mapped pages.
        """
        if name not in self._parts:
            raise KeyError(f"{self._place}: there is no part {name!r}")
        number = self._parts[name]
        if number not in self._open:
            self._open[number] = read_arrays(self._place / self._files[number]["name"])
        meta, arrays = self._open[number]
        return {key: arrays[stored] for key, stored in meta["parts"][name].items()}


class Checkpoints:
    """Checkpoints of one run in one folder. All methods but `close` are called by all ranks.

    The folder, on a file system that all ranks share, is made if it is not there. `every` is the
    number of seconds from the end of one checkpoint to the start of the next; 0: whenever asked.
    `identity` has JSON values that must be equal for a run to resume from a checkpoint, most
    telling first: the first difference is reported.

    OSError if the folder cannot be written, another run uses it, or ranks do not share it;
    ValueError if `every` is negative or the ranks were given different identities.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        every: float,
        comm: Communicator,
        identity: Mapping[str, Any],
    ) -> None:
        self._folder, self._comm = Path(folder), comm
        with raise_on_all(comm):
            if not _is_time(every):
                raise ValueError(
                    f"checkpoints are written every so many seconds, 0 or more, got {every!r}"
                )
            if not os.fspath(folder):
                raise ValueError("the folder of the checkpoints has an empty name")
            # As it comes back from a file: tuples are lists there.
            self._identity = json.loads(json.dumps(dict(identity), default=plain))
        self._every = float(broadcast_value(comm, every))
        self._compare_ranks()
        self._lock: FolderLock | None = None
        self._take_folder()
        self._closed = self._warned = False
        self._begun: int | None = None  # rank 0: a step that is being written
        self._passed_over: set[int] = set()
        self._written_at = time.monotonic()

    def due(self) -> bool:
        """Return whether it is time for the next checkpoint: the same answer on all ranks."""
        if self._every == 0:
            return True
        return bool(broadcast_value(self._comm, time.monotonic() - self._written_at >= self._every))

    def write(self, common: Mapping[str, Any], parts: Mapping[str, Part]) -> None:
        """Write a checkpoint. If that fails, warn once and keep the older ones.

        `common` has JSON values, which rank 0 writes; `parts` are the parts of this rank, by names
        that are unique over all ranks.
        """
        self._check_open()
        owners = self._owners(parts)
        try:
            self._write(common, parts, owners)
        except OSError as error:  # the same on all ranks
            self._discard()
            if not self._warned:
                self._warn(
                    f"{self._folder}: a checkpoint could not be written ({error}). The run goes "
                    "on, and older checkpoints are still there"
                )
            self._warned = True
        except BaseException:
            self._discard()
            raise
        else:
            self._warned = False
            self._prune()
        self._written_at = time.monotonic()

    def read(self) -> Checkpoint | None:
        """Return the newest complete, undamaged checkpoint, on all ranks the same, or None.

        ValueError if it belongs to another run (see `identity`) or a newer version.
        """
        self._check_open()
        for step in reversed(self._steps()):
            place = step_folder(self._folder, step)
            manifest, fault = broadcast_value(self._comm, self._manifest(place))
            if fault is None:
                self._check_same_run(place, manifest)
                faults = allgather_value(self._comm, self._fault(place, manifest))
                fault = next(filter(None, faults), None)
            if fault is None:
                return Checkpoint(place, manifest)
            self._passed_over.add(step)
            self._warn(f"{place}: this checkpoint is passed over: {fault}")
        return None

    def remove(self) -> None:
        """Remove the checkpoints, and the folder if it was made for them, and close."""
        self._check_open()
        self._comm.barrier()  # nobody is reading any more
        if self._lock is not None:
            try:
                for step in steps(self._folder):
                    remove_step(self._folder, step)
                self._lock.remove()
            except OSError as error:
                # The run itself has succeeded.
                self._warn(f"{self._folder}: the checkpoints could not be removed: {error}")
        self.close()
        self._comm.barrier()

    def close(self) -> None:
        """Release the folder for another run. The checkpoints stay."""
        if self._lock is not None:
            self._lock.release()
        self._lock, self._closed = None, True

    # ------------------------------------------------------------ the folder

    def _compare_ranks(self) -> None:
        identities = allgather_value(self._comm, self._identity)
        for rank, other in enumerate(identities):
            if difference := first_difference(identities[0], other):
                name, ours, theirs = difference
                raise ValueError(
                    f"all ranks must be given the same run, but {name} is {ours} on rank 0 and "
                    f"{theirs} on rank {rank}"
                )

    def _take_folder(self) -> None:
        """Lock the folder and make sure that all ranks see the same one."""
        comm = self._comm
        # A name that nobody has asked for before: a network file system remembers for a while
        # that a file was not there.
        token = self._folder / f".token-{secrets.token_hex(8)}.tmp"
        with raise_on_all(comm):
            if comm.rank == 0:
                self._lock = FolderLock(self._folder, _PATIENCE)
                token.touch()
        token = self._folder / broadcast_value(comm, token.name)
        seen = allgather_value(comm, [token.exists(), socket.gethostname()])
        if comm.rank == 0:
            token.unlink(missing_ok=True)
        for rank, (sees, host) in enumerate(seen):
            if not sees:
                if self._lock is not None:
                    self._lock.release()
                raise OSError(
                    f"{self._folder}: rank {rank} (on {host}) does not see what rank 0 (on "
                    f"{seen[0][1]}) writes there. Checkpoints need a folder on a file system "
                    "that all ranks share"
                )

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError(f"{self._folder}: these checkpoints are closed")

    def _warn(self, message: str) -> None:
        if self._comm.rank == 0:
            warnings.warn(message, stacklevel=3)

    # ------------------------------------------------------------ writing

    def _owners(self, parts: Mapping[str, Part]) -> dict[str, int]:
        owners: dict[str, int] = {}
        for rank, names in enumerate(allgather_value(self._comm, list(parts))):
            for name in names:
                if name in owners:
                    raise ValueError(
                        f"part {name!r} is given by ranks {owners[name]} and {rank}; "
                        "names must be unique over all ranks"
                    )
                owners[name] = rank
        return owners

    def _write(
        self, common: Mapping[str, Any], parts: Mapping[str, Part], owners: dict[str, int]
    ) -> None:
        comm = self._comm
        with raise_on_all(comm):
            if comm.rank == 0:
                self._begun = max(steps(self._folder), default=0) + 1
                step_folder(self._folder, self._begun).mkdir()
                sync_folder(self._folder)
        step, token = broadcast_value(comm, [self._begun, secrets.token_hex(8)])
        place = step_folder(self._folder, step)
        with raise_on_all(comm):
            size = _write_share(place / share_name(comm.rank), token, parts)
        sizes = allgather_value(comm, size)
        ranks = [rank for rank, size in enumerate(sizes) if size is not None]
        with raise_on_all(comm):
            if comm.rank == 0:
                manifest = {
                    "format": FORMAT_VERSION,
                    "step": step,
                    "token": token,
                    "identity": self._identity,
                    "files": [{"name": share_name(r), "bytes": sizes[r]} for r in ranks],
                    "parts": {name: ranks.index(rank) for name, rank in owners.items()},
                    "common": dict(common),
                }
                write_manifest(place, manifest)
        self._begun = None

    def _discard(self) -> None:
        """Remove the files of a step that will not be finished."""
        if self._begun is not None:
            with contextlib.suppress(OSError):
                remove_step(self._folder, self._begun)
        self._begun = None

    def _prune(self) -> None:
        """Keep the newest complete steps; remove older, unfinished and damaged ones."""
        if self._comm.rank != 0:
            return
        # If a step cannot be removed now, the next checkpoint tries again.
        with contextlib.suppress(OSError):
            found = steps(self._folder)
            sound = [
                step
                for step in found
                if step not in self._passed_over
                and (step_folder(self._folder, step) / MANIFEST).exists()
            ]
            for step in set(found).difference(sound[-KEPT:]):
                remove_step(self._folder, step)

    # ------------------------------------------------------------ reading

    def _steps(self) -> list[int]:
        found: list[int] = []
        with raise_on_all(self._comm):
            if self._comm.rank == 0:
                found = steps(self._folder)
        return list(broadcast_value(self._comm, found))

    def _manifest(self, place: Path) -> tuple[dict[str, Any] | None, str | None]:
        """Return a manifest, or its fault. Rank 0 reads it for all ranks."""
        if self._comm.rank != 0:
            return None, None
        try:
            return read_manifest(place), None
        except ManifestError as error:
            return None, str(error)

    def _check_same_run(self, place: Path, manifest: Mapping[str, Any]) -> None:
        if manifest["format"] > FORMAT_VERSION:
            raise ValueError(
                f"{place}: written by a newer multimargin: checkpoint format "
                f"{manifest['format']}, this one reads up to {FORMAT_VERSION}. Go on with that "
                "version, or name another folder"
            )
        if difference := first_difference(manifest["identity"], self._identity):
            name, theirs, ours = difference
            raise ValueError(
                f"{place}: this checkpoint is of another run: its {name} is {theirs}, but {ours} "
                f"in this run. Name another --checkpoint folder, or delete {self._folder} "
                "if its run is not to be resumed"
            )

    def _fault(self, place: Path, manifest: Mapping[str, Any]) -> str | None:
        """Return the fault of a file that this rank checks, or None. Ranks share the files."""
        comm = self._comm
        for file in manifest["files"][comm.rank :: comm.size]:
            path = place / file["name"]
            try:
                size = path.stat().st_size
                if size != file["bytes"]:
                    return f"{path.name} has {size} bytes, {file['bytes']} were written"
                if read_arrays(path, verify=True)[0].get("token") != manifest["token"]:
                    return f"{path.name} was written by another run"
            except FileNotFoundError:
                return f"{path.name} is not there"
            except (OSError, ValueError) as error:
                return str(error)
        return None


def _write_share(path: Path, token: str, parts: Mapping[str, Part]) -> int | None:
    """Write the parts of a rank; return the size of the file, None without parts."""
    if not parts:
        return None
    # Names in an array file are short: the index maps names of parts to them.
    numbers = itertools.count()
    index = {name: {key: f"a{next(numbers)}" for key in part} for name, part in parts.items()}
    arrays = {index[name][key]: part[key] for name, part in parts.items() for key in part}
    write_arrays(path, {"kind": "checkpoint", "token": token, "parts": index}, arrays)
    return path.stat().st_size


def first_difference(one: Any, other: Any) -> tuple[str, str, str] | None:
    """Return the place and the two texts where JSON values first differ; None if equal."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys([*one, *other]):
            if key not in one or key not in other:
                ours, theirs = (
                    json.dumps(x[key]) if key in x else "not given" for x in (one, other)
                )
                return key, ours, theirs
            inner = first_difference(one[key], other[key])
            if inner is not None:
                return f"{key}.{inner[0]}" if inner[0] else key, *inner[1:]
        return None
    # Compared as text: nan equals nan.
    ours, theirs = json.dumps(one), json.dumps(other)
    return None if ours == theirs else ("", ours, theirs)


def _is_time(every: Any) -> bool:
    return isinstance(every, Real) and float(every) >= 0
