"""The bar of killed ranks: runs that are killed at random moments end with the same model."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.bars.outcome import Facts, Options, Outcome, Row, without_figure
from benchmarks.bars.ranks import hash_of, train_command
from benchmarks.common.ranks import Started, kill, running, why_not

_RUNS, _RUNS_QUICK = 50, 8
_RANKS = (1, 2, 3, 4)
_BUNDLES = 8
_KILLS = 3  # of one run; afterwards it is left alone, if it went on from a checkpoint once
_MOST_KILLS, _MOST_TRIES = 12, 10  # until it did
_ENDED_WITHIN = 10.0  # seconds from a kill to the end of the job
_TIMEOUT = 120.0
_SEED = 20  # of the moments: another machine's clock makes other ones of them anyway
# Samples, features, classes.
_SIZES = {"few.svm": (1_500, 3_000, 300), "many.svm": (5_000, 12_000, 1_200)}
# What takes a second or two.
_TRAININGS: dict[str, tuple[str, ...]] = {
    "ww": ("few.svm", "--formulation", "ww", "--tol", "1e-2"),
    "cs": ("few.svm", "--formulation", "cs", "--tol", "1e-4"),
    "ovr": ("many.svm", "--formulation", "ovr", "--tol", "1e-3"),
    "llw": ("few.svm", "--formulation", "llw", "--C", "20", "--tol", "1e-2"),
}
_KEPT = ("--checkpoint", "state", "--checkpoint-every", "0.05s")


@dataclass
class _Run:
    """One training, killed now and then, until it is done."""

    name: str
    model: str = ""
    resumed: int = 0
    kills: int = 0  # that ended a job
    silent: int = 0  # of which nothing was said: the launcher's affair, before ranks are up
    ranks: list[int] = field(default_factory=list)
    to_the_end: list[float] = field(default_factory=list)  # seconds after each kill
    problem: str | None = None


def kills(options: Options) -> Outcome:
    """Trainings whose ranks are killed at random moments, gone on with on other ranks."""
    count = options.runs(_RUNS_QUICK if options.quick else _RUNS)
    title = f"{count} runs with kills: model files as of runs without"
    reason = why_not()
    if reason is None and not Path("/proc/self/stat").exists():
        reason = "the processes of ranks are found by /proc"
    if reason is not None:
        return Outcome(rows=[without_figure(title, f"skipped: {reason}", f"{count}")])
    chance = random.Random(_SEED)
    runs: list[_Run] = []
    with tempfile.TemporaryDirectory(prefix="multimargin-kills-") as place:
        folder = Path(place)
        _write_data(folder)
        names = list(_TRAININGS)
        whole = {name: _undisturbed(folder, name) for name in names}
        for number in range(count):
            name = names[number % len(names)]
            run = _killed_and_resumed(folder, name, whole[name][1], chance)
            if run.problem is None and run.model != whole[name][0]:
                run.problem = f"another model: {run.model} instead of {whole[name][0]}"
            runs.append(run)
            _tell(f"run {number + 1} of {count}", run)
    return Outcome(rows=_rows(title, runs), runs=[Facts(asdict(run)) for run in runs])


def _write_data(folder: Path) -> None:
    from sklearn.datasets import dump_svmlight_file

    from multimargin.datasets import make_hierarchical_text

    for name, sizes in _SIZES.items():
        X, y = make_hierarchical_text(*sizes, random_state=0)
        dump_svmlight_file(X, y, str(folder / name), zero_based=False)


def _arguments(name: str, more: Sequence[str]) -> list[str]:
    data, *options = _TRAININGS[name]
    fixed = ["--bundles", str(_BUNDLES), "--threads", "1"]
    return train_command(data, "model", [*options, *fixed, *more])


def _undisturbed(folder: Path, name: str) -> tuple[str, float]:
    """The model of one process without MPI and checkpoints, and how long two ranks take with."""
    with Started(None, _arguments(name, ()), folder) as started:
        status, said = started.end(_TIMEOUT)
    if status != 0:
        raise RuntimeError(f"{name}: exit status {status}: {said.strip()[-500:]}")
    model = hash_of(folder / "model")
    began = time.monotonic()
    with Started(2, _arguments(name, _KEPT), folder) as started:
        started.end(_TIMEOUT)
    seconds = time.monotonic() - began
    print(f"  {name}: {seconds:.1f} s on 2 ranks, model {model}", file=sys.stderr, flush=True)
    return model, seconds


def _killed_and_resumed(folder: Path, name: str, seconds: float, chance: random.Random) -> _Run:
    """A run that was killed after a checkpoint at least once; those that were not do not count."""
    for _ in range(_MOST_TRIES):
        run = _killed_until_done(folder, name, seconds, chance)
        if run.problem is not None or run.resumed:
            return run
    run.problem = f"never killed after a checkpoint in {_MOST_TRIES} tries"
    return run


def _killed_until_done(folder: Path, name: str, seconds: float, chance: random.Random) -> _Run:
    """Start, kill a rank at a random moment, start again on other ranks, until it is done."""
    run = _Run(name)
    (folder / "model").unlink(missing_ok=True)
    shutil.rmtree(folder / "state", ignore_errors=True)
    while run.problem is None:
        ranks = chance.choice(_RANKS)
        run.ranks.append(ranks)
        again = run.kills < (_KILLS if run.resumed else _MOST_KILLS)
        moment = chance.uniform(0, seconds) if again else None
        with Started(ranks, _arguments(name, _KEPT), folder) as started:
            hit = moment is not None and _kill_one(started, moment, ranks, chance, run)
            if run.problem is None:
                status, said = started.end(_TIMEOUT)
        if run.problem is not None:
            break
        if status == 0:  # perhaps after a kill: of a rank that had nothing left to do
            run.model = hash_of(folder / "model")
            break
        if not hit:
            run.problem = f"exit status {status} without a kill: {said.strip()[-500:]}"
        run.silent += not said.strip()
        run.kills += 1
        run.resumed += (folder / "state").is_dir() and any((folder / "state").iterdir())
    return run


def _kill_one(
    started: Started, moment: float, ranks: int, chance: random.Random, run: _Run
) -> bool:
    """Kill one of the ranks at a moment; whether there was one to kill."""
    found: list[int] = []
    # Not before all are there: they are what is to be killed, not the launcher's first steps.
    while len(found) < ranks or time.monotonic() < started.began + moment:
        if started.process.poll() is not None:
            return False
        found = started.ranks() or found
        time.sleep(0.01)
    if not kill(chance.choice(found)):
        return False
    killed = time.monotonic()
    try:
        # Its output is read by `end`; a few lines do not fill the pipe meanwhile.
        started.process.wait(_ENDED_WITHIN)
        while left := running(found):
            if time.monotonic() > killed + _ENDED_WITHIN:
                raise subprocess.TimeoutExpired("ranks", _ENDED_WITHIN)
            time.sleep(0.01)
    except subprocess.TimeoutExpired:
        left = running(found)
        run.problem = f"{len(left)} ranks still there {_ENDED_WITHIN:g} s after a kill"
    run.to_the_end.append(time.monotonic() - killed)
    return True


def _tell(which: str, run: _Run) -> None:
    said = run.problem or f"model {run.model}"
    print(
        f"  {which}, {run.name}: {run.kills} kills, ranks {', '.join(map(str, run.ranks))}: {said}",
        file=sys.stderr,
        flush=True,
    )


def _rows(title: str, runs: list[_Run]) -> list[Row]:
    bad = [run for run in runs if run.problem is not None]
    good, total = len(runs) - len(bad), len(runs)
    hits = sum(run.kills for run in runs)
    slowest = max((s for run in runs for s in run.to_the_end), default=0.0)
    resumed = sum(run.resumed for run in runs)
    rows = [
        Row(title, f"{good} of {total}", good, f"{total}", good == total),
        Row(
            "kills: that hit",
            f"{hits}, of which {resumed} left a checkpoint to go on from; "
            f"{sum(run.silent for run in runs)} without a message",
            hits,
        ),
        Row(
            "kills: slowest end of a job",
            f"{slowest:.2f} s",
            slowest,
            f"< {_ENDED_WITHIN:g} s",
            slowest < _ENDED_WITHIN,
        ),
    ]
    rows += [without_figure(f"kills: a run of {run.name}", f"failed: {run.problem}") for run in bad]
    return rows
