"""Help and wrong usage: what they say, and what they do not import."""

import argparse
import json
import re
import shlex
import subprocess
import sys

import pytest

from multimargin import cli
from multimargin.cli import main
from multimargin.cli.support import _choices as choices
from multimargin.cli.support._arguments import Parser
from multimargin.distributed._fit import NORMS
from multimargin.formulations import FORMULATIONS
from multimargin.models.file._disk_dtype import STORED
from multimargin.selection._measure import MEASURES
from multimargin.selection._tune import USUAL
from multimargin.serving import Limits
from multimargin.solvers._registry import SOLVERS
from multimargin.tables._read import FORMATS
from multimargin.text._options import ANALYZERS


def parsers(parser, words=()):
    """Yield the words and the parser of a command and of all commands below it."""
    yield words, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from parsers(below, (*words, name))


COMMANDS = dict(parsers(cli.build_parser()))


def test_there_are_thirteen_commands_and_three_below_data():
    assert len(COMMANDS) == 1 + 13 + 3
    text = COMMANDS[()].format_help()
    for words in COMMANDS:
        if len(words) == 1:
            assert f"    {words[0]} " in text


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_has_examples_that_are_right(words, capsys):
    assert main([*words, "--help"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith(" ".join(["usage: multimargin", *words]))
    examples = re.findall(r"^  multimargin (.*)$", out[out.index("examples:") :], re.MULTILINE)
    assert len(examples) == 2
    for example in examples:
        arguments = shlex.split(example)
        assert tuple(arguments[: len(words)]) == words
        COMMANDS[()].parse_args(arguments)  # exits if they are no command line


# Imported by a Python of its own, since tests have imported everything.
LOADED = """
import io, json, contextlib, sys
from multimargin.__main__ import main
sys.argv = ["multimargin", *sys.argv[1:]]
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    status = main()
print(json.dumps([status, sorted(sys.modules)]))
"""
HEAVY = ("numpy", "scipy", "sklearn", "pandas", "matplotlib", "tqdm", "joblib", "pyarrow", "mpi4py")


def loaded(*words):
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *words], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        *(((*words, "--help"), 0) for words in COMMANDS),
        *([("--version",), 0], [(), 0], [("juggle",), 2], [("train", "x"), 2]),
    ],
    ids=str,
)
def test_help_and_wrong_usage_import_nothing_that_computes(words, status):
    found, modules = loaded(*words)
    assert found == status
    tops = {module.partition(".")[0] for module in modules}
    assert not tops & set(HEAVY)
    assert "multimargin._core" not in modules
    assert "multimargin.cli" in modules  # so that this is about the command at all


@pytest.mark.parametrize("words", [(), ("data",)])
def test_a_command_that_lacks_its_subcommand_shows_help(words, capsys):
    assert main(list(words)) == 0
    out, err = capsys.readouterr()
    assert (out, err) == (COMMANDS[words].format_help(), "")


@pytest.mark.parametrize(
    ("argv", "program", "message"),
    [
        (["juggle"], "multimargin", "invalid choice: 'juggle'"),
        (["train", "train.svm"], "multimargin train", "required: MODEL"),
        (["train", "train.svm", "m", "--C", "-1"], "multimargin train", "--C"),
        (["train", "train.svm", "m", "--C", "nan"], "multimargin train", "'nan' is not"),
        (["train", "train.svm", "m", "--tol", "0"], "multimargin train", "'0' is not a positive"),
        (["train", "train.svm", "m", "--formulation", "x"], "multimargin train", "'ww', 'cs'"),
        (["train", "train.svm", "m", "--threads", "0"], "multimargin train", "at least 1"),
        (["train", "train.svm", "m", "--seed", "4294967296"], "multimargin train", "from 0 to"),
        (["train", "train.svm", "m", "--normalize", "l7"], "multimargin train", "'none', 'l2'"),
        (["train", "train.svm", "m", "--max-iter", "1.5"], "multimargin train", "whole number"),
        (["predict", "m", "test.svm"], "multimargin predict", "-o/--output"),
        (["predict", "m", "x", "-o", "-", "--top-k", "0"], "multimargin predict", "--top-k"),
        (["tune", "x", "--C", "2:1:3"], "multimargin tune", "'2:1:3' is not like"),
        (["tune", "x", "--formulations", "y"], "multimargin tune", "or 'all'"),
        (["data", "fetch"], "multimargin data fetch", "required: NAME"),
        (["data", "fetch", "x"], "multimargin data fetch", "no data set is called 'x'"),
        (["info", "m", "--\x1b[31m"], "multimargin info", r"unrecognized arguments: --\x1b[31m"),
    ],
)
def test_wrong_usage_is_two_lines(argv, program, message, capsys):
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    first, second = err.splitlines()
    assert first.startswith(f"{program}: error: ")
    assert message in first
    assert second == f"try '{program} --help'"


def test_the_work_of_every_command_is_there():
    """It is found by its name, when it is to be done."""
    for words, parser in COMMANDS.items():
        run = parser.get_default("run")
        assert run is not None
        if command := getattr(run, "__self__", None):
            module, _, function = command.work.partition(":")
            assert module == f"multimargin.cli._{words[0]}"
            assert callable(getattr(__import__(module, fromlist=[function]), function))
        else:
            assert words in ((), ("data",))


def test_options_offer_what_the_package_has():
    assert {name: each.title for name, each in FORMULATIONS.items()} == choices.FORMULATIONS
    assert tuple(dict.fromkeys(name for each in SOLVERS.values() for name in each)) == (
        choices.SOLVERS
    )
    assert (USUAL, tuple(MEASURES)) == (choices.TRIED, choices.MEASURES)
    assert (NORMS, ANALYZERS, FORMATS) == (choices.NORMS, choices.ANALYZERS, choices.FORMATS)
    assert choices.WEIGHTS == STORED
    assert (Limits().max_bytes, Limits().rate) == (choices.MOST_BYTES, choices.RATE)


def test_help_keeps_the_lines_of_examples_and_wraps_descriptions():
    parser = Parser(prog="x", description="word " * 40, epilog="examples:\n  x a\n  x b")
    lines = parser.format_help().splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-3:] == ["examples:", "  x a", "  x b"]
