"""``multimargin evaluate``: how well a model predicts a labelled file."""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import asdict
from typing import Any

from multimargin import distributed
from multimargin.cli.support._held_out import require_calibrated
from multimargin.cli.support._label_costs import label_cost_of
from multimargin.cli.support._messages import EXIT_ERROR, EXIT_OK, note, print_json, print_table
from multimargin.cli.support._model_data import features_of, model_and_data
from multimargin.inspection import calibration_report, coverage_report
from multimargin.io._text_table import counted
from multimargin.models._measures import measures
from multimargin.models.label_sets._measures import PRECISIONS, set_measures
from multimargin.parallel._collectives import raise_on_all
from multimargin.parallel._mpi import world

_SURE = (0.9, 0.5)  # shares of the samples
_ROUNDING = 1e-6  # of a relative gap


def evaluate(args: argparse.Namespace) -> int:
    """Load, predict, compare; under ``mpiexec`` each rank scores its classes."""
    model, (raw, y, _) = model_and_data(args, world(), labelled=True)
    with raise_on_all(model.comm):
        given = label_cost_of(args, model.classes_)
    if args.coverage is not None:
        require_calibrated(model, args.model, "--coverage")
    costs = model.get_params()["label_cost"] if given is None else given
    X = features_of(model, raw)
    started = time.perf_counter()
    several = model.multilabel_ is not None
    k = max(args.top_k, *PRECISIONS) if several else args.top_k
    best, _ = model.predict_topk(X, min(k, len(model.classes_)))
    predicted = model._positive(X) if several else None
    seconds = time.perf_counter() - started
    certificate = _certificate(model, raw, y) if args.certify else {}
    calibrated = hasattr(model, "calibration_")
    probable = calibration_report(model, X, y).as_dict() if calibrated else {}
    sets = None if args.coverage is None else coverage_report(model, X, y, args.coverage)
    if model.comm.rank != 0:
        return EXIT_OK
    result = {
        **(
            measures(model.classes_, y, best, costs)
            if predicted is None
            else set_measures(model.classes_, y, predicted, best)
        ),
        # A model that was put together by hand has none.
        "density": float(getattr(model, "model_density_", math.nan)),
        "predict_seconds": seconds,
        **probable,
        **({} if sets is None else {"sets": sets.as_dict()}),
        **certificate,
    }
    _report(args, result)
    if sets is not None and not args.json:
        print(f"\n{sets}")
    return _judged(certificate)


def _certificate(model: distributed.DistributedModel, X: Any, y: Any) -> dict[str, Any]:
    found = asdict(model.certify(X, y))
    claimed = getattr(model, "dual_gap_", None)  # pruned and rounded weights have none
    return {
        "primal_objective": found["primal"],
        "dual_objective": found["dual"],
        "dual_recomputed": found["dual_recomputed"],
        "gap": found["gap"],
        "claimed_gap": None if claimed is None else float(claimed),
    }


def _judged(certificate: dict[str, Any]) -> int:
    """Return the exit status: an error if there is a certificate that does not hold."""
    gap, claimed = certificate.get("gap", 0.0), certificate.get("claimed_gap")
    if gap < -_ROUNDING:
        note(f"error: the duality gap is {gap:.6g}: the model was trained on other data")
    elif claimed is not None and gap > claimed + _ROUNDING:
        note(f"error: the duality gap is {gap:.6g}, but the model claims {claimed:.6g}")
    else:
        return EXIT_OK
    return EXIT_ERROR


def _report(args: argparse.Namespace, result: dict[str, Any]) -> None:
    if result["unseen_samples"]:
        one = result["unseen_samples"] == 1
        has, counts = (
            ("has a label", "it counts as an error")
            if one
            else ("have labels", "they count as errors")
        )
        note(
            f"note: {counted(result['unseen_samples'], 'sample')} {has} the model was not trained "
            f"on; {counts}"
        )
    if args.json:
        print_json(result)
    else:
        _print(result)


def _of_best(result: dict[str, Any]) -> dict[str, str]:
    if "top_k" in result:
        return {f"top-{result['top_k']} accuracy": f"{100 * result['top_k_accuracy']:.2f} %"}
    named = {f"precision@{k}": f"precision_at_{k}" for k in PRECISIONS}
    rows = {title: f"{result[key]:.4f}" for title, key in named.items() if key in result}
    true, predicted = result["labels_per_sample"], result["predicted_per_sample"]
    return rows | {"labels per sample": f"{true:.3g}, predicted {predicted:.3g}"}


def _print(result: dict[str, Any]) -> None:
    rows = {
        "samples": f"{result['samples']:,}",
        "error": f"{100 * result['error']:.2f} %",
        **({"mean cost": f"{result['mean_cost']:.4f}"} if "mean_cost" in result else {}),
        "micro-F1": f"{result['micro_f1']:.4f}",
        "macro-F1": f"{result['macro_f1']:.4f}",
        **_of_best(result),
        "density": f"{100 * result['density']:.3g} %",
        "prediction": f"{result['predict_seconds']:.2f} s",
    }
    if "log_loss" in result:
        rows["log-loss"] = f"{result['log_loss']:.4f}"
        rows["Brier score"] = f"{result['brier']:.4f}"
        rows["calibration error"] = f"{result['calibration_error']:.4f}"
        shares = {each["share"]: each for each in result["coverage"]}
        for share in _SURE:
            sure = f"{100 * shares[share]['accuracy']:.2f} %"
            rows[f"accuracy of the surest {share:.0%}"] = (
                f"{sure} (probability at least {shares[share]['probability']:.3f})"
            )
    if "gap" in result:
        claimed, recomputed = result["claimed_gap"], result["dual_recomputed"]
        rows["primal objective"] = f"{result['primal_objective']:.9g}"
        rows["dual objective"] = f"{result['dual_objective']:.9g}" + (
            "" if recomputed else " (as the model has it, which keeps no dual variables)"
        )
        rows["gap"] = f"{result['gap']:.6g}"
        rows["claimed gap"] = "none" if claimed is None else f"{claimed:.6g}"
    print_table(rows)
