"""The result of a cell: the ratio of two times, and whether it is below its bar."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.common.run import Runs
from benchmarks.matrix.cells import Cell

_NO_FIGURE = ("skipped", "failed", "missing")


@dataclass(frozen=True)
class Result:
    """A cell that was run.

    `limit_s` are the seconds after which a run is stopped, `tol` is the tolerance of ours.
    """

    cell: Cell
    ours: Runs
    rival: Runs
    limit_s: float
    tol: float | None = None

    @property
    def problem(self) -> str | None:
        """Why there is no ratio, or only a bound of it."""
        return self.ours.problem or self.rival.problem

    @property
    def skipped(self) -> bool:
        """Whether the data, the peer or the formulation is not there."""
        return any(_is(r, "skipped") for r in (self.ours, self.rival))

    @property
    def bound(self) -> str:
        """How the true ratio compares with `ratio` where one of the two was stopped: < or >."""
        ours, rival = (not r.results and _is(r, "stopped") for r in (self.ours, self.rival))
        return "" if ours == rival else "<" if ours else ">"

    @property
    def ratio(self) -> float | None:
        """Seconds of the rival over ours."""
        both = self.ours, self.rival
        if not any(r.results for r in both) or any(_is(r, *_NO_FIGURE) for r in both):
            return None
        if not self.rival.results and self.cell.rule.against_peer:
            return None  # without its objective there is nothing to reach
        return self._seconds(self.rival) / self._seconds(self.ours)

    @property
    def cpu_ratio(self) -> float | None:
        """The same of processor time, which other processes on the machine disturb less."""
        ours, rival = _cpu(self.ours), _cpu(self.rival)
        return rival / ours if self.ratio is not None and ours and rival else None

    def _seconds(self, runs: Runs) -> float:
        return runs.seconds if runs.results else self.limit_s

    @property
    def red(self) -> bool:
        """Whether ours is known to miss the bar, or not known to reach it."""
        if self.skipped or (self.ratio is None and not self.ours.problem):
            return False
        return self.ratio is None or self.bound == "<" or self.ratio < self.cell.rule.bar

    def as_dict(self) -> dict[str, Any]:
        """For CSV."""
        ours, rival = (r.results[0] if r.results else {} for r in (self.ours, self.rival))
        cell, rule = self.cell, self.cell.rule
        return {
            "dataset": cell.dataset,
            "formulation": cell.name,
            "C": cell.C,
            "intercept": cell.intercept,
            "rival": rule.rival_title,
            "seconds": self.ours.seconds if ours else None,
            "rival_seconds": self.rival.seconds if rival else None,
            "ratio": self.ratio,
            "bound": self.bound,
            "cpu_ratio": self.cpu_ratio,
            "bar": rule.bar,
            "red": self.red,
            "objective": ours.get("objective"),
            "rival_objective": rival.get("objective"),
            "gap": ours.get("gap"),
            "tol": self.tol,
            "passes": ours.get("passes"),
            "certificates": ours.get("certificates"),
            "cpu_seconds": _cpu(self.ours),
            "rival_cpu_seconds": _cpu(self.rival),
            "runs": len(self.ours.results),
            "rival_runs": len(self.rival.results),
            "version": ours.get("version"),
            "rival_version": rival.get("version"),
            "problem": self.problem,
        }


def _cpu(runs: Runs) -> float | None:
    return median(each["cpu_seconds"] for each in runs.results) if runs.results else None


def _is(runs: Runs, *kinds: str) -> bool:
    """Whether runs have a problem of one of these kinds."""
    return (runs.problem or "").startswith(kinds)
