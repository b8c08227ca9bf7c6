"""Try to break the certificate: random fits, and whether what they claim is true.

Run as ``python -m benchmarks.stress [--minutes 5] [--problems N] [--seed S] [--jobs 2]``. Every
problem is a function of one number, its seed; ``--only SEED`` shows one of them step by step.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections import Counter

from benchmarks.common.command_line import (
    add_json,
    positive,
    positive_float,
    print_columns,
    print_machine,
    run_command,
    seed,
    write_json,
)
from benchmarks.stress.checks import Finding
from benchmarks.stress.lanes import outcomes
from benchmarks.stress.run import Outcome, run

_EPILOG = """\
Small random problems of all formulations, solvers, types and shapes, chains of warm starts, files
and threads. What a fit claims is compared with MulticlassSVC.certify, with its own history, with
zero weights, with a quadratic program where the problem is tiny, and with the same fit by other
numbers of threads. The exit status is 1 if anything was found.

false gap, primal, dual: claims more than is true, by 1e-6; negative gap: below -1e-6; not
converged: says it is, and is not; gap or primal was smaller: in the history of a run that ended
before its tolerance; worse than nothing: zero weights have a smaller gap; beyond optimum: of the
quadratic program; no duality: certify itself is wrong; other bits: by other threads or from a file;
hang: a fit of more than 60 s. A problem counts once for each kind.
"""


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.stress",
        description=(__doc__ or "").partition("\n")[0],
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--minutes", type=positive_float, metavar="T", help="end then (default: 5)")
    add("--problems", type=positive, metavar="N", help="end after so many")
    add("--seed", type=seed, default=0, metavar="S", help="of the first problem (default: 0)")
    add("--jobs", type=positive, default=2, metavar="N", help="processes (default: 2)")
    add("--only", type=seed, metavar="SEED", help="this problem alone, step by step")
    add_json(parser, "what was found")
    return parser.parse_args()


def line(outcome: Outcome, step: int, finding: Finding) -> str:
    """Print the findings, and how to see them again."""
    again = f"python -m benchmarks.stress --only {outcome.seed}"
    return f"{finding.kind}, {outcome.name}, step {step}: {finding.text}  [{again}]"


def _print_table(found: Counter[tuple[str, str]], done: list[Outcome]) -> None:
    names = sorted({outcome.name for outcome in done})
    rows: list[tuple[str, list[float]]] = [
        (kind, [found[kind, name] for name in names]) for kind in sorted({k for k, _ in found})
    ]
    of = {name: [outcome for outcome in done if outcome.name == name] for name in names}
    rows.append(("problems", [len(of[name]) for name in names]))
    rows.append(("fits", [sum(o.fits for o in of[name]) for name in names]))
    rows.append(("seconds", [sum(o.seconds for o in of[name]) for name in names]))
    lines = [("", *names, "all")]
    lines += [
        (head, *(f"{value:,.0f}" for value in (*numbers, sum(numbers)))) for head, numbers in rows
    ]
    print_columns(lines, right=frozenset(range(1, len(names) + 2)))


def main() -> int:
    """Try what the command line asks for; returns the exit status."""
    args = _parse()
    if args.only is not None:
        return int(bool(run(args.only, say=print).found))
    about = print_machine()
    minutes = args.minutes or (None if args.problems else 5.0)
    end = time.monotonic() + 60 * minutes if minutes else float("inf")
    done: list[Outcome] = []
    found: Counter[tuple[str, str]] = Counter()
    lines = []

    def goes_on(begun: int) -> bool:
        return time.monotonic() < end and begun < (args.problems or float("inf"))

    with contextlib.suppress(KeyboardInterrupt):  # what was found until then is shown
        for outcome in outcomes(args.seed, args.jobs, goes_on):
            done.append(outcome)
            # Once per problem, however many of its fits.
            found.update({(finding.kind, outcome.name) for _, finding in outcome.found})
            for step, finding in outcome.found:
                lines.append(line(outcome, step, finding))
                print(lines[-1], flush=True)
    print()
    _print_table(found, done)
    if args.json is not None:
        write_json(args.json, {"machine": about, "problems": len(done), "found": lines})
    return int(bool(lines))


if __name__ == "__main__":
    run_command(main)
