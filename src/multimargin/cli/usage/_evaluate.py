"""What ``multimargin evaluate`` takes."""

from multimargin.cli.support import _arguments as arguments
from multimargin.cli.usage._data_rows import LABEL_COSTS

_TEXT = f"""
evaluate: measure a model on labelled data

Compare the predictions of MODEL with the labels in DATA. Labels that the model does not know count
as errors. Macro-F1 is the mean over all labels that are in DATA or were predicted. The mean cost,
by the costs that the model was trained with or that are given here, is that of all samples whose
label has costs. Of a calibrated MODEL also log-loss (of labels that it knows), Brier score and
calibration error of the probabilities, and the accuracy of the samples that it is surest of; and,
with a coverage, how large prediction sets are and how often they hold the label. Of samples with
several labels: the error is the share whose set of labels is not predicted as a whole, and
precision@k the share of right labels among the K best.

{arguments.MODEL_AND_DATA}
--top-k K = 5  also how often the label is among the K best
--coverage C   the sets of 'predict --coverage C', also by their size and by label
--certify      DATA is what the model was trained on: compute the objectives and the duality gap
               anew, from the weights in the file and, where they were kept (train --keep-dual), the
               dual variables. The exit status is 1 if the gap is larger than what the model claims
{arguments.LABEL_SEPARATOR} (default: as in training)
{LABEL_COSTS}
{arguments.THREADS}
--json         print the results as one JSON object
{arguments.LABELLED_TABLES}

examples:
  multimargin evaluate model test.csv --top-k 3 --coverage 0.9
  multimargin evaluate model train.svm --certify
"""

evaluate = arguments.Command(
    _TEXT,
    work="multimargin.cli._evaluate:evaluate",
    together=True,
    options={"coverage": arguments.share},
)
