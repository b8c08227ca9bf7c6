"""The outcome of a bar: rows of the table, and the runs behind them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.common.run import Job, Runs, Shared
from benchmarks.peers import Task


@dataclass(frozen=True)
class Options:
    """Options of the command line; `repeats` None takes each bar's own number."""

    folder: Path | None
    quick: bool = False
    repeats: int | None = None
    shared: Shared = field(default_factory=Shared)

    def job(
        self,
        peer: str,
        dataset: str,
        *,
        judge: bool = False,
        ranks: int | None = None,
        **task: Any,
    ) -> Job:
        """A job on a set of this folder; `task` are the fields of a `benchmarks.peers.Task`."""
        folder = None if self.folder is None else str(self.folder.resolve())
        return Job(peer, dataset, folder, Task(**task), judge, ranks)

    def runs(self, usual: int) -> int:
        return usual if self.repeats is None else self.repeats


@dataclass(frozen=True)
class Row:
    """A line of the table; `reached` is None where there is no bar, or no figure."""

    name: str
    figure: str
    value: float | None = None
    bar: str = ""
    reached: bool | None = None
    problem: str | None = None

    @property
    def verdict(self) -> str:
        if self.problem is not None:
            return self.problem.split(":", 1)[0]
        return {True: "yes", False: "NO", None: ""}[self.reached]

    @property
    def bad(self) -> bool:
        """A bar missed, or a run that failed or was refused; what is skipped is not bad."""
        return self.reached is False or (self.problem or "").startswith(("failed", "missing"))


@dataclass(frozen=True)
class Facts:
    """JSON values behind a row that is no measured run."""

    facts: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        return self.facts


@dataclass
class Outcome:
    """Rows of the table, and every run behind them."""

    rows: list[Row] = field(default_factory=list)
    runs: list[Runs | Facts] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        rows = [asdict(row) | {"verdict": row.verdict} for row in self.rows]
        return {"rows": rows, "runs": [runs.as_dict() for runs in self.runs]}


def at_most(name: str, value: float, limit: float, unit: str) -> Row:
    """A figure that has to stay below a limit."""
    return Row(name, f"{value:,.0f} {unit}", value, f"< {limit:,.0f} {unit}", value < limit)


def at_least(
    name: str, value: float, limit: float, *, goal: float | None = None, note: str = ""
) -> Row:
    """A ratio that has to reach a limit; a goal beyond it is only named."""
    bar = f">= {limit:g}x" + (f" (goal {goal:g}x)" if goal is not None else "")
    return Row(name, f"{value:.2f}x{note}", value, bar, value >= limit)


def without_figure(name: str, problem: str | None, bar: str = "") -> Row:
    """A row without a figure, and why."""
    return Row(name, "-", bar=bar, problem=problem or "failed: no run ended")
