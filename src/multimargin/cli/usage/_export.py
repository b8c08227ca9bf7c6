"""What ``multimargin export`` takes."""

from multimargin.cli.support import _arguments as arguments

_TEXT = f"""
export: write a model as ONNX

Write MODEL as the ONNX file OUT, for onnxruntime and others. Of a model of texts the linear part is
written: its input are the features.

{arguments.MODEL}
OUT.onnx   the file to write
--inputs dense|sparse = dense  dense: X of samples x features; sparse: ids and values of the
           features that each sample has
--top-k K  the K best labels and their scores in place of all scores
--json     print one JSON object

examples:
  multimargin export model model.onnx
  multimargin export model model.onnx --inputs sparse --top-k 5
"""

export = arguments.Command(_TEXT, "multimargin.cli._export:export")
