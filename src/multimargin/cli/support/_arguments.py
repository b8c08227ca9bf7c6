"""Arguments of the commands: how they are written, the types of their values, shared ones."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from multimargin.tables._read import FORMATS

T = TypeVar("T")

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}

MODEL = "MODEL  a file written by 'multimargin train'"
MODEL_AND_DATA = f"{MODEL}\nDATA  data as the model was trained on"
THREADS = """\
--threads N  number of threads, of each process under mpiexec (default: one for each processor,
             divided by the processes of a host)"""
DATA_FOLDER = """\
--data DIR  the folder with one folder per set (default: $MULTIMARGIN_DATA, or else
            multimargin/data in your cache folder)"""
_TEXT = """\
[tables (CSV, TSV, JSON lines, Parquet)]
--text COLUMN      the column with the texts, or several: A,B
"""
_LABEL = """\
--label COLUMN     the column with the labels
--skip-unlabelled  leave out rows without a label, which are an error otherwise
"""
_FORMAT = f"""\
--format {"|".join(FORMATS)}  of DATA (default: what its name ends in)
--encoding NAME    of DATA, such as cp1252 (default: utf-8)"""
TABLES = _TEXT + _FORMAT
LABELLED_TABLES = _TEXT + _LABEL + _FORMAT


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


@dataclass(frozen=True)
class Command:
    """A subcommand: `run` carries it out, or it has subcommands of its own.

    The text has three paragraphs: ``name: help``, the description, and rows for `add_options`.
    """

    text: str
    run: Callable[[argparse.Namespace], int] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    epilog: str | None = None
    subcommands: tuple[Command, ...] = ()

    def add_to(self, commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
        title, description, *rows = self.text.strip().split("\n\n")
        name, _, help = title.partition(": ")
        parser = commands.add_parser(
            name,
            help=help,
            description=" ".join(description.split()),
            epilog=self.epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter
            if self.epilog
            else argparse.HelpFormatter,
        )
        if self.run is not None:
            parser.set_defaults(run=self.run)
            add_options(parser, rows[0], **self.options)
        else:
            add_commands(parser, self.subcommands)


def command(
    text: str, /, *, epilog: str | None = None, **options: Any
) -> Callable[[Callable[[argparse.Namespace], int]], Command]:
    """Make a function the command that a text describes; `options` are for `add_options`."""
    return lambda run: Command(text, run, options, epilog)


def add_commands(parser: argparse.ArgumentParser, commands: Iterable[Command]) -> None:
    """Add subcommands, one of which must be given."""
    added = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for each in commands:
        each.add_to(added)


def add_options(
    parser: argparse.ArgumentParser, text: str, /, *, exclusive: Collection[str] = (), **kinds: Any
) -> None:
    """Add the arguments that a text describes, one in each row, much as ``--help`` shows them.

    A row is ``--name VALUE = default  help``, and goes on in indented lines. VALUE is a placeholder
    (N and K: a whole number of at least 1) or choices, ``a|b``; an option without one is a flag. A
    row without hyphens is a positional argument; ``[title]`` begins a group. `kinds` has types, or
    dicts with other arguments of `add_argument`; of the options in `exclusive` one can be given.
    """
    target: argparse._ActionsContainer = parser
    either = parser.add_mutually_exclusive_group() if exclusive else None
    for row in re.split(r"\n(?! )", text.strip()):
        if row.startswith("["):
            target = parser.add_argument_group(row[1:-1])
            continue
        spec, help = re.split(r"\s{2,}", row, maxsplit=1)
        help = " ".join(help.split())
        spec, _, default = spec.partition(" = ")
        *flags, value = spec.split()
        options: dict[str, Any] = {"help": help}
        if value.startswith("-"):
            flags, options["action"] = [*flags, value], "store_true"
        elif value.islower():
            options["choices"] = tuple(value.split("|"))
        else:
            options["metavar"] = value
        if flags and value in ("N", "K"):
            options["type"] = positive_int
        flags = flags or [value.partition(".")[0].lower()]
        name = flags[-1].lstrip("-").replace("-", "_")
        kind = kinds.pop(name, {})
        options |= kind if isinstance(kind, dict) else {"type": kind}
        if default:
            options["default"] = options.get("type", str)(default)
            if "(default: " not in help:
                options["help"] += f" (default: {default})"
        (either if either is not None and name in exclusive else target).add_argument(
            *flags, **options
        )
    if kinds:
        raise TypeError(f"no row is about {', '.join(kinds)}")


def n_jobs(args: argparse.Namespace) -> int:
    """Return the threads as estimators count them, for which None would mean one."""
    return -1 if args.threads is None else int(args.threads)


def refuse_same_file(output: str, *inputs: str | None) -> None:
    """Refuse to replace one of the files that are read; an input that is None is not given."""
    for path in inputs:
        try:
            same = path is not None and Path(output).samefile(path)
        except OSError:  # one of them is not there; whoever opens it will say so
            continue
        if same:
            raise ValueError(f"{output} would be overwritten, but it is also the input {path}")
