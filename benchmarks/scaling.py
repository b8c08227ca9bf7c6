"""Time over threads or ranks, on WordNet with 12,582 classes by default, and whether the bits stay.

Run as ``python -m benchmarks.scaling --threads 1,2,4,8,16``. It takes the data that are part of
the package, so it runs wherever multimargin does; with ``--ranks`` wherever ``mpiexec`` is, too.
For Lee-Lin-Wahba take fewer classes, and the same passes for all:
``--ranks 1,2,4,8,16 --apart --formulation llw --dataset hierarchical-1000 --C 100 --max-iter 20``.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.common.command_line import (
    add_data,
    add_json,
    positive,
    print_machine,
    run_command,
    write_json,
)
from benchmarks.common.data import DMOZ, GENERATED, GENERATED_SMALL, LSHTC, WORDNET
from benchmarks.common.ranks import MPIEXEC, POOL
from benchmarks.common.run import Job, Runs, measure_in_turns
from benchmarks.peers import Task

# The paper's speedups on 32 cores.
_PAPER = {"ww": "WW-MPI 7.0", "llw": "LLW-MPI 16.5"}


def _counts(text: str) -> list[int]:
    return sorted({positive(part) for part in text.split(",")})


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scaling",
        description=__doc__,
        epilog="The exit status is 1 if models differ or a run failed.",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--threads",
        type=_counts,
        default=[1, 2],
        metavar="N,N,...",
        help="numbers of threads (default 1,2)",
    )
    what.add_argument(
        "--ranks",
        type=_counts,
        metavar="N,N,...",
        help="numbers of ranks, on this machine: those of a host solve as one",
    )
    parser.add_argument(
        "--rank-threads",
        type=positive,
        default=1,
        metavar="N",
        help="threads of each rank, with --ranks (default 1)",
    )
    parser.add_argument(
        "--apart",
        action="store_true",
        help="with --ranks: as if each had a host of its own, but messages cost next to nothing",
    )
    parser.add_argument(
        "--bundles",
        type=positive,
        metavar="N",
        help="of classes, with --ranks: the same for all, so that all do the same and give the "
        "same bits (default: as users get them, with --apart two for each rank)",
    )
    parser.add_argument(
        "--mpiexec",
        type=Path,
        metavar="FILE",
        help=f"with --ranks: the launcher (default: ${MPIEXEC}, that beside Python, that on the "
        "path)",
    )
    add_data(parser, f"none; {WORDNET} comes with the package")
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--dataset",
        choices=(WORDNET, LSHTC, DMOZ, GENERATED, GENERATED_SMALL),
        default=WORDNET,
        help=f"(default: {WORDNET})",
    )
    source.add_argument(
        "--npz",
        type=Path,
        metavar="FILE",
        help="train on this matrix of scipy.sparse.save_npz instead; labels as array 'y' in it "
        "or in the file of the same name that ends in .y.npy",
    )
    parser.add_argument("--formulation", choices=("ww", "cs", "ovr", "llw"), default="ww")
    parser.add_argument("--C", type=float, default=1.0, metavar="C", help="penalty (default 1)")
    parser.add_argument("--tol", type=float, metavar="T", help="relative gap (default 0.01)")
    parser.add_argument(
        "--max-iter", type=positive, metavar="N", help="end after so many passes in any case"
    )
    parser.add_argument(
        "--solver", metavar="NAME", help="of llw (default: extrapolated with --ranks, else auto)"
    )
    parser.add_argument(
        "--repeats", type=positive, default=3, metavar="N", help="runs of each (default 3)"
    )
    add_json(parser)
    args = parser.parse_args()
    if args.ranks is None and (args.bundles or args.mpiexec or args.apart):
        parser.error("--bundles, --mpiexec and --apart are for --ranks")
    return args


def _phase(runs: Runs, key: str) -> float | None:
    """Median seconds of a phase; None where the solver was timed as a whole."""
    seconds = [result["details"].get(key) for result in runs.results]
    return None if None in seconds else median(seconds)


_STEPS = ("start", "passes", "scans", "merging", "export")


def _cells(runs: Runs, first: Runs) -> list[str]:
    """One line: seconds and speedup of the whole, seconds of each kind of step; the model."""
    line = [
        str(runs.job.task.threads),
        f"{runs.seconds:.3f}",
        f"{first.seconds / runs.seconds:.2f}",
    ]
    for step in _STEPS:
        seconds = _phase(runs, f"{step}_s")
        line.append("-" if seconds is None else f"{seconds:.3f}")
    return [*line, " ".join(sorted(runs.hashes))]


def _print_curve(curve: list[Runs]) -> None:
    print("  ".join(t.rjust(7) for t in ("threads", "seconds", "speedup", *_STEPS)) + "  model")
    for runs in curve:
        *numbers, model = _cells(runs, curve[0])
        print("  ".join(number.rjust(7) for number in numbers) + f"  {model}")


def _print_rank_curve(curve: list[Runs], plain: Runs, formulation: str) -> None:
    """Seconds, and how many times as fast as one rank and as one process by itself."""
    first = curve[0]
    print("  ranks  seconds  speedup  over plain  processor s  in the core  MB per rank  model")
    for runs in [*([plain] if plain.results else []), *curve]:
        last = runs.results[-1]
        each = last["details"].get("ranks", [])
        busy = sum(rank["busy_s"] for rank in each)
        sent = max((rank["bytes_sent"] for rank in each), default=0)
        cells = [
            "plain" if runs is plain else str(runs.job.ranks),
            f"{runs.seconds:.3f}",
            f"{first.seconds / runs.seconds:.2f}",
            f"{plain.seconds / runs.seconds:.2f}" if plain.results else "-",
            f"{median(result['cpu_seconds'] for result in runs.results):.2f}",
            f"{busy:.2f}" if busy else "-",
            f"{sent / 1e6:.1f}" if each else "-",
        ]
        widths = (7, 7, 7, 10, 11, 11, 11)
        line = "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
        print(f"{line}  {' '.join(sorted(runs.hashes))}")
    if formulation in _PAPER:
        print(f"\nthe paper's speedup on 32 cores: {_PAPER[formulation]}")


def _jobs(args: argparse.Namespace) -> dict[str, Job]:
    """The runs of the curve; those on ranks after one process by itself, as fast as it can.

    Passes of another solver are not the same work: with a number of them it has to be the same.
    """
    dataset = args.dataset if args.npz is None else str(args.npz.resolve())
    data = None if args.data is None else str(args.data.resolve())
    options = {} if args.max_iter is None else {"max_iter": args.max_iter}
    options |= {} if args.solver is None else {"solver": args.solver}

    def job(threads: int, ranks: int | None = None, **more: Any) -> Job:
        task = Task(args.formulation, args.C, threads, args.tol, options | more)
        return Job("multimargin", dataset, data, task, ranks=ranks)

    if args.ranks is None:
        return {str(n): job(n) for n in args.threads}
    solver = {}
    if args.formulation == "llw" and not args.solver and (args.apart or args.bundles):
        solver = {"solver": "extrapolated"}
    options |= {} if args.max_iter is None else solver

    def divided(ranks: int) -> Job:
        bundles = args.bundles or (2 * ranks if args.apart else None)
        return job(args.rank_threads, ranks, n_bundles=bundles, **solver)

    return {"plain": job(args.rank_threads)} | {str(n): divided(n) for n in args.ranks}


def _warn_of_few_cores(wanted: int) -> None:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if wanted > (cores or 1):
        print(f"more than the {cores} cores: the last lines say little", file=sys.stderr)


def main() -> int:
    """Measure the curve; returns the exit status."""
    args = _parse()
    if args.mpiexec is not None:
        os.environ[MPIEXEC] = str(args.mpiexec)
    os.environ[POOL] = str(int(not args.apart))
    about = print_machine()
    _warn_of_few_cores(max(args.ranks or args.threads))
    all_runs = measure_in_turns({n: (job, args.repeats) for n, job in _jobs(args).items()})
    curve = [runs for name, runs in all_runs.items() if runs.results and name != "plain"]
    problems = [f"{runs.job}: {runs.problem}" for runs in all_runs.values() if runs.problem]
    if curve:
        shape, source = curve[0].results[0]["shape"], curve[0].results[0]["source"]
        print(f"{shape[0]:,} samples, {shape[1]:,} features, {shape[2]:,} classes from {source}")
        unit = "threads" if args.ranks is None else "ranks"
        fewest = min(args.ranks or args.threads)
        print(f"{args.formulation}, median of {args.repeats}; speedup over {fewest} {unit}\n")
        if args.ranks is None:
            _print_curve(curve)
        else:
            _print_rank_curve(curve, all_runs["plain"], args.formulation)
    models = set().union(*(runs.hashes for runs in curve))
    if len(models) == 1:
        print("\nevery run gave the same bits" + ("" if args.ranks is None else ", on all ranks"))
    elif models and (args.ranks is None or args.bundles is not None):
        problems.append(f"models differ: {len(models)} of them")
    if problems:
        print("\n" + "\n".join(problems))
    if args.json is not None:
        content: dict[str, Any] = {"machine": about}
        content["runs"] = [runs.as_dict() for runs in all_runs.values()]
        write_json(args.json, content)
    return int(bool(problems))


if __name__ == "__main__":
    run_command(main)
