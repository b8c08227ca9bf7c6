"""The progress bar of a fit."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

from tqdm import tqdm

from multimargin.solvers._records import ScanRecord, Weights


class Bar:
    """A progress bar on stderr, of the decades that the measure has come down towards ``tol``."""

    def __init__(self, name: str, tol: float, measure: str) -> None:
        self._measure, self._tol, self._last = measure, tol, ""
        self._start: float | None = None
        self._bar: Any = tqdm(
            total=100,
            desc=name,
            file=sys.stderr,
            bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed}{postfix}",
        )

    def on_pass(self, passes: int) -> None:
        self._bar.set_postfix_str(f"{self._last}pass {passes}", refresh=False)
        self._bar.update(0)

    def on_scan(self, record: ScanRecord, weights: Callable[[], Weights]) -> bool:
        value = record.gap if self._measure == "gap" else record.violation
        if self._start is None:
            self._start = max(value, self._tol * 1.01)
        done = math.log(self._start / max(value, self._tol)) / math.log(self._start / self._tol)
        self._bar.n = round(100 * min(1.0, max(0.0, done)), 1)
        self._last = f"gap {record.gap:.2%}, {record.active:,} active pairs, "
        self._bar.set_postfix_str(f"{self._last}pass {record.passes}", refresh=True)
        return False

    def close(self) -> None:
        self._bar.close()
