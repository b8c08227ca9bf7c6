"""What ``multimargin prune`` takes."""

from multimargin.cli.support import _arguments as arguments
from multimargin.cli.support._choices import WEIGHTS

_TEXT = f"""
prune: drop small weights of a model, and show what that costs

Write MODEL without its small weights as OUT. Prints what is left at several thresholds; with --data
also the error there and how often predictions are those of the whole model, and the probabilities
of a calibrated MODEL are learnt anew there. Without OUT nothing is written.

{arguments.MODEL}
OUT            the file to write
--keep F       keep this share of the weights
--threshold T  drop weights smaller than T
--max-loss F   as few weights as possible while the error on --data rises by no more than this,
               such as 0.005
--data DATA    labelled data to measure the cost on
--weights {"|".join(WEIGHTS)}  type of the weights in OUT (default: as they are); float16 is smaller
               and has three digits; the error shown is with it
{arguments.THREADS}
--json         print one JSON object
{arguments.LABELLED_TABLES}

examples:
  multimargin prune model --data test.csv
  multimargin prune model small --max-loss 0.005 --data test.csv
"""

prune = arguments.Command(
    _TEXT,
    work="multimargin.cli._prune:prune",
    options={
        "exclusive": ("keep", "threshold", "max_loss"),
        "out": {"nargs": "?"},
        "keep": arguments.checked(float, lambda x: 0 < x <= 1, "a share above 0 and of at most 1"),
        "threshold": arguments.positive_float,
        "max_loss": arguments.checked(float, lambda x: 0 <= x < 1, "a share from 0 to below 1"),
    },
)
