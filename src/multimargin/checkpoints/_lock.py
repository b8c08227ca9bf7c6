"""A lock that lets one run at a time use a folder."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import socket
import time
import warnings
import weakref
from pathlib import Path
from typing import Any

NAME = "multimargin.lock"
# File systems without locks, such as Lustre mounted without them.
_NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK, errno.EOPNOTSUPP)


class FolderLock:
    """A folder's lock file, held by this process.

    The kernel releases it when the process ends, however it ends: a killed run leaves no lock.
    The folder is made if it is not there; its parent must be. OSError if nothing can be written
    there, or another process, which may be about to end, still holds the lock after `patience`
    seconds. `holds` says in messages what a run keeps there.
    """

    def __init__(self, folder: Path, patience: float, holds: str = "its checkpoints") -> None:
        self._path = folder / NAME
        self._holds = holds
        # Whether to remove the folder at the end: not if it was there before.
        self._made_folder = False
        fd = self._acquire(time.monotonic() + patience)
        self.release = weakref.finalize(self, os.close, fd)  # the lock file stays
        self._made_folder |= bool(_read(fd).get("made_folder", False))
        self._say(fd)

    def remove(self) -> None:
        """Remove the lock file, and the folder if a run had made it and it is empty."""
        self._path.unlink(missing_ok=True)
        if self._made_folder:
            # Not empty: other files stay.
            with contextlib.suppress(OSError):
                self._path.parent.rmdir()
        self.release()

    def _open(self) -> int:
        folder = self._path.parent
        try:
            folder.mkdir()
            self._made_folder = True
        except FileExistsError:
            if not folder.is_dir():
                raise NotADirectoryError(
                    errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder)
                ) from None
        return os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)

    def _acquire(self, deadline: float) -> int:
        while True:
            try:
                fd = self._open()
            except FileNotFoundError:
                # The last holder may just have removed the folder; or there is no parent.
                if not self._path.parent.parent.is_dir() or time.monotonic() > deadline:
                    raise
                continue
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = _read(fd)
                os.close(fd)
                if time.monotonic() > deadline:
                    raise OSError(self._refusal(holder)) from None
                time.sleep(0.1)
                continue
            except OSError as error:
                if error.errno not in _NO_LOCKS:
                    os.close(fd)
                    raise
                warnings.warn(
                    f"{self._path.parent}: this file system has no locks, so nothing keeps a "
                    f"second run from writing {self._holds} there",
                    stacklevel=2,
                )
                return fd
            if self._is_current(fd):
                return fd
            os.close(fd)

    def _is_current(self, fd: int) -> bool:
        # The last holder may have removed the file between our open and our lock.
        try:
            return os.path.samestat(os.fstat(fd), self._path.stat())
        except FileNotFoundError:
            return False

    def _refusal(self, holder: dict[str, Any]) -> str:
        who = f" (process {holder['pid']} on {holder.get('host')})" if "pid" in holder else ""
        return (
            f"{self._path.parent}: another run{who} keeps {self._holds} there. "
            "Wait until it has ended, or name another folder"
        )

    def _say(self, fd: int) -> None:
        made = self._made_folder
        content = {"pid": os.getpid(), "host": socket.gethostname(), "made_folder": made}
        try:
            os.ftruncate(fd, 0)
            os.pwrite(fd, json.dumps(content).encode(), 0)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self._path)) from None


def _read(fd: int) -> dict[str, Any]:
    # Empty or half written if its writer was killed just then.
    try:
        content = json.loads(os.pread(fd, 4096, 0))
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}
