"""The command line: plan, measure, and show the paper's figures next to ours."""

from __future__ import annotations

import argparse
import contextlib
import errno
import functools
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

from multimargin.checkpoints._lock import FolderLock
from multimargin.cli.support._arguments import (
    DATA_FOLDER,
    THREADS,
    add_options,
    n_jobs,
    positive_float,
)
from multimargin.cli.support._messages import EXIT_ERROR, EXIT_OK, note
from multimargin.cli.support._run import run_command_line
from multimargin.datasets._sets import default_folder
from multimargin.parallel._threads import thread_count
from reproduction.experiments import EXPERIMENTS
from reproduction.interface._document import Section
from reproduction.interface._experiment import Options
from reproduction.report import _plots
from reproduction.report._text_table import section_text
from reproduction.runner._run import plan_lines
from reproduction.runner._run import run as run_task
from reproduction.runner._store import Session
from reproduction.runner._task import Task, tasks

EXIT_RUNS_FAILED = 3

_FACTS = ("processor", "cores", "memory")
_REASONS = 5  # for failures, that are repeated at the end
_OUT = Path("build", "reproduction")
_DESCRIPTION = """\
Make the experiments of "Distributed Optimization of Multi-Class SVMs" again, and show what was
measured next to the paper's figures: tables on the terminal, and in the folder --out report.html
(one file that needs no other), results.csv, results.json and figures/. Data sets that are not there
are named, with where they can be had, and the rest runs. What was interrupted goes on where it
stopped.
"""
_OPTIONS = f"""
WHAT            {", ".join(EXPERIMENTS)}, or all
{DATA_FOLDER}
--out DIR = {_OUT}  folder of the results, made if needed
--datasets NAME  only these data sets
--runs N        repetitions over seeds
--time-limit S  seconds for one fit
{THREADS}
--report-only   measure nothing; show the results in --out
--list          show the planned runs and what is missing, and end
"""
_EPILOG = """\
exit status: 0 done; 1 error; 2 wrong usage; 3 some runs failed; 130 interrupted
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; None takes the words of the process. Returns the exit status."""
    return run_command_line(_parser(), argv)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m reproduction", description=_DESCRIPTION, epilog=_EPILOG
    )
    parser.set_defaults(run=run)
    what = {"nargs": "+", "choices": (*EXPERIMENTS, "all")}
    add_options(
        parser,
        _OPTIONS,
        exclusive=("report_only", "list"),
        what=what,
        data=Path,
        out=Path,
        datasets={"nargs": "+", "default": []},
        time_limit=positive_float,
    )
    return parser


def run(args: argparse.Namespace) -> int:
    """Plan, measure, show."""
    names = list(EXPERIMENTS) if "all" in args.what else args.what
    options = _options(args)
    if args.list:
        return _list(tasks(names, options, args.out))
    args.out.parent.mkdir(parents=True, exist_ok=True)
    lock = FolderLock(args.out, patience=0.0, holds="its results")
    try:
        with _ended_by_sigterm():
            return _reproduce(args, names, options)
    finally:
        lock.remove()


@contextlib.contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Take SIGTERM for Ctrl-C: processes and ranks that were started must end with this one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _reproduce(args: argparse.Namespace, names: list[str], options: Options) -> int:
    everything = tasks(names, options, args.out)
    asked = [task for task in everything if task.asked]
    for task in everything:
        for complaint in task.store.complaints:
            note(f"warning: {complaint}")
    for line in plan_lines(asked):
        note(line)
    if not any(task.cells or task.store.latest for task in asked):
        note("error: there is nothing to run and nothing to show: all data sets are missing")
        return EXIT_ERROR
    if args.report_only and not any(task.store.latest for task in asked):
        note(f"error: {args.out} has no results of {', '.join(names)} to show")
        return EXIT_ERROR
    publishing = _publishing()
    publishing.check_ours(args.out)
    for task in everything:
        task.section()  # better known before the runs than after them

    def publish() -> list[Section]:
        found: list[Section] = publishing.publish(everything, args.out, args.command_line)
        return found

    if not args.report_only:
        _measure(asked, options, args.command_line, publish)
    sections = publish()
    shown = (s for s, task in zip(sections, everything, strict=True) if task.asked)
    _print("\n\n\n".join(section_text(section) for section in shown))
    for line in _machines(asked):
        note(line)
    note(f"the report is {args.out / publishing.REPORT}")
    return _conclude(asked)


def _publishing() -> ModuleType:
    """Import what writes the report; planning does without the packages that it needs."""
    try:
        return import_module("reproduction.report._publish")
    except ModuleNotFoundError as error:
        raise ImportError(f"{error}: pip install '.[reproduce]' brings it") from None


def _measure(
    asked: list[Task], options: Options, command: str, publish: Callable[[], object]
) -> None:
    """Make the missing runs; publish after each experiment, and when interrupted."""

    def measured() -> bool:
        return any(task.store.latest for task in asked)

    session = functools.cache(lambda: Session.begin(command))
    try:
        for task in asked:
            run_task(task, options, session, note)
            if task is not asked[-1] and measured():
                publish()  # to look at while the others run
    except KeyboardInterrupt:
        note("interrupted: every run that had ended is kept, and the same command goes on")
        if measured():
            note("writing the report of them; interrupt again to do without")
            publish()
        raise


def _conclude(asked: list[Task]) -> int:
    """Say what is missing in the report, and return the exit status."""
    if undrawn := _plots.why_not():
        note(f"without figures: {undrawn}")
    failed = [str(kept.record.measured["error"]) for task in asked for kept in task.failed()]
    for reason, count in Counter(failed).most_common(_REASONS):
        note(f"failed, {count} of the runs: {reason}")
    if failed:
        note(f"{len(failed)} runs failed; the same command tries them again")
    return EXIT_RUNS_FAILED if failed else EXIT_OK


def _machines(shown: list[Task]) -> list[str]:
    """Describe the machines that the tables name."""
    sessions = {kept.session.machine: kept.session for t in shown for kept in t.results()}
    lines = []
    for name, session in sessions.items():
        facts = [f"{fact}: {session.hardware.get(fact, 'unknown')}" for fact in _FACTS]
        lines.append(f"measured on {name} ({', '.join(facts)})")
    return lines


def _print(text: str) -> None:
    """Print text, with ? for letters that the terminal does not have."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding))


def _list(planned: list[Task]) -> int:
    """Print every planned run with its state, then the lines that a run begins with."""
    asked = [task for task in planned if task.asked]
    for task in asked:
        failed = {kept.record.cell.key for kept in task.failed()}
        for key, cell in task.cells.items():
            state = "made" if task.is_done(cell) else "failed" if key in failed else "to make"
            print(f"{state:8} {task.name}: {cell}")
    print("\n".join(plan_lines(asked)))
    return EXIT_OK


def _options(args: argparse.Namespace) -> Options:
    if args.data is not None and not args.data.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "no such folder of data sets", str(args.data))
    return Options(
        data=args.data or default_folder(),
        datasets=tuple(args.datasets),
        runs=args.runs,
        time_limit=args.time_limit,
        threads=thread_count(n_jobs(args)),
    )
