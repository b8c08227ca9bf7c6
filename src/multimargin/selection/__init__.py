"""Choosing C and the formulation."""

from multimargin.selection._grid import default_penalties
from multimargin.selection._path import path
from multimargin.selection._regularization_path import PathPoint, RegularizationPath
from multimargin.selection._tune import tune
from multimargin.selection._tuning import Candidate, Tuning

__all__ = [
    "Candidate",
    "PathPoint",
    "RegularizationPath",
    "Tuning",
    "default_penalties",
    "path",
    "tune",
]
