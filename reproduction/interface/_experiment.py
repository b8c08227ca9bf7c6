"""The interface of an experiment: which runs it needs, how one is made, and what they show."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from multimargin.datasets._catalog import CATALOG
from reproduction.interface._cell import Cell, Record
from reproduction.interface._document import Section


@dataclass(frozen=True)
class Options:
    """The options of the command line; None takes the experiment's own choice.

    Attributes
    ----------
    data : Path
        The folder that holds one folder per data set.
    datasets : tuple of str, default=()
        Only these data sets; if empty, all that are there and need not be generated.
    runs : int or None
        Repetitions over seeds.
    time_limit : float or None
        Seconds for one fit.
    threads : int
        Of multi-core fits.
    """

    data: Path
    datasets: tuple[str, ...] = ()
    runs: int | None = None
    time_limit: float | None = None
    threads: int = 1

    def wanted(self, dataset: str) -> bool:
        if dataset in CATALOG and CATALOG[dataset].made:
            return dataset in self.datasets  # slow, so only where it is asked for
        return not self.datasets or dataset in self.datasets


@dataclass(frozen=True)
class Missing:
    """A data set, or something else such as an MPI, that runs need and this machine lacks."""

    name: str
    why: str
    remedy: str  # where it can be had, such as "multimargin data fetch rcv1"


@dataclass(frozen=True)
class Plan:
    """The runs that can be made here, in order, and what is missing for others."""

    cells: tuple[Cell, ...]
    missing: tuple[Missing, ...] = field(default=())


class Experiment(ABC):
    """One of the paper's experiments. It keeps no state between runs but loaded data."""

    name: str
    """As users write it."""
    on_request: tuple[str, ...] = ()
    """Data sets that it can use, and does if they are asked for by name."""

    @abstractmethod
    def plan(self, options: Options) -> Plan:
        """Return the runs to make. Cheap: it is called even where all of them were made before."""

    @abstractmethod
    def measure(self, cell: Cell, options: Options) -> dict[str, Any]:
        """Make one run. An exception becomes the record's "error" and the next run follows."""

    @abstractmethod
    def section(self, records: Sequence[Record], plan: Plan) -> Section:
        """Return tables and figures of the records, next to the paper's figures."""
