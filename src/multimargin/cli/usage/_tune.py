"""What ``multimargin tune`` takes."""

from __future__ import annotations

import argparse
import math

from multimargin.cli.support import _arguments as arguments
from multimargin.cli.support._choices import FORMULATIONS, MEASURES, TRIED
from multimargin.cli.usage._data_rows import DATA_OPTIONS, KINDS, TRAINING

_TEXT = f"""
tune: choose the formulation and C

Compare formulations and values of C by training on one part of DATA and measuring on the rest.
Models of a formulation are trained from the smallest C to the largest, each from the one before.
Splits keep the shares of the labels; a label seen once stays in training. Features of texts are
made from the training part alone. Splits and formulations are trained side by side. What is clearly
worse than the best on the first split is not trained on the others. Where the best of the default
values of C is the smallest or the largest, more follow there, at most twice. The simplest within
one standard error (SE) of the best has the fewest weights, and of equals it took the least time.

{TRAINING}
--seed N = 0         of splits and orders
--formulations A,B   of {",".join(FORMULATIONS)}, or all
                     (default: of {",".join(TRIED)} all whose models are sparse or take less than
                     1 GiB; the others are slow)
--C C                values such as 0.1,1,10 or a range LOW:HIGH:COUNT such as 0.01:10:7 (default:
                     ten values that depend on formulation and number of classes)
--folds K            cross-validation (default: 5 folds)
--holdout S          hold out this share once, such as 0.2
--validation FILE    measure on this file, train on DATA
--measure {"|".join(MEASURES)} = error  what decides; the table has all
--top-k K = 5        of top-k
--complete           train everything on all splits, also what cannot become the best
--plot FILE          draw the measure over C: a .png, .svg or .pdf file
--csv FILE           write the table there too
--model MODEL        train the best on all of DATA and save it as MODEL
{arguments.THREADS}
--quiet              no progress
--json               print the results as one JSON object
{DATA_OPTIONS}

examples:
  multimargin tune products.csv --text title --label category
  multimargin tune train.svm --formulations ww,cs --C 0.01:10:7 --folds 3
"""


def _formulations(text: str) -> tuple[str, ...]:
    from multimargin.selection._grid import check_formulation

    names = tuple(FORMULATIONS) if text == "all" else tuple(text.split(","))
    try:
        return tuple(dict.fromkeys(check_formulation(name.strip()) for name in names))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{error}; or 'all'") from None


def _penalties(text: str) -> tuple[float, ...]:
    from multimargin.selection._grid import checked_penalties

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


tune = arguments.Command(
    _TEXT,
    work="multimargin.cli._tune:tune",
    options={
        "exclusive": ("folds", "holdout", "validation"),
        "formulations": _formulations,
        "C": _penalties,
        "holdout": arguments.checked(float, lambda s: 0 < s < 1, "a share between 0 and 1"),
        **KINDS,
    },
)
