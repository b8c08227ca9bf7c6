"""``python -m multimargin``, and the ``multimargin`` command."""

import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn


def main() -> int:
    """Run the ``multimargin`` command."""

    def load() -> Callable[[], int]:
        from multimargin.cli import main as command

        return command

    return interruptible(load)


def interruptible(load: Callable[[], Callable[[], int]]) -> int:
    """Load a command, which takes a second, and run it; Ctrl-C ends it at any time."""
    # Not by an exception: code that is being imported may turn it into another one.
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # nohup has it ignored
    if ours:
        signal.signal(signal.SIGINT, _end)
    command = load()
    if ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return command()
    except KeyboardInterrupt:
        _end()


def _end(*_: object) -> NoReturn:
    try:
        os.write(2, b"multimargin: interrupted\n")
    finally:
        os._exit(130)  # as `multimargin.cli` has it


if __name__ == "__main__":
    sys.exit(main())
