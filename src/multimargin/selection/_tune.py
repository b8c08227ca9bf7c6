"""Comparing formulations and values of C on held-out samples."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from multimargin.estimator._names import FormulationName
from multimargin.estimator._observers import progress_bar
from multimargin.estimator._splits import checked_labels, folds_of, holdout_of, rows_of, seen_once
from multimargin.estimator._svc import MulticlassSVC
from multimargin.formulations import FORMULATIONS
from multimargin.io import _memory
from multimargin.models._arguments import whole_number
from multimargin.parallel._threads import thread_count
from multimargin.selection._early_stop import able_to_win, is_falling
from multimargin.selection._folds import Folds
from multimargin.selection._grid import (
    beyond,
    check_formulation,
    checked_penalties,
    default_penalties,
)
from multimargin.selection._jobs import Jobs
from multimargin.selection._measure import HeldOut, MeasureName, measure_named
from multimargin.selection._path import point_of
from multimargin.selection._regularization_path import PathPoint
from multimargin.selection._tuning import Candidate, Tuning
from multimargin.selection._warm_fits import WarmFits, dense_bytes

# What is compared where no formulations are asked for.
USUAL = tuple(name for name, facts in FORMULATIONS.items() if facts.tried_by_default)
_FOLDS = 5
_MOST_DENSE_BYTES = 2**30  # of a formulation that is tried without being asked for
_MOST_WIDENINGS = 2  # of the default values, where the best C is at an end of them

# The parts of a split: training samples, labels and weights; held-out samples and labels.
_Parts = tuple[Any, NDArray[Any], Any, Any, NDArray[Any]]
# Models of a formulation on one split, for rising values of C.
_Path = tuple[int, str, tuple[float, ...]]
_OnStep = Callable[[Candidate], None]


def tune(
    X: Any,
    y: ArrayLike,
    *,
    estimator: MulticlassSVC | None = None,
    formulations: FormulationName | Literal["all"] | Sequence[FormulationName] | None = None,
    Cs: Any = None,
    folds: int | None = None,
    holdout: float | None = None,
    validation: tuple[Any, ArrayLike] | None = None,
    measure: MeasureName = "error",
    top_k: int = 5,
    sample_weight: ArrayLike | None = None,
    split_seed: int = 0,
    complete: bool = False,
    **parameters: Any,
) -> Tuning:
    """Compare formulations and values of C on samples that were not trained on.

    On each split, the models of a formulation are fitted along rising C, each from the one before
    (`multimargin.path`). Splits are stratified; a label that is seen once stays in training. A
    `TextClassifier` learns its features from the training part of each split alone.

    With ``n_jobs``, splits and formulations are trained side by side; the models are the same, bit
    by bit, for any number. What is worse than the best on the first split by more than three
    standard errors is not trained on the others. Where the best of the default values of C is the
    smallest or the largest, more values follow there, at most twice; a warning says if the best C
    is at the edge in the end.

    Parameters
    ----------
    X, y
        Samples and labels, as the estimator's ``fit`` takes them.
    estimator : MulticlassSVC or None, default=None
        Whose other parameters count, a `TextClassifier` for example. None: a `MulticlassSVC`.
    formulations : str, sequence of str or None, default=None
        Those to try, or "all". None: "ww", "cs" and "ovr", this if it takes less than 1 GiB. The
        others are slow.
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
    complete : bool, default=False
        Whether to train every candidate on every split, also those that cannot win.
    **parameters
        Further parameters of the estimator: ``tol=0.001``, ``n_jobs=-1``; ``verbose=1`` shows a
        progress bar.

    Returns
    -------
    tuning : Tuning
        ``tuning.estimator().fit(X, y)`` trains the best; ``tuning.plot()`` shows all.

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
    tuner = Tuner(**given, **parameters)
    tuning = tuner.run_shown() if tuner.verbose else tuner.run()
    if advice := tuning.advice():
        warnings.warn(advice, stacklevel=2)
    return tuning


class Tuner:
    """A comparison under way, of so many steps as are known by now; parameters as of `tune`.

    `tuning` has all measurements so far, also of an interrupted run.
    """

    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        *,
        estimator: MulticlassSVC | None = None,
        formulations: FormulationName | Literal["all"] | Sequence[FormulationName] | None = None,
        Cs: Any = None,
        folds: int | None = None,
        holdout: float | None = None,
        validation: tuple[Any, ArrayLike] | None = None,
        measure: MeasureName = "error",
        top_k: int = 5,
        sample_weight: ArrayLike | None = None,
        split_seed: int = 0,
        complete: bool = False,
        **parameters: Any,
    ) -> None:
        template = clone(MulticlassSVC() if estimator is None else estimator)
        self._template: MulticlassSVC = template.set_params(**parameters)
        self.verbose, self._complete = self._template.verbose, complete
        self._threads = thread_count(self._template.n_jobs)
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
        self._fixed = {name for name in self._names if _given(Cs, name) is not None}
        once = 0 if validation is not None else seen_once(self._y)
        top_k = whole_number("top_k", top_k, 1)
        shape = len(self._splits), once, left_out
        self.tuning = Tuning(measure, top_k, *shape, template=clone(self._template))
        # One seed for all fits: they must not draw theirs in the order in which they begin.
        seed = self._template.random_state
        if not isinstance(seed, Integral):
            drawn = check_random_state(seed).randint(np.iinfo(np.int32).max)
            self._template.set_params(random_state=drawn)
        self.steps = len(self._splits) * sum(map(len, self._Cs.values()))

    def run_shown(self) -> Tuning:
        """Run with a progress bar."""
        with progress_bar(total=self.steps, unit="fit") as bar:

            def step(found: Candidate) -> None:
                bar.total = self.steps
                bar.set_postfix_str(f"{found.formulation}, C={found.C:.3g}", refresh=False)
                bar.update()

            self.run(step)
            bar.total = bar.n
        return self.tuning

    def run(self, on_step: _OnStep = lambda _: None) -> Tuning:
        """Fit and measure everything; tell `on_step` the candidate after each of its fits."""
        self._fit([(0, name, Cs) for name, Cs in self._Cs.items()], on_step, first=True)
        others, able = range(1, len(self._splits)), self._Cs
        if not self._complete:
            able = able_to_win(measure_named(self.tuning.measure), self._on_first())
        self._fit([(k, name, able[name]) for k in others for name in able], on_step)
        for _ in range(_MOST_WIDENINGS):
            name, edge = self.tuning.best().formulation, self.tuning.at_edge()
            if not edge or name in self._fixed:
                break
            tried = [one.C for one in self.tuning.candidates if one.formulation == name]
            wider = beyond(tried, edge)
            self._fit([(k, name, wider) for k in range(len(self._splits))], on_step)
        return self.tuning

    def _on_first(self) -> dict[str, list[PathPoint]]:
        """Return what was measured on the first split, along C for each formulation."""
        found: dict[str, list[PathPoint]] = {name: [] for name in self._names}
        for one in self.tuning.candidates:
            found[one.formulation].append(one.points[0])
        return found

    def _fit(self, paths: Sequence[_Path], on_step: _OnStep, *, first: bool = False) -> None:
        """Fit and measure along paths, side by side.

        On the `first` split a path ends where C has become too large to win.
        """
        measure, jobs = measure_named(self.tuning.measure), Jobs(self._threads)
        folds = Folds(self._fold, [split for split, _, _ in paths])
        if not first:
            done = sum(len(one.points) for one in self.tuning.candidates)
            self.steps = done + sum(len(Cs) for _, _, Cs in paths)

        def along(split: int, name: str, Cs: tuple[float, ...]) -> Iterator[tuple[Any, ...]]:
            points: list[PathPoint] = []
            with folds.of(split) as (fits, test):
                for fit in fits.along(Cs, name, threads=jobs.threads, observers=[jobs]):
                    fit.model.n_jobs = jobs.threads()  # for its predictions
                    points.append(replace(point_of(fit, test.measured(fit.model)), model=None))
                    yield name, points[-1], split
                    if first and not self._complete and is_falling(measure, points):
                        break

        work = [partial(along, *each) for each in paths]
        with closing(jobs.run(work, self._most_at_once())) as found:
            for name, point, split in found:
                on_step(self.tuning.add(name, point, split))

    def _fold(self, split: int) -> tuple[WarmFits, HeldOut]:
        X, y, weight, X_test, y_test = self._splits[split]()
        fits = WarmFits(self._template, X, y, weight, self._names)
        return fits, HeldOut(X_test, y_test, self.tuning.top_k)

    def _most_at_once(self) -> int:
        """Return how many paths may be under way in half of the memory."""
        data = getattr(self._X, "data", self._X)
        size = getattr(data, "nbytes", 0)
        size += max(dense_bytes(name, *self._shape()) for name in self._names)
        return max(1, int(_memory.available() / 2 / max(1, size)))

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
        left_out = {
            name: f"it is dense and takes about {size / 2**30:.1f} GiB here"
            for name in USUAL
            if (size := dense_bytes(name, *self._shape())) > _MOST_DENSE_BYTES
        }
        if self._template.label_cost is not None:
            others = (name for name in USUAL if not FORMULATIONS[name].label_costs)
            left_out |= dict.fromkeys(others, "it takes no label_cost")
        return tuple(name for name in USUAL if name not in left_out), left_out

    def _shape(self) -> tuple[int, int, int]:
        """Return the numbers of samples, features and classes."""
        X, n = self._X, len(self._y)
        # Of raw texts the number of features is not known yet: about one per sample and more.
        is_matrix = len(getattr(X, "shape", ())) == 2 and hasattr(X, "dtype")
        return n, int(X.shape[1]) if is_matrix else n, len(self._classes)


def _given(Cs: Any, formulation: str) -> Any:
    return Cs.get(formulation) if isinstance(Cs, Mapping) else Cs


def _penalties(Cs: Any, formulation: str, n_classes: int) -> tuple[float, ...]:
    given = _given(Cs, formulation)
    if given is None:
        return default_penalties(check_formulation(formulation), n_classes)
    return checked_penalties(given)
