"""Measurements of runs that differ in their seed alone, taken together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reproduction.interface._cell import Record, spread
from reproduction.interface._document import Entry, Line

NOT_REACHED = "†"
"""After a figure of a run that ended before its tolerance."""

Key = tuple[str, str, float, str]
"""Data set, formulation, log C, way to stop."""


class Repeated:
    """Runs that differ in their seed alone.

    Where one was made again with another time limit, the one that reached its tolerance counts,
    or else the one with the smaller gap.

    Parameters
    ----------
    records : sequence of Record
    """

    def __init__(self, records: Sequence[Record]) -> None:
        best: dict[int, Mapping[str, Any]] = {}
        self._failures = [record.measured["error"] for record in records if record.failed]
        for record in records:
            if not record.failed:
                seed, known = record.cell.seed, best.get(record.cell.seed)
                if known is None or _rank(record.measured) < _rank(known):
                    best[seed] = record.measured
        self._runs = [best[seed] for seed in sorted(best)]

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def reached(self) -> bool:
        """Whether all runs reached their tolerance."""
        return all(run["converged"] for run in self._runs)

    def values(self, measure: str) -> list[float]:
        return [float(run[measure]) for run in self._runs]

    def mean(self, measure: str) -> float:
        return spread(self.values(measure))[0]

    def entry(self, measure: str, *, scale: float = 1.0, digits: int = 2) -> Entry:
        """Return the mean and, where runs differ, half of their range."""
        if not self._runs:
            failed = bool(self._failures)
            note = self._failures[-1] if failed else "not run"
            return Entry("failed" if failed else "–", "missing", note)
        mean, low, high = (scale * value for value in spread(self.values(measure)))
        text = f"{round(mean, digits) + 0.0:.{digits}f}"  # rounding can make a gap "-0.000"
        if float(half := f"{(high - low) / 2:.{digits}f}"):
            text += f" ±{half}"
        return Entry(text + ("" if self.reached else NOT_REACHED), "ours", self.note())

    def note(self) -> str:
        """Return what a reader has to know about these figures; "" if all went as planned."""
        if self.reached:
            return ""
        gap, seconds = max(self.values("gap")), max(self.values("seconds"))
        return f"not reached after {seconds:.0f} s: relative gap {100 * gap:.2g}%"


def _rank(measured: Mapping[str, Any]) -> tuple[bool, float]:
    return not measured["converged"], float(measured["gap"])


def by_key(records: Iterable[Record]) -> dict[Key, Repeated]:
    """Return the records of an experiment, grouped over seeds."""
    found: dict[Key, list[Record]] = {}
    for record in records:
        cell = record.cell
        key = (cell.dataset, cell.formulation, float(cell.log_c), cell.stop)
        found.setdefault(key, []).append(record)
    return {key: Repeated(group) for key, group in found.items()}


def our_line(label: str, series: str, measure: str, found: Mapping[float, Repeated | None]) -> Line:
    """Return the curve of a measure over log C: the means, and the range of the runs."""
    values = {log_c: runs.values(measure) for log_c, runs in found.items() if runs}
    return Line(
        label=label,
        series=series,
        x=tuple(values),
        y=tuple(spread(v)[0] for v in values.values()),
        source="ours",
        low=tuple(min(v) for v in values.values()),
        high=tuple(max(v) for v in values.values()),
    )
