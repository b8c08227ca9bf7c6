"""multimargin next to what one would use instead, on this machine: ``python -m benchmarks``."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.common.command_line import (
    add_data,
    add_json,
    positive,
    print_columns,
    print_machine,
    run_command,
    writable,
    write_json,
)
from benchmarks.common.data import (
    DMOZ,
    GENERATED_SMALL,
    LSHTC,
    WORDNET,
    default_folder,
    in_folder,
    known,
)
from benchmarks.common.run import Runs
from benchmarks.contest.climbs import GOAL, Contest, Rules, contestants, hold
from benchmarks.contest.table import RIGHT, TITLES, Row, as_csv, lines, problems, rows
from benchmarks.peers import PEERS
from multimargin.io._atomic import atomic_write

_EPILOG = f"""\
C = 1, no intercept. Every run is a process of its own on as many cores as it has threads. Each
peer has the loosest of its settings that ends within {GOAL:.0%} of the optimum of its own problem
("!": none does; then the closest, and its ratio is a lower bound). Objective, error, macro-F1 and
density are computed from its weights by the same code for all; the optimum is multimargin's dual
at a tight gap. Seconds are of training alone, memory is that of the process with its data. The
exit status is 1 if a run of multimargin failed or nothing was measured.
"""


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, epilog=_EPILOG
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"small sets alone, and no run longer than a minute (otherwise {WORDNET}, too, and "
        "ten minutes)",
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=[name for name in PEERS if name != "multimargin"],
        help="this peer alone, next to multimargin; may be repeated",
    )
    parser.add_argument(
        "--dataset",
        type=known,
        action="append",
        metavar="NAME",
        help="this set alone; may be repeated",
    )
    parser.add_argument(
        "--threads",
        type=positive,
        action="append",
        metavar="N",
        help="a table with so many threads; may be repeated (default: 1 and 2; with --quick 2 on "
        "the first set alone)",
    )
    add_data(parser)
    add_json(parser)
    parser.add_argument("--csv", type=writable, metavar="FILE", help="write the table there too")
    parser.add_argument(
        "--repeats",
        type=positive,
        default=3,
        metavar="N",
        help="runs of each setting that counts (default 3); what is slow is run once in any case",
    )
    args = parser.parse_args(argv)
    args.data = args.data or default_folder()
    return args


def _datasets(args: argparse.Namespace) -> list[str]:
    """Those of the command line, else those that are there."""
    if args.dataset:
        return list(args.dataset)
    small = [name for name in (LSHTC, DMOZ) if in_folder(name, args.data)] or [GENERATED_SMALL]
    return small if args.quick else [*small, WORDNET]


def _rules(args: argparse.Namespace) -> Rules:
    place = str(args.data.resolve()) if args.data.is_dir() else None
    if args.quick:
        return Rules(place, args.repeats, limit_s=60.0, repeat_below_s=1.0)
    return Rules(place, args.repeats)


def _thread_counts(args: argparse.Namespace, number: int) -> list[int]:
    """Those of the table of a data set; --quick has two threads on the first set alone."""
    if args.threads:
        return sorted(set(args.threads))
    several = (os.cpu_count() or 1) > 1 and not (args.quick and number > 0)
    return [1, 2] if several else [1]


def _print(contest: Contest) -> list[Row]:
    """Print the tables of a contest, one for each problem; returns their rows."""
    found = rows(contest)
    for loss, title in TITLES.items():
        part = [row for row in found if row.loss == loss]
        if any(row.seconds is not None for row in part):
            s = "s" if contest.threads > 1 else ""
            bound = f"optimum {contest.optima[loss]:,.1f}"
            print(f"\n{contest.dataset}, {contest.threads} thread{s}: {title} ({bound})\n")
            print_columns(lines(part), RIGHT)
    sys.stdout.flush()
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Hold the contests that the command line asks for; returns the exit status."""
    args = _parse(argv)
    began = time.perf_counter()
    about = print_machine()
    who = contestants(["multimargin", *(args.only or [n for n in PEERS if n != "multimargin"])])
    table: list[Row] = []
    content: dict[str, Any] = {"machine": about, "goal": GOAL, "rows": [], "runs": []}
    all_tight: list[Runs] = []
    for number, dataset in enumerate(_datasets(args)):
        contests, tight = hold(dataset, _thread_counts(args, number), who, _rules(args))
        all_tight += tight
        content["runs"] += [runs.as_dict() for runs in tight]
        for contest in contests:
            table += _print(contest)
            content["runs"] += [runs.as_dict() for climb in contest.climbs for runs in climb.tried]
    said = [runs.problem for runs in all_tight if runs.problem is not None] + problems(table)
    if said:
        print("\n" + "\n".join(said))
    content["rows"] = [asdict(row) for row in table]
    content["seconds"] = time.perf_counter() - began
    print(f"\n{content['seconds']:.0f} s in all")
    if args.json is not None:
        write_json(args.json, content)
    if args.csv is not None:
        with atomic_write(args.csv) as file:
            file.write(as_csv(table))
    ours = [runs.problem or "" for runs in all_tight]
    ours += [row.problem or "" for row in table if row.peer == "multimargin"]
    nothing = not any(row.seconds is not None for row in table)
    return int(nothing or any(each.startswith(("failed", "missing", "stopped")) for each in ours))


if __name__ == "__main__":
    run_command(main)
