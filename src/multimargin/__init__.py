"""Exact multi-class support vector machines for thousands of classes."""

from multimargin._estimator import MulticlassSVC
from multimargin._model_file import ModelFileError, load_model, save_model
from multimargin._onnx_export import export_onnx
from multimargin._pruning import PruningCost, prune, pruning_costs
from multimargin._schedule import match_class, rounds
from multimargin._svmlight import DataFileError, dump_svmlight, load_svmlight
from multimargin.selection import path, tune
from multimargin.tables import read_table
from multimargin.text import TextClassifier

__version__ = "0.1.0"

__all__ = [
    "DataFileError",
    "ModelFileError",
    "MulticlassSVC",
    "PruningCost",
    "TextClassifier",
    "__version__",
    "dump_svmlight",
    "export_onnx",
    "load_model",
    "load_svmlight",
    "match_class",
    "path",
    "prune",
    "pruning_costs",
    "read_table",
    "rounds",
    "save_model",
    "tune",
]
