"""``python -m reproduction``, run in the root of the repository."""

import sys
from collections.abc import Callable

from multimargin.__main__ import interruptible


def _load() -> Callable[[], int]:
    from reproduction._command import main

    return main


if __name__ == "__main__":
    sys.exit(interruptible(_load))
