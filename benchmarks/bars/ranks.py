"""The bars of training over ranks: equal bits, bytes sent, and processor time.

That of killed ranks is in `_kill_bar`.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.bars.outcome import Facts, Options, Outcome, Row, without_figure
from benchmarks.common.data import GENERATED_SMALL, LSHTC, WORDNET, in_folder, load
from benchmarks.common.ranks import Started, why_not
from benchmarks.common.run import Runs, measure_in_turns

_BUNDLES = 8
_TIMEOUT = 600.0  # seconds
# Ranks (None: without mpiexec) and threads of each.
_VARIANTS = ((None, 1), (None, 2), (1, 1), (2, 1), (3, 1), (4, 1))
# At C = 1 every alpha of llw ends at its bound, which any order of additions would find; and a few
# passes tell as much as many.
_FEW = ("--C", "100", "--max-iter", "10")
FORMULATIONS: dict[str, tuple[str, ...]] = {
    "ww": ("--formulation", "ww"),
    "cs": ("--formulation", "cs"),
    "ovr": ("--formulation", "ovr"),
    "llw, extrapolated": ("--formulation", "llw", "--solver", "extrapolated", *_FEW),
    "llw, alternating": ("--formulation", "llw", "--solver", "alternating", *_FEW),
}
_SENT = 1.5  # times the weights of one bundle per round that are not zero
_WORK = 2.0  # times the processor time of one process


def write_data(dataset: str, folder: Path | None, path: Path) -> None:
    """Write a set as LIBSVM text, as the command reads it."""
    from sklearn.datasets import dump_svmlight_file

    data = load(dataset, folder)
    dump_svmlight_file(data.X, data.y, str(path), zero_based=False)


def train_command(data: str, model: str, more: Sequence[str]) -> list[str]:
    """``multimargin train``, as arguments of Python."""
    return ["-m", "multimargin", "train", data, model, "--quiet", *more]


def hash_of(path: Path) -> str:
    """Of all bytes of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def ranks(options: Options) -> Outcome:
    """Whether the model file is the same, byte by byte, without MPI and on 1 to 4 ranks."""
    dataset = LSHTC if in_folder(LSHTC, options.folder) else GENERATED_SMALL
    titles = {name: f"ranks {dataset}, {_BUNDLES} bundles: {name}" for name in FORMULATIONS}
    reason = why_not()
    if reason is not None:
        rows = [without_figure(t, f"skipped: {reason}", "all bytes") for t in titles.values()]
        return Outcome(rows=rows)
    outcome = Outcome()
    with tempfile.TemporaryDirectory(prefix="multimargin-ranks-") as place:
        folder = Path(place)
        write_data(dataset, options.folder, folder / "data.svm")
        for name, more in FORMULATIONS.items():
            hashes: dict[str, str] = {}
            problem = None
            for count, threads in _VARIANTS:
                variant = f"{'no MPI' if count is None else count} x {threads}"
                try:
                    hashes[variant] = _trained(folder, count, threads, more)
                except RuntimeError as error:
                    problem = problem or f"failed: {variant}: {error}"
                said = hashes.get(variant, problem)
                print(f"  {name}, {variant}: model file {said}", file=sys.stderr, flush=True)
            outcome.rows.append(_bytes_row(titles[name], hashes, problem))
            outcome.runs.append(Facts({"dataset": dataset, "formulation": name, "files": hashes}))
    return outcome


def _trained(folder: Path, count: int | None, threads: int, more: Sequence[str]) -> str:
    """The hash of the model file of one run."""
    options = [*more, "--bundles", str(_BUNDLES), "--threads", str(threads)]
    with Started(count, train_command("data.svm", "model", options), folder) as started:
        status, said = started.end(_TIMEOUT)
    # 3: not within the tolerance, after the few passes that were asked for.
    if status not in ((0, 3) if "--max-iter" in more else (0,)):
        raise RuntimeError(f"exit status {status}: {said.strip()[-300:]}")
    found = hash_of(folder / "model")
    (folder / "model").unlink()
    return found


def _bytes_row(title: str, hashes: dict[str, str], problem: str | None) -> Row:
    if problem is not None:
        return without_figure(title, problem, "all bytes")
    models = set(hashes.values())
    figure = (
        f"{next(iter(models))}, {len(hashes)} files"
        if len(models) == 1
        else (
            f"{len(models)} models: "
            + ", ".join(f"{variant}: {model[:6]}" for variant, model in hashes.items())
        )
    )
    return Row(title, figure, None, "all bytes", len(models) == 1)


def traffic(options: Options) -> Outcome:
    """Bytes that ranks send per pass of Weston-Watkins with 12,582 classes, on 2 and 4 ranks."""
    jobs = {
        str(count): (options.job("multimargin", WORDNET, judge=True, ranks=count), 1)
        for count in (2, 4)
    }
    outcome = Outcome()
    for count, runs in measure_in_turns(jobs).items():
        outcome.runs.append(runs)
        title = f"ww {WORDNET}, {count} ranks: sent per rank and pass"
        if not runs.results:
            outcome.rows.append(without_figure(title, runs.problem, f"<= {_SENT:g}x"))
        else:
            outcome.rows += _traffic_rows(title, runs.results[0])
    return outcome


def _traffic_rows(title: str, result: dict[str, Any]) -> list[Row]:
    """Next to one bundle per round: its weights at that time that are not zero, of 4 bytes."""
    each = result["details"]["ranks"]
    passes, rounds = each[0]["passes"], 2 * len(each) - 1  # of two bundles per rank
    sent = sum(rank["bytes_in_passes"] for rank in each) / passes / len(each)
    bundles_sent = sum(rank["bundles_sent"] for rank in each)
    bundles = bundles_sent / passes / len(each)
    one = 4 * sum(rank["weights"] for rank in each) / bundles_sent
    needed = rounds * one
    dense = rounds * 4 * sum(rank["dense"] for rank in each) / bundles_sent
    # The most that a rank sends beyond what it has to, not the mean.
    ratio = max(
        rank["bytes_in_passes"] / passes / (rounds * 4 * rank["weights"] / rank["bundles_sent"])
        for rank in each
    )
    elsewhere = max(rank["bytes_sent"] - rank["bytes_in_passes"] for rank in each)
    everything = sum(rank["bytes_sent"] for rank in each) / passes / len(each)
    scans = result["details"]["scans"]
    return [
        Row(
            title,
            f"{ratio:.3f}x ({sent / 1e6:.2f} MB, {bundles:.1f} bundles in {rounds} rounds; one has "
            f"{one / 1e6:.2f} MB that is not zero)",
            ratio,
            f"<= {_SENT:g}x",
            ratio <= _SENT,
        ),
        Row(f"{title}, with 4 bytes of index each", f"{2 * needed / 1e6:.2f} MB", 2 * needed),
        Row(
            f"{title}, dense",
            f"{dense / 1e6:,.0f} MB, {dense / sent:.0f}x",
            dense,
        ),
        Row(
            f"{title}, besides, per scan",
            f"{elsewhere / scans / 1e6:.2f} MB ({scans} scans, {passes} passes)",
            elsewhere / scans,
        ),
        Row(
            f"{title}, scans and all",
            f"{everything / 1e6:.2f} MB, {everything / needed:.2f}x",
            everything,
        ),
    ]


def work(options: Options) -> Outcome:
    """Processor time of two ranks against one process, on WordNet with 12,582 classes."""
    outcome = Outcome()
    for formulation in ("ww", "cs"):
        count = options.runs(3 if formulation == "ww" else 1)
        runs = measure_in_turns(
            {
                "one": (options.job("multimargin", WORDNET, formulation=formulation), count),
                "two": (
                    options.job("multimargin", WORDNET, formulation=formulation, ranks=2),
                    count,
                ),
            }
        )
        outcome.runs += runs.values()
        outcome.rows += _work_rows(f"{formulation} {WORDNET}", runs["one"], runs["two"])
    return outcome


def _work_rows(name: str, one: Runs, two: Runs) -> list[Row]:
    title, bar = f"{name}: processor time of 2 ranks", f"<= {_WORK:g}x"
    if not one.results or not two.results:
        return [without_figure(title, one.problem or two.problem, bar)]
    alone = median(result["cpu_seconds"] for result in one.results)
    # All of it, also what ranks spend on messages and on looking whether one has come.
    both = median(result["cpu_seconds"] for result in two.results)
    busy = median(
        sum(rank["busy_s"] for rank in result["details"]["ranks"]) for result in two.results
    )
    ratio = both / alone
    return [
        Row(
            title,
            f"{ratio:.2f}x ({alone:.2f} s, {both:.2f} s; {busy:.2f} s in the core)",
            ratio,
            bar,
            ratio <= _WORK,
        ),
        Row(
            f"{name}: time of 2 ranks",
            f"{two.seconds:.2f} s, {one.seconds / two.seconds:.2f} times as fast as one process",
            two.seconds,
        ),
    ]
