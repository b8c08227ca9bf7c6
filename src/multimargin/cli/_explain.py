"""``multimargin explain``: why a sample has its class."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from numpy.typing import NDArray

from multimargin.cli.support import _arguments as arguments
from multimargin.cli.support._messages import EXIT_OK, print_json
from multimargin.cli.support._model_data import model_and_data
from multimargin.inspection import Explanation
from multimargin.io._figure_file import check_figure, new_figure, write_figure
from multimargin.io._text_table import counted, elided
from multimargin.models._measures import as_class
from multimargin.persistence import load_model


def explain(args: argparse.Namespace) -> int:
    if args.plot:
        arguments.refuse_same_file(args.plot, args.model, args.data)
        check_figure(args.plot)
    model = load_model(args.model, verify=True, encoder=args.encoder).set_params(
        n_jobs=arguments.n_jobs(args)
    )
    classes = {
        "label": _label(vars(args)["class"], model.classes_),
        "against": _label(args.against, model.classes_),
    }
    explanation: Explanation
    if args.samples is not None:
        explanation = model.explain_by_samples(
            _sample(args, model), *_training_samples(args), args.k, **classes
        )
    else:
        rank = "size" if args.by_size else "for"
        explanation = model.explain(_sample(args, model), args.k, **classes, rank=rank)
    if args.plot:
        _draw(explanation, args.plot)
    if args.json:
        print_json(explanation.as_dict())
    else:
        print(explanation)
        best = (f"{elided(str(label), 60)} {score:+.4f}" for label, score in explanation.best)
        print("best: " + ", ".join(best))
    return EXIT_OK


def _sample(args: argparse.Namespace, model: Any) -> Any:
    if (args.sample is None) == (args.data is None):
        raise ValueError("say what to explain: either a TEXT, or --data FILE --row N")
    if args.data is not None:
        return _row_of_file(args)
    if args.row is not None:
        raise ValueError("--row is for --data FILE")
    features = getattr(model, "features_", None)
    if features is None:
        raise ValueError(
            f"{args.model} was trained on LIBSVM text and knows no words: use --data FILE --row N"
        )
    text = sys.stdin.read() if args.sample == "-" else args.sample
    columns = [name for part in features.column_names() for name in part]
    if len(columns) > 1:
        listed = ", ".join(repr(name) for name in columns)
        raise ValueError(
            f"{args.model} takes the columns {listed}, not one text: use --data FILE --row N"
        )
    return {columns[0]: [text]} if columns else text


def _row_of_file(args: argparse.Namespace) -> Any:
    if args.row is None:
        raise ValueError(f"say which sample of {args.data} to explain: --row N, the first is 1")
    model, (X, _, _) = model_and_data(args, labelled=False, verify=False)
    samples = model.features_.transform(X) if hasattr(model, "features_") else X
    if args.row > samples.shape[0]:
        raise ValueError(
            f"{args.data} has {counted(samples.shape[0], 'sample')}: there is no row {args.row}"
        )
    return samples[[args.row - 1]]


def _training_samples(args: argparse.Namespace) -> tuple[Any, Any]:
    training = argparse.Namespace(**vars(args) | {"data": args.samples})
    _, (X, y, _) = model_and_data(training, labelled=True, verify=False)
    return X, y


def _label(given: str | None, classes: NDArray[Any]) -> Any:
    if given is None:
        return None
    label = as_class(given, classes)
    return given if label is None else label


def _draw(explanation: Explanation, path: str) -> None:
    figure = new_figure(6.4, 1.8 + 0.3 * len(explanation.contributions))
    explanation.plot(figure.subplots())
    write_figure(figure, path)
