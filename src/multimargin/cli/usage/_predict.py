"""What ``multimargin predict`` takes."""

from __future__ import annotations

from multimargin.cli.support import _arguments as arguments

_TEXT = f"""
predict: predict labels

Write the predicted label of each sample of DATA: one on each line; or, if the name of OUT ends in
.csv, .tsv, .jsonl or .parquet, a table: the columns of DATA, then label, score and margin, which is
the best score less the second. The labels in DATA are not used. LIBSVM text wants one: write 0. Of
samples that may have several labels, the labels with a positive score are written, with the
separator between them, and in a table the label alone.

{arguments.MODEL_AND_DATA}
-o --output OUT  the file to write; - is stdout
--top-k K        write the K best labels with their scores, 'label:score label:score ...' (with
                 tabs between them if labels have spaces); in tables label_1, score_1, label_2, ...
--proba          also the probability of each label, of a calibrated MODEL: in lines in place of
                 the score; in tables a column probability, or probability_1, ...
--coverage C     the set of labels of which one is right with this probability, of a calibrated
                 MODEL: in lines 'label:probability label:probability ...'; in tables also columns
                 set_size and set
--review FILE    with --coverage: a table of the samples for a person to look at, whose sets have
                 more than one label: the columns of DATA, the number of the sample from 1, and the
                 set with its probabilities
--keep COLUMNS   of DATA in a table: all, none, or some, such as id,title (default: all). One that
                 is called as a new one, such as label, is kept as input_label, ...
{arguments.LABEL_SEPARATOR} (default: as in training)
{arguments.THREADS}
{arguments.TABLES}

examples:
  multimargin predict model test.svm -o - --top-k 3 --proba
  multimargin predict model new.csv -o labels.csv --coverage 0.9 --review review.csv --keep id,title
"""


def _kept(text: str) -> str | tuple[str, ...]:
    return text if text == "all" else () if text == "none" else arguments.names(text)


predict = arguments.Command(
    _TEXT,
    work="multimargin.cli._predict:predict",
    together=True,
    options={"output": {"required": True}, "coverage": arguments.share, "keep": _kept},
)
