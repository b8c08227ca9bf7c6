"""What ``multimargin info`` takes."""

from multimargin.cli.support import _arguments as arguments

_TEXT = f"""
info: describe a model file

Describe the file MODEL.

{arguments.MODEL}
--verify       read all of it and compare the checksums
--class LABEL  describe this class: its largest weights, and the classes most like it
-k N = 10      weights to list
--json         print one JSON object

examples:
  multimargin info model --verify
  multimargin info model --class refund -k 20
"""

info = arguments.Command(_TEXT, "multimargin.cli._info:info")
