"""Saving and opening models, of whichever estimator."""

from multimargin.io._array_file import ModelFileError
from multimargin.persistence._model_file import load_model, save_model

__all__ = ["ModelFileError", "load_model", "save_model"]
