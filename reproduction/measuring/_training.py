"""One fit and its measurements, which have the same names in every experiment."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score

from multimargin.estimator._svc import MulticlassSVC
from multimargin.solvers._solution import Alpha, DenseAlpha

MOST_PASSES = 10**7
"""No limit in practice: what ends a run is its tolerance or its time."""


@dataclass(frozen=True)
class Data:
    """A data set to train and test on.

    Attributes
    ----------
    X : csr_matrix of shape (n_samples, n_features)
    y : ndarray of int of shape (n_samples,)
        Classes from 0.
    X_test : csr_matrix of shape (n_test_samples, n_features)
    y_test : ndarray of int of shape (n_test_samples,)
        Classes that have no training sample count down from -1.
    """

    X: sp.csr_matrix
    y: NDArray[np.int64]
    X_test: sp.csr_matrix
    y_test: NDArray[np.int64]

    @staticmethod
    def encoded(X: Any, y: Any, X_test: Any, y_test: Any) -> Data:
        """Return data whose labels may be anything."""
        classes, codes = np.unique(y, return_inverse=True)
        unknown = np.setdiff1d(y_test, classes)
        known = np.searchsorted(classes, y_test)
        new = -1 - np.searchsorted(unknown, y_test)
        return Data(
            sp.csr_matrix(X),
            codes.astype(np.int64),
            sp.csr_matrix(X_test),
            np.where(np.isin(y_test, classes), known, new).astype(np.int64),
        )


def fit_and_measure(
    parameters: Mapping[str, Any], data: Data, *, alpha_density: bool = False
) -> dict[str, Any]:
    """Train once, test once.

    Parameters
    ----------
    parameters : mapping
        Of `MulticlassSVC`. Unless they say otherwise there is no intercept (the paper has none)
        and no limit of passes.
    data : Data
    alpha_density : bool, default=False
        Whether to count the dual variables, which "llw" and "ovr" hold all of for it.

    Returns
    -------
    dict with
        test_error, micro_f1, macro_f1 : of the test samples, in percent. A sample of a class
            that was not trained is an error. Macro-F1 is the mean over the classes that occur
            among the test labels or the predictions, as scikit-learn has it; a class that is
            never predicted, or never right, has 0.
        density : weights that are not zero, in percent of classes x features;
        alpha_density : dual variables that are not zero, in percent of samples x classes (with
            the own class, which has none but in "ovr"); where asked for;
        gap : relative duality gap;
        violation : largest projected gradient;
        converged : whether the tolerance was reached;
        seconds, passes : of training alone;
        primal, dual : the objective's two sides.
    """
    settings = {"fit_intercept": False, "max_iter": MOST_PASSES, **parameters}
    model = MulticlassSVC(**{**settings, **({"warm_start": True} if alpha_density else {})})
    with warnings.catch_warnings():
        # Whether a fit has converged is among the measurements.
        warnings.simplefilter("ignore", ConvergenceWarning)
        began = time.perf_counter()
        model.fit(data.X, data.y)
        seconds = time.perf_counter() - began
    measured = {
        **scores(data.y_test, model.predict(data.X_test)),
        "density": 100.0 * model.model_density_,
        "gap": float(model.dual_gap_),
        "violation": float(model.violation_),
        "converged": bool(model.converged_),
        "seconds": seconds,
        "passes": int(model.n_iter_),
        "primal": float(model.primal_objective_),
        "dual": float(model.dual_objective_),
    }
    if alpha_density:
        variables = len(data.y) * len(model.classes_)
        measured["alpha_density"] = 100.0 * _nonzero_alphas(model) / variables
    return measured


def scores(y_test: NDArray[np.int64], predicted: NDArray[np.int64]) -> dict[str, float]:
    """Return error, micro-F1 and macro-F1 in percent; see `fit_and_measure`."""
    wrong, right = (
        100.0 * float(np.mean(same)) for same in (predicted != y_test, predicted == y_test)
    )
    macro = float(f1_score(y_test, predicted, average="macro", zero_division=0))
    # With one label per sample, micro-F1 is the share of samples that are right.
    return {
        "test_error": wrong,
        "micro_f1": right,
        "macro_f1": 100.0 * macro,
    }


def _nonzero_alphas(model: MulticlassSVC) -> int:
    alpha = model._warm_alpha
    if isinstance(alpha, DenseAlpha):
        return int(np.count_nonzero(alpha.value))
    assert isinstance(alpha, Alpha)
    own = alpha.slot_begin[:-1]  # holds the sum of the others, which is no variable
    return int(np.count_nonzero(alpha.value) - np.count_nonzero(alpha.value[own]))
