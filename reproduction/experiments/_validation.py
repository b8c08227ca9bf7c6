"""Validation: errors and densities of small data sets, next to the paper's two solvers.

Each model is trained to two ends: to the optimum, certified by a small duality gap, and as the
paper does, by passes alone until no projected gradient exceeds 1e-3. The latter depends on the
order of visits, so it is run several times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from multimargin.datasets._catalog import CATALOG
from multimargin.datasets._sets import file_of, is_there, load_set
from reproduction.experiments._scaling import scaled
from reproduction.experiments._validation_tables import OPTIMUM, STOPPED, section
from reproduction.interface._cell import Cell, Record
from reproduction.interface._document import Section
from reproduction.interface._experiment import Experiment, Missing, Options, Plan
from reproduction.measuring._training import Data, fit_and_measure
from reproduction.paper import validation as paper

OPTIMUM_GAP = 1e-6


@dataclass(frozen=True)
class Effort:
    """The effort for each model of a set, unless the command line says otherwise.

    Attributes
    ----------
    runs : int
        With the paper's stopping.
    optimum_seconds, stopped_seconds : float
        The most that one fit may take to each end.
    """

    runs: int
    optimum_seconds: float
    stopped_seconds: float


# All of them together end within ten minutes on two cores. Passes need hours for the paper's
# stopping at large C on some sets, so more seconds would not change what these show.
_EFFORTS = {
    "xcsvm-iris": Effort(10, 10, 5),
    "xcsvm-glass": Effort(10, 10, 5),
    "xcsvm-splice": Effort(10, 10, 2),
    "satimage": Effort(3, 20, 4),
    "news20": Effort(2, 30, 5),
    "usps": Effort(1, 100, 6),
}
_LARGE = Effort(1, 25, 6)


class Validation(Experiment):
    """The paper's appendix table of nine data sets."""

    name = "validation"

    def __init__(self) -> None:
        self._loaded: tuple[str, Path, Data] | None = None

    def plan(self, options: Options) -> Plan:
        cells: list[Cell] = []
        missing = []
        for name in filter(options.wanted, paper.SETS):
            if is_there(name, options.data):
                cells += _cells(name, options)
            else:
                missing.append(_missing(name, options.data))
        return Plan(tuple(cells), tuple(missing))

    def measure(self, cell: Cell, options: Options) -> dict[str, Any]:
        parameters: dict[str, Any] = {
            "formulation": cell.formulation,
            "C": cell.penalty,
            "random_state": cell.seed,
            "n_jobs": options.threads,
            "time_limit": cell.options["time_limit"],
        }
        if cell.stop == OPTIMUM:
            parameters |= {"tol": OPTIMUM_GAP}
        else:
            parameters |= {"tol": paper.STOP, "stopping": "violation", "solver": "passes"}
        data = self._data(cell.dataset, options)
        return {
            **fit_and_measure(parameters, data),
            "n_test": len(data.y_test),
            "own_split": file_of(cell.dataset, "test", options.data) is None,
        }

    def section(self, records: Sequence[Record], plan: Plan) -> Section:
        return section(records, plan)

    def _data(self, name: str, options: Options) -> Data:
        """Return the set in double precision; only the last one is kept."""
        if self._loaded is None or self._loaded[:2] != (name, options.data):
            self._loaded = None  # before the next one takes its memory
            parts = load_set(name, options.data, dtype=np.float64, n_threads=options.threads)
            self._loaded = (name, options.data, scaled(name, parts))
        return self._loaded[2]


def _cells(name: str, options: Options) -> list[Cell]:
    effort = _EFFORTS.get(name, _LARGE)
    seconds = {OPTIMUM: effort.optimum_seconds, STOPPED: effort.stopped_seconds}
    runs = {OPTIMUM: 1, STOPPED: options.runs or effort.runs}
    return [
        Cell(
            Validation.name,
            name,
            formulation,
            log_c,
            stop,
            seed,
            {"time_limit": options.time_limit or seconds[stop]},
        )
        for formulation in paper.FORMULATIONS
        for log_c in paper.LOG10_C
        for stop in (OPTIMUM, STOPPED)
        for seed in range(runs[stop])
    ]


def _missing(name: str, folder: Path) -> Missing:
    return Missing(
        name,
        f"the paper's {paper.SETS[name]} is not in {folder}",
        f"multimargin data fetch {name}, or {CATALOG[name].where}",
    )
