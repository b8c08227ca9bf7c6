"""What ``multimargin report`` takes."""

from multimargin.cli.support import _arguments as arguments

_TEXT = f"""
report: measure each class of a model on labelled data

Print precision, recall, F1 and support of the classes in DATA, and the classes that MODEL most
often takes for each other; of a calibrated MODEL also how far its probabilities can be relied on.

{arguments.MODEL_AND_DATA}
--per-class FILE     write all classes to this CSV file
--sort label|precision|recall|f1|support|predicted = support  order of the classes: labels rise,
                     samples fall, the worst come first
--confusions N = 10  pairs of classes to list
--plot FILE          draw F1 over support and the most confused classes; and accuracy over
                     probability and over coverage
--json               print one JSON object, with all classes
{arguments.THREADS}
{arguments.LABELLED_TABLES}

examples:
  multimargin report model test.csv --sort f1
  multimargin report model test.csv --per-class classes.csv --plot classes.png
"""

report = arguments.Command(_TEXT, "multimargin.cli._report:report")
