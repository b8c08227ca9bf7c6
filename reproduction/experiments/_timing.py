"""The paper's figure of training times over C: one-vs-rest, Crammer-Singer and Weston-Watkins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from multimargin.datasets._catalog import CATALOG
from reproduction.interface._cell import Cell, Record
from reproduction.interface._document import Axes, Column, Entry, Figure, Line, Row, Section, Table
from reproduction.interface._experiment import Experiment, Missing, Options, Plan
from reproduction.measuring._machine import machine_id
from reproduction.measuring._own_process import Job, measured_apart
from reproduction.measuring._resources import possible_ranks, too_large, usable_cores
from reproduction.measuring._samples import available
from reproduction.paper import timing as paper

RUNS = 1
TIME_LIMIT = 600.0
_STOP = "paper"

# In the order of preference, by the paper's data set.
_DATASETS = {
    "lshtc-large": ("lshtc-large", "wordnet-hypernym", "generator-lshtc-large"),
    "lshtc-2011": ("lshtc-2011", "generator-lshtc-2011"),
}
_METHODS = {
    # Formulation and ranks.
    "OVR": ("ovr", 1),
    "CS": ("cs", 1),
    "WW-MC": ("ww", 1),
    "WW-MPI-2": ("ww", 2),
    "WW-MPI-4": ("ww", 4),
}


class Timing(Experiment):
    """Seconds until no violation exceeds 0.1, over log C = -2 ... 1, with the same cores in all."""

    name = "timing"
    on_request = ("generator-lshtc-large", "generator-lshtc-2011")

    def plan(self, options: Options) -> Plan:
        names = {ranks: name for name, (_, ranks) in _METHODS.items() if ranks > 1}
        ranks, missing = possible_ranks({1: "", **names}, usable_cores(options))
        cores = usable_cores(options)
        cores -= cores % max(ranks)
        turn: list[Cell] = []
        for panel in _DATASETS:
            dataset, lacking = _choose(panel, options)
            missing += tuple(lacking)
            if dataset is not None:
                limit = TIME_LIMIT if options.time_limit is None else options.time_limit
                fitting, lacking = _turn(dataset, ranks, cores, limit)
                missing += tuple(lacking)
                turn += fitting
        cells: list[Cell] = []
        for run in range(RUNS if options.runs is None else options.runs):
            again = turn if run % 2 == 0 else turn[::-1]
            cells += [replace(cell, seed=run) for cell in again]
        return Plan(tuple(cells), missing)

    def measure(self, cell: Cell, options: Options) -> dict[str, Any]:
        ranks, limit = cell.options["ranks"], cell.options["time_limit"]
        parameters = {
            "formulation": cell.formulation,
            "C": cell.penalty,
            "stopping": "violation",
            "tol": paper.TOL,
            "time_limit": limit,
            "random_state": cell.seed,
        }
        job = Job(
            cell.dataset,
            str(options.data),
            parameters,
            cell.options["threads"],
            None if ranks == 1 else ranks,
        )
        # Reading takes minutes for the largest sets; what takes longer than this hangs.
        return measured_apart(job, give_up_after=3 * limit + 1800)

    def section(self, records: Sequence[Record], plan: Plan) -> Section:
        panels = _panels(records)
        return Section(
            title="Training time",
            introduction=(
                "Seconds of training until no projected gradient exceeds "
                f"{paper.TOL:g}, the paper's way to stop, over C: one-vs-rest (OVR, hinge loss), "
                "Crammer-Singer (CS), and Weston-Watkins in one process (WW-MC) and in two and "
                f"four (WW-MPI), all with the same cores. The paper had {paper.CORES} cores; its "
                "OVR and CS are LIBLINEAR's, the latter with one thread."
            ),
            tables=tuple(_table(panel) for panel in panels if panel.records),
            figures=tuple(_figure(panel) for panel in panels),
            notes=_notes(panels),
        )


# ---------------------------------------------------------------- what is run


def _choose(panel: str, options: Options) -> tuple[str | None, list[Missing]]:
    """Choose the data set of a panel; also return whether the paper's own is missing."""
    missing: list[Missing] = []
    for name in _DATASETS[panel]:
        if not options.wanted(name):
            continue
        if available(name, options.data):
            return name, missing
        missing.append(Missing(name, f"it is not in {options.data}", CATALOG[name].where))
    return None, missing


def _turn(
    dataset: str, ranks: tuple[int, ...], cores: int, limit: float
) -> tuple[list[Cell], list[Missing]]:
    """Yield the runs of every method at every C that fits into the memory."""
    cells, missing = [], []
    for log_c in paper.LOG_C:
        for formulation, count in _METHODS.values():
            if count not in ranks:
                continue
            if large := too_large(dataset, formulation, log_c):
                missing += [large] if large not in missing else []
                continue
            used = {
                "ranks": count,
                "threads": cores // count,
                "time_limit": limit,
                # Times of another machine are no results of this one.
                "machine": machine_id(),
            }
            cells.append(Cell("timing", dataset, formulation, log_c, _STOP, options=used))
    return cells, missing


# ---------------------------------------------------------------- what came out


@dataclass(frozen=True)
class Time:
    """Runs of a method at one C. Where none has ended in time, `seconds` is None."""

    seconds: tuple[float, float, float] | None  # median, lowest, highest, of those that ended
    unended: int  # seeds of which no run did
    most: float  # seconds of any run
    passes: int
    gap: float
    peak_mb: float


@dataclass(frozen=True)
class Panel:
    """Measurements for a panel of the figure, on one data set, machine and number of cores."""

    paper_set: str
    dataset: str = ""
    machine: str = ""
    cores: int = 0
    records: tuple[Record, ...] = ()

    @property
    def paper_title(self) -> str:
        return CATALOG[self.paper_set].paper

    @property
    def stand_in(self) -> bool:
        return bool(self.dataset) and self.dataset != self.paper_set

    @property
    def title(self) -> str:
        label = f" (stand-in for {self.paper_title})" if self.stand_in else ""
        return f"{self.dataset}{label}, {self.cores} core{'s' * (self.cores > 1)}"

    def time(self, method: str, log_c: float) -> Time | None:
        wanted = (*_METHODS[method], log_c)
        runs = [r for r in self.records if _what(r.cell) == wanted]
        if not runs:
            return None
        ended = [r for r in runs if r.measured["converged"]]
        taken = [float(r.measured["seconds"]) for r in ended]
        last = (ended or runs)[-1].measured
        return Time(
            (median(taken), min(taken), max(taken)) if taken else None,
            len({r.cell.seed for r in runs} - {r.cell.seed for r in ended}),
            max(float(r.measured["seconds"]) for r in runs),
            int(last["passes"]),
            float(last["gap"]),
            max(float(r.measured["peak_mb"]) for r in runs),
        )


def _what(cell: Cell) -> tuple[str, int, float]:
    return cell.formulation, cell.options["ranks"], cell.log_c


def _panels(records: Sequence[Record]) -> list[Panel]:
    """Return the panels in the paper's order, without records where nothing was measured."""
    panels: list[Panel] = []
    for paper_set, datasets in _DATASETS.items():
        found: dict[tuple[int, str, int], list[Record]] = {}
        for record in records:
            if not record.failed and record.cell.dataset in datasets:
                cores = record.cell.options["ranks"] * record.cell.options["threads"]
                key = (datasets.index(record.cell.dataset), record.machine, cores)
                found.setdefault(key, []).append(record)
        panels += [
            Panel(paper_set, datasets[k], machine, cores, tuple(found[k, machine, cores]))
            for k, machine, cores in sorted(found)
        ] or [Panel(paper_set)]
    return panels


# ---------------------------------------------------------------- how it is shown


def _table(panel: Panel) -> Table:
    columns = ("log C", "Paper [s]", "Ours [s]", "Paper / ours", "Passes", "Gap", "Memory [MB]")
    rows = []
    for method in paper.METHODS:
        printed = paper.SECONDS[panel.paper_set][method]
        for log_c, theirs in zip(paper.LOG_C, printed, strict=True):
            found = panel.time(method, log_c)
            entries = _entries(theirs, found, comparable=not panel.stand_in)
            rows.append(Row((Entry(str(log_c)), *entries), method))
    where = f" on {panel.machine}" if panel.machine else ""
    against = f"the paper on {panel.paper_title} with {paper.CORES} cores"
    notes = [
        "Gap is the relative duality gap where the run stopped; memory that of all ranks together.",
        (
            "Another machine, another data set: times that cannot be compared."
            if panel.stand_in
            else f"Another machine, and {panel.cores} cores against {paper.CORES}."
        ),
    ]
    return Table(
        title=f"Training time: {panel.title}",
        caption=f"Ours{where}, next to {against}.",
        columns=tuple(Column(title) for title in columns),
        rows=tuple(rows),
        notes=tuple(notes),
    )


def _entries(theirs: float, found: Time | None, *, comparable: bool) -> tuple[Entry, ...]:
    printed, nothing = Entry(f"{theirs:,.0f}", "paper"), Entry("–", "missing")
    if found is None:
        return (printed, nothing, nothing, nothing, nothing, nothing)
    rest = (
        Entry(f"{found.passes:,}", "ours"),
        Entry(f"{100 * found.gap:.1f} %", "ours"),
        Entry(f"{found.peak_mb:,.0f}", "ours"),
    )
    if found.seconds is None:
        note = f"not at the tolerance after {found.most:.0f} s"
        return (printed, Entry(f"> {found.most:.0f}", "missing", note), nothing, *rest)
    middle, low, high = found.seconds
    remarks = [] if low == high else [f"{low:.1f} to {high:.1f} s"]
    if found.unended:
        remarks.append(f"{found.unended} more did not reach the tolerance")
    seconds = f"{middle:.1f}" if middle < 100 else f"{middle:,.0f}"
    times = theirs / middle
    ratio = Entry(f"{times:.1f}" if times < 10 else f"{times:,.0f}") if comparable else nothing
    return (printed, Entry(seconds, "ours", "; ".join(remarks)), ratio, *rest)


def _figure(panel: Panel) -> Figure:
    plots = [_paper_axes(panel)]
    caption = f"The paper's times on {panel.paper_title} ({paper.CORES} cores)"
    if panel.records:
        plots.append(_own_axes(panel))
        caption += f"; ours on {panel.title}. Two scales. What did not end in time is not drawn."
    else:
        caption += "; nothing was measured here, since the data set is missing."
    return Figure(
        name=_file_name(panel),
        title=f"Training time over C: {panel.paper_title}",
        caption=caption,
        plots=tuple(plots),
    )


def _file_name(panel: Panel) -> str:
    parts = ["timing", panel.paper_set]
    if panel.records:
        parts += [f"{panel.cores}-cores", panel.machine]
    return "-".join(part for part in parts if part)


def _paper_axes(panel: Panel) -> Axes:
    log_c = tuple(float(value) for value in paper.LOG_C)
    lines = [
        Line(method, method, log_c, paper.SECONDS[panel.paper_set][method], "paper")
        for method in paper.METHODS
    ]
    return Axes(f"The paper: {panel.paper_title}", "log C", "Time [s]", tuple(lines), x_ticks=log_c)


def _own_axes(panel: Panel) -> Axes:
    lines = []
    for method in paper.METHODS:
        ended = []
        for log_c in paper.LOG_C:
            found = panel.time(method, log_c)
            if found is not None and found.seconds is not None:
                ended.append((float(log_c), *found.seconds))
        if ended:
            log_cs, middle, low, high = zip(*ended, strict=True)
            lines.append(Line(method, method, log_cs, middle, "ours", low, high))
    ticks = tuple(float(value) for value in paper.LOG_C)
    short = f"Ours: {panel.dataset}{' (stand-in)' * panel.stand_in}"
    return Axes(short, "log C", "Time [s]", tuple(lines), x_ticks=ticks)


def _notes(panels: Sequence[Panel]) -> tuple[str, ...]:
    notes = [
        "All of ours, OVR and CS included, are multimargin's own solvers with all cores.",
        "The stop is the paper's; it says little about the objective, see the gaps. OVR stops each "
        "of its binary problems there.",
        "Ranks are processes of one machine here; the paper's had a machine each.",
    ]
    if any(not panel.records for panel in panels):
        notes.append(
            "Generated data of the size of LSHTC-2011 are trained on where they are asked for: "
            "`--datasets generator-lshtc-2011`."
        )
    return tuple(notes)
