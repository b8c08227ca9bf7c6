"""``multimargin train``: from a data file to a model file."""

from __future__ import annotations

import argparse
import errno
import math
import os
import time
import warnings
from pathlib import Path
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from multimargin import distributed
from multimargin.cli.support import _arguments as arguments
from multimargin.cli.support._held_out import calibration_text, read_held_out
from multimargin.cli.support._interrupted import can_ask, is_kept, say_that_it_ends
from multimargin.cli.support._messages import (
    EXIT_INTERRUPTED,
    exit_status,
    note,
    print_json,
    print_table,
)
from multimargin.cli.support._training_data import read_training, recorded, unfitted
from multimargin.distributed._fit import check_divisible
from multimargin.estimator._options import checked_options
from multimargin.estimator._samples import refuse_sets
from multimargin.estimator._svc import MulticlassSVC
from multimargin.formulations import FORMULATIONS
from multimargin.io._atomic import check_writable
from multimargin.io._interrupts import interrupts_ask
from multimargin.io._text_table import counted
from multimargin.models.probabilities._calibration import Calibration
from multimargin.parallel._collectives import allgather_value, raise_on_all
from multimargin.parallel._communicator import Communicator
from multimargin.parallel._mpi import world
from multimargin.persistence import load_model, save_model
from multimargin.solvers._registry import choose
from multimargin.tables import Table

_EVERY = 60.0  # seconds between two checkpoints
# Parameters of the estimator that are called as their options are.
_PARAMETERS = ("formulation", "C", "loss", "solver", "stopping", "max_iter", "time_limit")


def train(args: argparse.Namespace) -> int:
    """Train, save, report; under ``mpiexec`` all ranks train together, and rank 0 reports."""
    comm = world()
    _check_alone(args, comm)
    _check_files(args, comm)
    # Before a long file is read.
    wanted = unfitted(args).set_params(**_parameters(args))
    options = checked_options(wanted)
    if args.divide == "samples":
        check_divisible(wanted, args.checkpoint)
    if args.label_separator is not None:
        refuse_sets(options)
    choose(args.formulation, args.solver, comm.size, args.bundles, args.checkpoint is not None)
    started = time.perf_counter()
    X, y, template = read_training(args, comm)
    model = template.set_params(**_parameters(args))
    held_out = read_held_out(args, X, y)
    load_seconds = time.perf_counter() - started
    if comm.rank == 0 and not args.quiet:
        what = ", ".join(X.columns) if isinstance(X, Table) else counted(X.shape[1], "feature")
        note(f"read {counted(X.shape[0], 'sample')} with {what} in {load_seconds:.1f} s")
    started, sent_before = time.perf_counter(), comm.bytes_sent
    with warnings.catch_warnings():
        # It says how far the training came and what to change; the exit status says it too.
        warnings.simplefilter("always", ConvergenceWarning)
        trained, interrupted = _fitted_or_interrupted(args, model, X, y, comm)
    if held_out is not None:
        trained.calibrate(*held_out)
    train_seconds = time.perf_counter() - started
    sent = allgather_value(comm, comm.bytes_sent - sent_before)
    stored: dict[str, Any] = {"preprocessing": recorded(args), "weights": args.weights}
    if isinstance(trained, MulticlassSVC):
        save_model(trained, args.model, **stored, dual=args.keep_dual)
    else:
        trained.save(args.model, **stored)
    if comm.rank == 0:
        _report(args, _result(args, trained, X.shape[0], load_seconds, train_seconds, sent))
    return EXIT_INTERRUPTED if interrupted else exit_status(trained)


def _fitted_or_interrupted(
    args: argparse.Namespace, model: MulticlassSVC, X: Any, y: Any, comm: Communicator
) -> tuple[MulticlassSVC | distributed.DistributedModel, bool]:
    """Return the model, and whether Ctrl-C ended it before its tolerance; such a one is kept."""
    wanted = args.on_interrupt or ("ask" if comm.size == 1 and can_ask() else "discard")
    if wanted == "discard":
        return _fitted(args, model, X, y, comm), False
    with interrupts_ask(say_that_it_ends) as request:
        trained = _fitted(args, model, X, y, comm)
    if not request.asked or trained.converged_:
        return trained, False
    if not is_kept(args.model, trained, args.tol, wanted == "ask"):
        raise KeyboardInterrupt
    return trained, True


def _fitted(
    args: argparse.Namespace, model: MulticlassSVC, X: Any, y: Any, comm: Communicator
) -> MulticlassSVC | distributed.DistributedModel:
    if args.keep_dual or args.start is not None:
        if args.start is not None:
            _start_from(model, args)
        return model.set_params(warm_start=True).fit(X, y)
    return distributed.fit(
        model,
        X,
        y,
        checkpoint=args.checkpoint,
        checkpoint_every=_EVERY if args.checkpoint_every is None else args.checkpoint_every,
        comm=comm,
    )


def _start_from(model: MulticlassSVC, args: argparse.Namespace) -> None:
    old = load_model(args.start, verify=True)
    if not hasattr(old, "_warm_alpha"):
        raise ValueError(
            f"{args.start} has nothing to start from: train it with --keep-dual, or leave --start "
            "out"
        )
    if old.formulation != model.formulation or old.loss != model.loss:
        note(
            f"note: {args.start} was trained with {old.formulation!r} and {old.loss!r}: training "
            "starts anew"
        )
    model._warm_alpha, model._warm_samples = old._warm_alpha, old._warm_samples


def _check_alone(args: argparse.Namespace, comm: Communicator) -> None:
    """Refuse options that need one process, where there are several or checkpoints."""
    options = {
        "--keep-dual": args.keep_dual,
        "--start": args.start is not None,
        "--free-intercept": args.free_intercept,
    }
    if args.on_interrupt == "keep" and comm.size > 1:
        raise ValueError(
            f"--on-interrupt keep does not work with {comm.size} processes, which mpiexec ends: "
            "--checkpoint DIR keeps the state of the run"
        )
    for option, given in options.items():
        if given and (comm.size > 1 or args.checkpoint is not None):
            other = "--checkpoint" if comm.size == 1 else f"{comm.size} processes"
            raise ValueError(
                f"{option} does not work with {other}: train in one process, without checkpoints"
            )


def _check_files(args: argparse.Namespace, comm: Communicator) -> None:
    """Check the files before hours of training, not after."""
    if args.checkpoint_every is not None and args.checkpoint is None:
        raise ValueError("--checkpoint-every needs --checkpoint DIR, the folder to write to")
    with raise_on_all(comm):
        if comm.rank == 0:
            arguments.refuse_same_file(args.model, args.data, args.labels)
            for name in (args.start, args.calibrate if _is_file(args.calibrate) else None):
                if name is not None and not Path(name).exists():
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
            check_writable(args.model)


def _report(args: argparse.Namespace, result: dict[str, Any]) -> None:
    if args.json:
        print_json(result)
    elif not args.quiet:
        _print(result)
    if not result["converged"]:
        note(f"warning: {args.model} is saved, but is not within the tolerance {args.tol:g}")


def _parameters(args: argparse.Namespace) -> dict[str, Any]:
    return {
        **{name: getattr(args, name) for name in _PARAMETERS},
        "intercept_scaling": args.intercept_scaling,
        "n_reductions": args.reductions,
        "verbose": 0 if args.quiet else 1,
        "n_bundles": args.bundles,
        "shrinking": not args.no_shrinking,
        "calibration": None if _is_file(args.calibrate) else args.calibrate,
    }


def _is_file(calibrate: Any) -> bool:
    return isinstance(calibrate, str) and calibrate != "cv"


def _result(
    args: argparse.Namespace,
    model: MulticlassSVC | distributed.DistributedModel,
    n_samples: int,
    load_seconds: float,
    train_seconds: float,
    sent: list[int],
) -> dict[str, Any]:
    known = getattr(model, "n_known_samples_", None) if args.start is not None else None
    C = FORMULATIONS[args.formulation].penalty(args.C, args.loss)
    return {
        "model": args.model,
        "formulation": args.formulation,
        "C": C if math.isfinite(C) else "inf",  # JSON has no infinity
        "samples": n_samples,
        "features": int(model.n_features_in_),
        "classes": len(model.classes_),
        **({"known_samples": known} if known is not None else {}),
        "converged": bool(model.converged_),
        "iterations": int(model.n_iter_),
        "primal_objective": float(model.primal_objective_),
        "dual_objective": float(model.dual_objective_),
        "gap": float(model.dual_gap_),
        "violation": float(model.violation_),
        "density": float(model.model_density_),
        **({"calibration": made.as_dict()} if (made := _calibration(model)) else {}),
        "load_seconds": load_seconds,
        "train_seconds": train_seconds,
        "ranks": len(sent),
        "bundles": model.n_bundles_,
        "bytes_sent": sent,
    }


def _calibration(model: Any) -> Calibration | None:
    return getattr(model, "calibration_", None)


def _print(result: dict[str, Any]) -> None:
    rows = {
        "model": result["model"],
        "formulation": f"{FORMULATIONS[result['formulation']].title}, C = {float(result['C']):g}",
        "samples": f"{result['samples']:,}",
        "features": f"{result['features']:,}",
        "classes": f"{result['classes']:,}",
        "passes": f"{result['iterations']:,}",
        "objective": f"{result['primal_objective']:.6g} (dual {result['dual_objective']:.6g})",
        "gap": f"{result['gap']:.3g}",
        "density": f"{100 * result['density']:.3g} %",
        "training": f"{result['train_seconds']:.2f} s",
    }
    if "calibration" in result:
        rows["probabilities"] = calibration_text(Calibration.of(result["calibration"]))
    if result["ranks"] > 1:
        most = max(result["bytes_sent"]) / 1e6
        bundles = f"{result['bundles']} bundles" if result["bundles"] else "no bundles"
        rows["ranks"] = f"{result['ranks']}, {bundles}, at most {most:.3g} MB sent by one"
    print_table(rows)
