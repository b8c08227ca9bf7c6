"""``python -m multimargin``, and the ``multimargin`` command."""

import os
import signal
import sys
from typing import NoReturn


def main() -> int:
    """Run the command, whose modules take a second to load: Ctrl-C ends it then, too."""
    # Not by an exception: code that is being imported may turn it into another one.
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # nohup has it ignored
    if ours:
        signal.signal(signal.SIGINT, _end)
    from multimargin.cli import main as command

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
