"""Results on disk, from the moment they are known.

One file per experiment, of JSON lines, that only grows: a line for every start of the command
that measured something (a session), and one for every run, which names its session. A file can be
copied into the folder of another machine and is then part of its report.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import multimargin
from multimargin.io._atomic import sync_folder
from reproduction.interface._cell import Cell, Record
from reproduction.measuring._machine import (
    hardware,
    load,
    machine_id,
    package_commit,
    software,
)


@dataclass(frozen=True)
class Session:
    """One start of the command: when, where, by which version, and the words it was given."""

    id: str
    started: str
    machine: str
    version: str
    commit: str
    command: str
    hardware: Mapping[str, str]
    software: Mapping[str, str]
    load: str

    @classmethod
    def begin(cls, command: str) -> Session:
        return cls(
            id=secrets.token_hex(4),
            started=now(),
            machine=machine_id(),
            version=multimargin.__version__,
            commit=package_commit(),
            command=command,
            hardware=hardware(),
            software=software(),
            load=load(),
        )


@dataclass(frozen=True)
class Kept:
    """A record with its session, time and data.

    Attributes
    ----------
    record : Record
    session : Session
    at : str
        The time of day.
    seconds : float
        Of the whole run, reading included.
    data : str
        The files that were read, as `files_in_words` has them; "" where that is not known.
    """

    record: Record
    session: Session
    at: str
    seconds: float
    data: str = ""


def now() -> str:
    """Return the time of day, with its zone, to the second."""
    return datetime.now().astimezone().isoformat(timespec="seconds")


class Store:
    """The results of one experiment.

    Parameters
    ----------
    folder : Path
        Made when the first result is there.
    experiment : str
        The file is ``<experiment>.jsonl``.

    Attributes
    ----------
    complaints : list of str
        What could not be read, in words.
    """

    def __init__(self, folder: Path, experiment: str) -> None:
        self.path = folder / f"{experiment}.jsonl"
        self.complaints: list[str] = []
        self._sessions: dict[str, Session] = {}
        self._latest: dict[str, Kept] = {}
        self._length = 0  # of the file, without a last line that was cut off
        self._ends_line = True
        self._read()

    @property
    def latest(self) -> dict[str, Kept]:
        """The last result of every cell, by the cell's key."""
        return dict(self._latest)

    def done(self, cell: Cell, data: str = "") -> bool:
        """Tell whether a run need not be made again.

        It succeeded, by this version of the package, on files like those that are there now,
        `data`, where both are known.
        """
        kept = self._latest.get(cell.key)
        return (
            kept is not None
            and not kept.record.failed
            and kept.session.version == multimargin.__version__
            and (not kept.data or not data or kept.data == data)
        )

    def append(self, record: Record, session: Session, seconds: float, data: str = "") -> None:
        """Keep a result; returns when the disk has it.

        Raises
        ------
        OSError
            If it cannot be written; what was kept before stays as it is.
        """
        lines = b"" if self._ends_line else b"\n"
        if session.id not in self._sessions:
            lines += _line({"session": asdict(session)})
        lines += _line(
            {
                "cell": asdict(record.cell),
                "measured": dict(record.measured),
                "machine": record.machine,
                "session": session.id,
                "at": now(),
                "seconds": seconds,
                "data": data,
            }
        )
        self._write(lines)
        for line in lines.splitlines():  # so that it is the same now as when it is read again
            self._take(line)

    def _write(self, lines: bytes) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            os.ftruncate(fd, self._length)  # a line that was cut off must not begin the next one
            try:
                _write_all(fd, lines, self._length)
                os.fsync(fd)
            except OSError as error:
                os.ftruncate(fd, self._length)
                raise OSError(error.errno, error.strerror, str(self.path)) from None
        finally:
            os.close(fd)
        if self._length == 0:
            sync_folder(self.path.parent)
        self._length += len(lines)
        self._ends_line = True

    def _read(self) -> None:
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return
        whole, newline, rest = content.rpartition(b"\n")
        unreadable = sum(not self._take(line) for line in whole.split(b"\n") if line)
        self._length = len(whole) + len(newline)
        if rest:
            if self._take(rest):  # only the end of the line is not there
                self._length, self._ends_line = len(content), False
            else:
                self.complaints.append(
                    f"{self.path}: the last line was cut off and is dropped; its run is made again"
                )
        if unreadable:
            self.complaints.append(
                f"{self.path}: lines that cannot be read are left out ({unreadable}); "
                "their runs are made again"
            )

    def _take(self, line: bytes) -> bool:
        """Add the content of a line; return False if it is not readable."""
        try:
            content = json.loads(line)
            if isinstance(content["session"], dict):
                session = _checked(Session(**content["session"]), _SESSION_TYPES)
                self._sessions[session.id] = session
                return True
            cell = _checked(Cell(**content["cell"]), _CELL_TYPES)
            record = Record(cell, dict(content["measured"]), content["machine"])
            session = self._sessions[content["session"]]
            kept = Kept(
                _checked(record, {"machine": str}),
                session,
                content["at"],
                content["seconds"],
                content.get("data", ""),
            )
            if cell.experiment != self.path.stem:
                return False
            types = {"at": str, "seconds": int | float, "data": str}
            self._latest[cell.key] = _checked(kept, types)
        except (ValueError, TypeError, KeyError):
            return False
        return True


_SESSION_TYPES: dict[str, Any] = {
    **{field.name: str for field in fields(Session)},
    "hardware": dict,
    "software": dict,
}
_CELL_TYPES: dict[str, Any] = {
    **dict.fromkeys(("experiment", "dataset", "formulation", "stop"), str),
    "log_c": int | float,
    "seed": int,
    "options": dict,
}
T = TypeVar("T")


def _checked(read: T, types: dict[str, Any]) -> T:
    """Return the value if its types are right; people edit files."""
    for name, kind in types.items():
        if not isinstance(getattr(read, name), kind):
            raise TypeError(f"{name} is {getattr(read, name)!r}")
    return read


def _line(content: dict[str, Any]) -> bytes:
    return json.dumps(content, default=_plain).encode() + b"\n"


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a result must be numbers, words and lists, got {type(value).__name__}")


def _write_all(fd: int, content: bytes, offset: int) -> None:
    while content:
        written = os.pwrite(fd, content, offset)
        content, offset = content[written:], offset + written
