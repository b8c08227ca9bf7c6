"""The layout of the repository: folders that can be overlooked, and files that can be read."""

import subprocess
from pathlib import Path

import pytest

from tests.support.paths import ROOT

TREES = ("src", "tests", "benchmarks", "reproduction")
# These have a folder for every room of the package at their top, and few files.
ROOMS = {"src/multimargin": 6, "tests": 6}

MOST_ENTRIES = 16
MOST_LINES = 450
MOST_LINES_OF_THE_PACKAGE = 30_800


def files_of_the_repository():
    """Everything but build outputs, as git knows them."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *TREES]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return [path for path in map(Path, done.stdout.splitlines()) if (ROOT / path).is_file()]


FILES = files_of_the_repository()
CODE = [path for path in FILES if path.suffix in {".py", ".cpp", ".hpp"}]
pytestmark = pytest.mark.skipif(not FILES, reason="this is no git repository")


def lines(path):
    return len((ROOT / path).read_text(encoding="utf-8").splitlines())


def test_no_folder_is_full():
    inside = {}
    for path in FILES:
        for entry in (path, *path.parents):
            inside.setdefault(str(entry.parent), set()).add(entry.name)
    full = {
        folder: len(names)
        for folder, names in inside.items()
        if len(names) > MOST_ENTRIES and folder not in ROOMS
    }
    assert not full


@pytest.mark.parametrize("top", ROOMS)
def test_few_files_stand_beside_the_rooms(top):
    files = [path.name for path in FILES if str(path.parent) == top]
    assert len(files) <= ROOMS[top], files


def test_no_file_is_long():
    long = {str(path): lines(path) for path in CODE if lines(path) > MOST_LINES}
    assert not long


def test_the_package_stays_small():
    package = [path for path in CODE if path.suffix == ".py" and path.parts[1] == "multimargin"]
    assert sum(map(lines, package)) <= MOST_LINES_OF_THE_PACKAGE
