"""``multimargin calibrate``: probabilities for a model that is there."""

from __future__ import annotations

import argparse

from multimargin.cli.support import _arguments as arguments
from multimargin.cli.support._held_out import calibration_text, known_only
from multimargin.cli.support._messages import EXIT_OK, print_json, print_table
from multimargin.cli.support._model_data import features_of, model_and_data
from multimargin.io._array_file import read_arrays, write_arrays
from multimargin.io._atomic import check_writable
from multimargin.models.file._content import pack_nonconformity
from multimargin.models.label_sets._sets import require_one_label


def calibrate(args: argparse.Namespace) -> int:
    """Write the model file once more, every array as it is, with the calibration."""
    arguments.refuse_same_file(args.out, args.data)
    check_writable(args.out)
    model, (X, y, _) = model_and_data(args, labelled=True)
    require_one_label(model, "calibrate")
    X, y = known_only(model.classes_, features_of(model, X), y, args.data)
    made = model.calibrate(X, y, method=args.method).calibration_
    meta, arrays = read_arrays(args.model)
    pack_nonconformity(model, arrays)
    write_arrays(args.out, meta | {"calibration": made.as_dict()}, arrays)
    if args.json:
        print_json({"model": args.model, "out": args.out, **made.as_dict()})
    else:
        print_table({"model": args.out, "probabilities": calibration_text(made)})
    return EXIT_OK
