"""Download one file by pooch, with errors that say what to do."""

from __future__ import annotations

import errno
import shutil
import sys
from pathlib import Path
from typing import IO, Any
from urllib.parse import urljoin, urlsplit

_CHUNK_BYTES = 1 << 18
_SECONDS = 60.0  # without a byte, until a server is given up
_AGAIN = "run the same command again"


class FetchError(RuntimeError):
    """A file could not be downloaded, or is not what it should be; the message says what to do."""


def download(url: str, file: IO[bytes], folder: Path, *, size: int | None = None) -> None:
    """Write the content of an http or https address to an empty file in a folder.

    FetchError if the content cannot be had, does not fit on the disk, or has another size than
    `size`; ImportError without pooch.
    """
    try:
        import pooch
        import requests
    except ImportError:
        raise ImportError("downloads need pooch: pip install 'multimargin[fetch]'") from None
    if urlsplit(url).scheme not in ("http", "https"):
        raise FetchError(f"{url}: only http and https addresses are fetched")

    begun = False

    def check(response: requests.Response, **_: object) -> None:
        nonlocal begun
        _check_redirection(response)
        if response.ok and not response.is_redirect:
            begun = True
            length = response.headers.get("Content-Length", "")
            _check_length(url, folder, int(length) if length.isdigit() else None, size)

    fetch = pooch.HTTPDownloader(
        progressbar=sys.stderr.isatty(),
        chunk_size=_CHUNK_BYTES,
        timeout=_SECONDS,
        # The bytes of the file itself, whose number and sum are known.
        headers={"User-Agent": "multimargin", "Accept-Encoding": "identity"},
        hooks={"response": check},
    )
    try:
        fetch(url, file, None)
    except requests.RequestException as error:
        raise _fetch_error(url, error, begun) from None
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise FetchError(
            f"{folder}: the disk is full; what had been received of {url} is removed. Make room, "
            "or name another folder by --data"
        ) from None
    file.flush()
    if not file.tell():
        raise FetchError(f"{url}: the server sent an empty file; try again later")
    _check_length(url, folder, file.tell(), size)


def _check_redirection(response: Any) -> None:
    if not response.is_redirect:
        return
    target = urljoin(response.url, response.headers["Location"])
    allowed = ("https",) if urlsplit(response.url).scheme == "https" else ("https", "http")
    if urlsplit(target).scheme not in allowed:
        raise FetchError(
            f"{response.url}: it redirects to {target}, which is not {' or '.join(allowed)}"
        )


def _check_length(url: str, folder: Path, length: int | None, size: int | None) -> None:
    """Refuse a file of another size than is known, or one that the disk has no room for."""
    if length is None:
        return
    if size is not None and length != size:
        raise FetchError(f"{url}: {length:,} bytes instead of the {size:,} that it should have")
    free = shutil.disk_usage(folder).free
    if length > free:
        raise FetchError(
            f"{folder}: {url} needs {length:,} bytes, but the disk has only {free:,} left; make "
            "room, or name another folder by --data"
        )


def _fetch_error(url: str, error: Any, begun: bool) -> FetchError:
    if error.response is not None and not error.response.ok:
        return FetchError(
            f"{url}: the server says {error.response.status_code} {error.response.reason}; it may "
            "have been moved, see where it can be had by 'multimargin data list'"
        )
    why = _reason(error)
    if begun:
        return FetchError(
            f"{url}: the connection broke ({why}), and what had been received is removed; {_AGAIN}"
        )
    return FetchError(
        f"{url}: cannot reach {urlsplit(url).hostname} ({why}); check the network and, if there is "
        f"one, the proxy (https_proxy), then {_AGAIN}"
    )


def _reason(error: BaseException) -> str:
    while below := error.__cause__ or error.__context__:
        error = below
    said = getattr(error, "strerror", None) or error
    return " ".join(str(said).split()) or type(error).__name__
