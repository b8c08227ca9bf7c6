"""Files that are either wholly written or not written at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

StrPath = str | os.PathLike[str]

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # which calls do not say the file of


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise the `OSError` with which `atomic_write` would begin, before a long computation."""
    Replacement(path).discard()


class Replacement:
    """A temporary file that is to take the place of another one.

    The folder must exist; an existing file keeps its permissions. `temporary` lies in the same
    folder, by a name that nothing else has, and `fd` is open until `commit` or `discard`.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        # Through a symbolic link: the link stays and the file it names is replaced,
        # and the temporary file lies on the same file system as that file.
        self._target = Path(os.path.realpath(path))
        _check_replaceable(self._target)
        self.temporary, self.fd = _open_temporary(self._target)

    def commit(self, *, durable: bool = True) -> None:
        """Put the file in its place, by default only when the disk has all of it."""
        with contextlib.suppress(FileNotFoundError):
            os.fchmod(self.fd, stat.S_IMODE(self._target.stat().st_mode))
        if durable:
            os.fsync(self.fd)
        self._close()
        os.replace(self.temporary, self._target)  # noqa: PTH105 (the documented atomic call)
        if durable:
            sync_folder(self._target.parent)

    def discard(self) -> None:
        """Remove the temporary file. The old file stays in its place."""
        with contextlib.suppress(OSError):
            self._close()
        with contextlib.suppress(OSError):
            self.temporary.unlink()

    def _close(self) -> None:
        # Marked first: a close that fails has closed all the same.
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str], *, durable: bool = True) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` when the block ends without an exception.

    The data is flushed to the disk before the rename, so after a crash the name holds either the
    old content or the new one; ``durable=False`` spares that wait, for files that need not outlive
    the process. On any exception the temporary file is removed.
    """
    replacement = Replacement(path)
    try:
        with os.fdopen(replacement.fd, "wb", closefd=False) as file:
            yield file
        replacement.commit(durable=durable)
    except BaseException as error:
        replacement.discard()
        if isinstance(error, OSError) and error.errno in _FULL and error.filename is None:
            raise OSError(error.errno, error.strerror, os.fspath(path)) from None
        raise


def _check_replaceable(target: Path) -> None:
    if not target.exists():
        return
    # Renaming over a device or a pipe would replace the device itself.
    if not target.is_file():
        raise OSError(f"{target} exists and is not a regular file")
    # A rename asks for the folder's permission only; a write-protected file is meant to stay.
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))


def _open_temporary(target: Path) -> tuple[Path, int]:
    # Not tempfile.mkstemp: that makes files private (0600), and models are meant to be readable
    # by whomever the umask allows. The name is cut so that it stays within 255 bytes.
    stem = os.fsencode(target.name)[:200].decode(errors="ignore")
    temporary = target.with_name(f".{stem}.{secrets.token_hex(8)}.tmp")
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except OSError as error:
        # Name the file asked for, not the temporary one.
        raise OSError(error.errno, error.strerror, str(target)) from None
    return temporary, fd


def sync_folder(folder: Path) -> None:
    """Make renames and new names in a folder durable, where the file system can."""
    # The file is complete by now: a file system without such a call is no reason to fail.
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
