"""What ``multimargin train`` takes."""

from __future__ import annotations

import argparse

from multimargin.cli.support import _arguments as arguments
from multimargin.cli.support._choices import FORMULATIONS, SOLVERS, WEIGHTS
from multimargin.cli.usage._data_rows import DATA_OPTIONS, KINDS, TRAINING

_TEXT = f"""
train: train a model

Train a model on DATA and save it as MODEL. From a table with texts and labels: multimargin train
DATA.csv MODEL --text COLUMN --label COLUMN

{TRAINING}
--seed N = 0            of the random order
MODEL                   the file to write
{arguments.LABEL_SEPARATOR}; needs --formulation ovr
--formulation {"|".join(FORMULATIONS)} = cs
                        {", ".join(f"{name}: {title}" for name, title in FORMULATIONS.items())}
--C C                   weight of losses; inf, for llw, is the hard margin (default: 0.5 for ww,
                        2 for ovr or 1 with the squared hinge, 1 for all others)
--loss hinge|squared_hinge = hinge  squared_hinge is for ovr only
--intercept-scaling S = 1  value of the constant feature behind the intercept: the larger, the less
                        the intercept is regularised
--solver {"|".join(SOLVERS)} = auto
                        all reach the same optimum: passes only visits samples, the others are for
                        llw (default: auto, which for llw is block)
--reductions N = 10     how often per pass llw's alternating and extrapolated solvers take the mean
--stopping gap|violation = gap  what the tolerance bounds: the relative duality gap or the largest
                        violation of the optimality conditions
--max-iter N = 10000    most passes over the samples
--no-shrinking          visit everything in every pass, also what seems settled (slower)
--time-limit S          stop after S seconds of training
--bundles N             bundles of classes, which processes hold and pass on under mpiexec; the
                        model depends on it, and not on the number of processes or threads (default:
                        what is fastest, two for each process, or those of the checkpoint)
--divide classes|samples = classes  samples: under mpiexec on several hosts each reads and keeps a
                        part of the samples, too; the model is the same. For ww and cs and plain
                        LIBSVM text, without checkpoints
{arguments.THREADS}
--checkpoint DIR        keep the state of the run in this folder; the same command goes on from it,
                        on any number of processes. Removed when the tolerance was reached and MODEL
                        is written
--checkpoint-every T    time between two states: 60, 60s, 5m, 1h (default: 60s)
--weights {"|".join(WEIGHTS)}  type of the weights in MODEL (default: as trained); float16 is
                        smaller and has three digits: 'multimargin prune' shows what that costs
--calibrate cv|SHARE|FILE  learn probabilities, too: from five folds of DATA (cv), from a share of
                        it, such as 0.1, or from FILE, which is like DATA. The weights stay the
                        same: of folds and shares, models of the rest of DATA are trained besides
--keep-dual             keep in MODEL what a later training can start from
--start OLD_MODEL       start from a model that was trained with --keep-dual: samples that it had
                        are not learned again, others and new classes are added. As exact as without
--on-interrupt keep|discard  what Ctrl-C does with the model so far: save it as MODEL, or not; a
                        second Ctrl-C ends at once (default: on a terminal it asks, else discard)
--quiet                 no progress and no summary
--json                  print the results as one JSON object
{DATA_OPTIONS}

examples:
  multimargin train products.csv model --text title --label category
  multimargin train train.svm model --formulation ww --C 0.2 --time-limit 600
"""


def _calibration(text: str) -> float | str:
    """Parse "cv", a share, or the name of a file."""
    try:
        share = float(text)
    except ValueError:
        return text
    if not 0 < share < 1:
        raise argparse.ArgumentTypeError(f"{text} is no share between 0 and 1")
    return share


train = arguments.Command(
    _TEXT,
    work="multimargin.cli._train:train",
    together=True,
    options={
        "C": arguments.penalty,
        "intercept_scaling": arguments.positive_float,
        "time_limit": arguments.positive_float,
        "checkpoint_every": arguments.duration,
        "calibrate": _calibration,
        **KINDS,
    },
)
