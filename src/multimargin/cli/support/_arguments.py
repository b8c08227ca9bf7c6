"""Arguments that several commands have, and the types of their values."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from multimargin.tables._read import FORMATS

Commands = argparse._SubParsersAction  # what `add_subparsers` returns
T = TypeVar("T")

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


# ---------------------------------------------------------------- types


def checked(
    kind: Callable[[str], T], allowed: Callable[[T], bool], what: str
) -> Callable[[str], T]:
    """Return the type of an argument: a value that is allowed; `what` names it."""

    def parse(text: str) -> T:
        try:
            value = kind(text)
            if allowed(value):
                return value
        except ValueError:
            pass
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}")

    return parse


positive_int = checked(int, lambda n: n >= 1, "a whole number of at least 1")
positive_float = checked(float, lambda x: 0 < x < math.inf, "a positive number")
seed = checked(int, lambda n: 0 <= n < 1 << 32, "a whole number from 0 to 4294967295")


def penalty(text: str) -> float:
    """Parse C: positive, "inf" included; whether a formulation takes that, the estimator says."""
    return math.inf if text.strip().lower() in ("inf", "infinity") else positive_float(text)


def _seconds(text: str) -> float:
    number = text.strip().rstrip("smh")
    return float(number) * _UNITS.get(text.strip()[len(number) :], math.nan)


duration = checked(_seconds, lambda s: 0 <= s < math.inf, "a time such as 60s, 5m or 1h")


def names(text: str) -> tuple[str, ...]:
    """Parse names of columns."""
    found = tuple(text.split(","))
    if not all(found):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of columns such as a,b")
    return found


# ---------------------------------------------------------------- commands and options


def add_command(
    commands: Commands[argparse.ArgumentParser],
    name: str,
    run: Callable[[argparse.Namespace], int],
    *,
    help: str,
    description: str,
    epilog: str | None = None,
) -> argparse.ArgumentParser:
    """Add a subcommand, which `run` carries out, and return its parser."""
    parser = commands.add_parser(
        name,
        help=help,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter if epilog else argparse.HelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def adder(parser: argparse._ActionsContainer) -> Callable[..., None]:
    """Return `add_argument`, which here calls counts N and ends the help with the default."""

    def add(*names: str, help: str, **options: Any) -> None:
        if options.get("type") in (positive_int, seed):
            options.setdefault("metavar", "N")
        default = options.get("default")
        if default and "(default: " not in help:
            help += (
                f" (default: {default:g})"
                if isinstance(default, float)
                else f" (default: {default})"
            )
        parser.add_argument(*names, help=help, **options)

    return add


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add MODEL, the file to read."""
    parser.add_argument("model", metavar="MODEL", help="a file written by 'multimargin train'")


def add_model_and_data(parser: argparse.ArgumentParser) -> None:
    """Add MODEL and the DATA that it is tried on."""
    add_model(parser)
    parser.add_argument("data", metavar="DATA", help="data as the model was trained on")


def add_json(parser: argparse.ArgumentParser, help: str = "print one JSON object") -> None:
    """Add --json, for results that programs read."""
    parser.add_argument("--json", action="store_true", help=help)


def add_threads(parser: argparse.ArgumentParser) -> None:
    """Add --threads, which every command with work to do has."""
    parser.add_argument(
        "--threads",
        type=positive_int,
        metavar="N",
        help="number of threads, of each process under mpiexec (default: one for each processor, "
        "divided by the processes of a host)",
    )


def n_jobs(args: argparse.Namespace) -> int:
    """Return the threads as estimators count them, for which None would mean one."""
    return -1 if args.threads is None else int(args.threads)


def add_data_folder(parser: argparse.ArgumentParser) -> None:
    """Add --data, the folder of data sets."""
    parser.add_argument(
        "--data",
        metavar="DIR",
        type=Path,
        help="the folder with one folder per set (default: $MULTIMARGIN_DATA, or else "
        "multimargin/data in your cache folder)",
    )


def add_columns(parser: argparse.ArgumentParser, *, labels: bool = True) -> Any:
    """Add the options that say which columns of a table hold what; returns their group."""
    group = parser.add_argument_group("tables (CSV, TSV, JSON lines, Parquet)")
    add = group.add_argument
    add("--text", type=names, metavar="COLUMN", help="the column with the texts, or several: A,B")
    if labels:
        add("--label", metavar="COLUMN", help="the column with the labels")
        add(
            "--skip-unlabelled",
            action="store_true",
            help="leave out rows without a label, which are an error otherwise",
        )
    add("--format", choices=FORMATS, help="of DATA (default: what its name ends in)")
    add("--encoding", metavar="NAME", help="of DATA, such as cp1252 (default: utf-8)")
    return group


# ---------------------------------------------------------------- what they name


def refuse_same_file(output: str, *inputs: str | None) -> None:
    """Refuse to replace one of the files that are read; an input that is None is not given."""
    for path in inputs:
        try:
            same = path is not None and Path(output).samefile(path)
        except OSError:  # one of them is not there; whoever opens it will say so
            continue
        if same:
            raise ValueError(f"{output} would be overwritten, but it is also the input {path}")
