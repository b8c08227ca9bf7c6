"""``multimargin report``: which classes a model gets right, and what it takes them for."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.cli.support import _arguments as arguments
from multimargin.cli.support._messages import EXIT_OK, print_json
from multimargin.cli.support._model_data import features_of, model_and_data
from multimargin.inspection import ClassReport, Confusions, class_report, confusions
from multimargin.io._atomic import check_writable
from multimargin.io._figure_file import check_figure, new_figure, write_figure
from multimargin.io._text_table import counted
from multimargin.models.label_sets._sets import require_one_label
from multimargin.parallel._communicator import SerialCommunicator

_SHOWN = 20
_DRAWN = 8  # pairs


def report(args: argparse.Namespace) -> int:
    _check_outputs(args)
    model, (X, y, _) = model_and_data(args, SerialCommunicator(), labelled=True)
    require_one_label(model, "report")
    truth, predicted = _comparable(y, model.predict(features_of(model, X)))
    falling = args.sort in ("support", "predicted")
    report = class_report(truth, predicted).sorted_by(args.sort, descending=falling)
    pairs = confusions(truth, predicted, k=args.confusions)
    if args.per_class:
        report.to_csv(args.per_class)
    if args.plot:
        _draw(report, pairs, args.plot)
    if args.json:
        print_json({**report.as_dict(), "confusions": pairs.as_dict()["pairs"]})
    else:
        _print(report, pairs)
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


def _draw(report: ClassReport, pairs: Confusions, path: str) -> None:
    if not pairs.pairs:
        figure = new_figure(6.4, 4.8)
        report.plot(figure.subplots())
    else:
        figure = new_figure(14.0, 6.4)
        left, right = figure.subplots(1, 2)
        report.plot(left)
        drawn = pairs.pairs[:_DRAWN]
        labels = list(dict.fromkeys(label for pair in drawn for label in (pair.a, pair.b)))
        pairs.plot(labels, right)
        right.set_title("most confused classes", fontsize="medium")
    write_figure(figure, path)
