"""Lines of text files, plain or compressed, in any encoding, with errors that say where."""

from __future__ import annotations

import codecs
import contextlib
import io
from collections.abc import Iterator
from typing import IO

from multimargin.io._compressed import DataFileError, rewindable, unpacked

# A line of more is no line: the file is binary, or has no line ends.
LONGEST_LINE = 1 << 26
_CHUNK = 1 << 20

# Which bytes of a plain letter are zero.
_ZEROS = {
    "utf-32-le": [False, True, True, True],
    "utf-32-be": [True, True, True, False],
    "utf-16-le": [False, True],
    "utf-16-be": [True, False],
}


@contextlib.contextmanager
def text_lines(name: str, encoding: str) -> Iterator[Iterator[str]]:
    """Yield the lines of a file, with their line ends.

    DataFileError, with file and line: bytes that are not of this encoding, a NUL, a line without
    end. ValueError if Python knows no such encoding.
    """
    encoding = _known(encoding)
    with contextlib.ExitStack() as stack:
        stream, suffix = stack.enter_context(rewindable(name))
        if suffix is not None:
            stream = stack.enter_context(unpacked(name, stream, suffix))
        text = io.TextIOWrapper(stream, encoding=encoding, newline="")
        try:
            yield _checked(name, text)
        except UnicodeError:
            raise _undecodable(name, text.detach(), encoding) from None
        finally:
            with contextlib.suppress(ValueError):  # detached above
                text.detach()


def _known(encoding: str) -> str:
    try:
        codec = codecs.lookup(encoding)
        io.TextIOWrapper(io.BytesIO(), codec.name)  # refuses those that are not of text, as "hex"
    except (LookupError, ValueError, TypeError, UnicodeError):
        raise ValueError(
            f"encoding {encoding!r} is not known; such as utf-8, latin-1, cp1252, utf-16, gb18030 "
            "are"
        ) from None
    # A byte order mark is no part of the first column's name.
    return "utf-8-sig" if codec.name == "utf-8" else codec.name


def _checked(name: str, text: io.TextIOWrapper) -> Iterator[str]:
    number = 0
    while line := text.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise DataFileError(
                f"{name}:{number}: the line has more than {LONGEST_LINE:,} characters; is this a "
                "text file?"
            )
        if "\0" in line:
            raise DataFileError(
                f"{name}:{number}: the line holds a NUL; the file is no text, or of another "
                "encoding, such as utf-16-le or utf-16-be: give it (--encoding, or encoding= in "
                "Python)"
            )
        # That of an encoding which has it as a character, such as utf-16-le.
        yield line.removeprefix("\ufeff") if number == 1 else line


def _undecodable(name: str, stream: IO[bytes], encoding: str) -> DataFileError:
    """Find the byte that cannot be decoded, for the error; this reads the file again."""
    stream.seek(0)
    guess = _guess(stream.read(4))
    remedy = f"give the encoding of the file (--encoding, or encoding= in Python), {guess}"
    stream.seek(0)
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    shown = "utf-8" if encoding == "utf-8-sig" else encoding
    begin, lines = 0, 1
    while True:
        chunk = stream.read(_CHUNK)
        waiting = len(decoder.getstate()[0])
        try:
            lines += decoder.decode(chunk, final=not chunk).count("\n")
        except UnicodeDecodeError as error:
            lines += error.object[: error.start].decode(encoding, "replace").count("\n")
            place, byte = begin - waiting + error.start, error.object[error.start]
            found = f"byte {place} (0x{byte:02x}) is not {shown}"
            return DataFileError(f"{name}:{lines}: {found}: {remedy}")
        except UnicodeError as error:  # of a file as a whole: a missing byte order mark
            return DataFileError(f"{name}: {error}: {remedy}")
        if not chunk:
            return DataFileError(f"{name}: the file is not {shown}")
        begin += len(chunk)


def _guess(start: bytes) -> str:
    if start in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
        return "which seems to be utf-32"
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "which seems to be utf-16"
    # Without a mark, where the zeros are: a table begins with a plain letter, quote or bracket.
    zeros = [byte == 0 for byte in start]
    for name, order in _ZEROS.items():
        if zeros[: len(order)] == order:
            return f"which seems to be {name}"
    return "such as cp1252 (western Windows), latin-1, utf-16-le or utf-16-be"
