"""The documentation names what there is, and what it names is there."""

import argparse
import ast
import importlib
import re

import pytest

from multimargin.cli import build_parser
from tests.support.paths import ROOT

DOCS = ROOT / "docs"
WRITTEN = [
    page
    for page in sorted(DOCS.rglob("*.md"))
    if not {"gallery", "generated"} & set(page.relative_to(DOCS).parts)
]
FRONT = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PUBLIC = [
    "multimargin",
    "multimargin.datasets",
    "multimargin.distributed",
    "multimargin.inspection",
    "multimargin.selection",
    "multimargin.serving",
]

LINK = re.compile(
    r"\]\(([^)\s]+)\)|\bsrc=\"([^\"]+)\"|^```\{(?:figure|image)\} (\S+)", re.MULTILINE
)
ROLE = re.compile(r"\{doc\}`(?:[^`<]*<)?([^`>]+)>?`")
INCLUDE = re.compile(r"^```\{include\} (\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"^:(?:start-after|end-before): (.*)$", re.MULTILINE)
GALLERY = re.compile(r"gallery/(?:images/sphx_glr_)?(plot_[a-z_]+?)(?:_\d{3}\.png)?$")


def test_the_readme_is_short():
    assert len(FRONT[0].read_text("utf-8").split()) <= 1000


def is_there(target, page):
    """Whether a link of a page leads to a page or a file; pages may lack their suffix."""
    base = DOCS if target.startswith("/") else page.parent
    path = (base / target.lstrip("/")).resolve()
    if example := GALLERY.search(str(path)):
        return (ROOT / "examples" / f"{example[1]}.py").is_file()
    if path == DOCS / "gallery" / "index":
        return (ROOT / "examples" / "GALLERY_HEADER.rst").is_file()
    return path.exists() or path.with_name(f"{path.name}.md").is_file()


@pytest.mark.parametrize("page", FRONT + WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = page.read_text("utf-8")
    targets = ["".join(groups) for groups in LINK.findall(text)] + ROLE.findall(text)
    local = [target for target in targets if not re.match(r"[a-z]+:|#", target)]
    broken = [target for target in local if not is_there(target.partition("#")[0], page)]
    assert not broken


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_is_included_is_there(page):
    """A part of another file is found by its first and its last words: they must not change."""
    for name, options in INCLUDE.findall(page.read_text("utf-8")):
        included = (page.parent / name).read_text("utf-8")
        for mark in MARK.findall(options):
            words = ast.literal_eval(mark) if mark.startswith('"') else mark
            assert words in included, f"{name} has lost {words!r}"


def subcommands(parser):
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices


def test_every_command_is_spoken_of():
    pages = "".join(page.read_text("utf-8") for page in [FRONT[0], *WRITTEN])
    missing = [
        name
        for name in subcommands(build_parser())
        if not re.search(rf"multimargin {name}\b", pages)
    ]
    assert not missing


def documented():
    """The names in the API reference, with their modules."""
    module = ""
    for line in (DOCS / "api" / "index.md").read_text("utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif re.fullmatch(r"   [A-Za-z_]\w*", line):
            yield f"{module}.{line.strip()}"


def public():
    seen = set()
    for module in map(importlib.import_module, PUBLIC):
        for name in module.__all__:
            # What the package itself has, too, is documented there.
            if not name.startswith("__") and getattr(module, name) not in seen:
                seen.add(getattr(module, name))
                yield f"{module.__name__}.{name}"


def test_every_public_name_is_in_the_reference():
    assert sorted(set(public()) - set(documented())) == []


def test_the_reference_has_public_names_only():
    for name in documented():
        module, _, attribute = name.rpartition(".")
        assert attribute in importlib.import_module(module).__all__, name


def test_every_public_function_has_an_example():
    lacking = []
    for name in public():
        module, _, attribute = name.rpartition(".")
        found = getattr(importlib.import_module(module), attribute)
        failure = isinstance(found, type) and issubclass(found, Exception)
        # What is only returned is shown by what returns it.
        returned = hasattr(found, "__dataclass_fields__")
        if not (failure or returned) and ">>> " not in (found.__doc__ or ""):
            lacking.append(name)
    assert lacking == []
