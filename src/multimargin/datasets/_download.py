"""A file from the web: resumed where an earlier attempt stopped, and whole or not there."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import http.client
import os
import re
import shutil
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from tqdm.auto import tqdm

from multimargin.io._atomic import atomic_write

__all__ = ["FetchError", "download"]

_BLOCK_BYTES = 1 << 18
_SECONDS = 60.0  # without a byte, until a server is given up
_CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)")
_AGAIN = "run the same command again to go on from there"


class FetchError(RuntimeError):
    """A file could not be downloaded, or is not what it should be; the message says what to do."""


class _HttpsStays(urllib.request.HTTPRedirectHandler):
    """Follows redirections, but none from https to http."""

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, url: str
    ) -> Any:
        if req.type == "https" and urlsplit(url).scheme != "https":
            raise urllib.error.URLError(f"it redirects to {url}, which is not https")
        return super().redirect_request(req, fp, code, msg, headers, url)


def _opener() -> urllib.request.OpenerDirector:
    # Put together by hand: build_opener would also open file: and ftp: addresses.
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.UnknownHandler(),
        _HttpsStays(),
    ):
        opener.add_handler(handler)
    return opener


def download(
    url: str, part: Path, *, size: int | None = None, resume_blindly: bool = False
) -> None:
    """Download a file to a temporary name.

    Parameters
    ----------
    url : str
        An http or https address.
    part : Path
        Where to write; its folder must exist. What is there from an earlier attempt is completed
        if the server still has the same version of the file, which `part` with ``.version`` after
        its name remembers; otherwise the download starts anew.
    size : int, default=None
        Bytes that the file must have, if that is known.
    resume_blindly : bool, default=False
        Complete it even if the server does not name versions: for files whose sum is known.

    Raises
    ------
    FetchError
        If the file cannot be had. What has been received stays, so that a further call goes on
        from there; only on a full disk it is removed.
    OSError
        If the file cannot be written.
    """
    if urlsplit(url).scheme not in ("http", "https"):
        raise FetchError(f"{url}: only http and https addresses are fetched")
    with part.open("ab") as file:
        _lock(file, part)
        try:
            _receive(url, file, part, size, resume_blindly)
            file.flush()
            os.fsync(file.fileno())
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                file.truncate(0)
                raise FetchError(
                    f"{part.parent}: the disk is full; what had been received of {url} is removed. "
                    "Make room, or name another folder by --data"
                ) from None
            raise
        finally:
            if not part.stat().st_size:  # nothing that could be gone on with
                discard(part)
    _version_file(part).unlink(missing_ok=True)


def discard(part: Path) -> None:
    """Remove what has been received."""
    for file in (part, _version_file(part)):
        file.unlink(missing_ok=True)


def _version_file(part: Path) -> Path:
    return part.with_name(part.name + ".version")


def _lock(file: IO[bytes], part: Path) -> None:
    """Two downloads into one file would mix; the kernel lets go when this process ends."""
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise FetchError(f"{part}: another process is downloading it; wait for it") from None
    except OSError:  # a file system without locks
        return


def _receive(url: str, file: IO[bytes], part: Path, size: int | None, blindly: bool) -> None:
    """Append what is missing, or all of it."""
    have = os.fstat(file.fileno()).st_size
    version = _remembered(part, url)
    if have and not (version or blindly):
        have = 0
    with _asking(url, have, version, part) as response:
        begin, total = _offered(response, have)
        if begin is None:  # what is there cannot be a part of the file
            file.truncate(0)
        else:
            _check_room(part, url, begin, total)
            file.truncate(begin)
            _remember(part, url, response)
            _copy(response, file, begin, total, size, part.name.removesuffix(".part"))
    if begin is None:
        if not have:
            raise FetchError(
                f"{url}: the server was asked for the whole file, and answers with a part of it "
                "that does not begin at its beginning; try again later"
            )
        _receive(url, file, part, size, False)
        return
    received = os.fstat(file.fileno()).st_size
    if not received:
        raise FetchError(f"{url}: the server sent an empty file; try again later")
    too_long = size is not None and received > size
    if total is not None and received < total and not too_long:
        raise FetchError(
            f"{url}: the connection ended after {received:,} of {total:,} bytes, which are kept; "
            + _AGAIN
        )
    if size is not None and received != size:
        file.truncate(0)
        raise FetchError(
            f"{url}: {'at least ' * too_long}{received:,} bytes instead of the {size:,} that it "
            "should have; it is removed"
        )


@contextlib.contextmanager
def _asking(url: str, have: int, version: str, part: Path) -> Iterator[http.client.HTTPResponse]:
    """The answer of the server; errors of the network in words."""
    request = urllib.request.Request(url, headers={"User-Agent": "multimargin"})
    if have:
        request.add_header("Range", f"bytes={have}-")
        if version:
            request.add_header("If-Range", version)
    try:
        try:
            response = _opener().open(request, timeout=_SECONDS)
        except urllib.error.HTTPError as error:
            if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                raise
            response = error  # answers, too: how long the file is
        with response:
            yield response
    except urllib.error.HTTPError as error:
        raise FetchError(
            f"{url}: the server says {error.code} {_one_line(error.reason)}; it may have been "
            "moved, see where it can be had by 'multimargin data list'"
        ) from None
    except urllib.error.URLError as error:
        host = urlsplit(url).hostname
        reason = getattr(error.reason, "strerror", None) or error.reason
        raise FetchError(
            f"{url}: cannot reach {host} ({reason}); check the network and, if there is one, the "
            "proxy (https_proxy), then run the same command again"
        ) from None
    except (http.client.HTTPException, ssl.SSLError, ConnectionError, TimeoutError) as error:
        received = part.stat().st_size
        why = _one_line(error) or type(error).__name__
        if not received:
            raise FetchError(f"{url}: nothing was received ({why}); try again later") from None
        raise FetchError(
            f"{url}: the connection broke after {received:,} bytes, which are kept ({why}); "
            + _AGAIN
        ) from None


def _one_line(what: object) -> str:
    return " ".join(str(what).split())


def _offered(response: http.client.HTTPResponse, have: int) -> tuple[int | None, int | None]:
    """Where what the server sends begins, None if it has nothing to go on with; and the end."""
    content_range = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if response.status == http.HTTPStatus.PARTIAL_CONTENT and content_range:
        total = None if content_range[2] == "*" else int(content_range[2])
        return (have if content_range[1] == str(have) else None), total
    if response.status == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        complete = content_range is not None and content_range[2] == str(have)
        return (have if complete else None), have
    length = response.headers.get("Content-Length", "")
    return 0, int(length) if length.isdigit() else None


def _check_room(part: Path, url: str, begin: int, total: int | None) -> None:
    free = shutil.disk_usage(part.parent).free
    if total is not None and total - begin > free:
        raise FetchError(
            f"{part.parent}: {url} needs {total - begin:,} bytes more, but the disk has only "
            f"{free:,} left; make room, or name another folder by --data"
        )


def _copy(
    response: http.client.HTTPResponse,
    file: IO[bytes],
    begin: int,
    total: int | None,
    size: int | None,
    name: str,
) -> None:
    """Append what the server sends; no more of it than tells that it has not the right `size`."""
    if begin == total:  # nothing is missing; the body is that of an error
        return
    received = begin
    # Without a terminal there is nobody to look at a bar.
    with tqdm(
        desc=name, initial=begin, total=total, unit="B", unit_scale=True, disable=None
    ) as bar:
        try:
            # What has come, not a whole block: of a connection that breaks nothing is lost.
            while block := response.read1(_BLOCK_BYTES):
                file.write(block)
                bar.update(len(block))
                received += len(block)
                if size is not None and received > size:
                    break
        finally:
            file.flush()


# ---- Versions ----------------------------------------------------------------------------------


def _remember(part: Path, url: str, response: http.client.HTTPResponse) -> None:
    """Keep by what the server knows this version of the file: a strong tag, or its date."""
    tag = response.headers.get("ETag", "")
    version = tag if tag.startswith('"') else response.headers.get("Last-Modified", "")
    with atomic_write(_version_file(part)) as file:
        file.write(f"{url}\n{version}\n".encode())


def _remembered(part: Path, url: str) -> str:
    try:
        lines = _version_file(part).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return ""
    return lines[1] if len(lines) > 1 and lines[0] == url else ""
