"""Fits of the same samples for one C after another, each from the one before."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from multimargin.estimator._fit import Fit, take
from multimargin.estimator._options import checked_options
from multimargin.estimator._svc import MulticlassSVC
from multimargin.formulations import FORMULATIONS
from multimargin.models._sample_keys import Samples
from multimargin.parallel._threads import thread_count
from multimargin.selection._grid import check_formulation
from multimargin.solvers._records import Observer
from multimargin.solvers._solution import Alpha, DenseAlpha, Solution, Start

# Dense dual variables that are kept for the next fit; beyond, fits start anew, which costs
# one-vs-rest little: its fits take a few passes.
_MOST_ALPHA_BYTES = 2**30


@dataclass(frozen=True)
class WarmFit:
    """A fitted model, its solution, the time it took, and its support if that is known."""

    model: MulticlassSVC
    solution: Solution
    seconds: float
    support: int | None


class WarmFits:
    """Samples that are checked and made features of once, to be fitted many times.

    The template's parameters count, but for C, and for the formulation where others are given.

    Rising C is the cheap order: a model of small C leans on more classes than the next one, so
    that a scan finds little outside of the active set. Falling C took 1.3 to 2.5 times as long
    for "ww" and "cs" on 150 classes, and as long on 1,139.
    """

    def __init__(
        self,
        template: MulticlassSVC,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        formulations: tuple[str, ...] = (),
    ) -> None:
        # Box constraints are then the weights; every fit multiplies them by its C.
        self._learner: MulticlassSVC = clone(template).set_params(C=1.0)
        names = formulations or (self._learner.formulation,)
        checked = {name: checked_options(self._at(name, 1.0)) for name in names}
        options = checked[names[0]]
        self._threads = thread_count(options.n_jobs)
        self._base = Fit.of(self._learner, options, X, y, sample_weight)
        self._samples = None
        if options.warm_start:  # models can be fitted further, as after `fit`
            keys = self._learner._raw_keys(X)
            self._samples = Samples.of(self._base.problem, self.classes, keys)

    @property
    def classes(self) -> NDArray[Any]:
        """Labels of the classes."""
        return self._base.classes

    def _at(self, formulation: str, C: float) -> MulticlassSVC:
        # A copy has the names of the features, too.
        model: MulticlassSVC = copy.copy(self._learner)
        model.formulation, model.C = check_formulation(formulation), C
        return model

    def along(
        self,
        Cs: tuple[float, ...],
        formulation: str | None = None,
        *,
        warm: bool = True,
        threads: Callable[[], int] | None = None,
        observers: Sequence[Observer] | None = None,
    ) -> Iterator[WarmFit]:
        """Yield a fit for each C, if `warm` from the one before; rising values are faster.

        `threads` is asked before each fit; None: as ``n_jobs`` says. `observers` replace the
        progress bar. Several threads may go along paths of their own.
        """
        name = self._learner.formulation if formulation is None else formulation
        warm = warm and self._affordable(name)
        start: Start | None = None
        for C in Cs:
            count = self._threads if threads is None else threads()
            fitted = self._fit(name, C, start, warm, count, observers)
            start = fitted.solution.alpha if warm else None
            yield fitted

    def _affordable(self, formulation: str) -> bool:
        problem = replace(self._base.problem, formulation=formulation)
        return problem.facts.sparse_dual or problem.dense_alpha_bytes <= _MOST_ALPHA_BYTES

    def _fit(
        self,
        formulation: str,
        C: float,
        start: Start | None,
        keep: bool,
        threads: int,
        observers: Sequence[Observer] | None,
    ) -> WarmFit:
        model, base = self._at(formulation, C), self._base
        fit = base.at(formulation, C, warm_start=keep or base.options.warm_start)
        began = time.perf_counter()
        if observers is None:
            observers = [fit.bar()] if fit.options.verbose else []
        solved = fit.solve(list(observers), threads=threads, start=start)
        solution = solved.solution
        take(model, solved, fit.linear_model(solution.weights))
        seconds = time.perf_counter() - began
        alpha = solution.alpha
        if self._samples is not None:
            model._keep_dual(alpha, self._samples)
        fit.warn_unless_converged(solution, stacklevel=5)
        support = alpha.support if isinstance(alpha, (Alpha, DenseAlpha)) else None
        return WarmFit(model, solution, seconds, support)


def dense_bytes(formulation: str, n_samples: int, n_features: int, n_classes: int) -> int:
    """Return the bytes that the dense arrays of a fit take in single precision."""
    return 4 * n_classes * FORMULATIONS[formulation].dense_numbers(n_samples, n_features)
