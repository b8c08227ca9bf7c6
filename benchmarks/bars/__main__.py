"""Run the bars and print a table: ``python -m benchmarks.bars``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.bars.coverage import coverage
from benchmarks.bars.encoders import encoders
from benchmarks.bars.formulations import bits, cs, llw, ovr
from benchmarks.bars.killed_ranks import kills
from benchmarks.bars.many_classes import embeddings, intercept, penalties
from benchmarks.bars.outcome import Options, Outcome, Row
from benchmarks.bars.probabilities import probabilities
from benchmarks.bars.ranks import ranks, traffic, work
from benchmarks.bars.weston_watkins import lshtc, memory, threads, wordnet
from benchmarks.common.command_line import (
    add_data,
    add_json,
    positive,
    print_columns,
    print_machine,
    run_command,
    write_json,
)
from benchmarks.common.data import default_folder

BARS: dict[str, Callable[[Options], Outcome]] = {
    "wordnet": wordnet,
    "lshtc": lshtc,
    "threads": threads,
    "memory": memory,
    "intercept": intercept,
    "penalties": penalties,
    "embeddings": embeddings,
    "probabilities": probabilities,
    "coverage": coverage,
    "encoders": encoders,
    "cs": cs,
    "ovr": ovr,
    "llw": llw,
    "bits": bits,
    "ranks": ranks,
    "traffic": traffic,
    "work": work,
    "kills": kills,
}
_EPILOG = """\
C = 1, no intercept, one thread unless said. Times are of training alone, memory is that of the
whole process with its data. Objectives are computed from the weights by the same code for every
peer. The exit status is 1 if a bar is missed, a run failed or multimargin refused it; a bar whose
data or peer is not on this machine is skipped.
"""


def _print_table(rows: list[Row]) -> None:
    lines: list[tuple[str, ...]] = [("name", "figure", "bar", "reached?")]
    lines += [(row.name, row.figure, row.bar, row.verdict) for row in rows]
    print_columns(lines)
    problems = [f"{row.name}: {row.problem}" for row in rows if row.problem is not None]
    if problems:
        print("\n" + "\n".join(problems))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bars", description=__doc__, epilog=_EPILOG
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="skip what takes minutes: the memory bar, LIBLINEAR on WordNet, LLW by alternation, "
        "embeddings of all of WordNet, most of the killed runs",
    )
    parser.add_argument(
        "--only", action="append", choices=list(BARS), help="this bar alone; may be repeated"
    )
    add_data(parser)
    add_json(parser)
    parser.add_argument(
        "--repeats",
        type=positive,
        metavar="N",
        help="runs of each variant (default 3 or 5); what takes minutes is run once in any case",
    )
    return parser.parse_args()


def main() -> int:
    """Run what the command line asks for; returns the exit status."""
    args = _parse()
    options = Options(args.data or default_folder(), args.quick, args.repeats)
    about = print_machine()
    rows: list[Row] = []
    content: dict[str, Any] = {"machine": about, "bars": {}}
    for name in args.only or BARS:
        print(f"{name}: {(BARS[name].__doc__ or '').strip()}", file=sys.stderr, flush=True)
        outcome = BARS[name](options)
        rows += outcome.rows
        content["bars"][name] = outcome.as_dict()
    _print_table(rows)
    if args.json is not None:
        write_json(args.json, content)
    return int(any(row.bad for row in rows))


if __name__ == "__main__":
    run_command(main)
