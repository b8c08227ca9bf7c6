"""The examples in docstrings, in the README and in the documentation do what they say."""

import doctest
import functools
import importlib
import pkgutil
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import multimargin
from multimargin.cli import main
from multimargin.datasets import _wordnet
from tests.support.paths import ROOT

# Who reads an example must not wonder about a warning.
pytestmark = pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")

SOURCE = Path(multimargin.__file__).parent
PROMPT = re.compile(r"^\s*>>> ", re.MULTILINE)
BLOCK = re.compile(r"^( *)```(python|pycon|console)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)

MODULES = [
    module.name
    for module in pkgutil.walk_packages([str(SOURCE)], "multimargin.")
    if not module.name.endswith(("._core", ".__main__"))
    and PROMPT.search(Path(module.module_finder.find_spec(module.name).origin).read_text("utf-8"))
]
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if PROMPT.search(page.read_text("utf-8"))
]


@pytest.fixture(scope="module", autouse=True)
def definitions_read_once():
    """Several examples read the definitions of WordNet, which takes some seconds each time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_wordnet, "_vectorize", functools.cache(_wordnet._vectorize))
        yield


@pytest.fixture(autouse=True)
def somewhere_else(tmp_path, monkeypatch):
    """Examples may write files, and their numbers are printed as by default."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    with np.printoptions():
        yield


def run(test):
    told = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(test, out=told.append)
    if runner.failures:
        pytest.fail("".join(told), pytrace=False)


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    for test in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name)):
        run(test)


def command(line):
    """Run a line of the shell, which is our command, as a user would."""
    words = shlex.split(line)
    assert words[0] == "multimargin", f"not our command: {line}"
    assert main(words[1:]) == 0, line


def examples_of(kind, text):
    """What is to be run in a block: after prompts of Python, or, in ``console``, of the shell."""
    if kind != "console":
        return doctest.DocTestParser().get_examples(text)
    return [
        doctest.Example(f"_command({line[2:]!r})", "...\n", lineno=number)
        for number, line in enumerate(text.replace("\\\n", " ").splitlines())
        if line.startswith("$ ")
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages(page):
    """The blocks of a page are one session, from top to bottom."""
    text = page.read_text("utf-8")
    examples = []
    for block in BLOCK.finditer(text):
        before = text.count("\n", 0, block.start(3))
        for example in examples_of(block[2], block[3]):
            example.lineno += before
            examples.append(example)
    assert examples, "no prompt of this page is in a block of its own"
    run(doctest.DocTest(examples, {"_command": command}, page.name, str(page), 0, None))


def test_all_prompts_of_pages_are_run():
    """A prompt in a block of another kind would never be tried."""
    for page in PAGES:
        text = page.read_text("utf-8")
        inside = sum(len(PROMPT.findall(block[3])) for block in BLOCK.finditer(text))
        assert inside == len(PROMPT.findall(text)), page
