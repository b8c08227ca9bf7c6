"""``python -m multimargin``, and the ``multimargin`` command."""

import sys
from collections.abc import Callable

from multimargin.io._interrupts import end_process, ended_by_interrupts


def main() -> int:
    """Run the ``multimargin`` command."""

    def load() -> Callable[[], int]:
        from multimargin.cli import main as command

        return command

    return interruptible(load)


def interruptible(load: Callable[[], Callable[[], int]]) -> int:
    """Load a command and run it; Ctrl-C ends it at any time."""
    with ended_by_interrupts():
        command = load()
    try:
        return command()
    except KeyboardInterrupt:
        end_process()


if __name__ == "__main__":
    sys.exit(main())
