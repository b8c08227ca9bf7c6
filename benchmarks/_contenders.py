"""Who takes part in the curves: trainers, the problem each is given, and how far it is told to go.

All minimise half the squared norm of the weights plus C = 1 times the losses, without intercept.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.peers import Task

# What is minimised: its name in tables, and the fields of the task.
PROBLEMS: dict[str, tuple[str, dict[str, Any]]] = {
    "ww": ("Weston-Watkins", {"formulation": "ww"}),
    "cs": ("Crammer-Singer", {"formulation": "cs"}),
    "ovr": ("one-vs-rest, hinge", {"formulation": "ovr"}),
    "ovr-squared": (
        "one-vs-rest, squared hinge",
        {"formulation": "ovr", "options": {"loss": "squared_hinge"}},
    ),
}
OURS = "multimargin"
_LIBLINEAR_SOLVERS = {"cs": "-s 4", "ovr": "-s 3", "ovr-squared": "-s 1"}

# Relative duality gaps, and LIBLINEAR's -e, whose default is 0.1.
_OUR_LADDER = (0.3, 0.1, 0.03, 0.01, 0.003, 1e-3, 1e-4, 1e-5)
_OUR_QUICK_LADDER = (0.1, 0.01, 1e-3, 1e-4)
_LIBLINEAR_LADDER = (10.0, 1.0, 0.3, 0.1, 0.03, 0.01, 1e-3)
_LIBLINEAR_QUICK_LADDER = (1.0, 0.1, 0.01)
# To be within 1 % of the optimum with the least effort.
LIBLINEAR_GROWTH_LADDER = (1.0, 0.3, 0.1, 0.03, 0.01)


@dataclass(frozen=True)
class Contender:
    """A trainer with a problem; `ladder` has its tasks from the loosest to the tightest."""

    title: str
    peer: str
    problem: str
    ladder: tuple[Task, ...]

    @property
    def ours(self) -> bool:
        return self.peer == OURS

    def rung(self, number: int) -> str:
        """How far it is told to go, in its own terms."""
        task = self.ladder[number]
        epochs = task.options.get("epochs")
        return f"tol {task.tol:g}" if epochs is None else f"{epochs} epochs"


def by_tolerance(
    title: str, peer: str, problem: str, tolerances: Sequence[float], threads: int = 1
) -> Contender:
    """A contender whose ladder is one of tolerances."""
    fields = PROBLEMS[problem][1]
    return Contender(
        title, peer, problem, tuple(Task(threads=threads, tol=tol, **fields) for tol in tolerances)
    )


def for_gap(problem: str, quick: bool) -> list[Contender]:
    """Those of the gap over time, ours first."""
    ours = _OUR_QUICK_LADDER if quick else _OUR_LADDER
    theirs = _LIBLINEAR_QUICK_LADDER if quick else _LIBLINEAR_LADDER
    found = [by_tolerance(OURS, OURS, problem, ours)]
    solver = _LIBLINEAR_SOLVERS.get(problem)
    if solver is not None:
        found.append(by_tolerance(f"LIBLINEAR {solver}", "liblinear", problem, theirs))
    if problem.startswith("ovr") and not quick and (os.cpu_count() or 1) >= 2:
        # Against two threads of it, two of ours.
        found += [
            by_tolerance(f"{OURS}, 2 threads", OURS, problem, ours, 2),
            by_tolerance(
                f"multicore LIBLINEAR {solver} -m 2", "liblinear-multicore", problem, theirs, 2
            ),
        ]
    return found


def for_growth() -> list[Contender]:
    """Those of the growth with sizes: ours to a duality gap of 1 %, LIBLINEAR with a ladder."""
    ours = [by_tolerance(f"{OURS} {name}", OURS, name, (0.01,)) for name in ("ww", "cs", "ovr")]
    theirs = [
        by_tolerance(
            f"LIBLINEAR {_LIBLINEAR_SOLVERS[name]}", "liblinear", name, LIBLINEAR_GROWTH_LADDER
        )
        for name in ("cs", "ovr")
    ]
    return ours + theirs
