"""The loop over runs: make every run that is missing, and keep its result at once."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from tqdm import tqdm

from multimargin.datasets._sets import SetDiffersWarning, files_in_words
from reproduction.experiments import make
from reproduction.interface._cell import UNLIKE, Cell, Record
from reproduction.interface._experiment import Experiment, Options
from reproduction.runner._store import Session
from reproduction.runner._task import Task

_FIGURES = 4  # of a run's measurements, how many its line of progress names


def run(
    task: Task, options: Options, session: Callable[[], Session], say: Callable[[str], None]
) -> None:
    """Make the missing runs of an experiment.

    Whatever ends this, every run that had ended by then is on disk.

    Parameters
    ----------
    task : Task
    options : Options
    session : callable
        Returns the session, begun when it is first asked for.
    say : callable
        Takes one line of progress.
    """
    cells = task.to_make()
    if not cells:
        return
    experiment = make(task.name)
    bar = tqdm(total=len(cells), desc=task.name, unit="run", disable=not sys.stderr.isatty())

    def above_bar(line: str) -> None:
        with tqdm.external_write_mode(file=sys.stderr):
            say(line)

    with bar, warnings.catch_warnings():
        differing: list[str] = []
        warnings.simplefilter("always", SetDiffersWarning)
        warnings.showwarning = _above_bar(warnings.showwarning, differing)
        unlike: dict[str, str] = {}  # by data set, which experiments load once
        for number, cell in enumerate(cells, 1):
            data = files_in_words(cell.dataset, task.data)
            started = time.perf_counter()
            measured = _measured(experiment, cell, options)
            seconds = time.perf_counter() - started
            if differing:
                unlike[cell.dataset] = differing.pop()
                differing.clear()
            if cell.dataset in unlike:
                measured = {**measured, UNLIKE: unlike[cell.dataset]}
            record = Record(cell, measured, session().machine)
            task.store.append(record, session(), seconds, data)
            bar.update()
            outcome = _outcome(record)
            above_bar(f"{task.name} {number}/{len(cells)}: {cell}: {outcome} [{seconds:.1f} s]")


def _above_bar(show: Callable[..., None], differing: list[str]) -> Callable[..., None]:
    """Show warnings above the progress bar; collect the warnings of data sets."""

    def shown(*args: Any, **options: Any) -> None:
        if issubclass(args[1], SetDiffersWarning):
            differing.append(str(args[0]))
        with tqdm.external_write_mode(file=sys.stderr):
            show(*args, **options)

    return shown


def _measured(experiment: Experiment, cell: Cell, options: Options) -> dict[str, Any]:
    try:
        measured = experiment.measure(cell, options)
    except Exception as error:
        text = " ".join(str(error).split())
        return {"error": f"{type(error).__name__}: {text}" if text else type(error).__name__}
    if not isinstance(measured.get("error", ""), str):
        raise TypeError(
            f"{experiment.name} measured a number named 'error', which is the name for what went "
            "wrong, in words; call an error rate 'test_error'"
        )
    return measured


def _outcome(record: Record) -> str:
    if record.failed:
        return f"FAILED: {record.measured['error']}"
    numbers = [
        f"{name} {value:.4g}"
        for name, value in record.measured.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    return ", ".join(numbers[:_FIGURES]) or "done"


def plan_lines(tasks: Sequence[Task]) -> list[str]:
    """Return lines about planned and finished runs, and about what is missing for others."""
    lines = []
    for task in tasks:
        left, failed, total = len(task.to_make()), len(task.failed()), len(task.cells)
        line = f"{task.name}: {total} runs, {total - left} made before, {left} to make"
        old = task.done() - (total - left)
        again = [f"{failed} failed before"] if failed else []
        again += [f"{old} made by another version or of other data"] if old > 0 else []
        lines.append(line + (f" ({', '.join(again)})" if again else ""))
    # Several experiments may miss the same thing.
    seen = {(m.name, m.remedy): m for task in tasks for m in task.plan.missing}
    lines += [f"missing: {m.name}: {m.why}. Remedy: {m.remedy}" for m in seen.values()]
    return lines
