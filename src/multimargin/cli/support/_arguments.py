"""Arguments of the commands: how they are written, the types of their values, shared ones."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from multimargin.cli.support._choices import FORMATS
from multimargin.io._interrupts import ended_by_interrupts
from multimargin.io._text_table import shown

T = TypeVar("T")

_DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}

MODEL = "MODEL  a file written by 'multimargin train'"
MODEL_AND_DATA = f"{MODEL}\nDATA  data as the model was trained on"
THREADS = """\
--threads N  number of threads, of each process under mpiexec (default: one for each processor,
             divided by the processes of a host)"""
DATA_FOLDER = """\
--data DIR  the folder with one folder per set (default: $MULTIMARGIN_DATA, or else
            multimargin/data in your cache folder)"""
LABEL_SEPARATOR = """\
--label-separator S  between the labels of a sample, which may have several or none: pipe, comma,
                     semicolon, space or any character; comma for LIBSVM text"""
_TEXT = """\
[tables (CSV, TSV, JSON lines, Parquet)]
--text COLUMN      the column with the texts, or several: A,B
--encoder NAME     a sentence-transformers model, of the Hugging Face hub or a folder, that turns
                   texts into vectors. A trained model knows its own: only if the folder has moved
--vector COLUMN    the column of a Parquet file with lists of numbers, in place of texts
"""
_LABEL = """\
--label COLUMN     the column with the labels
--skip-unlabelled  leave out rows without a label, which are an error otherwise
--labels FILE      the labels of vectors: .npy, or a table with --label COLUMN
"""
_FORMAT = f"""\
--format {"|".join(FORMATS)}  of DATA (default: what its name ends in)
--encoding NAME    of DATA, such as cp1252 (default: utf-8)
--delimiter D      between the fields of CSV and TSV: tab, comma, semicolon, pipe or any character
                   (default: what the first lines show)"""
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
share = checked(float, lambda x: 0 < x < 1, "a number between 0 and 1")
seed = checked(int, lambda n: 0 <= n < 1 << 32, "a whole number from 0 to 4294967295")


def penalty(text: str) -> float:
    """Parse C: positive, "inf" included; whether a formulation takes that, the estimator says."""
    return math.inf if text.strip().lower() in ("inf", "infinity") else positive_float(text)


def _seconds(text: str) -> float:
    number = text.strip().rstrip("smh")
    return float(number) * _UNITS.get(text.strip()[len(number) :], math.nan)


duration = checked(_seconds, lambda s: 0 <= s < math.inf, "a time such as 60s, 5m or 1h")


def names(text: str) -> tuple[str, ...]:
    found = tuple(text.split(","))
    if not all(found):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of columns such as a,b")
    return found


def delimiter(text: str) -> str:
    """Parse a separator: a character, or the name of one."""
    found = _DELIMITERS.get(text.lower(), text)
    if len(found) != 1 or found in '"\r\n\0':
        named = ", ".join(name for name in _DELIMITERS if name.isalpha())
        raise argparse.ArgumentTypeError(f"{text!r} is neither one character nor one of {named}")
    return found


# Of options that several commands have, by their names.
_KINDS = {"text": names, "delimiter": delimiter, "label_separator": delimiter}


# ---------------------------------------------------------------- commands and options


class Parser(argparse.ArgumentParser):
    """A parser whose help keeps the lines of examples, and whose errors are two lines."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"formatter_class": _Help, **options})

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse what is left over here; argparse would have the parser above do so."""
        found, left = super().parse_known_args(args, namespace)
        if left:
            self.error(f"unrecognized arguments: {' '.join(left)}")
        return found, left

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {shown(message)}\ntry '{self.prog} --help'\n")


class _Help(argparse.HelpFormatter):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._action_max_length = 13  # of commands, which argparse does not measure

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)


@dataclass(frozen=True)
class Command:
    """A subcommand: `work` carries it out, or it has subcommands of its own.

    The text has paragraphs: ``name: help``, the description, rows for `add_options` with `options`
    (not where there are subcommands), and examples. `work` names a function, "module:function",
    whose module is imported when it is to be called: help and wrong usage need nothing that
    computes. Ranks call it `together`, or rank 0 alone.
    """

    text: str
    work: str = ""
    together: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    subcommands: tuple[Command, ...] = ()

    def add_to(self, commands: argparse._SubParsersAction[Parser]) -> None:
        title, description, *rows, examples = self.text.strip().split("\n\n")
        name, _, help = title.partition(": ")
        parser = commands.add_parser(
            name, help=help, description=" ".join(description.split()), epilog=examples
        )
        if self.work:
            parser.set_defaults(run=self.run, together=self.together)
            add_options(parser, rows[0], **self.options)
        else:
            add_commands(parser, self.subcommands)

    def run(self, args: argparse.Namespace) -> int:
        module, _, function = self.work.partition(":")
        with ended_by_interrupts():
            work = getattr(import_module(module), function)
        return int(work(args))


def add_commands(parser: Parser, commands: Iterable[Command]) -> None:
    """Add subcommands; without one, the parser shows its help."""

    def show_help(_: argparse.Namespace) -> int:
        parser.print_help()
        return 0

    parser.set_defaults(run=show_help)
    added = parser.add_subparsers(title="commands", metavar="COMMAND")
    for each in commands:
        each.add_to(added)


def add_options(
    parser: argparse.ArgumentParser, text: str, /, *, exclusive: Collection[str] = (), **kinds: Any
) -> None:
    """Add the arguments that a text describes, one in each row, much as ``--help`` shows them.

    A row is ``--name VALUE = default  help``, and goes on in indented lines. VALUE is a placeholder
    (N and K: a whole number of at least 1) or choices, ``a|b``; an option without one is a flag. A
    row without hyphens is a positional argument; ``[title]`` begins a group. `kinds` has types, or
    dicts with other arguments of `add_argument`, beside those that an option has in every command;
    of the options in `exclusive` one can be given.
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
        kind = kinds.pop(name, _KINDS.get(name, {}))
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
