"""Comparing formulations and values of C on held-out samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from multimargin.estimator._svc import MulticlassSVC
from multimargin.formulations import FORMULATIONS
from multimargin.models._arguments import whole_number
from multimargin.selection._grid import check_formulation, checked_penalties, default_penalties
from multimargin.selection._measure import HeldOut, measure_named
from multimargin.selection._path import point_of
from multimargin.selection._splits import checked_labels, folds_of, holdout_of, rows_of, seen_once
from multimargin.selection._tuning import Candidate, Tuning
from multimargin.selection._warm_fits import WarmFits, dense_bytes

# What is compared where no formulations are asked for.
USUAL = tuple(name for name, facts in FORMULATIONS.items() if facts.tried_by_default)
_FOLDS = 5
_MOST_DENSE_BYTES = 2**30  # of a formulation that is tried without being asked for

# The parts of a split: training samples, labels and weights; held-out samples and labels.
_Parts = tuple[Any, NDArray[Any], Any, Any, NDArray[Any]]


def tune(
    X: Any,
    y: ArrayLike,
    *,
    estimator: MulticlassSVC | None = None,
    formulations: str | Sequence[str] | None = None,
    Cs: Any = None,
    folds: int | None = None,
    holdout: float | None = None,
    validation: tuple[Any, ArrayLike] | None = None,
    measure: str = "error",
    top_k: int = 5,
    sample_weight: ArrayLike | None = None,
    split_seed: int = 0,
    **parameters: Any,
) -> Tuning:
    """Compare formulations and values of C on samples that were not trained on.

    On each split, the models of a formulation are fitted along rising C, each from the one before
    (`multimargin.path`). Splits are stratified; a label that is seen once stays in training. A
    `TextClassifier` learns its features from the training part of each split alone.

    Parameters
    ----------
    X, y
        Samples and labels, as the estimator's ``fit`` takes them.
    estimator : MulticlassSVC or None, default=None
        Whose other parameters count, a `TextClassifier` for example. None: a `MulticlassSVC`.
    formulations : str, sequence of str or None, default=None
        Those to try, or "all". None: of "ww", "cs", "llw" and "ovr" all whose models are sparse
        or take less than 1 GiB.
    Cs : sequence of float, mapping of formulation to such, or None, default=None
        None: ten values each, see `multimargin.selection.default_penalties`.
    folds : int or None, default=None
        Cross-validation with so many folds: 5 unless `holdout` or `validation` is given.
    holdout : float or None, default=None
        Hold out this share of the samples, once.
    validation : tuple (X, y) or None, default=None
        Train on all of `X` and measure on these.
    measure : {"error", "mean-cost", "micro-f1", "macro-f1", "top-k"}, default="error"
        The measure that candidates are compared by; all are measured. "mean-cost" needs the
        parameter `label_cost`, with which only formulations that take it are tried.
    top_k : int, default=5
    sample_weight : array-like of shape (n_samples,), default=None
        For training; measures count samples.
    split_seed : int, default=0
        Seeds the splits.
    **parameters
        Further parameters of the estimator: ``tol=0.001``, ``n_jobs=-1``.

    Returns
    -------
    tuning : Tuning
        ``MulticlassSVC(**tuning.best().parameters)`` is the best; ``tuning.plot()`` shows all.

    Examples
    --------
    >>> import multimargin
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> found = multimargin.tune(X, y, formulations="ww", Cs=[0.01, 1], folds=3, random_state=0)
    >>> found.best().parameters
    {'formulation': 'ww', 'C': 1.0}
    >>> len(found.best().values("error"))
    3
    """
    given = {name: value for name, value in locals().items() if name != "parameters"}
    return Tuner(**given, **parameters).run()


class Tuner:
    """A comparison under way, of so many steps; parameters as of `tune`.

    `tuning` has all measurements so far, also of an interrupted run.
    """

    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        *,
        estimator: MulticlassSVC | None = None,
        formulations: str | Sequence[str] | None = None,
        Cs: Any = None,
        folds: int | None = None,
        holdout: float | None = None,
        validation: tuple[Any, ArrayLike] | None = None,
        measure: str = "error",
        top_k: int = 5,
        sample_weight: ArrayLike | None = None,
        split_seed: int = 0,
        **parameters: Any,
    ) -> None:
        template = clone(MulticlassSVC() if estimator is None else estimator)
        self._template: MulticlassSVC = template.set_params(**parameters)
        self._X, self._y = X, checked_labels(X, y, "training")
        self._classes = np.unique(self._y)
        if len(self._classes) < 2:
            raise ValueError(
                f"samples of at least 2 classes are needed, got 1: {self._classes.tolist()!r}"
            )
        self._weight = None if sample_weight is None else np.asarray(sample_weight)
        self._splits = self._chosen_splits(folds, holdout, validation, split_seed)
        if measure_named(measure).key == "mean_cost" and self._template.label_cost is None:
            raise ValueError("measure='mean-cost' needs costs between labels: give label_cost")
        self._names, left_out = self._chosen(formulations)
        self._Cs = {name: _penalties(Cs, name, len(self._classes)) for name in self._names}
        once = 0 if validation is not None else seen_once(self._y)
        self.tuning = Tuning(
            measure, whole_number("top_k", top_k, 1), len(self._splits), once, left_out
        )
        self.steps = len(self._splits) * sum(map(len, self._Cs.values()))

    def run(self, on_step: Callable[[Candidate], None] = lambda _: None) -> Tuning:
        """Fit and measure everything; tell `on_step` the candidate after each of its fits."""
        for split in self._splits:
            X, y, weight, X_test, y_test = split()
            fits = WarmFits(self._template, X, y, weight, self._names)
            test = HeldOut(X_test, y_test, self.tuning.top_k)
            for name in self._names:
                for fit in fits.along(self._Cs[name], name):
                    point = replace(point_of(fit, test.measured(fit.model)), model=None)
                    self.tuning.add(name, point)
                    on_step(self.tuning[name, point.C])
        return self.tuning

    # ------------------------------------------------------------ splits and candidates

    def _chosen_splits(
        self,
        folds: int | None,
        holdout: float | None,
        validation: tuple[Any, ArrayLike] | None,
        seed: int,
    ) -> list[Callable[[], _Parts]]:
        given = {"folds": folds, "holdout": holdout, "validation": validation}
        names = [name for name, value in given.items() if value is not None]
        if len(names) > 1:
            raise ValueError(f"{' and '.join(names)} exclude each other: give one of them")
        if validation is not None:
            held_out = (validation[0], checked_labels(*validation, "validation"))
            return [lambda: (self._X, self._y, self._weight, *held_out)]
        if holdout is not None:
            return [partial(self._parts, *holdout_of(self._y, holdout, seed))]
        count = _FOLDS if folds is None else whole_number("folds", folds, 1)
        return [partial(self._parts, *pair) for pair in folds_of(self._y, count, seed)]

    def _parts(self, train: NDArray[np.intp], test: NDArray[np.intp]) -> _Parts:
        X, y, weight = self._X, self._y, self._weight
        trained = None if weight is None else weight[train]
        return rows_of(X, train), y[train], trained, rows_of(X, test), y[test]

    def _chosen(
        self, formulations: str | Sequence[str] | None
    ) -> tuple[tuple[str, ...], dict[str, str]]:
        """Return the formulations to try, and why others are not tried."""
        if isinstance(formulations, str):
            formulations = tuple(FORMULATIONS) if formulations == "all" else (formulations,)
        if formulations is not None:
            names = tuple(dict.fromkeys(check_formulation(name) for name in formulations))
            if not names:
                raise ValueError(f"formulations is empty: choose from {', '.join(FORMULATIONS)}")
            return names, {}
        X, n = self._X, len(self._y)
        # Of raw texts the number of features is not known yet: about one per sample and more.
        is_matrix = len(getattr(X, "shape", ())) == 2 and hasattr(X, "dtype")
        shape = (n, int(X.shape[1]) if is_matrix else n, len(self._classes))
        left_out = {
            name: f"it is dense and takes about {size / 2**30:.1f} GiB here"
            for name in USUAL
            if (size := dense_bytes(name, *shape)) > _MOST_DENSE_BYTES
        }
        if self._template.label_cost is not None:
            others = (name for name in USUAL if not FORMULATIONS[name].label_costs)
            left_out |= dict.fromkeys(others, "it takes no label_cost")
        return tuple(name for name in USUAL if name not in left_out), left_out


def _penalties(Cs: Any, formulation: str, n_classes: int) -> tuple[float, ...]:
    if isinstance(Cs, Mapping):
        Cs = Cs.get(formulation)
    return default_penalties(formulation, n_classes) if Cs is None else checked_penalties(Cs)
