"""Time over threads, on WordNet with 12,582 classes by default, and whether the bits stay.

Run as ``python -m benchmarks.scaling --threads 1,2,4,8,16``. It takes the data that are part of
the package, so it runs wherever multimargin does.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.__main__ import folder, positive, print_machine, writable, write_json
from benchmarks._data import WORDNET
from benchmarks._machine import machine
from benchmarks._run import Job, Runs, measure_in_turns
from benchmarks.peers import Task


def _thread_counts(text: str) -> list[int]:
    return sorted({positive(part) for part in text.split(",")})


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scaling",
        description=__doc__,
        epilog="The exit status is 1 if models differ or a run failed.",
    )
    parser.add_argument(
        "--threads",
        type=_thread_counts,
        default=[1, 2],
        metavar="N,N,...",
        help="numbers of threads (default 1,2)",
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--data",
        type=folder,
        metavar="DIR",
        help=f"folder that holds {WORDNET} (default: the package's own data)",
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
        "--repeats", type=positive, default=3, metavar="N", help="runs of each (default 3)"
    )
    parser.add_argument("--json", type=writable, metavar="FILE", help="write every run there too")
    return parser.parse_args()


def _phase(runs: Runs, key: str) -> float | None:
    """Median seconds of a phase; None where the solver was timed as a whole."""
    seconds = [result["details"].get(key) for result in runs.results]
    return None if None in seconds else median(seconds)


def _cells(runs: Runs, first: Runs) -> list[str]:
    """One line: seconds and speedup of the whole, of passes and of scans; the model."""
    line = [
        str(runs.job.task.threads),
        f"{runs.seconds:.3f}",
        f"{first.seconds / runs.seconds:.2f}",
    ]
    for key in ("passes_s", "scans_s"):
        now, then = _phase(runs, key), _phase(first, key)
        line += ["-", "-"] if not now or not then else [f"{now:.3f}", f"{then / now:.2f}"]
    return [*line, " ".join(sorted(runs.hashes))]


def _print_curve(curve: list[Runs]) -> None:
    print("threads  seconds  speedup   passes  speedup    scans  speedup  model")
    for runs in curve:
        *numbers, model = _cells(runs, curve[0])
        print("  ".join(number.rjust(7) for number in numbers) + f"  {model}")


def main() -> int:
    """Measure the curve; returns the exit status."""
    args = _parse()
    dataset = WORDNET if args.npz is None else str(args.npz.resolve())
    data = None if args.data is None else str(args.data.resolve())
    about = machine()
    print_machine(about)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if max(args.threads) > (cores or 1):
        print(f"more threads than the {cores} cores: these lines say little", file=sys.stderr)
    all_runs = measure_in_turns(
        {
            str(n): (
                Job("multimargin", dataset, data, Task(args.formulation, args.C, n, args.tol)),
                args.repeats,
            )
            for n in args.threads
        }
    )
    curve = [runs for runs in all_runs.values() if runs.results]
    problems = [f"{runs.job}: {runs.problem}" for runs in all_runs.values() if runs.problem]
    if curve:
        shape, source = curve[0].results[0]["shape"], curve[0].results[0]["source"]
        print(f"{shape[0]:,} samples, {shape[1]:,} features, {shape[2]:,} classes from {source}")
        print(f"median of {args.repeats}; speedup over {curve[0].job.task.threads} thread(s)\n")
        _print_curve(curve)
    models = set().union(*(runs.hashes for runs in curve))
    if len(models) == 1:
        print("\nevery run gave the same bits")
    elif models:
        problems.append(f"models differ: {len(models)} of them")
    if problems:
        print("\n" + "\n".join(problems))
    if args.json is not None:
        content: dict[str, Any] = {"machine": about}
        content["runs"] = [runs.as_dict() for runs in all_runs.values()]
        write_json(args.json, content)
    return int(bool(problems))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("interrupted")
