"""``multimargin data``: list the data sets, fetch them, and write an example."""

from __future__ import annotations

import argparse
import shutil
import textwrap
from pathlib import Path
from typing import Any

from multimargin.cli.support._messages import EXIT_ERROR, EXIT_OK, note, print_json
from multimargin.datasets._catalog import CATALOG, CatalogEntry
from multimargin.datasets._download import FetchError
from multimargin.datasets._fetch import fetch_set, verify_set
from multimargin.datasets._sets import SHIPPED, default_folder, file_of
from multimargin.io._atomic import atomic_write
from multimargin.io._text_table import text_table
from multimargin.tables._write import table_lines

_COLUMNS = ("name", "train", "test", "classes", "features", "on disk")
_NAMES = (0, 5)
_SIZES = ("n_train", "n_test", "n_classes", "n_features")
_ORIGIN = ("licence", "where", "remedy", "paper", "stand_in_for")


def fetch(args: argparse.Namespace) -> int:
    """Fetch one set after the other; after one that fails, go on with the next."""
    folder = args.data or default_folder()
    status = EXIT_OK
    for name in dict.fromkeys(args.names):
        try:
            fetch_set(name, folder, report=note)
        except FetchError as error:
            note(f"error: {error}")
            status = EXIT_ERROR
    return status


def example(args: argparse.Namespace) -> int:
    """Write the definitions of the package as CSV; never replace a file."""
    from multimargin.datasets import load_wordnet_texts

    texts = load_wordnet_texts()
    args.dir.mkdir(parents=True, exist_ok=True)
    for part in ("train", "test"):
        path = args.dir / f"definitions-{part}.csv"
        rows = zip(texts[f"texts_{part}"], texts[f"y_{part}"].tolist(), strict=True)
        content = "".join(table_lines("csv", ("definition", "hypernym"), rows)).encode()
        if path.exists():
            if path.read_bytes() != content:
                raise ValueError(f"{path} is there already, with another content: move it away")
        else:
            with atomic_write(path) as file:
                file.write(content)
        print(f"{path}  {len(texts[f'texts_{part}']):,} definitions")
    return EXIT_OK


def list_sets(args: argparse.Namespace) -> int:
    """Show the catalogue, and which of its files are on the disk."""
    folder = args.data or default_folder()
    if args.data is not None and not folder.is_dir():
        raise ValueError(f"{folder} is not a folder")
    described = [_described(entry, folder, args.verify) for entry in CATALOG.values()]
    if args.json:
        print_json({"folder": str(folder), "sets": described})
    else:
        _print(described, folder)
    wrong = [each["name"] for each in described if False in each.get("verified", {}).values()]
    if wrong:
        raise ValueError(
            f"files of {', '.join(wrong)} in {folder} differ from the recorded sums; move them "
            "away and fetch them again"
        )
    return EXIT_OK


def _described(entry: CatalogEntry, folder: Path, verify: bool) -> dict[str, Any]:
    on_disk = [part for part in entry.sizes if file_of(entry.name, part, folder) is not None]
    described: dict[str, Any] = {
        **{name: getattr(entry, name) for name in ("name", "title", *_SIZES)},
        "on_disk": on_disk,
        "in_package": entry.name == SHIPPED or entry.made,
        "fetchable": bool(entry.files),
        **{name: getattr(entry, name) for name in _ORIGIN},
    }
    if verify:
        described["verified"] = verify_set(entry.name, folder)
    return described


def _print(described: list[dict[str, Any]], folder: Path) -> None:
    """Print a line of numbers for each set; below it what it is, and where it can be had."""
    rows = [
        (each["name"], *(f"{each[size]:,}" for size in _SIZES), _on_disk(each))
        for each in described
    ]
    table = text_table(_COLUMNS, rows, _NAMES)
    texts = ["", *(_text(each) for each in described)]
    columns = min(max(shutil.get_terminal_size().columns, 60), 120)
    print(f"in {folder}:\n")
    for row, text in zip(table.splitlines(), texts, strict=True):
        print(row)
        # Addresses stay in one piece, to be copied.
        for line in textwrap.wrap(
            text, columns - 4, break_long_words=False, break_on_hyphens=False
        ):
            print(f"    {line}")


def _text(each: dict[str, Any]) -> str:
    what = each["title"]
    if each["paper"]:
        what += f"; the paper's {each['paper']}"
    if each["stand_in_for"]:
        what += f"; a stand-in for the paper's {each['stand_in_for']}"
    fetch = "; 'data fetch' gets it" if each["fetchable"] else ""
    return f"{what}. Licence: {each['licence']}. Where: {each['where']}{fetch}"


def _on_disk(each: dict[str, Any]) -> str:
    if not each["on_disk"]:
        return "in package" if each["in_package"] else "-"
    text = "+".join(each["on_disk"])
    verified = each.get("verified", {}).values()
    if False in verified:
        return f"{text}: DIFFERS"
    if True in verified:
        return f"{text}: verified"
    return f"{text}: no sums" if "verified" in each else text
