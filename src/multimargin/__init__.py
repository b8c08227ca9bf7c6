"""Exact multi-class support vector machines for thousands of classes."""

from importlib import import_module
from typing import TYPE_CHECKING

from multimargin.io._version import __version__

if TYPE_CHECKING:
    from multimargin.estimator._svc import MulticlassSVC
    from multimargin.io._svmlight import DataFileError, dump_svmlight, load_svmlight
    from multimargin.models._label_tree import LabelTree
    from multimargin.models._measures import mean_label_cost
    from multimargin.models._onnx_export import export_onnx
    from multimargin.models._pruning import PruningCost, prune, pruning_costs
    from multimargin.models.probabilities._calibration import Calibration
    from multimargin.persistence import ModelFileError, load_model, save_model
    from multimargin.selection import path, tune
    from multimargin.solvers.active_set._round_robin import match_class, rounds
    from multimargin.tables import read_table
    from multimargin.text import TextClassifier

__all__ = [
    "Calibration",
    "DataFileError",
    "LabelTree",
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
    "mean_label_cost",
    "path",
    "prune",
    "pruning_costs",
    "read_table",
    "rounds",
    "save_model",
    "tune",
]

# Names are imported when they are first asked for: the command begins in this package, and has to
# answer to Ctrl-C while NumPy, SciPy and scikit-learn are still being loaded.
_HOMES = {
    "estimator._svc": ("MulticlassSVC",),
    "models.probabilities._calibration": ("Calibration",),
    "models._label_tree": ("LabelTree",),
    "models._measures": ("mean_label_cost",),
    "models._onnx_export": ("export_onnx",),
    "models._pruning": ("PruningCost", "prune", "pruning_costs"),
    "solvers.active_set._round_robin": ("match_class", "rounds"),
    "io._svmlight": ("DataFileError", "dump_svmlight", "load_svmlight"),
    "persistence": ("ModelFileError", "load_model", "save_model"),
    "selection": ("path", "tune"),
    "tables": ("read_table",),
    "text": ("TextClassifier",),
}
_MODULES = ("datasets", "distributed", "inspection", "selection", "serving", "tables", "text")

if not TYPE_CHECKING:  # which would take any name for one that is there

    def __getattr__(name):
        if name in _MODULES:
            return import_module(f"{__name__}.{name}")
        for home, names in _HOMES.items():
            if name in names:
                value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        return sorted({*globals(), *__all__, *_MODULES})
