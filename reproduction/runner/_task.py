"""An experiment in a folder of results: its planned runs, and those that are done."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from multimargin.datasets._catalog import CATALOG
from multimargin.datasets._sets import files_in_words
from reproduction.experiments import EXPERIMENTS, make
from reproduction.interface._cell import Cell
from reproduction.interface._document import Section
from reproduction.interface._experiment import Experiment, Options, Plan
from reproduction.runner._store import Kept, Store


@dataclass(frozen=True)
class Task:
    """An experiment with its plan and its results.

    Attributes
    ----------
    experiment : Experiment
        Shows results, but is not the one that measures: that one keeps data in memory.
    plan : Plan
    store : Store
    data : Path
        The folder of data sets.
    asked : bool
        False if it is in the report only because there are results of it.
    """

    experiment: Experiment
    plan: Plan
    store: Store
    data: Path
    asked: bool

    @property
    def name(self) -> str:
        return self.experiment.name

    @property
    def cells(self) -> dict[str, Cell]:
        """The planned runs by their keys, in order."""
        return {cell.key: cell for cell in self.plan.cells}

    def to_make(self) -> list[Cell]:
        """Return the planned runs that are missing, failed, or of another version or other data."""
        return [cell for cell in self.cells.values() if not self.is_done(cell)]

    def is_done(self, cell: Cell) -> bool:
        """Tell whether a planned run is done, on the present data."""
        return self.store.done(cell, files_in_words(cell.dataset, self.data))

    def failed(self) -> list[Kept]:
        """Return the planned runs whose last attempt failed."""
        return [kept for kept in self._planned() if kept.record.failed]

    def done(self) -> int:
        """Count the planned runs that have a result, by any version."""
        return sum(not kept.record.failed for kept in self._planned())

    def results(self) -> list[Kept]:
        """Return all results: planned runs in the order of the plan, then other runs."""
        cells = self.cells
        latest = self.store.latest
        return [*self._planned(), *(kept for key, kept in latest.items() if key not in cells)]

    def section(self) -> Section:
        """Return tables and figures of all results.

        Raises
        ------
        ValueError
            If the results are not such as the experiment measures, in which case the file is
            another version's or was changed.
        """
        try:
            return self.experiment.section([kept.record for kept in self.results()], self.plan)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(
                f"{self.store.path}: its results cannot be shown ({type(error).__name__}: {error})"
                "; they may be another version's, or were changed: move the file away"
            ) from error

    def _planned(self) -> list[Kept]:
        latest = self.store.latest
        return [latest[key] for key in self.cells if key in latest]


def tasks(names: Collection[str], options: Options, out: Path) -> list[Task]:
    """Return the requested experiments, and all others that have results, in order.

    Raises
    ------
    ValueError
        If the options name a data set that no experiment asked for knows.
    """
    found = []
    for name in EXPERIMENTS:
        store = Store(out / "results", name)
        if name in names or store.latest:
            experiment = make(name)
            plan = experiment.plan(options)
            found.append(Task(experiment, plan, store, options.data, name in names))
    _check_datasets([task.experiment for task in found if task.asked], options)
    return found


def _check_datasets(experiments: list[Experiment], options: Options) -> None:
    if not options.datasets:
        return
    everything = [each.plan(Options(data=options.data)) for each in experiments]
    known = {cell.dataset for plan in everything for cell in plan.cells}
    known |= {name for each in experiments for name in each.on_request}
    # Other things are missing too, such as ranks.
    known |= {each.name for plan in everything for each in plan.missing if each.name in CATALOG}
    unknown = [name for name in options.datasets if name not in known]
    if unknown:
        raise ValueError(
            f"no experiment that is asked for uses a data set {', '.join(map(repr, unknown))}; "
            f"they use {', '.join(sorted(known))}"
        )
