"""Every formulation next to a rival, few classes and many: ``python -m benchmarks.matrix``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.common.command_line import (
    add_data,
    positive,
    positive_float,
    print_columns,
    print_machine,
    run_command,
)
from benchmarks.common.data import default_folder, known
from benchmarks.curves.files import why_no_figures
from benchmarks.matrix import heat_map, table
from benchmarks.matrix.cells import RULES, Selection
from benchmarks.matrix.result import Result
from benchmarks.matrix.runs import Conditions
from multimargin.io._atomic import atomic_write, check_writable

_FILES = ("matrix.csv", "matrix.svg", "matrix.png")
_EPILOG = """\
A cell is a data set, a formulation, C, with or without an intercept (a constant feature of 1).
Every run is a process of its own on one core, with the same samples in float64; times are of
training alone, after a fit of a few samples, and the median counts. cs, ovr and ovr-squared:
LIBLINEAR runs at its defaults, ours with the loosest tolerance of 1e-2, 1e-3, 1e-5 and 1e-9 that
reaches LIBLINEAR's final objective, until the first certificate that does. All others run to a
duality gap of 1 %: ww next to our cs; mmr, adm, ats, atm and rm next to our llw. The ratio is the
rival's time over ours; a cell below its bar is red. "processor": the same ratio of processor times.
Sets, C and intercepts that are given replace those of the bars. matrix.csv is written after every
cell, the heat map (matrix.svg, matrix.png) at the end. The exit status is 0.
"""


def _out(text: str) -> Path:
    """A folder that can be written to: better known before the runs than after."""
    path = Path(text)
    try:
        path.mkdir(parents=True, exist_ok=True)
        for name in _FILES:
            check_writable(path / name)
    except OSError as error:
        raise argparse.ArgumentTypeError(
            f"cannot write to {text!r}: {error.strerror or error}"
        ) from error
    return path


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.matrix", description=__doc__, epilog=_EPILOG
    )
    add_data(parser)
    parser.add_argument("--sets", type=known, nargs="+", default=[], metavar="NAME")
    parser.add_argument("--formulations", nargs="+", default=[], choices=list(RULES))
    parser.add_argument("--C", type=positive_float, nargs="+", default=[], metavar="C")
    parser.add_argument("--intercept", choices=("with", "without", "both"))
    parser.add_argument(
        "--repeats",
        type=positive,
        default=3,
        metavar="N",
        help="runs whose median counts (default 3); what takes more than 30 s is run once",
    )
    parser.add_argument(
        "--time-limit",
        type=positive_float,
        default=120.0,
        metavar="S",
        help="seconds after which a run is stopped (default 120)",
    )
    parser.add_argument(
        "--out",
        type=_out,
        default="build/matrix",
        metavar="DIR",
        help="folder of the files, made if missing (default build/matrix)",
    )
    return parser.parse_args(argv)


def _selection(args: argparse.Namespace) -> Selection:
    intercepts = {None: (), "with": (True,), "without": (False,), "both": (False, True)}
    return Selection(args.formulations, args.sets, args.C, intercepts[args.intercept])


def _show(results: list[Result], out: Path) -> None:
    for name, part in table.by_formulation(results).items():
        print(f"\n{table.title(name)}\n")
        print_columns(table.lines(part), table.RIGHT)
    print()
    for line in [*table.problems(results), *table.summary(results)]:
        print(line)
    if all(result.skipped for result in results):
        return
    if (reason := why_no_figures()) is not None:
        print(reason)
        return
    for ending, content in heat_map.draw(results).items():
        with atomic_write(out / f"matrix.{ending}") as file:
            file.write(content)
    print(", ".join(str(out / name) for name in _FILES), flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the cells of the command line and show them; returns the exit status."""
    args = _parse(argv)
    print_machine()
    folder = args.data or default_folder()
    place = str(folder.resolve()) if folder.is_dir() else None
    conditions = Conditions(place, args.repeats, args.time_limit)
    results: list[Result] = []
    try:
        for cell in _selection(args).cells():
            result = conditions.run(cell)
            results.append(result)
            with atomic_write(args.out / _FILES[0]) as file:
                file.write(table.as_csv(results))
            mark = " red" if result.red else ""
            print(f"{cell}: {table.ratio_text(result)}{mark}", flush=True)
    finally:
        if results:
            _show(results, args.out)
    return 0


if __name__ == "__main__":
    run_command(main, "interrupted: what was measured until then is written")
