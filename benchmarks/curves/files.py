"""The files of a curve: points as CSV, everything as JSON, figures as SVG and PNG."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from benchmarks.common.command_line import write_json
from benchmarks.curves.runs import Course
from multimargin.io._atomic import atomic_write
from reproduction.interface._document import Figure, Table


class Curve(Protocol):
    """A curve: its runs, and its figures of the runs so far."""

    name: str

    def measure(self, course: Course) -> None:
        """Run everything."""

    def rows(self, course: Course) -> list[dict[str, Any]]:
        """The points, for CSV and JSON."""

    def tables(self, course: Course) -> list[Table]:
        """For a terminal."""

    def figures(self, course: Course) -> list[Figure]:
        """For people."""


@dataclass(frozen=True)
class Files:
    """Where a curve is written to, and on which machine it was measured."""

    folder: Path
    machine: dict[str, str]

    def write_numbers(self, curve: Curve, course: Course) -> None:
        """Write ``NAME.json`` and ``NAME.csv``: after every run, so that none is lost."""
        rows = curve.rows(course)
        captions = {figure.name: figure.caption for figure in curve.figures(course)}
        content = {
            "machine": self.machine,
            "captions": captions,
            "points": rows,
            "problems": course.problems,
            "runs": [run.as_dict() for run in course.runs],
        }
        write_json(self.folder / f"{curve.name}.json", content)
        self._write_csv(self.folder / f"{curve.name}.csv", rows)

    def _write_csv(self, path: Path, rows: list[dict[str, Any]]) -> None:
        where = {name: self.machine[name] for name in ("processor", "cores", "commit")}
        text = io.StringIO(newline="")
        columns = [*(rows[0] if rows else {}), *where]
        writer = csv.DictWriter(text, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(row | where for row in rows)
        with atomic_write(path) as file:
            file.write(text.getvalue().encode())

    def write_figures(self, curve: Curve, course: Course) -> list[Path]:
        """Draw; needs matplotlib."""
        from reproduction.report._plots import draw

        written = []
        for figure in curve.figures(course):
            drawing = draw(figure)
            for ending, content in (("svg", drawing.svg), ("png", drawing.png)):
                path = self.folder / f"{figure.name}.{ending}"
                with atomic_write(path) as file:
                    file.write(content)
                written.append(path)
        return written


def why_no_figures() -> str | None:
    """Why figures cannot be drawn here, and what to do; None if they can."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        return (
            f"no figures, only numbers: matplotlib cannot be imported ({error}); "
            "pip install 'multimargin[plot]' and repeat the command to get them"
        )
    return None
