"""Curves next to the peers': ``python -m benchmarks.curves [gap] [growth] --out DIR``.

gap     how far above the optimum each trainer is, over seconds of training
growth  seconds over classes, samples and non-zeros, with fitted exponents
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.common.command_line import add_data, positive, print_machine, run_command
from benchmarks.common.data import default_folder
from benchmarks.curves.files import Curve, Files, why_no_figures
from benchmarks.curves.gap import GapCurve
from benchmarks.curves.growth import Growth
from benchmarks.curves.runs import Course
from multimargin.io._atomic import check_writable
from reproduction.report._text_table import table_text

_CURVES: dict[str, Callable[[bool, int], Curve]] = {"gap": GapCurve, "growth": Growth}
_LIMIT_S, _QUICK_LIMIT_S = 900.0, 60.0
_EPILOG = """\
Writes gap.json, gap.csv, growth.json and growth.csv after every run, and figures as SVG and PNG at
the end or when interrupted. Times are of training alone, each run in a process of its own, the
trainers in turns. The exit status is 1 if a run failed; a peer that is not installed is left out.
"""


def _out(text: str) -> Path:
    """A folder that can be written to: better known before the runs than after."""
    path = Path(text)
    try:
        path.mkdir(parents=True, exist_ok=True)
        for name in _CURVES:
            for ending in ("json", "csv"):
                check_writable(path / f"{name}.{ending}")
    except OSError as error:
        raise argparse.ArgumentTypeError(
            f"cannot write to {text!r}: {error.strerror or error}"
        ) from error
    return path


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.curves",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "curves", nargs="*", metavar="CURVE", help=f"{' or '.join(_CURVES)} (default: both)"
    )
    parser.add_argument("--out", type=_out, required=True, metavar="DIR", help="made if missing")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="smaller sets, shorter ladders, LIBLINEAR alone as peer: minutes",
    )
    add_data(parser)
    parser.add_argument(
        "--repeats",
        type=positive,
        metavar="N",
        help="runs of each, whose median counts (default 3, or 1 with --quick); what takes long "
        "is run once in any case",
    )
    args = parser.parse_args()
    unknown = [name for name in args.curves if name not in _CURVES]
    if unknown:
        parser.error(f"no curve {', '.join(unknown)}: choose from {', '.join(_CURVES)}")
    return args


def _show(curve: Curve, course: Course, files: Files) -> None:
    """Print the tables and draw the figures of the runs so far."""
    for table in curve.tables(course):
        print(table_text(table), end="\n\n")
    if why_no_figures() is None:
        for path in files.write_figures(curve, course):
            print(path)
    for name, reason in course.problems.items():
        print(f"{name}: {reason}")
    print(flush=True)


def main() -> int:
    """Measure the curves of the command line; returns the exit status."""
    args = _parse()
    files = Files(args.out, print_machine())
    if (reason := why_no_figures()) is not None:
        print(reason, file=sys.stderr, flush=True)
    repeats = args.repeats or (1 if args.quick else 3)
    limit = _QUICK_LIMIT_S if args.quick else _LIMIT_S
    failed = False
    for name in dict.fromkeys(args.curves or _CURVES):
        curve = _CURVES[name](args.quick, repeats)
        told = partial(files.write_numbers, curve)
        course = Course(args.data or default_folder(), told, limit)
        try:
            curve.measure(course)
        finally:
            _show(curve, course, files)
        failed |= course.failed
    return int(failed)


if __name__ == "__main__":
    run_command(main, "interrupted: what was measured until then is written")
