"""Error, seconds and density of every formulation at a tuned C: ``python -m benchmarks.nine``."""

from __future__ import annotations

import argparse
import csv
import io
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from benchmarks.common.command_line import (
    add_data,
    positive_float,
    print_machine,
    run_command,
    writable,
)
from benchmarks.common.data import DataUnavailableError, default_folder, known, load
from multimargin import MulticlassSVC
from multimargin.formulations import FORMULATIONS
from multimargin.io._atomic import atomic_write

SETS = ("satimage", "dna", "usps", "letter", "news20", "clinc150")
_TESTED, _HELD_OUT = 0.2, 1 / 3  # of all samples without test data; of those for training
_SPLITS, _FEW = 5, 5_000  # splits where there are fewer training samples, otherwise one
_FACTOR, _FIRST, _MORE = 10 ** (5 / 6), 4, 3  # of the values of C
_DENSE = 0.1  # entries per row and feature, from which on models have an intercept
_EPILOG = """\
C is chosen on a third of the training data, on five such thirds where there are less than 5,000
samples; the model of the chosen one is trained on all of them and tested. Four values are tried,
each 6.8 times the last, from the least one that 'multimargin tune' tries over the mean squared
length of a sample; up to three more while the error still falls at the largest, and while the
smallest is the best; none larger than one whose fit was stopped by the time limit, which is not
chosen. Sets without test data are split, a fifth is for testing; all splits are seeded. Models of
dense data have an intercept, those of text have none. Fits are to a gap of 1 %, in one thread, from
zero; seconds are processor time of the fit on all training data at the chosen C. A star: the time
limit ended it. Density is the share of weights that are not zero. Tables are in Markdown; the CSV
has the gap and the engine, too.
"""


@dataclass(frozen=True)
class Row:
    """One formulation on one set, at the C that was chosen."""

    dataset: str
    formulation: str
    classes: int
    C: float
    held_out_error: float
    error: float
    seconds: float
    density: float
    gap: float
    converged: bool
    engine: str
    tried: int


@dataclass(frozen=True)
class Parts:
    """A set in samples to choose C by, all training samples, and test samples."""

    train: tuple[Any, Any]
    test: tuple[Any, Any]
    splits: tuple[tuple[tuple[Any, Any], tuple[Any, Any]], ...]  # of train: a part, and the rest

    @property
    def n_classes(self) -> int:
        return int(self.train[1].max()) + 1

    @property
    def squared_norm(self) -> float:
        """Of a sample, on average."""
        X = self.train[0]
        return float(X.multiply(X).sum()) / X.shape[0]

    @property
    def dense(self) -> bool:
        X = self.train[0]
        return bool(X.nnz > _DENSE * X.shape[0] * X.shape[1])


def _split(X: Any, y: Any, share: float, seed: int = 0) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    a, b, y_a, y_b = train_test_split(X, y, test_size=share, stratify=y, random_state=seed)
    return (sp.csr_matrix(a), y_a), (sp.csr_matrix(b), y_b)


def parts_of(name: str, folder: Path) -> Parts:
    """Load and split a set; raise DataUnavailableError if it is not there."""
    data = load(name, folder)
    train, test = (data.X, data.y), (data.X_test, data.y_test)
    if data.X_test is None:
        train, test = _split(*train, _TESTED)
    count = _SPLITS if len(train[1]) < _FEW else 1
    return Parts(train, test, tuple(_split(*train, _HELD_OUT, seed) for seed in range(count)))


def chosen(least: float, error_of: Callable[[float], float]) -> tuple[float, dict[float, float]]:
    """Return the C of the least error, the smallest one of several, and the errors of all.

    An infinite error is that of a fit that was stopped: a larger C takes no less time.
    """
    errors: dict[float, float] = {}
    for C in least * _FACTOR ** np.arange(_FIRST):
        errors[C] = error_of(C)
        if np.isinf(errors[C]):
            break
    # Errors may rise before they fall: upwards the last step decides. Downwards models become the
    # same but for their scale, so that only the best of all is followed.
    for _ in range(_MORE):
        *_, before, last = (-np.inf, *sorted(errors))
        if errors[last] < errors.get(before, -np.inf):
            errors[last * _FACTOR] = error_of(last * _FACTOR)
    for _ in range(_MORE):
        first, *others = sorted(errors)
        if errors[first] < min((errors[C] for C in others), default=np.inf):
            errors[first / _FACTOR] = error_of(first / _FACTOR)
    return min(errors, key=lambda C: (errors[C], C)), errors


def measured(name: str, parts: Parts, formulation: str, limit_s: float) -> Row:
    """Choose C, train with it on all training samples, and test."""

    def fit(C: float, samples: tuple[Any, Any]) -> MulticlassSVC:
        model = MulticlassSVC(
            formulation,
            C=C,
            tol=0.01,
            fit_intercept=parts.dense,
            n_jobs=1,
            random_state=0,
            time_limit=limit_s,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the row says so
            return model.fit(*samples)

    # Samples t times as long have weights 1 / t times as large at C / t^2.
    least = FORMULATIONS[formulation].least_penalty(parts.n_classes) / parts.squared_norm

    def held_out_error(C: float) -> float:
        found = []
        for part, held_out in parts.splits:
            model = fit(C, part)
            found.append(1 - model.score(*held_out) if model.converged_ else np.inf)
        return float(np.mean(found))

    C, errors = chosen(least, held_out_error)
    began = time.process_time()
    model = fit(C, parts.train)
    seconds = time.process_time() - began
    return Row(
        dataset=name,
        formulation=formulation,
        classes=parts.n_classes,
        C=float(C),
        held_out_error=errors[C],
        error=1 - model.score(*parts.test),
        seconds=seconds,
        density=model.model_density_,
        gap=model.dual_gap_,
        converged=model.converged_,
        engine=model.history_[-1]["engine"].partition(" (")[0],
        tried=len(errors),
    )


_TABLES: dict[str, Callable[[Row], str]] = {
    "Test error, %": lambda row: f"{100 * row.error:.1f}",
    "Seconds": lambda row: f"{row.seconds:.2g}" + ("" if row.converged else "\\*"),
    "Weights that are not zero, %": lambda row: f"{100 * row.density:.0f}",
    "C": lambda row: f"{row.C:,.2g}" if row.C < 100 else f"{float(f'{row.C:.2g}'):,.0f}",
}


def markdown(rows: Sequence[Row]) -> str:
    """Return a table per figure: a line per formulation, a column per set."""
    sets = {row.dataset: row.classes for row in rows}
    at = {(row.formulation, row.dataset): row for row in rows}
    head = "".join(f" {name}, {classes} |" for name, classes in sets.items())
    lines = []
    for title, text in _TABLES.items():
        lines += [f"| {title} |{head}", "|---|" + "---|" * len(sets)]
        for formulation in dict.fromkeys(row.formulation for row in rows):
            cells = (at.get((formulation, name)) for name in sets)
            line = "".join(f" {'–' if cell is None else text(cell)} |" for cell in cells)
            lines.append(f"| `{formulation}` |{line}")
        lines.append("")
    return "\n".join(lines)


def as_csv(rows: Sequence[Row]) -> bytes:
    """Return all rows and columns."""
    file = io.StringIO()
    writer = csv.DictWriter(file, list(Row.__dataclass_fields__), lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    return file.getvalue().encode()


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.nine", description=__doc__, epilog=_EPILOG
    )
    add = parser.add_argument
    add_data(parser)
    add("--sets", type=known, nargs="+", default=SETS, metavar="NAME")
    add("--formulations", nargs="+", default=list(FORMULATIONS), choices=list(FORMULATIONS))
    add(
        "--time-limit",
        type=positive_float,
        default=20.0,
        metavar="S",
        help="seconds after which a fit is stopped (default 20)",
    )
    add("--csv", type=writable, metavar="FILE", help="write all figures there, after every fit")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure what the command line asks for; returns the exit status."""
    args = _parse(argv)
    print_machine()
    rows: list[Row] = []
    try:
        for name in args.sets:
            try:
                parts = parts_of(name, args.data or default_folder())
            except DataUnavailableError as error:
                print(f"{name}: skipped: {error}", flush=True)
                continue
            for formulation in args.formulations:
                row = measured(name, parts, formulation, args.time_limit)
                rows.append(row)
                print(
                    f"{name} {formulation}: C={row.C:.3g}, error {row.error:.2%}, "
                    f"{row.seconds:.2f} s, gap {row.gap:.2%}, {row.tried} values of C",
                    flush=True,
                )
                if args.csv is not None:
                    with atomic_write(args.csv) as file:
                        file.write(as_csv(rows))
    finally:
        if rows:
            print(f"\n{markdown(rows)}", flush=True)
    return 0


if __name__ == "__main__":
    run_command(main, "interrupted: what was measured until then is printed")
