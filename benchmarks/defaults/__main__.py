"""Which default wins on many sets: ``python -m benchmarks.defaults``."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks.common.command_line import (
    add_data,
    positive_float,
    print_machine,
    run_command,
    writable,
)
from benchmarks.common.data import DataUnavailableError, default_folder
from benchmarks.defaults import analysis, report
from benchmarks.defaults.choices import (
    FEW_CLASSES,
    FEW_CLASSES_KINDS,
    KINDS,
    LATE_KINDS,
    Kind,
    penalties,
)
from benchmarks.defaults.results import Results
from benchmarks.defaults.runs import along, from_zero, linear_svc
from benchmarks.defaults.sets import SETS, Trial, trial
from multimargin.io._atomic import atomic_write

_EPILOG = """\
Every set is divided into samples to fit, to choose C by, and to test; nothing is fitted again on
more. Fits are to a gap of 1 %, in one thread. First every formulation, loss and intercept along
rising C, each fit from the one before (errors); then, at the C that is best on half of the sets,
from zero (seconds of processor time); then LinearSVC, and these fits on the large sets. The CSV is
written after every fit, and a run goes on where the last one ended. Wrong labels are in the samples
that fit and choose C, not in those that test.

Rank and regret are of test errors, in points, against the best candidate of each set: every
formulation, loss and intercept with the C of its rule and with C = 1; "strict" is the mean regret
against the best of all fits on the set, whose C nobody knows beforehand. Time is the geometric mean
of seconds over those of the fastest candidate.
"""


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.defaults", description=__doc__, epilog=_EPILOG
    )
    add = parser.add_argument
    add_data(parser)
    add(
        "--sets",
        nargs="+",
        default=list(SETS),
        choices=list(SETS),
        metavar="NAME",
        help=f"measure these alone, of: {'; '.join(SETS)}".replace("%", "%%"),
    )
    add(
        "--csv",
        type=writable,
        default="build/defaults.csv",
        metavar="FILE",
        help="results, to which missing ones are added (default: build/defaults.csv)",
    )
    add("--markdown", type=writable, metavar="FILE", help="write the tables of the guide there")
    add(
        "--time-limit",
        type=positive_float,
        default=10.0,
        metavar="S",
        help="seconds after which a fit is stopped; larger C are then left out (default: 10)",
    )
    add(
        "--linear-svc-limit",
        type=positive_float,
        default=120.0,
        metavar="S",
        help="the same for LinearSVC (default: 120)",
    )
    add(
        "--budget",
        type=positive_float,
        default=40.0,
        metavar="MINUTES",
        help="after which no fit begins, and what was measured is reported (default: 40)",
    )
    add("--report", action="store_true", help="measure nothing, report what the CSV holds")
    return parser.parse_args(argv)


class Study:
    """The steps of the study, in the order in which they tell most."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.results = Results(args.csv)
        self._args = args
        self._folder: Path = args.data or default_folder()
        self._trials: dict[str, Trial | None] = {}

    def _trial(self, name: str) -> Trial | None:
        if name not in self._trials:
            try:
                self._trials[name] = trial(name, self._folder)
            except DataUnavailableError as error:
                print(f"{name}: skipped: {error}", flush=True)
                self._trials[name] = None
        return self._trials[name]

    def steps(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """Names of steps, and what they do."""
        small = [name for name in self._args.sets if not SETS[name].large]
        large = [name for name in self._args.sets if SETS[name].large]
        first = [kind for kind in KINDS if kind not in LATE_KINDS]
        for kinds, lists in (
            (first, (small, large)),
            ((*LATE_KINDS, *FEW_CLASSES_KINDS), (small,)),
        ):
            for kind in kinds:
                for name in small:
                    yield f"{name}: {kind}", partial(self._along, name, kind)
            for names in lists:
                for name in names:
                    yield f"{name}: from zero", partial(self._finalists, name)
                for name in names:
                    yield f"{name}: LinearSVC", partial(self._linear_svc, name)

    def _along(self, name: str, kind: Kind) -> None:
        found = self._trial(name)
        if found is None or (kind in FEW_CLASSES_KINDS and found.n_classes > FEW_CLASSES):
            return
        Cs = penalties(kind, found.n_classes, found.squared_norm)
        along(self.results, name, found, kind, Cs, self._args.time_limit)

    def _finalists(self, name: str) -> None:
        found = self._trial(name)
        if found is None:
            return
        large = SETS[name].large
        limit = self._args.time_limit * (10 if large else 3)
        for candidate in analysis.candidates(self.results.rows, customary=not large):
            C = candidate.on_grid(found.n_classes, found.squared_norm)
            from_zero(self.results, name, found, candidate.kind, C, limit)

    def _linear_svc(self, name: str) -> None:
        found = self._trial(name)
        if found is not None:
            linear_svc(self.results, name, found, self._args.linear_svc_limit)


def _measure(study: Study, minutes: float) -> None:
    end = time.monotonic() + 60 * minutes
    for title, step in study.steps():
        if time.monotonic() > end:
            print("the time is over: what was measured until then is reported", flush=True)
            return
        began = time.perf_counter()
        step()
        print(f"{title}: {time.perf_counter() - began:.1f} s", flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure what is missing and report; returns the exit status."""
    args = _parse(argv)
    study = Study(args)
    if not args.report:
        print_machine()
    try:
        if not args.report:
            _measure(study, args.budget)
    finally:
        if rows := study.results.rows:
            print(report.text(rows), flush=True)
            if args.markdown is not None:
                with atomic_write(args.markdown) as file:
                    file.write(report.markdown(rows).encode())
    return 0


if __name__ == "__main__":
    run_command(main, "interrupted: what was measured until then is kept")
