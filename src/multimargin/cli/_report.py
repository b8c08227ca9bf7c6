"""``multimargin report``: which classes a model gets right, and what it takes them for."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.cli.support import _arguments as arguments
from multimargin.cli.support._messages import EXIT_OK, print_json
from multimargin.cli.support._model_data import features_of, model_and_data
from multimargin.inspection import (
    CalibrationReport,
    ClassReport,
    Confusions,
    calibration_report,
    class_report,
    confusions,
)
from multimargin.io._atomic import check_writable
from multimargin.io._figure_file import check_figure, new_figure, write_figure
from multimargin.io._text_table import counted
from multimargin.models.label_sets._sets import require_one_label

_SHOWN = 20
_DRAWN = 8  # pairs


def report(args: argparse.Namespace) -> int:
    _check_outputs(args)
    model, (X, y, _) = model_and_data(args, labelled=True)
    require_one_label(model, "report")
    X = features_of(model, X)
    truth, predicted = _comparable(y, model.predict(X))
    probable = calibration_report(model, X, y) if hasattr(model, "calibration_") else None
    falling = args.sort in ("support", "predicted")
    report = class_report(truth, predicted).sorted_by(args.sort, descending=falling)
    pairs = confusions(truth, predicted, k=args.confusions)
    if args.per_class:
        report.to_csv(args.per_class)
    if args.plot:
        _draw(report, pairs, probable, args.plot)
    if args.json:
        more = {} if probable is None else {"probabilities": probable.as_dict()}
        print_json({**report.as_dict(), "confusions": pairs.as_dict()["pairs"], **more})
    else:
        _print(report, pairs)
        if probable is not None:
            print(f"\n{probable}")
    return EXIT_OK


def _check_outputs(args: argparse.Namespace) -> None:
    for path, check in ((args.per_class, check_writable), (args.plot, check_figure)):
        if path:
            arguments.refuse_same_file(path, args.model, args.data)
            check(path)


def _comparable(y: NDArray[Any], predicted: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return both as text if one is: a file has integer labels only if all are integers."""
    if np.issubdtype(y.dtype, np.number) == np.issubdtype(predicted.dtype, np.number):
        return y, predicted
    return y.astype(str), predicted.astype(str)


def _print(report: ClassReport, pairs: Confusions) -> None:
    print(report.head(_SHOWN))
    left = len(report) - _SHOWN
    if left > 0:
        print(
            f"({counted(left, 'further class', 'further classes')}: --per-class FILE writes all, "
            "--sort orders them)"
        )
    print()
    print(pairs)


def _draw(
    report: ClassReport, pairs: Confusions, probable: CalibrationReport | None, path: str
) -> None:
    draws = [report.plot]
    if pairs.pairs:
        drawn = pairs.pairs[:_DRAWN]
        labels = list(dict.fromkeys(label for pair in drawn for label in (pair.a, pair.b)))
        draws.append(partial(_draw_pairs, pairs, labels))
    if probable is not None:
        draws += [probable.plot, probable.plot_coverage]
    rows = (len(draws) + 1) // 2
    figure = new_figure(14.0, 6.4 * rows) if len(draws) > 1 else new_figure(6.4, 4.8)
    for place, draw in enumerate(draws):
        draw(figure.add_subplot(rows, min(2, len(draws)), place + 1))
    write_figure(figure, path)


def _draw_pairs(pairs: Confusions, labels: list[Any], ax: Any) -> None:
    pairs.plot(labels, ax)
    ax.set_title("most confused classes", fontsize="medium")
