"""Fits of the same samples for one C after the other, each from the one before."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from multimargin.estimator._fit import solve
from multimargin.estimator._options import check_parameters
from multimargin.estimator._samples import box_of, checked_samples, problem_of
from multimargin.estimator._svc import MulticlassSVC
from multimargin.formulations import FORMULATIONS
from multimargin.parallel._threads import thread_count
from multimargin.solvers._problem import Problem, as_core_csr
from multimargin.solvers._solution import Alpha, DenseAlpha, Solution, Start

# Dense dual variables that are kept for the next fit; beyond, fits start anew, which costs
# one-vs-rest little: its fits take a few passes.
_MOST_ALPHA_BYTES = 2**30


@dataclass(frozen=True)
class WarmFit:
    """One fitted model, how long that took, and what it rests on if that is known."""

    model: MulticlassSVC
    solution: Solution
    seconds: float
    support: int | None


class WarmFits:
    """Samples that were checked and made features of once, to be fitted many times.

    Rising C is the cheap order: a model of small C leans on more classes than the next one, so
    that a scan finds little outside of what is active. Falling C took 1.3 to 2.5 times as long
    for "ww" and "cs" on 150 classes, and as long on 1,139.

    Parameters
    ----------
    template : MulticlassSVC
        Its parameters count, but for C; it is not changed.
    X, y, sample_weight
        As of its ``fit``.
    formulations : sequence of str, default=()
        Those that will be fitted; the template's if there are none.
    """

    def __init__(
        self,
        template: MulticlassSVC,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        formulations: tuple[str, ...] = (),
    ) -> None:
        # C = 1: the box is then the weights.
        self._learner: MulticlassSVC = clone(template).set_params(C=1.0)
        for name in formulations or (self._learner.formulation,):
            check_parameters(self._at(name, 1.0))
        self._threads = thread_count(self._learner.n_jobs)
        features, labels = checked_samples(self._learner, X, y)
        self.classes, self._problem = problem_of(
            self._learner, as_core_csr(features), labels, sample_weight
        )
        self._samples = None
        if self._learner.warm_start:  # models are to be fitted further, as those of `fit`
            keys = self._learner._raw_keys(X)
            self._samples = self._learner._samples(self._problem, self.classes, keys)

    def _at(self, formulation: str, C: float) -> MulticlassSVC:
        # A copy has what was learned of the features, and shares it.
        model: MulticlassSVC = copy.copy(self._learner)
        model.formulation, model.C = formulation, C
        return model

    def along(
        self, Cs: tuple[float, ...], formulation: str | None = None, *, warm: bool = True
    ) -> Iterator[WarmFit]:
        """A fit for each C.

        Parameters
        ----------
        Cs : tuple of float
            Rising, for the sake of speed.
        formulation : str, default=None
            That of the template if not given.
        warm : bool, default=True
            Whether each fit starts from the one before.
        """
        name = self._learner.formulation if formulation is None else formulation
        problem = replace(self._problem, formulation=name)
        warm = warm and self._affordable(problem)
        weight = problem.box.astype(np.float64)
        start: Start | None = None
        for C in Cs:
            model = self._at(name, C)
            box = box_of(model, weight, problem.n_classes, problem.X.dtype)
            fit = self._fit(model, replace(problem, box=box), start, warm)
            start = fit.solution.alpha if warm else None
            yield fit

    def _affordable(self, problem: Problem) -> bool:
        size = len(problem.y) * problem.weight_rows * problem.X.dtype.itemsize
        return problem.facts.sparse_dual or size <= _MOST_ALPHA_BYTES

    def _fit(
        self, model: MulticlassSVC, problem: Problem, start: Start | None, keep: bool
    ) -> WarmFit:
        began = time.perf_counter()
        asked = copy.copy(model)
        asked.warm_start = keep or model.warm_start
        watching = [model._bar()] if model.verbose else []
        solved = solve(asked, problem, watching, threads=self._threads, start=start)
        solution = solved.solution
        model._take(solved, model._linear_model(solution.weights, self.classes, problem))
        seconds = time.perf_counter() - began
        alpha = solution.alpha
        if self._samples is not None:
            model._warm_alpha, model._warm_samples = alpha, self._samples
        model._warn_unless_converged(solution, stacklevel=5)
        support = alpha.support if isinstance(alpha, (Alpha, DenseAlpha)) else None
        return WarmFit(model, solution, seconds, support)


def dense_bytes(formulation: str, n_samples: int, n_features: int, n_classes: int) -> int:
    """Return the bytes that the dense arrays of a fit take in single precision."""
    return 4 * n_classes * FORMULATIONS[formulation].dense_numbers(n_samples, n_features)
