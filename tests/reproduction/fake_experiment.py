"""An experiment that costs nothing, and can fail in all the ways that real ones can."""

from typing import ClassVar

from reproduction import experiments as _experiments
from reproduction.interface._cell import Cell
from reproduction.interface._document import (
    Axes,
    Column,
    Entry,
    Figure,
    Line,
    Row,
    Section,
    Table,
)
from reproduction.interface._experiment import Experiment, Missing, Plan

NASTY = "<script>alert('x')</script> & \"quotes\""


class Fake(Experiment):
    """Three runs on the data set "here"; two more are planned for "rcv1", which is missing."""

    name = "fake"
    dataset = "here"
    before = staticmethod(lambda cell: None)  # called first by every run
    made: ClassVar[list[float]] = []  # the runs, by log C, of all instances

    def plan(self, options):
        seeds = range(options.runs or 1)
        cells = [
            Cell(self.name, self.dataset, "ww", c, "optimum", s, {"threads": options.threads})
            for c in (-1.0, 0.0, 1.0)
            for s in seeds
            if options.wanted(self.dataset)
        ]
        return Plan(tuple(cells), (Missing("rcv1", "not on this disk", "ask https://a.example"),))

    def measure(self, cell, options):
        type(self).before(cell)
        type(self).made.append(cell.log_c)
        return {"test_error": 10 - cell.log_c, "seconds": 0.25, "history": [1, 2], "word": "yes"}

    def section(self, records, plan):
        return section([r for r in records if not r.failed], [r for r in records if r.failed])


def section(records, failed):
    rows = [
        Row(
            (
                Entry(f"{r.cell.log_c:g}"),
                Entry(f"{r.measured['test_error']:.2f}", "equal", bold=True),
                Entry("12.00", "paper"),
                Entry("x", "differs", NASTY),
            ),
            NASTY,
        )
        for r in records
    ]
    rows += [
        Row(
            (
                Entry(f"{r.cell.log_c:g}"),
                Entry("", "missing", r.measured["error"]),
                *[Entry("")] * 2,
            )
        )
        for r in failed
    ]
    columns = (Column("log C"), Column("ours", "error"), Column("paper", "error"), Column(NASTY))
    table = Table(f"Errors {NASTY}", f"In %, {NASTY}", columns, tuple(rows), (NASTY,))
    x = tuple(r.cell.log_c for r in records)
    y = tuple(r.measured["test_error"] for r in records)
    lines = (
        Line("$WW", "WW", x, y, "ours", y, tuple(v + 1 for v in y)),
        Line("$WW", "WW", (-1.0, 0.0, 1.0), (5.0, float("nan"), 7.0), "paper"),
    )
    plot = Axes(f"Plot {NASTY}", "log C", "error [%]", lines, "linear", "log10", (-1, 0, 1))
    figures = (
        Figure("errors", f"Error {NASTY}", f"Over C {NASTY}", (plot, plot)),
        Figure("more-errors", "The same", "Again", (plot,)),
    )
    return Section(f"Fake {NASTY}", f"First {NASTY}\n\nSecond `code`", (table,), figures, (NASTY,))


def register(monkeypatch):
    """Make the command know this experiment and no other; returns its class, as new."""
    kind = type("OneFake", (Fake,), {"made": []})
    monkeypatch.setattr(_experiments, "EXPERIMENTS", {"fake": kind})
    monkeypatch.setattr("reproduction.runner._task.EXPERIMENTS", {"fake": kind})
    monkeypatch.setattr("reproduction._command.EXPERIMENTS", {"fake": kind})
    return kind
