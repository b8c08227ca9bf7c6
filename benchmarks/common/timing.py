"""Wall times of calls in this process."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def best_of(repeats: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """The shortest wall time of several runs, and the last result."""
    times, result = [], None
    for _ in range(repeats):
        began = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - began)
    return min(times), result
