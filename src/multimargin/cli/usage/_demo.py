"""What ``multimargin demo`` takes."""

from multimargin.cli.support import _arguments as arguments

_TEXT = f"""
demo: train on WordNet definitions and ask the model

Train a Weston-Watkins SVM that tells what kind of thing a definition defines: 65,025 WordNet
definitions, 12,582 classes. Then type your own definitions.

--script      end after the examples; do not ask for input
--save MODEL  also save the model, which takes raw definitions
{arguments.THREADS}

examples:
  multimargin demo
  multimargin demo --script --save model
"""

demo = arguments.Command(_TEXT, "multimargin.cli._demo:demo")
