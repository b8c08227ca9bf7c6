"""Checks of a fitted model that hold for any problem."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.stress.optimum import bracket
from benchmarks.stress.problem import Step
from multimargin import MulticlassSVC
from multimargin.inspection import Certificate
from multimargin.solvers._layout import as_core_csr
from multimargin.solvers._problem import Problem

_SLACK = 1e-6


@dataclass(frozen=True)
class Finding:
    """Something that must not be: of which kind, and the numbers."""

    kind: str
    text: str


def findings(model: MulticlassSVC, step: Step) -> Iterator[Finding]:
    """Return the faults of a model that has just been fitted."""
    yield from _not_finite(model)
    data = step.samples
    problem = _problem(model, step)
    found = model.certify(data.given(), data.y, data.weight)
    yield from _false_claims(model, found)
    yield from _worse_than_before(model, problem)
    yield from _beyond_optimum(model, problem)


def other_bits(one: MulticlassSVC, other: MulticlassSVC, what: str) -> Iterator[Finding]:
    """Whether two models that must be the same are."""
    names = ("coef_", "intercept_", "primal_objective_", "dual_objective_", "n_iter_")
    differing = [name for name in names if not _same(getattr(one, name), getattr(other, name))]
    if differing:
        size = abs(one.primal_objective_ / other.primal_objective_ - 1)
        yield Finding("other bits", f"{what}: {', '.join(differing)} (primal by {size:.1e})")


def rounded_findings(model: MulticlassSVC, found: Certificate, what: str) -> Iterator[Finding]:
    """Return faults in the certificate of rounded or pruned weights, which claims nothing."""
    if not found.gap >= -_SLACK:
        yield Finding("false dual", f"{what}: gap {found.gap:.3g}")
    if hasattr(model, "dual_gap_"):
        yield Finding("false gap", f"{what} claims {model.dual_gap_:.3g}")


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or np.isscalar(one):
        return np.array_equal(one, other, equal_nan=True)
    return one.nnz == other.nnz and bool(
        np.array_equal(one.indices, other.indices) and np.array_equal(one.data, other.data)
    )


def _problem(model: MulticlassSVC, step: Step) -> Problem:
    data = step.samples
    features = as_core_csr(model._checked(data.given())).astype(np.float64)
    return model._problem(features, data.y, data.weight)[1]


def _not_finite(model: MulticlassSVC) -> Iterator[Finding]:
    coef: Any = model.coef_
    values = coef if isinstance(coef, np.ndarray) else coef.data
    numbers = {
        "coef_": values,
        "intercept_": model.intercept_,
        "dual_objective_": model.dual_objective_,
        "dual_gap_": model.dual_gap_,
        "violation_": model.violation_,
        "history_": [[r["dual"], r["gap"], r["violation"]] for r in model.history_],
    }
    # A hard margin that is not met yet has an infinite primal.
    if model.C is None or np.isfinite(model.C):
        numbers["primal_objective_"] = model.primal_objective_
        numbers["primals of history_"] = [r["primal"] for r in model.history_]
    wrong = [name for name, value in numbers.items() if not np.isfinite(value).all()]
    if wrong:
        yield Finding("not finite", ", ".join(wrong))


def _false_claims(model: MulticlassSVC, found: Certificate) -> Iterator[Finding]:
    gap, primal, dual = model.dual_gap_, model.primal_objective_, model.dual_objective_
    if not gap >= found.gap - _SLACK:
        yield Finding("false gap", f"claims {gap:.3g}, is {found.gap:.3g}")
    if not primal >= found.primal - _SLACK * abs(found.primal) and primal != found.primal:
        yield Finding("false primal", f"claims {primal:.9g}, is {found.primal:.9g}")
    if found.dual_recomputed:
        if not dual <= found.dual + _SLACK * abs(found.primal):
            yield Finding("false dual", f"claims {dual:.9g}, is {found.dual:.9g}")
        if not found.gap >= -1e-9:
            yield Finding("no duality", f"certify says {found}")
    if gap < -_SLACK:
        yield Finding("negative gap", f"{gap:.3g}")
    if model.converged_ and model.stopping == "gap" and not gap <= model.tol:
        yield Finding("not converged", f"gap {gap:.3g} with tol {model.tol:.3g}")


def _worse_than_before(model: MulticlassSVC, problem: Problem) -> Iterator[Finding]:
    gap, primal = model.dual_gap_, model.primal_objective_
    if not model.converged_:  # otherwise it is what was asked for, by whichever measure
        best = min(record["gap"] for record in model.history_)
        if gap > best + _SLACK:
            yield Finding("gap was smaller", f"{gap:.3g}, was {best:.3g}")
        best = min(record["primal"] for record in model.history_)
        if primal > best + _SLACK * abs(best):
            yield Finding("primal was smaller", f"{primal:.6g}, was {best:.6g} (gap {gap:.3g})")
    nothing = problem.zero_loss()
    if primal - model.dual_objective_ > nothing * (1 + _SLACK):
        text = f"primal {primal:.6g}, dual {model.dual_objective_:.6g}, zero weights {nothing:.6g}"
        yield Finding("worse than nothing", text)


def _beyond_optimum(model: MulticlassSVC, problem: Problem) -> Iterator[Finding]:
    optimum = bracket(problem)
    if optimum is None:
        return
    low, high = optimum
    dual, primal = model.dual_objective_, model.primal_objective_
    if dual > high + _SLACK * abs(high):
        yield Finding("beyond optimum", f"dual {dual:.9g}, optimum at most {high:.9g}")
    if primal < low - _SLACK * abs(low):
        yield Finding("beyond optimum", f"primal {primal:.9g}, optimum at least {low:.9g}")
