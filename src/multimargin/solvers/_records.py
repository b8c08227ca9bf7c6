"""Records of a run: weights, scans, the history of scans, and its observers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from multimargin.solvers._stopping import relative_gap


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
    """The result of a scan; one entry of ``history_``."""

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
        names = ("time", "primal", "dual", "gap", "violation", "active", "passes")
        return {name: getattr(self, name) for name in names}


class Observer(Protocol):
    """Hears of every pass and scan; may ask for the weights, and for the fit to stop.

    ``done`` is the share of the work behind, of solvers that train classes in turn.
    """

    def on_pass(self, passes: int, done: float | None = None) -> None: ...
    def on_scan(self, record: ScanRecord, weights: Callable[[], Weights]) -> bool: ...
    def close(self) -> None: ...


class Observers:
    def __init__(self, observers: list[Observer]) -> None:
        self._observers = observers

    def on_pass(self, passes: int, done: float | None = None) -> None:
        for observer in self._observers:
            observer.on_pass(passes, done)

    def on_scan(self, record: ScanRecord, weights: Callable[[], Weights]) -> bool:
        answers = [o.on_scan(record, weights) for o in self._observers]  # all of them, first
        return any(answers)

    def close(self) -> None:
        for observer in self._observers:
            observer.close()


def packed(history: list[ScanRecord]) -> NDArray[np.float64]:
    return np.array([astuple(record) for record in history], dtype=np.float64).reshape(-1, 6)


def unpacked(rows: NDArray[np.float64]) -> list[ScanRecord]:
    return [ScanRecord(a, b, c, d, int(e), int(f)) for a, b, c, d, e, f in rows.tolist()]
