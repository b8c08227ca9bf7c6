"""Run the bars and print a table: ``python -m benchmarks.bars``."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from benchmarks._bars import BARS
from benchmarks._command_line import (
    end_on_sigterm,
    folder,
    positive,
    print_columns,
    print_machine,
    writable,
    write_json,
)
from benchmarks._data import default_folder
from benchmarks._machine import machine
from benchmarks._outcome import Options, Row

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
        "most of the killed runs",
    )
    parser.add_argument(
        "--only", action="append", choices=list(BARS), help="this bar alone; may be repeated"
    )
    parser.add_argument(
        "--data",
        type=folder,
        metavar="DIR",
        help="folder of the data sets (default: $MULTIMARGIN_DATA, else ../shared/data)",
    )
    parser.add_argument("--json", type=writable, metavar="FILE", help="write every run there too")
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
    about = machine()
    print_machine(about)
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
    end_on_sigterm()
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("interrupted")
