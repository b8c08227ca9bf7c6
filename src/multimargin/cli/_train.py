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
from multimargin.cli.support._messages import (
    EXIT_NOT_CONVERGED,
    EXIT_OK,
    note,
    print_json,
    print_table,
)
from multimargin.cli.support._training_data import (
    add_data_options,
    add_training_options,
    read_training,
    recorded,
    unfitted,
)
from multimargin.estimator._options import checked_options
from multimargin.estimator._svc import MulticlassSVC
from multimargin.formulations import FORMULATIONS
from multimargin.io._atomic import check_writable
from multimargin.models.file._disk_dtype import STORED
from multimargin.parallel._collectives import allgather_value, raise_on_all
from multimargin.parallel._communicator import Communicator
from multimargin.parallel._mpi import world
from multimargin.persistence import load_model, save_model
from multimargin.solvers._registry import SOLVERS, choose
from multimargin.tables import Table

_EVERY = 60.0  # seconds between two checkpoints


def add_parser(commands: arguments.Commands[argparse.ArgumentParser]) -> None:
    parser = arguments.add_command(
        commands,
        "train",
        run,
        help="train a model",
        description="Train a model on DATA and save it as MODEL. From a table with texts and "
        "labels: multimargin train DATA.csv MODEL --text COLUMN --label COLUMN",
    )
    add_training_options(parser, seed_of="the random order")
    add = arguments.adder(parser)
    add("model", metavar="MODEL", help="the file to write")
    _add_problem_options(parser)
    _add_solver_options(parser)
    arguments.add_threads(parser)
    _add_checkpoint_options(parser)
    _add_model_options(parser)
    add("--quiet", action="store_true", help="no progress and no summary")
    arguments.add_json(parser, "print the results as one JSON object")
    add_data_options(parser)


def _add_problem_options(parser: argparse.ArgumentParser) -> None:
    add = arguments.adder(parser)
    add(
        "--formulation",
        choices=tuple(FORMULATIONS),
        default="ww",
        help=", ".join(f"{name}: {f.title}" for name, f in FORMULATIONS.items()) + "",
    )
    add(
        "--C",
        type=arguments.penalty,
        default=1.0,
        metavar="C",
        help="weight of losses; inf, for llw, is the hard margin",
    )
    add(
        "--loss",
        choices=("hinge", "squared_hinge"),
        default="hinge",
        help="squared_hinge is for ovr only",
    )
    add(
        "--intercept-scaling",
        type=arguments.positive_float,
        default=1.0,
        metavar="S",
        help="value of the constant feature behind the intercept: the larger, the less the "
        "intercept is regularised",
    )


def _add_solver_options(parser: argparse.ArgumentParser) -> None:
    add = arguments.adder(parser)
    add(
        "--solver",
        choices=tuple(dict.fromkeys(name for each in SOLVERS.values() for name in each)),
        default="auto",
        help="all reach the same optimum: passes only visits samples, the others are for llw "
        "(default: auto, which for llw is block)",
    )
    add(
        "--reductions",
        type=arguments.positive_int,
        default=10,
        help="how often per pass llw's alternating and extrapolated solvers take the mean",
    )
    add(
        "--stopping",
        choices=("gap", "violation"),
        default="gap",
        help="what the tolerance bounds: the relative duality gap or the largest violation of "
        "the optimality conditions",
    )
    add(
        "--max-iter",
        type=arguments.positive_int,
        default=10_000,
        help="most passes over the samples",
    )
    add(
        "--no-shrinking",
        action="store_true",
        help="visit everything in every pass, also what seems settled (slower)",
    )
    add(
        "--time-limit",
        type=arguments.positive_float,
        metavar="S",
        help="stop after S seconds of training",
    )
    add(
        "--bundles",
        type=arguments.positive_int,
        help="bundles of classes, which processes hold and pass on under mpiexec; the model "
        "depends on it, and not on the number of processes or threads (default: what is fastest, "
        "two for each process, or those of the checkpoint)",
    )


def _add_checkpoint_options(parser: argparse.ArgumentParser) -> None:
    add = arguments.adder(parser)
    add(
        "--checkpoint",
        metavar="DIR",
        help="keep the state of the run in this folder; the same command goes on from it, on any "
        "number of processes. Removed when the tolerance was reached and MODEL is written",
    )
    add(
        "--checkpoint-every",
        type=arguments.duration,
        metavar="T",
        help="time between two states: 60, 60s, 5m, 1h (default: 60s)",
    )


def _add_model_options(parser: argparse.ArgumentParser) -> None:
    add = arguments.adder(parser)
    add(
        "--weights",
        choices=STORED,
        help="type of the weights in MODEL (default: as trained); float16 is smaller and has three "
        "digits: 'multimargin prune' shows what that costs",
    )
    add(
        "--keep-dual",
        action="store_true",
        help="keep in MODEL what a later training can start from",
    )
    add(
        "--start",
        metavar="OLD_MODEL",
        help="start from a model that was trained with --keep-dual: samples that it had are not "
        "learned again, others and new classes are added. As exact as without",
    )


def run(args: argparse.Namespace) -> int:
    """Train, save, report; under ``mpiexec`` all ranks train together, and rank 0 reports."""
    comm = world()
    _check_alone(args, comm)
    _check_files(args, comm)
    checked_options(unfitted(args).set_params(**_parameters(args)))  # before a long file is read
    choose(args.formulation, args.solver, comm.size, args.bundles, args.checkpoint is not None)
    started = time.perf_counter()
    X, y, template = read_training(args, comm)
    model = template.set_params(**_parameters(args))
    load_seconds = time.perf_counter() - started
    if comm.rank == 0 and not args.quiet:
        what = ", ".join(X.columns) if isinstance(X, Table) else f"{X.shape[1]:,} features"
        note(f"read {X.shape[0]:,} samples with {what} in {load_seconds:.1f} s")
    started, sent_before = time.perf_counter(), comm.bytes_sent
    with warnings.catch_warnings():
        # It says how far the training came and what to change; the exit status says it too.
        warnings.simplefilter("always", ConvergenceWarning)
        trained = _fitted(args, model, X, y, comm)
    train_seconds = time.perf_counter() - started
    sent = allgather_value(comm, comm.bytes_sent - sent_before)
    if isinstance(trained, MulticlassSVC):
        save_model(
            trained,
            args.model,
            preprocessing=recorded(args),
            weights=args.weights,
            dual=args.keep_dual,
        )
    else:
        trained.save(args.model, preprocessing=recorded(args), weights=args.weights)
    if comm.rank == 0:
        _report(args, _result(args, trained, X.shape[0], load_seconds, train_seconds, sent))
    return EXIT_OK if trained.converged_ else EXIT_NOT_CONVERGED


def _fitted(
    args: argparse.Namespace, model: MulticlassSVC, X: Any, y: Any, comm: Communicator
) -> MulticlassSVC | distributed.DistributedModel:
    if args.keep_dual or args.start is not None:
        if args.start is not None:
            _start_from(model, args)
        model.set_params(warm_start=True).fit(X, y)
        return model
    return distributed.fit(
        model,
        X,
        y,
        checkpoint=args.checkpoint,
        checkpoint_every=_EVERY if args.checkpoint_every is None else args.checkpoint_every,
        comm=comm,
    )


def _start_from(model: MulticlassSVC, args: argparse.Namespace) -> None:
    """Give the model the dual variables of another one."""
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
    for option, given in (("--keep-dual", args.keep_dual), ("--start", args.start is not None)):
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
            arguments.refuse_same_file(args.model, args.data)
            if args.start is not None and not Path(args.start).exists():
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), args.start)
            check_writable(args.model)


def _report(args: argparse.Namespace, result: dict[str, Any]) -> None:
    if args.json:
        print_json(result)
    elif not args.quiet:
        _print(result)
    if not result["converged"]:
        note(f"warning: {args.model} is saved, but is not within the tolerance {args.tol:g}")


def _parameters(args: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of the estimator, without those that make features."""
    return {
        "formulation": args.formulation,
        "C": args.C,
        "loss": args.loss,
        "solver": args.solver,
        "n_reductions": args.reductions,
        "tol": args.tol,
        "stopping": args.stopping,
        "max_iter": args.max_iter,
        "fit_intercept": not args.no_intercept,
        "intercept_scaling": args.intercept_scaling,
        "class_weight": args.class_weight,
        "n_jobs": arguments.n_jobs(args),
        "random_state": args.seed,
        "verbose": 0 if args.quiet else 1,
        "time_limit": args.time_limit,
        "n_bundles": args.bundles,
        "shrinking": not args.no_shrinking,
    }


def _result(
    args: argparse.Namespace,
    model: MulticlassSVC | distributed.DistributedModel,
    n_samples: int,
    load_seconds: float,
    train_seconds: float,
    sent: list[int],
) -> dict[str, Any]:
    known = getattr(model, "n_known_samples_", None) if args.start is not None else None
    return {
        "model": args.model,
        "formulation": args.formulation,
        "C": args.C if math.isfinite(args.C) else "inf",  # JSON has no infinity
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
        "load_seconds": load_seconds,
        "train_seconds": train_seconds,
        "ranks": len(sent),
        "bundles": model.n_bundles_,
        "bytes_sent": sent,
    }


def _print(result: dict[str, Any]) -> None:
    rows = {
        "model": result["model"],
        "samples": f"{result['samples']:,}",
        "features": f"{result['features']:,}",
        "classes": f"{result['classes']:,}",
        "passes": f"{result['iterations']:,}",
        "objective": f"{result['primal_objective']:.6g} (dual {result['dual_objective']:.6g})",
        "gap": f"{result['gap']:.3g}",
        "density": f"{100 * result['density']:.3g} %",
        "training": f"{result['train_seconds']:.2f} s",
    }
    if result["ranks"] > 1:
        most = max(result["bytes_sent"]) / 1e6
        bundles = f"{result['bundles']} bundles" if result["bundles"] else "no bundles"
        rows["ranks"] = f"{result['ranks']}, {bundles}, at most {most:.3g} MB sent by one"
    print_table(rows)
