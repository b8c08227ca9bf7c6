"""What ``multimargin explain`` takes."""

from multimargin.cli.support import _arguments as arguments

_TEXT = f"""
explain: say what decided a prediction

Print the class that MODEL predicts for a text or a row of a file, the runner-up, and how much each
feature, or each training sample, contributes to the difference of their scores.

{arguments.MODEL}
SAMPLE           for models of texts; - reads it from stdin
--data FILE      take the sample from data as the model was trained on
--row N          which one of FILE; the first is 1
-k N = 10        features to list
--class LABEL    explain this class, not the predicted one
--against LABEL  compare with this class, not with the runner-up
--by-size        list the features of the largest contribution either way, not only for the class
--samples FILE   what the model was trained on: list the training samples that decided, which needs
                 train --keep-dual, in place of features
--plot FILE      also draw it: .png, .svg, .pdf
--json           print one JSON object
{arguments.THREADS}
{arguments.LABELLED_TABLES}

examples:
  multimargin explain model "where is my parcel" --against refund
  multimargin explain model --data test.csv --row 17 --samples train.csv
"""

explain = arguments.Command(
    _TEXT,
    "multimargin.cli._explain:explain",
    options={"sample": {"metavar": "TEXT", "nargs": "?"}},
)
