"""Fits of the study: along rising C, each from the one before, or from zero; and LinearSVC."""

from __future__ import annotations

import multiprocessing
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from benchmarks.common.evaluate import macro_f1
from benchmarks.defaults.choices import LINEAR_SVC, Kind
from benchmarks.defaults.results import Results, Row
from benchmarks.defaults.sets import Trial
from multimargin import MulticlassSVC
from multimargin.selection._warm_fits import WarmFits, dense_bytes

_TOL = 0.01
_MOST_BYTES = 2**30  # of a dense model
_TOP, _BLOCK = 5, 500


def measures(model: Any, X: sp.csr_matrix, y: np.ndarray) -> tuple[float, float, float]:
    """Error, macro-F1 and top-5 error of a model with a `decision_function`."""
    best, missed = np.empty_like(y), 0
    for begin in range(0, len(y), _BLOCK):
        rows = slice(begin, begin + _BLOCK)
        scores = model.decision_function(X[rows])
        best[rows] = model.classes_[scores.argmax(axis=1)]
        k = min(_TOP, scores.shape[1])
        top = model.classes_[np.argpartition(scores, -k, axis=1)[:, -k:]]
        missed += int(np.count_nonzero((top != y[rows][:, None]).all(axis=1)))
    return float(np.mean(best != y)), macro_f1(y, best), missed / len(y)


def _row(name: str, trial: Trial, kind: Kind, C: float, model: Any, **more: Any) -> Row:
    error, f1, top5 = measures(model, *trial.test) if model is not None else 3 * (np.nan,)
    held_out = measures(model, *trial.validation)[0] if model is not None else np.nan
    return Row(
        dataset=name,
        formulation=kind.formulation,
        loss=kind.loss,
        intercept=kind.intercept,
        C=C,
        classes=trial.n_classes,
        samples=len(trial.fit[1]),
        squared_norm=trial.squared_norm,
        validation_error=held_out,
        error=error,
        macro_f1=f1,
        top5_error=top5,
        **more,
    )


def _estimator(kind: Kind, limit_s: float) -> MulticlassSVC:
    return MulticlassSVC(
        kind.formulation,
        loss=kind.loss,
        fit_intercept=kind.intercept,  # type: ignore[arg-type]
        tol=_TOL,
        n_jobs=1,
        random_state=0,
        time_limit=limit_s,
    )


def affordable(trial: Trial, kind: Kind) -> bool:
    """Whether the dense arrays of a fit have room."""
    n, d = trial.fit[0].shape
    return dense_bytes(kind.formulation, n, d, trial.n_classes) <= _MOST_BYTES


def along(
    results: Results, name: str, trial: Trial, kind: Kind, Cs: Sequence[float], limit_s: float
) -> None:
    """Fit for each C that is missing, rising, until one takes longer than the limit.

    The smallest ones may do so, too: their models need most classes of every sample.
    """
    missing = [C for C in Cs if (name, kind, C, False) not in results]
    if not missing or not affordable(trial, kind) or _over(results.of(name, kind, cold=False)):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the row says so
        fits = WarmFits(_estimator(kind, limit_s), *trial.fit)
        began = time.process_time()
        for fit in fits.along(tuple(missing)):
            seconds = time.process_time() - began
            results.add(_fitted(name, trial, kind, fit.model, seconds, cold=False))
            if _over(results.of(name, kind, cold=False)):
                return
            began = time.process_time()


def _over(path: Sequence[Row]) -> bool:
    """Whether the largest C was stopped by the time limit, but not all of them."""
    rising = sorted(path, key=lambda row: row.C)
    return any(row.converged for row in rising) and not rising[-1].converged


def from_zero(
    results: Results, name: str, trial: Trial, kind: Kind, C: float, limit_s: float
) -> None:
    """Fit once, as users do; seconds of processor time are those of ``fit``."""
    if (name, kind, C, True) in results or not affordable(trial, kind):
        return
    model = _estimator(kind, limit_s).set_params(C=C)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        began = time.process_time()
        model.fit(*trial.fit)
    seconds = time.process_time() - began
    results.add(_fitted(name, trial, kind, model, seconds, cold=True))


def _fitted(
    name: str, trial: Trial, kind: Kind, model: MulticlassSVC, seconds: float, *, cold: bool
) -> Row:
    about = {"cold": cold, "seconds": seconds, "gap": float(model.dual_gap_)}
    return _row(name, trial, kind, float(model.C), model, converged=bool(model.converged_), **about)


def linear_svc(results: Results, name: str, trial: Trial, limit_s: float) -> None:
    """Fit scikit-learn's LinearSVC as it is, in a process that is ended after the limit."""
    if (name, LINEAR_SVC, 1.0, True) in results:
        return
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_train_linear_svc, args=(trial, theirs))
    process.start()
    theirs.close()  # so that a process that fails is an end of the file here
    try:
        model, seconds = ours.recv() if ours.poll(limit_s) else (None, limit_s)
    except EOFError:
        raise RuntimeError(f"LinearSVC failed on {name}: its message is above") from None
    finally:
        process.kill()
        process.join()
    about = {"cold": True, "seconds": seconds, "gap": np.nan, "converged": model is not None}
    results.add(_row(name, trial, LINEAR_SVC, 1.0, model, **about))


def _train_linear_svc(trial: Trial, pipe: Any) -> None:
    from sklearn.svm import LinearSVC

    X, y = trial.fit
    warnings.simplefilter("ignore", ConvergenceWarning)
    began = time.process_time()
    model = LinearSVC(random_state=0).fit(sp.csr_matrix(X, dtype=np.float64), y)
    pipe.send((model, time.process_time() - began))
