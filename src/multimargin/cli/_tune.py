"""``multimargin tune``: which formulation, and which C."""

from __future__ import annotations

import argparse
import math
import sys
import time
from typing import Any

from tqdm import tqdm

from multimargin.cli.support import _arguments as arguments
from multimargin.cli.support._messages import (
    EXIT_INTERRUPTED,
    EXIT_OK,
    exit_status,
    note,
    print_json,
    print_table,
)
from multimargin.cli.support._training_data import (
    DATA_OPTIONS,
    KINDS,
    TRAINING,
    read_training,
    read_validation,
    recorded,
    takes_table,
)
from multimargin.formulations import FORMULATIONS
from multimargin.io._atomic import atomic_write, check_writable
from multimargin.io._figure_file import check_figure
from multimargin.io._text_table import text_table
from multimargin.parallel._communicator import SerialCommunicator
from multimargin.persistence import save_model
from multimargin.selection._grid import check_formulation, checked_penalties
from multimargin.selection._measure import MEASURES
from multimargin.selection._plots import write_plot
from multimargin.selection._tune import USUAL, Tuner
from multimargin.selection._tuning import Candidate, Tuning
from multimargin.tables._write import table_lines

_COMMAND = f"""
tune: choose the formulation and C

Compare formulations and values of C by training on one part of DATA and measuring on the rest.
Models of a formulation are trained from the smallest C to the largest, each from the one before.
Splits keep the shares of the labels; a label seen once stays in training. Features of texts are
made from the training part alone.

{TRAINING}
--seed N = 0         of splits and orders
--formulations A,B   of {",".join(FORMULATIONS)}, or all
                     (default: of {",".join(USUAL)} all whose models are sparse or take less than
                     1 GiB)
--C C                values such as 0.1,1,10 or a range LOW:HIGH:COUNT such as 0.01:10:7 (default:
                     ten values that depend on formulation and number of classes)
--folds K            cross-validation (default: 5 folds)
--holdout S          hold out this share once, such as 0.2
--validation FILE    measure on this file, train on DATA
--measure {"|".join(MEASURES)} = error  what decides; the table has all
--top-k K = 5        of top-k
--plot FILE          draw the measure over C: a .png, .svg or .pdf file
--csv FILE           write the table there too
--model MODEL        train the best on all of DATA and save it as MODEL
{arguments.THREADS}
--quiet              no progress
--json               print the results as one JSON object
{DATA_OPTIONS}
"""


def _formulations(text: str) -> tuple[str, ...]:
    names = tuple(FORMULATIONS) if text == "all" else tuple(text.split(","))
    try:
        return tuple(dict.fromkeys(check_formulation(name.strip()) for name in names))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{error}; or 'all'") from None


def _penalties(text: str) -> tuple[float, ...]:
    try:
        if ":" in text:
            low, high, count = text.split(":")
            first, last, steps = float(low), float(high), int(count)
            if steps < 2 or not 0 < first < last < math.inf:
                raise ValueError("a range is LOW:HIGH:COUNT, rising, of two values or more")
            ratio = math.log(last / first) / (steps - 1)
            return checked_penalties([first * math.exp(k * ratio) for k in range(steps)])
        return checked_penalties([float(value) for value in text.split(",")])
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not like 0.1,1,10 or 0.01:10:7: {error}"
        ) from None


@arguments.command(
    _COMMAND,
    exclusive=("folds", "holdout", "validation"),
    formulations=_formulations,
    C=_penalties,
    holdout=arguments.checked(float, lambda s: 0 < s < 1, "a share between 0 and 1"),
    **KINDS,
)
def tune(args: argparse.Namespace) -> int:
    """Read, compare, print; after Ctrl-C print what was measured until then."""
    _check_files(args)
    X, y, template = read_training(args, SerialCommunicator())
    tuner = Tuner(
        X,
        y,
        estimator=template,
        formulations=args.formulations,
        Cs=args.C,
        folds=args.folds,
        holdout=args.holdout,
        validation=read_validation(args, X),
        measure=args.measure,
        top_k=args.top_k,
        split_seed=args.seed,
    )
    interrupted = False
    try:
        _compare(tuner, args)
    except KeyboardInterrupt:
        if not tuner.tuning.candidates:
            raise
        interrupted = True
    _write(args, tuner.tuning, interrupted)
    if interrupted:
        note("interrupted: this is what was measured until then")
        return EXIT_INTERRUPTED
    if args.model is None:
        return EXIT_OK
    return _refit(args, template, X, y, tuner.tuning.best())


def _check_files(args: argparse.Namespace) -> None:
    """Check the files before the fits, not after."""
    takes_table(args)
    if args.plot is not None:
        check_figure(args.plot)
    for path in (args.plot, args.csv, args.model):
        if path is not None:
            arguments.refuse_same_file(path, args.data, args.validation)
            check_writable(path)


def _compare(tuner: Tuner, args: argparse.Namespace) -> None:
    if not args.quiet:
        if once := tuner.tuning.seen_once:
            note(f"note: {once:,} labels are seen once: they are in training only")
        for name, why in tuner.tuning.left_out.items():
            note(f"note: {name} is left out, since {why}; --formulations {name} tries it")
    with tqdm(total=tuner.steps, file=sys.stderr, disable=args.quiet, unit="fit") as bar:

        def step(found: Candidate) -> None:
            bar.set_postfix_str(f"{found.formulation}, C={found.C:.3g}", refresh=False)
            bar.update()

        tuner.run(step)


def _refit(args: argparse.Namespace, template: Any, X: Any, y: Any, best: Candidate) -> int:
    began = time.perf_counter()
    model = template.set_params(**best.parameters).fit(X, y)
    save_model(model, args.model, preprocessing=recorded(args))
    if not args.quiet:
        note(
            f"{best.formulation} with C={best.C:.6g}, trained on all {len(y):,} samples in "
            f"{time.perf_counter() - began:.1f} s: {args.model}"
        )
    return exit_status(model)


# ---------------------------------------------------------------- results


def _write(args: argparse.Namespace, tuning: Tuning, interrupted: bool) -> None:
    if args.csv is not None:
        rows = tuning.rows()
        lines = table_lines("csv", list(rows[0]), (list(row.values()) for row in rows))
        with atomic_write(args.csv) as file:
            file.writelines(line.encode() for line in lines)
    if args.plot is not None:
        write_plot(args.plot, tuning.curves(), tuning.label)
    if args.json:
        print_json({**tuning.as_dict(), "interrupted": interrupted})
    else:
        _print(tuning)


def _print(tuning: Tuning) -> None:
    best, simplest = tuning.best(), tuning.simplest()
    head = ["", "C", "error %", "micro-F1", "macro-F1", f"top-{tuning.top_k} %"]
    titles, lines = [*head, "density %", "seconds", ""], []
    for one in tuning.candidates:
        marks = ["best"] if one is best else []
        marks += ["simplest within 1 SE"] if one is simplest and one is not best else []
        marks += [f"{len(one.points)} of {tuning.folds} folds"] * (len(one.points) < tuning.folds)
        marks += ["tolerance not reached"] * (not one.converged)
        lines.append(
            [
                one.formulation,
                f"{one.C:.3g}",
                _spread(one, "error", 100),
                _spread(one, "micro-f1"),
                _spread(one, "macro-f1"),
                _spread(one, "top-k", 100),
                f"{100 * one.density:.3g}",
                f"{one.seconds:.2f}",
                ", ".join(marks),
            ]
        )
    print(text_table(titles, lines, left=(0, len(titles) - 1)))
    print()
    rows = {"best": _named(best, tuning)}
    if simplest is not best:
        rows["simplest within one standard error"] = _named(simplest, tuning)
    print_table(rows)
    if edge := tuning.at_edge():
        note(f"note: the best C is the {edge} that was tried; others may be better (--C)")


def _named(one: Candidate, tuning: Tuning) -> str:
    value = f"{tuning.label} {one.mean(tuning.measure):.4f}"
    return f"--formulation {one.formulation} --C {one.C:.6g}  ({value})"


def _spread(one: Candidate, measure: str, factor: float = 1.0) -> str:
    """Write mean and standard error to significant digits."""
    digits = 2 if factor > 1 else 4
    mean, error = factor * one.mean(measure), factor * one.standard_error(measure)
    shown = f"{mean:.{digits}f}"
    return shown if math.isnan(error) else f"{shown} ±{error:.{digits}f}"
