"""``multimargin export``: a model for other runtimes."""

from __future__ import annotations

import argparse
from pathlib import Path

from multimargin.cli.support._common import (
    EXIT_OK,
    note,
    positive_int,
    print_json,
    refuse_same_file,
)
from multimargin.io._atomic import check_writable
from multimargin.models._onnx_export import export_onnx
from multimargin.persistence import load_model


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand to the command."""
    parser = commands.add_parser(
        "export",
        help="write a model as ONNX",
        description="Write MODEL as the ONNX file OUT, for onnxruntime and others. Of a model of "
        "texts the linear part is written: its input are the features.",
    )
    parser.set_defaults(run=run)
    parser.add_argument("model", metavar="MODEL", help="a file written by 'multimargin train'")
    parser.add_argument("out", metavar="OUT.onnx", help="the file to write")
    parser.add_argument(
        "--inputs",
        choices=("dense", "sparse"),
        default="dense",
        help="dense: X of samples x features; sparse: ids and values of the features that each "
        "sample has (default: dense)",
    )
    parser.add_argument(
        "--top-k",
        type=positive_int,
        metavar="K",
        help="the K best labels and their scores in place of all scores",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Load, write."""
    refuse_same_file(args.out, args.model)
    check_writable(args.out)
    model = load_model(args.model, verify=True)
    export_onnx(model, args.out, inputs=args.inputs, top_k=args.top_k)
    size = Path(args.out).stat().st_size
    if args.json:
        print_json({"model": args.model, "out": args.out, "inputs": args.inputs, "bytes": size})
    else:
        note(f"{args.out}: {size:,} bytes")
    if hasattr(model, "features_"):
        note(
            "note: the file takes features, not texts: those of model.features_.transform in "
            "Python, whose names are in its metadata"
        )
    return EXIT_OK
