"""``multimargin prune``: a smaller model, and what it costs."""

from __future__ import annotations

import argparse
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

from multimargin.cli.support import _arguments as arguments
from multimargin.cli.support._held_out import known_only
from multimargin.cli.support._messages import EXIT_OK, note, print_json
from multimargin.cli.support._model_data import features_of, model_and_data
from multimargin.io._atomic import check_writable
from multimargin.io._text_table import text_table
from multimargin.models._pruning import Judge, PruningCost, pruning_costs
from multimargin.models._pruning import prune as prune_model
from multimargin.persistence import load_model, save_model

_CHOICES = ("keep", "threshold", "max_loss")


def prune(args: argparse.Namespace) -> int:
    chosen = _asked(args)
    if args.max_loss is not None and args.data is None:
        raise ValueError("--max-loss needs --data DATA, labelled data to measure it on")
    if args.out is not None:
        if not chosen and args.weights is None:
            raise ValueError("say what to drop: --keep F, --threshold T or --max-loss F")
        arguments.refuse_same_file(args.out, args.model, args.data)
        check_writable(args.out)
    model = load_model(args.model, verify=True).set_params(n_jobs=arguments.n_jobs(args))
    X, y = _data(args)
    costs = pruning_costs(model, X, y)  # of the weights as they are
    if args.weights is not None:
        costs = costs[:1] + pruning_costs(model, X, y, weights=args.weights)
    if args.max_loss is not None:
        chosen |= {"X": X, "y": y, "weights": args.weights}
    pruned = _pruned(model, chosen, X, y, args) if chosen else model
    if chosen or args.weights is not None:
        costs.append(_cost_of(model, pruned, X, y, args))
    if args.out is not None:
        save_model(pruned, args.out, weights=args.weights)
    _report(args, costs)
    return EXIT_OK


def _pruned(model: Any, chosen: Any, X: Any, y: Any, args: argparse.Namespace) -> Any:
    """Prune, and renew the probabilities where there are samples to do it with."""
    if y is None or not hasattr(model, "calibration_"):
        return prune_model(model, **chosen)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that the probabilities are stale
        pruned = prune_model(model, **chosen)
    return pruned.calibrate(*known_only(pruned.classes_, X, y, args.data))


def _asked(args: argparse.Namespace) -> dict[str, Any]:
    return {name: value for name in _CHOICES if (value := getattr(args, name)) is not None}


def _data(args: argparse.Namespace) -> tuple[Any, Any]:
    if args.data is None:
        return None, None
    shared, (X, y, _) = model_and_data(args, labelled=True, verify=False)
    return features_of(shared, X), y


def _cost_of(model: Any, pruned: Any, X: Any, y: Any, args: argparse.Namespace) -> PruningCost:
    if not hasattr(pruned, "pruned_"):
        return pruning_costs(model, X, y, keep=[1.0], weights=args.weights)[0]
    return Judge(model, X, y, args.weights).cost(pruned)


def _report(args: argparse.Namespace, costs: list[PruningCost]) -> None:
    chosen = bool(_asked(args)) or args.weights is not None
    if args.json:
        result: dict[str, Any] = {
            "model": args.model,
            "out": args.out,
            "weights": args.weights,
            "before": asdict(costs[0]),
            "table": [asdict(cost) for cost in (costs[:-1] if chosen else costs)],
        }
        if chosen:
            result["after"] = asdict(costs[-1])
        if args.out is not None:
            result["bytes"] = Path(args.out).stat().st_size
        print_json(result)
        return
    lines = [_cells(cost) for cost in costs]
    if args.weights is not None:
        lines[0][0] += " as is"
    if chosen:
        lines[-1][0] += " chosen"
    titles = ["kept", "threshold", "weights", "on disk", "error", "agreement"]
    print(text_table(titles, lines, left=()))
    if args.out is not None:
        before, after = (Path(name).stat().st_size for name in (args.model, args.out))
        note(f"{args.out}: {after:,} bytes; {args.model} has {before:,}")


def _cells(cost: PruningCost) -> list[str]:
    return [
        f"{100 * cost.keep:.3g} %",
        f"{cost.threshold:.3g}",
        f"{cost.nonzeros:,}",
        f"{cost.bytes / 1e6:,.2f} MB",
        "" if cost.error is None else f"{100 * cost.error:.2f} %",
        "" if cost.agreement is None else f"{100 * cost.agreement:.2f} %",
    ]
