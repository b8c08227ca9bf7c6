"""What ``multimargin calibrate`` takes."""

from multimargin.cli.support import _arguments as arguments

_TEXT = f"""
calibrate: learn probabilities for a model

Learn from labelled DATA, on which MODEL was not trained, how scores become probabilities, and write
MODEL with that as OUT. Weights and predicted labels stay as they are. Samples of DATA whose label
MODEL does not know are left out. To learn probabilities while training: train --calibrate.

{arguments.MODEL_AND_DATA}
OUT     the file to write; it may be MODEL
--method auto|temperature = auto  temperature: all scores are divided by one number; auto: where it
        pays, large scores also count less, and all classes get a share alike
{arguments.THREADS}
--json  print one JSON object
{arguments.LABELLED_TABLES}

examples:
  multimargin calibrate model held-out.csv model
  multimargin calibrate model held-out.svm calibrated --method temperature
"""

calibrate = arguments.Command(_TEXT, "multimargin.cli._calibrate:calibrate")
