"""Exact multi-class support vector machines for thousands of classes."""

from multimargin._estimator import MulticlassSVC
from multimargin._model_file import ModelFileError, load_model, save_model
from multimargin._schedule import match_class, rounds
from multimargin._svmlight import DataFileError, dump_svmlight, load_svmlight
from multimargin.tables import read_table
from multimargin.text import TextClassifier

__version__ = "0.1.0"

__all__ = [
    "DataFileError",
    "ModelFileError",
    "MulticlassSVC",
    "TextClassifier",
    "__version__",
    "dump_svmlight",
    "load_model",
    "load_svmlight",
    "match_class",
    "read_table",
    "rounds",
    "save_model",
]
