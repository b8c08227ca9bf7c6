"""What ``multimargin data`` and its subcommands take."""

from __future__ import annotations

import argparse
from pathlib import Path

from multimargin.cli.support import _arguments as arguments

_TEXT = """
data: list and fetch data sets

The data sets of the experiments: which there are, and how to get them.

examples:
  multimargin data list
  multimargin data example texts
"""
_LIST = f"""
list: list the data sets

List the data sets, which of them are on the disk, and where others are.

--verify  compare the files with the sums recorded when they were fetched
--json    print one JSON object
{arguments.DATA_FOLDER}

examples:
  multimargin data list
  multimargin data list --verify --json
"""
_FETCH = f"""
fetch: download data sets

Download data sets. Sums and contents are checked; a download that breaks leaves nothing behind;
files that are there stay as they are. Needs pooch: pip install 'multimargin[fetch]'.

NAMES  a data set that 'multimargin data list' shows
{arguments.DATA_FOLDER}

examples:
  multimargin data fetch news20
  multimargin data fetch letter rcv1 --data sets
"""
_EXAMPLE = """
example: write a table to try things with

Write definitions-train.csv and definitions-test.csv to DIR: WordNet's definitions (column
definition) and what kind of thing each defines (hypernym).

DIR  made if it is not there

examples:
  multimargin data example .
  multimargin data example texts
"""


def _name(text: str) -> str:
    from multimargin.datasets._catalog import CATALOG

    if text not in CATALOG:
        raise argparse.ArgumentTypeError(
            f"no data set is called {text!r}; see 'multimargin data list'"
        )
    return text


_WORK = "multimargin.cli._data"

data = arguments.Command(
    _TEXT,
    subcommands=(
        arguments.Command(_LIST, f"{_WORK}:list_sets", options={"data": Path}),
        arguments.Command(
            _FETCH,
            f"{_WORK}:fetch",
            options={"data": Path, "names": {"metavar": "NAME", "nargs": "+", "type": _name}},
        ),
        arguments.Command(_EXAMPLE, f"{_WORK}:example", options={"dir": Path}),
    ),
)
