"""Who is told about the progress of a fit: a bar, scikit-learn's callbacks, nobody."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from multimargin._stopping import relative_gap


@dataclass(frozen=True)
class Weights:
    """W as a CSR matrix or an array, one row per class, and the constant feature's weights.

    ``classes`` are the rows' classes where a rank holds a share of them; None: all, in order.
    """

    coef: Any
    constant: NDArray[Any]
    classes: NDArray[np.int32] | None = None


@dataclass(frozen=True)
class ScanRecord:
    """What a scan found; one entry of ``history_``."""

    time: float
    primal: float
    dual: float
    violation: float
    active: int
    passes: int

    @property
    def gap(self) -> float:
        return relative_gap(self)

    def as_dict(self) -> dict[str, float | int]:
        return {
            "time": self.time,
            "primal": self.primal,
            "dual": self.dual,
            "gap": self.gap,
            "violation": self.violation,
            "active": self.active,
            "passes": self.passes,
        }


class Observer(Protocol):
    """Told of every pass and scan; may ask for the weights and for the fit to stop after a scan."""

    def on_pass(self, passes: int) -> None: ...
    def on_scan(self, record: ScanRecord, weights: Callable[[], Weights]) -> bool: ...
    def close(self) -> None: ...


class Bar:
    """A progress bar on stderr: how far the measure has come down towards ``tol``, in decades."""

    def __init__(self, name: str, tol: float, measure: str) -> None:
        self._measure = measure
        self._tol = tol
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

    _last = ""

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


class CallbackObserver:
    """Passes scans on to a function, which may return True to stop."""

    def __init__(self, function: Callable[[ScanRecord, Callable[[], Weights]], bool]) -> None:
        self._function = function

    def on_pass(self, passes: int) -> None:
        pass

    def on_scan(self, record: ScanRecord, weights: Callable[[], Weights]) -> bool:
        return self._function(record, weights)

    def close(self) -> None:
        pass


class Observers:
    """Several observers as one."""

    def __init__(self, observers: list[Observer]) -> None:
        self._observers = observers

    def on_pass(self, passes: int) -> None:
        for observer in self._observers:
            observer.on_pass(passes)

    def on_scan(self, record: ScanRecord, weights: Callable[[], Weights]) -> bool:
        answers = [o.on_scan(record, weights) for o in self._observers]  # all are told
        return any(answers)

    def close(self) -> None:
        for observer in self._observers:
            observer.close()
