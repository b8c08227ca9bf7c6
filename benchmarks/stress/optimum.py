"""The optimum of tiny problems by the tests' quadratic programs, which know nothing of multimargin.

They are shared, not copied: the twins in ``tests/reference/`` are what the package is tested
against.
"""

from __future__ import annotations

import numpy as np

from multimargin.solvers._problem import Problem
from tests.reference.centred import CENTRED
from tests.reference.costs import solve as solve_with_costs
from tests.reference.cs import solve_cs_qp
from tests.reference.llw import solve_llw_hard, solve_llw_qp
from tests.reference.ovr import ovr_signs, solve_ovr_qp
from tests.reference.ww import solve_ww_qp, with_intercept

_MOST_VARIABLES = 120


def bracket(problem: Problem) -> tuple[float, float] | None:
    """Two values between which the optimum lies: near to each other, mostly, but valid always.

    None where the problem is too large, or no such values were found.
    """
    n, k = len(problem.y), problem.n_classes
    if n * k > _MOST_VARIABLES:
        return None
    A = with_intercept(problem.X, problem.bias)
    A = A if problem.bias else A[:, :-1]
    y, box = problem.y.astype(np.intp), problem.box
    try:
        with np.errstate(all="ignore"):
            if problem.formulation == "ovr":
                *_, primal, dual = solve_ovr_qp(A, ovr_signs(y, k), box, problem.loss, np.inf)
            elif np.isinf(box[0]):
                *_, primal, dual = solve_llw_hard(A, y, k)
            elif problem.costs is not None:
                costs = problem.costs.between(np.arange(k)[:, None], np.arange(k))
                *_, primal, dual = solve_with_costs(problem.formulation, A, y, box, costs, np.inf)
            else:
                solve = {"ww": solve_ww_qp, "cs": solve_cs_qp, "llw": solve_llw_qp}
                solve |= {name: svm.solve for name, svm in CENTRED.items()}
                *_, primal, dual = solve[problem.formulation](A, y, box, k, max_gap=np.inf)
    except (ArithmeticError, np.linalg.LinAlgError, ValueError):  # too hard for it
        return None
    return (dual, primal) if np.isfinite([dual, primal]).all() else None
