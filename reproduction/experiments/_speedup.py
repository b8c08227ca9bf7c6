"""The paper's figure of speedups: a fixed number of passes on more and more cores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from reproduction.interface._cell import Cell, Record
from reproduction.interface._document import Axes, Column, Entry, Figure, Line, Row, Section, Table
from reproduction.interface._experiment import Experiment, Missing, Options, Plan
from reproduction.measuring._machine import machine_id
from reproduction.measuring._memory import gigabytes, needed
from reproduction.measuring._own_process import Job, OwnProcessError, measured_apart
from reproduction.measuring._resources import possible_ranks, too_large, usable_cores
from reproduction.measuring._samples import (
    GENERATED_MEDIUM,
    GENERATED_SMALL,
    available,
    size_of,
)
from reproduction.paper import speedup as paper

RUNS = (3, 1)
"""Repetitions, of the quick data sets and of the large ones."""
LARGE_FROM = 8
"""Cores from which on generated sets that are large are measured unasked."""
RANKS = (1, 2, 4)
CURVES = ((1, False), (2, False), (4, False), (2, True), (4, True))
"""Ranks, and whether each of them solves by itself, as on a host of its own."""
BUNDLES = 8
"""Of classes, wherever there are bundles: two for each of four ranks, so that all do the same."""
_STOP = f"{paper.PASSES} passes"

_PAPERS_SIZE = "generator-lshtc-large"
# A quick data set and a large one, each the first of its list that is there and fits into the
# memory. The model of LLW is dense, so its stand-in for LSHTC-large is a smaller one.
_DATASETS = {
    "llw": (("lshtc1-dryrun-task2", GENERATED_SMALL), (paper.DATASET, GENERATED_MEDIUM)),
    "ww": (("wordnet-hypernym",), (paper.DATASET, _PAPERS_SIZE)),
}
# How ten passes are made, whatever the cores. Ten passes do not reach these tolerances: the
# violation of LLW is 0 after eight on lshtc1-dryrun-task2, where all dual variables are at their
# bound, but its gap never is, by rounding.
_SOLVER: dict[str, dict[str, Any]] = {
    "llw": {"solver": "alternating", "n_bundles": BUNDLES, "stopping": "gap", "tol": 1e-12},
    "ww": {"solver": "passes", "stopping": "violation", "tol": 1e-6},
}


class Speedup(Experiment):
    """Seconds of ten passes without shrinking at C = 1, on threads and on ranks."""

    name = "speedup"
    on_request = (GENERATED_MEDIUM, _PAPERS_SIZE)

    def plan(self, options: Options) -> Plan:
        cores = usable_cores(options)
        names = {n: " and ".join(paper.curve(f, n) for f in _DATASETS) for n in RANKS}
        ranks, missing = possible_ranks(names, cores)
        turns: list[tuple[Cell, ...]] = []
        for large in (False, True):  # what is quick comes first
            turn: list[Cell] = []
            for formulation in _DATASETS:
                dataset, lacking = _choose(formulation, large, options)
                missing += tuple(one for one in lacking if one not in missing)
                if dataset is not None:
                    turn += _turn(formulation, dataset, ranks, cores)
            for run in range(RUNS[large] if options.runs is None else options.runs):
                # To and fro: whatever slows the machine down for a while hits all alike.
                again = turn if run % 2 == 0 else turn[::-1]
                turns.append(tuple(replace(cell, seed=run) for cell in again))
        return Plan(tuple(cell for turn in turns for cell in turn), missing)

    def measure(self, cell: Cell, options: Options) -> dict[str, Any]:
        ranks = cell.options["ranks"]
        parameters: dict[str, Any] = {
            "formulation": cell.formulation,
            "C": cell.penalty,
            "max_iter": paper.PASSES,
            "shrinking": False,
            "random_state": cell.seed,
            "time_limit": options.time_limit,
            **_SOLVER[cell.formulation],
        }
        apart = _curve_of(cell)[1]
        if apart:
            parameters["n_bundles"] = BUNDLES
        measured = measured_apart(
            Job(
                cell.dataset,
                str(options.data),
                parameters,
                cell.options["threads"],
                None if ranks == 1 else ranks,
                one_scan=cell.formulation == "ww",
                pooled=not apart,
            )
        )
        if measured["passes"] != paper.PASSES:
            raise OwnProcessError(
                f"the run ended after {measured['passes']} of {paper.PASSES} passes, so that its "
                "time says nothing; give it a larger time limit, or none"
            )
        return measured

    def section(self, records: Sequence[Record], plan: Plan) -> Section:
        groups = _groups(records)
        return Section(
            title="Speedup",
            introduction=(
                f"Time of {paper.PASSES} passes at C = 1 without shrinking, relative to that of "
                "one thread. MC is one process with as many threads as cores; MPI-2 and MPI-4 are "
                "two and four processes (ranks) that share the cores evenly. Those of one machine "
                "solve as one; apart, they solve as on machines of their own. The paper measured "
                "on LSHTC-large, with a machine for each rank."
            ),
            tables=tuple(_table(group) for group in groups) + _bits_tables(groups),
            figures=(_figure(groups),),
            notes=_notes(groups),
        )


# ---------------------------------------------------------------- what is run


def _choose(formulation: str, large: bool, options: Options) -> tuple[str | None, list[Missing]]:
    """Choose the quick or the large data set of a formulation; also return what is missing."""
    missing: list[Missing] = []
    for name in _DATASETS[formulation][large]:
        if name in Speedup.on_request and not options.datasets:
            if usable_cores(options) < LARGE_FROM:
                why = f"it takes minutes, which few cores are not worth ({LARGE_FROM} are)"
                missing.append(Missing(name, why, f"--datasets {name} measures it all the same"))
                continue
        elif not options.wanted(name):
            continue
        if not available(name, options.data):
            missing.append(Missing(name, f"it is not in {options.data}", size_of(name).where))
        elif lacking := too_large(name, formulation, paper.LOG_C):
            missing.append(lacking)
        else:
            return name, missing
    return None, missing


def _turn(formulation: str, dataset: str, ranks: tuple[int, ...], cores: int) -> list[Cell]:
    """Yield the runs of every curve: on 1, 2, 4, ... cores, divided evenly among the ranks."""
    counts = [1 << k for k in range(cores.bit_length())]
    return [
        Cell(
            "speedup",
            dataset,
            formulation,
            paper.LOG_C,
            _STOP,
            # Times of another machine are no results of this one.
            options={"ranks": n, "threads": count // n, "machine": machine_id()}
            | ({"pooled": not apart} if n > 1 else {}),
        )
        for n, apart in CURVES
        for count in counts
        if n in ranks and count >= n
    ]


def _curve_of(cell: Cell) -> tuple[int, bool]:
    ranks = cell.options["ranks"]
    return ranks, ranks > 1 and not cell.options.get("pooled", False)


def _name(formulation: str, curve: tuple[int, bool]) -> str:
    ranks, apart = curve
    return paper.curve(formulation, ranks) + (" apart" if apart else "")


# ---------------------------------------------------------------- what came out


@dataclass(frozen=True)
class Point:
    """Runs on the same cores: seconds and speedup as median, lowest and highest."""

    ranks: int
    threads: int
    seconds: tuple[float, float, float]
    speedup: tuple[float, float, float] | None  # None: no run on one core to compare with
    peak_mb: float

    @property
    def cores(self) -> int:
        return self.ranks * self.threads


@dataclass(frozen=True)
class Group:
    """Runs of one formulation on one data set and machine."""

    formulation: str
    dataset: str
    machine: str
    records: tuple[Record, ...]

    @property
    def stand_in(self) -> bool:
        return self.dataset != paper.DATASET

    @property
    def title(self) -> str:
        words = f"{self.formulation.upper()} on {self.dataset}"
        return f"{words} (stand-in for LSHTC-large)" if self.stand_in else words

    def seconds(self, curve: tuple[int, bool], threads: int) -> dict[int, float]:
        """Return the seconds by seed."""
        return {
            record.cell.seed: float(record.measured["seconds"])
            for record in self.of(curve, threads)
        }

    def of(self, curve: tuple[int, bool], threads: int) -> Iterator[Record]:
        for record in self.records:
            if (_curve_of(record.cell), record.cell.options["threads"]) == (curve, threads):
                yield record

    def curve(self, curve: tuple[int, bool]) -> list[Point]:
        """Return the points of a curve by rising cores."""
        own = [r.cell for r in self.records if _curve_of(r.cell) == curve]
        threads = {cell.options["threads"] for cell in own}
        return [self._point(curve, count) for count in sorted(threads)]

    def _point(self, curve: tuple[int, bool], threads: int) -> Point:
        base, mine = self.seconds((1, False), 1), self.seconds(curve, threads)
        ratios = [base[seed] / mine[seed] for seed in mine if seed in base]
        # The ratio of medians over the same seeds lies between the lowest and the highest ratio.
        both = [seed for seed in mine if seed in base]
        speedup = None
        if both:
            middle = median(base[s] for s in both) / median(mine[s] for s in both)
            speedup = (middle, min(ratios), max(ratios))
        memory = max(float(r.measured["peak_mb"]) for r in self.of(curve, threads))
        taken = list(mine.values())
        return Point(curve[0], threads, (median(taken), min(taken), max(taken)), speedup, memory)

    def bits(self) -> list[tuple[str, int, bool]]:
        """Return the curves that should give the same bits, their runs, and whether they did."""
        kinds = [CURVES] if self.formulation == "llw" else [CURVES[:3], CURVES[3:]]
        found = []
        for kind in kinds:
            runs = [r for r in self.records if _curve_of(r.cell) in kind]
            present = sorted({_curve_of(r.cell) for r in runs}, key=CURVES.index)
            models: dict[int, set[str]] = {}
            for run in runs:
                models.setdefault(run.cell.seed, set()).add(str(run.measured["model"]))
            if len(runs) > len(models):  # some seed ran twice: there is something to compare
                names = ", ".join(_name(self.formulation, curve) for curve in present)
                found.append((names, len(runs), all(len(some) == 1 for some in models.values())))
        return found


def _groups(records: Sequence[Record]) -> list[Group]:
    found: dict[tuple[str, str, str], list[Record]] = {}
    for record in records:
        if not record.failed:
            key = (record.cell.formulation, record.cell.dataset, record.machine)
            found.setdefault(key, []).append(record)
    order = [(f, name) for f, sets in _DATASETS.items() for names in sets for name in names]
    return [
        Group(formulation, dataset, machine, tuple(found[formulation, dataset, machine]))
        for formulation, dataset, machine in sorted(
            found, key=lambda key: (order.index(key[:2]), key[2])
        )
    ]


# ---------------------------------------------------------------- how it is shown


def _table(group: Group) -> Table:
    columns = ("Cores", "Ranks × threads", "Paper", "Ours", "Range", "Seconds", "Memory [MB]")
    rows = []
    for curve in CURVES:
        name = _name(group.formulation, curve)
        printed = paper.SPEEDUP[group.formulation][curve[0]]
        measured = {point.cores: point for point in group.curve(curve)}
        for cores in sorted(printed.keys() | measured.keys()):
            rows.append(Row(_entries(cores, printed.get(cores), measured.get(cores)), name))
    where = f" on {group.machine}" if group.machine else ""
    return Table(
        title=f"Speedup: {group.title}",
        caption=(
            f"{paper.PASSES} passes{where}; medians over seeds, and the lowest and highest. "
            "Memory is that of all ranks together."
        ),
        columns=tuple(Column(title) for title in columns),
        rows=tuple(rows),
        notes=(
            "Empty places: more cores than there were here, a run that failed or is not made yet, "
            "or not in the paper.",
        ),
    )


def _entries(cores: int, printed: float | None, point: Point | None) -> tuple[Entry, ...]:
    nothing = Entry("–", "missing")
    theirs = nothing if printed is None else Entry(f"{printed:.2f}", "paper")
    if point is None:
        return (Entry(str(cores)), nothing, theirs, nothing, nothing, nothing, nothing)
    ours, between = nothing, nothing
    if point.speedup is not None:
        middle, low, high = point.speedup
        ours, between = Entry(f"{middle:.2f}", "ours"), Entry(f"{low:.2f}–{high:.2f}", "ours")
    return (
        Entry(str(cores)),
        Entry(f"{point.ranks} × {point.threads}"),
        theirs,
        ours,
        between,
        Entry(f"{point.seconds[0]:.2f}", "ours"),
        Entry(f"{point.peak_mb:,.0f}", "ours"),
    )


def _bits_tables(groups: Sequence[Group]) -> tuple[Table, ...]:
    rows = []
    for group in groups:
        for names, runs, same in group.bits():
            verdict = Entry("yes" if same else "no", "ours", bold=not same)
            rows.append(Row((Entry(names), Entry(group.dataset), Entry(str(runs)), verdict)))
    if not rows:
        return ()
    return (
        Table(
            title="The same model on any number of cores",
            caption="Whether runs of the same seed gave the same weights, bit by bit.",
            columns=tuple(Column(t) for t in ("Curves", "Data set", "Runs", "Same bits")),
            rows=tuple(rows),
        ),
    )


def _figure(groups: Sequence[Group]) -> Figure:
    plots = []
    for formulation in _DATASETS:
        own: list[Group | None] = [g for g in groups if g.formulation == formulation]
        plots += [_axes(formulation, group) for group in own or [None]]
    return Figure(
        name="speedup",
        title="Speedup in the number of cores",
        caption=(
            "Dashed: the paper, on LSHTC-large. Solid: ours, with the lowest and highest of the "
            "repetitions. Both relative to one thread of MC."
        ),
        plots=tuple(plots),
    )


def _axes(formulation: str, group: Group | None) -> Axes:
    lines = []
    for curve in CURVES:
        name = _name(formulation, curve)
        if not curve[1]:
            printed = paper.SPEEDUP[formulation][curve[0]]
            lines.append(Line(name, name, tuple(printed), tuple(printed.values()), "paper"))
        points = [] if group is None else [p for p in group.curve(curve) if p.speedup is not None]
        if points:
            ours = [p.speedup for p in points if p.speedup is not None]
            middle, low, high = (tuple(three[k] for three in ours) for k in range(3))
            cores = tuple(float(p.cores) for p in points)
            lines.append(Line(name, name, cores, middle, "ours", low, high))
    return Axes(
        title=formulation.upper() if group is None else group.title,
        x_label="Number of cores",
        y_label="Speedup",
        lines=tuple(lines),
        x_scale="log2",
        y_scale="log10",
        x_ticks=tuple(float(cores) for cores in paper.CORES),
    )


def _notes(groups: Sequence[Group]) -> tuple[str, ...]:
    large, medium = size_of(paper.DATASET), size_of(GENERATED_MEDIUM)
    taken = gigabytes(needed("llw", 10.0**paper.LOG_C, large))
    notes = [
        "Ranks are processes of one machine here and share its caches and memory; the paper's had "
        "a machine each. Apart, they send each other what hosts would, but over memory.",
        f"LLW runs the paper's alternation, over {BUNDLES} bundles of classes everywhere: the same "
        "work, and the same model, on any number of threads and ranks.",
        f"The weights of LLW are dense: at the size of LSHTC-large a fit takes about {taken}, and "
        f"90 times the work of {GENERATED_MEDIUM}. This has {medium.n_train:,} samples, "
        f"{medium.n_features:,} features and {medium.n_classes:,} classes.",
        "A pass of WW visits every sample with those classes that are active for it; the paper's "
        "visits all classes. The time has the start (nearest centroids) and one scan, after the "
        "last pass, in it. "
        f"Apart, WW-MPI passes {BUNDLES} bundles of classes around, which is more work than WW-MC "
        "does for as many passes.",
    ]
    if any(group.stand_in for group in groups):
        notes.append(
            "Data sets marked as stand-ins are not LSHTC-large: the shapes of the curves may be "
            "compared, their figures only roughly. Less work per pass leaves less to share."
        )
    return tuple(notes)
