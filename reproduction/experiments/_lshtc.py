"""Error, F1 scores and density on the LSHTC sets: OVR, CS, WW and LLW over C."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from multimargin.datasets._catalog import CATALOG
from reproduction.experiments._lshtc_sets import SHOWN, Shown, generated, present
from reproduction.experiments._lshtc_tables import lshtc_section
from reproduction.experiments._stops import STOPS, limited, parameters, runs
from reproduction.interface._cell import Cell, Record
from reproduction.interface._document import Section
from reproduction.interface._experiment import Experiment, Missing, Options, Plan
from reproduction.measuring._memory import gigabytes, needed, usable
from reproduction.measuring._training import fit_and_measure
from reproduction.measuring._weighting import LastText
from reproduction.paper.lshtc import FORMULATIONS, LOG_C

_LARGE = 100_000_000  # samples x classes, from which a fit takes minutes


class Lshtc(Experiment):
    """The paper's two LSHTC tables, on its own sets if they are present, and on stand-ins."""

    name = "lshtc"
    on_request = generated(SHOWN)

    def __init__(self) -> None:
        self._texts = LastText()

    def plan(self, options: Options) -> Plan:
        sets, missing = present(SHOWN, options)
        memory = usable()
        cells: list[Cell] = []
        for shown in sets:
            fits = {
                (formulation, log_c): needed(formulation, 10.0**log_c, CATALOG[shown.name])
                for formulation in FORMULATIONS
                for log_c in LOG_C
            }
            missing += _too_large(shown, fits, memory)
            fitting = {place for place, size in fits.items() if size <= memory}
            cells += [c for c in _cells(shown, options) if (c.formulation, c.log_c) in fitting]
        return Plan(tuple(cells), tuple(missing))

    def measure(self, cell: Cell, options: Options) -> dict[str, Any]:
        data = self._texts.of(cell.dataset, options.data)
        return fit_and_measure(parameters(cell, options), data)

    def section(self, records: Sequence[Record], plan: Plan) -> Section:
        return lshtc_section(records)


def _cells(shown: Shown, options: Options) -> Iterator[Cell]:
    """Yield the runs, all with seed 0 first: an interrupted run then has whole tables."""
    size = CATALOG[shown.name]
    large = size.n_train * size.n_classes >= _LARGE
    limit = limited(options, large=large)
    for seed in range(max(runs(stop, options, large=large) for stop in STOPS)):
        for stop in STOPS:
            if seed >= runs(stop, options, large=large):
                continue
            for formulation in FORMULATIONS:
                for log_c in LOG_C:
                    yield Cell("lshtc", shown.name, formulation, log_c, stop, seed, limit)


def _too_large(shown: Shown, fits: dict[tuple[str, int], int], memory: int) -> Iterator[Missing]:
    """Yield one entry for each formulation that does not fit into the memory for some C."""
    for formulation in FORMULATIONS:
        sizes = {c: size for (f, c), size in fits.items() if f == formulation and size > memory}
        if sizes:
            places = ", ".join(str(log_c) for log_c in sizes)
            yield Missing(
                f"{shown.name}, {formulation}, log C = {places}",
                f"would take about {gigabytes(max(sizes.values()))} of memory, and "
                f"{gigabytes(memory)} can be used here",
                "a machine with more memory",
            )
