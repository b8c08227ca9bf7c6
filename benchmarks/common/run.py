"""Measured runs: each in a fresh process, the variants of a comparison in turns."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from statistics import median
from typing import Any

from benchmarks.common.cores import on_cores
from benchmarks.common.data import ROOT
from benchmarks.common.ranks import ONE_THREAD, command, environment, why_not
from benchmarks.peers import Task


class RunFailedError(RuntimeError):
    """A measured process ended without a result."""


class TimeLimitError(RuntimeError):
    """A measured process took longer than it may."""


class UnavailableError(RuntimeError):
    """A peer or data set is not on this machine."""


class MissingError(RuntimeError):
    """multimargin does not do what is asked."""


@dataclass(frozen=True)
class Job:
    """Run a task in this process, on as many cores as it has threads.

    `judge` adds objective, errors and density after the timed part, `test` the latter two alone,
    `size` the bytes of the saved model. A process that takes longer than `limit_s` seconds in all
    is ended.

    With `ranks` it is several processes of multimargin, started by ``mpiexec``, and `judge` looks
    into what they send to each other. `worker` is the module that does the work in one process.
    """

    peer: str
    dataset: str
    folder: str | None
    task: Task = field(default_factory=Task)
    judge: bool = False
    ranks: int | None = None
    size: bool = False
    limit_s: float | None = None
    test: bool = False
    worker: str = "benchmarks.common.worker"

    def __str__(self) -> str:
        ranks = "" if self.ranks is None else f" on {self.ranks} rank{'s' * (self.ranks > 1)}"
        return f"{self.peer} on {self.dataset}, {self.task}{ranks}"


@dataclass
class Runs:
    """All results of one variant; `problem` says why there are none, or no more."""

    job: Job
    results: list[dict[str, Any]] = field(default_factory=list)
    problem: str | None = None

    @property
    def seconds(self) -> float:
        """Median of the runs."""
        return float(median(result["seconds"] for result in self.results))

    @property
    def peak_mb(self) -> float:
        """Largest of the runs."""
        return float(max(result["peak_mb"] for result in self.results))

    @property
    def hashes(self) -> set[str]:
        """Of the models: one, if every run gave the same bits."""
        return {result["hash"] for result in self.results}

    @property
    def judged(self) -> dict[str, Any]:
        """The run that was judged, the first."""
        return self.results[0]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"job": asdict(self.job), "results": self.results, "problem": self.problem}


def measure(job: Job) -> dict[str, Any]:
    """Run a job in a fresh process.

    The process starts small, so that its peak memory is its own: what this process holds would
    count in the child's peak, which is why data are never loaded here.

    Raises
    ------
    UnavailableError
        If the peer or the data are not on this machine.
    TimeLimitError
        If it took longer than its limit.
    MissingError
        If multimargin refuses the task.
    RunFailedError
        If the process failed.
    """
    worker, variables = job.worker, dict(os.environ)
    if job.ranks is not None:
        if (reason := why_not()) is not None:
            raise UnavailableError(reason)
        worker, variables = "benchmarks.common.ranks_worker", environment()
    done = _ended(job, worker, variables | ONE_THREAD)
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        hint = " (out of memory?)" if name == "SIGKILL" else ""
        raise RunFailedError(f"{job}: ended by {name}{hint}")
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["no message"]
        raise RunFailedError(f"{job}: exit status {done.returncode}: {said[-1]}")
    # Warnings, such as of a gap that was not reached, are for whoever is watching.
    if done.stderr:
        print(done.stderr, end="", file=sys.stderr)
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    if "unavailable" in result:
        raise UnavailableError(result["unavailable"])
    if "missing" in result:
        raise MissingError(result["missing"])
    return result


def _ended(job: Job, worker: str, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """The process of a job, which has ended by itself."""
    # Ranks place themselves.
    with on_cores(None if job.ranks is not None else job.task.threads):
        process = subprocess.Popen(
            command(job.ranks, ["-m", worker, json.dumps(asdict(job))]),
            cwd=ROOT,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # So that its own children can be ended with it; ranks are ended by their launcher.
            start_new_session=job.ranks is None,
        )
    try:
        said, complained = process.communicate(timeout=job.limit_s)
    except BaseException as error:
        if job.ranks is None:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.terminate()
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            raise TimeLimitError(f"{job}: more than {job.limit_s:g} s") from None
        raise
    return subprocess.CompletedProcess(process.args, process.returncode, said, complained)


class Shared:
    """Runs too long to be repeated for every bar that compares with them."""

    def __init__(self) -> None:
        self._runs: dict[str, Runs] = {}

    def measure(self, job: Job) -> Runs:
        """Run a job once, or return its run if there was one."""
        key = json.dumps(asdict(job), sort_keys=True)
        if key in self._runs:
            print(f"  {job}: as measured before", file=sys.stderr, flush=True)
        else:
            self._runs[key] = measure_in_turns({"once": (job, 1)})["once"]
        return self._runs[key]


def measure_in_turns(variants: Mapping[str, tuple[Job, int]]) -> dict[str, Runs]:
    """Run several variants a number of times each, in turns: a slow minute then hits all alike.

    Every second turn goes backwards, so that none always comes after the same one.

    Parameters
    ----------
    variants : mapping of name to (Job, runs)
        The first run of each is judged.

    Returns
    -------
    dict of name to Runs
        A variant that is unavailable or fails is not run again and has its `problem` set.
    """
    all_runs = {name: Runs(job) for name, (job, _) in variants.items()}
    for turn in range(max(count for _, count in variants.values())):
        ordered = list(variants.items())
        for name, (job, count) in reversed(ordered) if turn % 2 else ordered:
            runs = all_runs[name]
            if turn >= count or runs.problem is not None:
                continue
            try:
                first = turn == 0
                result = measure(replace(job, judge=job.judge and first, size=job.size and first))
            except UnavailableError as error:
                runs.problem = f"skipped: {error}"
            except TimeLimitError as error:
                runs.problem = f"stopped: {error}"
            except MissingError as error:
                runs.problem = f"missing: {error}"
            except RunFailedError as error:
                runs.problem = f"failed: {error}"
            else:
                runs.results.append(result)
            _tell(job, runs, turn + 1, count)
    return all_runs


def _tell(job: Job, runs: Runs, turn: int, count: int) -> None:
    if runs.problem is not None:
        said = runs.problem
    else:
        last = runs.results[-1]
        said = (
            f"{last['seconds']:.3f} s (processor {last['cpu_seconds']:.3f} s), "
            f"{last['peak_mb']:.0f} MB, model {last['hash']}"
        )
    print(f"  {job}, run {turn} of {count}: {said}", file=sys.stderr, flush=True)
