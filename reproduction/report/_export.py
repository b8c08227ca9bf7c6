"""The results for other programs: one row per run as CSV, everything as JSON."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from multimargin.io._atomic import atomic_write
from reproduction.interface._cell import Cell
from reproduction.interface._experiment import Plan
from reproduction.runner._store import Kept, Session

_CELL = [field.name for field in fields(Cell) if field.name != "options"]
_PROVENANCE = ("failed", "machine", "version", "commit", "measured_at", "wall_seconds")


def write_csv(path: Path, results: Iterable[Kept]) -> None:
    """Write one row per run.

    The columns are what defines the run (its options as ``options.<name>``), every number or word
    that any run measured (as ``measured.<name>``), and where it comes from. Lists are in the
    JSON file only.
    """
    rows = [_row(kept) for kept in results]
    # In order of appearance, options before measurements and those before the provenance.
    names = list(dict.fromkeys(name for row in rows for name in row))
    groups = ("options.", "measured.")
    columns = [*_CELL, *(n for g in groups for n in names if n.startswith(g)), *_PROVENANCE]
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    _write(path, text.getvalue())


def _row(kept: Kept) -> dict[str, Any]:
    cell, record = kept.record.cell, kept.record
    row: dict[str, Any] = {name: getattr(cell, name) for name in _CELL}
    row |= {f"options.{name}": _word(value) for name, value in cell.options.items()}
    row |= {
        f"measured.{name}": value
        for name, value in record.measured.items()
        if not isinstance(value, list | dict)
    }
    values = (
        record.failed,
        record.machine,
        kept.session.version,
        kept.session.commit,
        kept.at,
        round(kept.seconds, 3),
    )
    return row | dict(zip(_PROVENANCE, values, strict=True))


def _word(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list | dict) else value


def write_json(
    path: Path,
    sessions: Sequence[Session],
    plans: Mapping[str, Plan],
    results: Mapping[str, Sequence[Kept]],
) -> None:
    """Write sessions, plans, what was missing, and every run with all it measured.

    Numbers that JSON lacks become words: "nan", "inf", "-inf".
    """
    experiments = {
        name: {
            "planned": [asdict(cell) for cell in plan.cells],
            "missing": [asdict(missing) for missing in plan.missing],
            "runs": [_run(kept) for kept in results.get(name, ())],
        }
        for name, plan in plans.items()
    }
    machines = {session.machine: dict(session.hardware) for session in sessions}
    content = {
        "machines": machines,
        "sessions": [asdict(session) for session in sessions],
        "experiments": experiments,
    }
    _write(path, json.dumps(_finite(content), indent=1, allow_nan=False) + "\n")


def _run(kept: Kept) -> dict[str, Any]:
    return {
        **asdict(kept.record.cell),
        "measured": dict(kept.record.measured),
        "failed": kept.record.failed,
        "machine": kept.record.machine,
        "session": kept.session.id,
        "measured_at": kept.at,
        "wall_seconds": kept.seconds,
    }


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as file:
        file.write(text.encode(errors="replace"))
