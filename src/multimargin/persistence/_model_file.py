"""Model files: one file per model, for every estimator of the package."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from sklearn.exceptions import NotFittedError

from multimargin.estimator._svc import MulticlassSVC
from multimargin.io._array_file import ModelFileError, damaged, read_arrays, write_arrays
from multimargin.models.file._content import check_metadata, pack, unpack
from multimargin.text import TextClassifier


def save_model(
    model: MulticlassSVC,
    path: str | os.PathLike[str],
    *,
    preprocessing: Mapping[str, Any] | None = None,
    weights: str | None = None,
    dual: bool = False,
) -> None:
    """Write a fitted model to one file, atomically.

    Parameters
    ----------
    model : MulticlassSVC
        A fitted estimator.
    path : path-like
        The file to write; its folder must exist.
    preprocessing : dict of JSON values, default=None
        What was done to the samples before training, such as ``{"normalize": "l2"}``, to be
        found again as `preprocessing_` of the loaded model. The `multimargin` command applies
        ``normalize`` by itself; `MulticlassSVC.predict` does not. By default
        `model.preprocessing_`, if the model has that attribute.
    weights : {"float16", "float32"} or None, default=None
        The type of the weights on disk; None: as trained. "float16" has three digits and takes a
        third less for a sparse model, half for a dense one. Such weights are float32 again once
        loaded, in a copy that processes do not share; the certificate of the weights before
        rounding, such as `converged_` and `dual_gap_`, is not kept.
    dual : bool, default=False
        Whether to keep the dual variables, for a `fit` of the loaded model to start from. Needs
        a model that was fitted with ``warm_start=True``.

    Raises
    ------
    ValueError
        If there are no dual variables, or if the weights do not fit into `weights`.
    ModelFileError
        If the model has class labels that are neither numbers nor strings.
    OSError
        If the file cannot be written; an earlier file at `path` is still there.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from multimargin import MulticlassSVC, load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MulticlassSVC(random_state=0, warm_start=True).fit(X[:140], y[:140])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder) / "iris.model", dual=True)
    ...     loaded = load_model(Path(folder) / "iris.model")
    >>> loaded.fit(X, y).n_known_samples_
    140
    """
    if not hasattr(model, "coef_"):
        raise NotFittedError(f"{type(model).__name__} is not fitted: call fit before saving it")
    meta, arrays = pack(path, model, preprocessing=preprocessing, weights=weights, dual=dual)
    write_arrays(path, meta, arrays)


def load_model(
    path: str | os.PathLike[str], *, verify: bool = False, encoder: Any = None
) -> MulticlassSVC:
    """Open a model written by `save_model`.

    The coefficients are read-only views of the memory-mapped file: opening takes milliseconds
    for every size, and processes that use the same model share its memory. (Weights that were
    saved as float16 are converted to float32 when the file is opened, in memory of their own.)

    Parameters
    ----------
    path : path-like
        The file. Replace it while it is in use (as `save_model` does), never shorten it.
    verify : bool, default=False
        Read the whole file, compare its checksums and check every sparse index. Do this once
        for a file from elsewhere.
    encoder : str, object or callable, default=None
        For a `TextClassifier` whose encoder had no name, or is elsewhere now. A folder must hold
        the revision that the model was trained with. A named one is loaded when it is first needed.

    Returns
    -------
    model : MulticlassSVC
        A `TextClassifier` if that was saved. Predicts the same bits as the saved one.
        `preprocessing_` says what was done to the samples before training.

    Raises
    ------
    ModelFileError
        If this is no such file, a newer one, a truncated one or a damaged one.
    OSError
        If the file cannot be opened or read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from multimargin import TextClassifier, load_model, save_model
    >>> model = TextClassifier().fit(["a red rose", "a fast car"], ["flower", "vehicle"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder) / "things.model")
    ...     load_model(Path(folder) / "things.model", verify=True).predict(["my car"]).tolist()
    ['vehicle']
    """
    meta, arrays = read_arrays(path, verify=verify)
    check_metadata(path, meta)
    model = TextClassifier() if "features" in meta else MulticlassSVC()
    try:
        unpack(path, model, meta, arrays, verify)
    except ModelFileError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        # The checksums were right, so the file is as it was written, by something else.
        damaged(path, f"{type(error).__name__}: {error}")
    if encoder is not None:
        if not isinstance(model, TextClassifier):
            raise ValueError(f"{os.fspath(path)} is no model of texts: it takes no encoder")
        model._replace_encoder(encoder)
    return model
