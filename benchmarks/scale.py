"""Weston-Watkins at the sizes of the LSHTC sets, on generated data: time, memory and gap.

``python -m benchmarks.scale`` trains at C = 1 on two threads until no projected gradient exceeds
0.1, as the paper does, or with ``--gap 0.01`` to a relative duality gap. The data are made by
`multimargin.datasets.make_hierarchical_text` with 90 words per sample, at the numbers of samples,
features and classes of the paper's sets. What the generator calls the topic share, in percent, is
how many words tell the class: 35 is its default, and with 10 about half of all test samples go to
a wrong class, as in the paper's sets. The bar, at the size of LSHTC-2011: an hour on two cores, and
16 GB.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from benchmarks.common.command_line import (
    add_json,
    positive,
    print_machine,
    run_command,
    write_json,
)
from benchmarks.common.data import by_sizes
from benchmarks.common.run import Job, MissingError, RunFailedError, UnavailableError, measure
from benchmarks.peers import Task
from multimargin.datasets._catalog import CATALOG
from reproduction.paper.timing import LOG_C, SECONDS

_WORDS = 90  # of a sample of LSHTC-2011
_SECONDS, _BYTES = 3600.0, 16e9  # the bar


SIZES = {"large": "lshtc-large", "2012": "lshtc-2012", "2011": "lshtc-2011"}
"""The sets whose sizes these are, by what users write."""
_WITH_BAR = "2011"
_COLUMNS = (
    ("size", 6),
    ("topic", 6),
    ("seconds", 9),
    ("peak GB", 8),
    ("gap", 8),
    ("violation", 10),
    ("passes", 7),
    ("pairs", 7),
    ("density", 8),
    ("error", 7),
    ("paper", 9),
    ("bar", 4),
)


def _job(name: str, topic: int, args: argparse.Namespace) -> Job:
    size = CATALOG[SIZES[name]]
    dataset = by_sizes(size.n_train, size.n_features, size.n_classes, _WORDS, topic)
    if args.gap is not None:
        task = Task(threads=args.threads, tol=args.gap)
    else:
        task = Task(threads=args.threads, tol=0.1, options={"stopping": "violation"})
    return Job("multimargin", dataset, None, task, test=True)


def _reached(name: str, result: dict[str, Any], args: argparse.Namespace) -> bool | None:
    """Whether the bar is met; None where there is none."""
    if name != _WITH_BAR or args.gap is not None or args.threads > 2:
        return None
    fits = result["peak_mb"] * 1e6 <= _BYTES and result["seconds"] <= _SECONDS
    return bool(fits and result["details"]["converged"])


def _line(name: str, topic: int, result: dict[str, Any], reached: bool | None) -> list[str]:
    details, n_samples = result["details"], result["shape"][0]
    times = SECONDS.get(SIZES[name])
    paper = None if times is None else times["WW-MC"][LOG_C.index(0)]
    return [
        name,
        f"{topic} %",
        f"{result['seconds']:.0f}" + ("" if details["converged"] else "!"),
        f"{result['peak_mb'] / 1e3:.1f}",
        f"{details['own_gap']:.2%}",
        f"{details['violation']:.3f}",
        str(result["passes"]),
        f"{details['active_pairs'] / n_samples:.1f}",
        f"{result['density']:.2%}",
        f"{result['test_error']:.1%}",
        "-" if paper is None else f"{paper:,.0f} s",
        {True: "yes", False: "NO", None: ""}[reached],
    ]


def _print_line(cells: list[str]) -> None:
    widths = (width for _, width in _COLUMNS)
    print(" ".join(c.rjust(w) for c, w in zip(cells, widths, strict=True)), flush=True)


def _share(text: str) -> int:
    value = positive(text)
    if value > 99:
        raise argparse.ArgumentTypeError(f"must be a percentage from 1 to 99, not {text!r}")
    return value


def _tolerance(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"must lie between 0 and 1, not {text!r}")
    return value


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="The exit status is 1 if a run failed or missed the bar.",
    )
    parser.add_argument(
        "sizes",
        nargs="*",
        metavar="SIZE",
        help="large, 2012 or 2011 (default: all three, which takes hours)",
    )
    parser.add_argument(
        "--topic",
        type=_share,
        nargs="+",
        default=[35, 10],
        metavar="PERCENT",
        help="topic shares (default: 35 10)",
    )
    parser.add_argument(
        "--gap", type=_tolerance, metavar="G", help="stop at this relative duality gap instead"
    )
    parser.add_argument("--threads", type=positive, default=2, metavar="N", help="(default: 2)")
    add_json(parser)
    args = parser.parse_args()
    unknown = [name for name in args.sizes if name not in SIZES]
    if unknown:
        parser.error(f"no such size: {', '.join(unknown)} (choose from {', '.join(SIZES)})")
    return args


def main() -> int:
    """Print the table; returns the exit status."""
    args = _parse()
    about = print_machine()
    print(
        "pairs: of a sample and a class, per sample; paper: its solver on 16 cores, on its data\n"
    )
    _print_line([title for title, _ in _COLUMNS])
    bad, runs = False, []
    for name in args.sizes or SIZES:
        for topic in args.topic:
            job = _job(name, topic, args)
            try:
                result = measure(job)
            except (RunFailedError, UnavailableError, MissingError) as error:
                print(f"{name}, {topic} %: {error}")
                bad = True
                continue
            reached = _reached(name, result, args)
            bad |= reached is False
            _print_line(_line(name, topic, result, reached))
            runs.append({"job": asdict(job), **result})
            if args.json is not None:  # as they come: a run may take an hour
                write_json(args.json, {"machine": about, "runs": runs})
    return int(bad)


if __name__ == "__main__":
    run_command(main)
