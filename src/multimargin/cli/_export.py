"""``multimargin export``: a model for other runtimes."""

from __future__ import annotations

import argparse
from pathlib import Path

from multimargin.cli.support import _arguments as arguments
from multimargin.cli.support._messages import EXIT_OK, note, print_json
from multimargin.io._atomic import check_writable
from multimargin.models._onnx_export import export_onnx
from multimargin.persistence import load_model


def export(args: argparse.Namespace) -> int:
    arguments.refuse_same_file(args.out, args.model)
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
