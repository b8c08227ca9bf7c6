"""The runs of a cell: the rival's and ours.

LIBLINEAR's objective is known after its first run; ours is then told to stop at the first
certificate at or below it, with the loosest tolerance that gets there: classes that are solved one
by one are not certified before they have reached theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.common.run import Job, Runs, measure_in_turns
from benchmarks.matrix.cells import GAP, LIBLINEAR, Cell
from benchmarks.matrix.result import Result
from benchmarks.peers import Task
from multimargin.formulations import FORMULATIONS

Measure = Callable[[dict[str, tuple[Job, int]]], dict[str, Runs]]

TOLERANCES = (1e-2, 1e-3, 1e-5, 1e-9)
TIGHT = TOLERANCES[-1]
_START_S = 30.0  # for loading and judging, beyond the time limit of a run
_REPEATED_BELOW_S = 30.0  # what takes longer is run once
_AGREE = 1e-6  # relative, of the certified objective and the one computed from the weights


@dataclass(frozen=True)
class Conditions:
    """The folder of data sets, how often to run, and how long a run may take."""

    folder: str | None
    repeats: int = 3
    limit_s: float = 120.0
    measure: Measure = measure_in_turns

    def run(self, cell: Cell) -> Result:
        """Run a cell."""
        absent = [n for n in _own_formulations(cell) if n not in FORMULATIONS]
        if absent:
            nothing = self._job(cell, "multimargin", cell.task())
            why = Runs(nothing, problem=f"skipped: there is no formulation {', '.join(absent)}")
            return Result(cell, why, why, self.limit_s)
        if cell.rule.against_peer:
            return self._against_peer(cell)
        ours = self._job(cell, "multimargin", cell.task(GAP))
        rival = self._job(cell, "multimargin", cell.rival_task())
        found = self.measure({"ours": (ours, 1), "rival": (rival, 1)})
        return self._repeated(self._result(cell, found["ours"], found["rival"], GAP))

    def _against_peer(self, cell: Cell) -> Result:
        rival = self._once(self._job(cell, LIBLINEAR, cell.rival_task()))
        if not rival.results:
            none = Runs(self._job(cell, "multimargin", cell.task()))
            return Result(cell, none, rival, self.limit_s)
        objective = rival.results[0]["objective"]
        for tol in TOLERANCES:
            ours = self._once(self._job(cell, "multimargin", cell.task(tol, stop_at=objective)))
            if not ours.results or ours.results[0]["reached"]:
                break
        return self._repeated(self._result(cell, ours, rival, tol))

    def _result(self, cell: Cell, ours: Runs, rival: Runs, tol: float) -> Result:
        """The result of the first runs, unless ours is not what it says."""
        if ours.results:
            found = ours.results[0]
            if cell.rule.against_peer and not found["reached"]:
                goal = "an objective above LIBLINEAR's"
            else:
                goal = "" if cell.rule.against_peer or found["gap"] <= GAP else "more than 1 %"
            if goal:
                ours.problem = f"failed: {cell}: ended at a gap of {found['gap']:.2g}, {goal}"
            elif found["objective"] is not None and not _agree(found):
                ours.problem = (
                    f"failed: {cell}: its certified objective {found['certified']:.10g} is not "
                    f"{found['objective']:.10g}, that of its weights"
                )
        return Result(cell, ours, rival, self.limit_s, tol)

    def _repeated(self, result: Result) -> Result:
        """The result with the rest of the runs, in turns."""
        both = {"ours": result.ours, "rival": result.rival}
        again = {
            name: (runs.job, self.repeats - 1)
            for name, runs in both.items()
            if runs.results and runs.problem is None and runs.seconds <= _REPEATED_BELOW_S
        }
        if self.repeats > 1 and again:
            for name, more in self.measure(again).items():
                runs = both[name]
                both[name] = replace(runs, results=runs.results + more.results)
        return replace(result, ours=both["ours"], rival=both["rival"])

    def _once(self, job: Job) -> Runs:
        return self.measure({"once": (job, 1)})["once"]

    def _job(self, cell: Cell, peer: str, task: Task) -> Job:
        worker, limit = "benchmarks.matrix.worker", self.limit_s + _START_S
        return Job(peer, cell.dataset, self.folder, task, limit_s=limit, worker=worker)


def _own_formulations(cell: Cell) -> list[str]:
    rule = cell.rule
    return [rule.formulation] if rule.against_peer else [rule.formulation, rule.rival]


def _agree(found: dict[str, Any]) -> bool:
    return bool(abs(found["certified"] - found["objective"]) <= _AGREE * found["objective"])
