"""One interface to the references of all formulations, for tests that loop over the registry.

``W`` (rows, d) and ``alpha`` (n, rows) have a row or column per weight vector: one per class, or
one for two classes that are a single binary problem. ``A`` are dense samples with the constant
feature.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from sklearn.svm import LinearSVC

from tests.reference import cs, llw, ovr, ww
from tests.reference.centred import CENTRED


@dataclass(frozen=True)
class Reference:
    """The formulas of a formulation with one loss, and a solver that certifies its optimum.

    Attributes
    ----------
    weights_of : callable
        (model, intercept_scaling) -> W of a fitted estimator.
    primal : callable
        (W, A, y, box) -> objective.
    dual : callable
        (alpha, A, y, box) -> objective; raises ValueError unless alpha is feasible.
    weights : callable
        (alpha, A, y) -> W.
    kkt : callable
        (alpha, A, y, box) -> the largest violation of the optimality conditions.
    solve : callable
        (A, y, box, n_classes) -> W, alpha, primal, dual of a tiny problem.
    two_classes : tuple of float
        By what to multiply C, weights and objective of a binary SVM to have two classes.
    peer : callable, default=None
        (**options) -> an estimator of scikit-learn that solves the same problem.
    """

    weights_of: Callable[..., Any]
    primal: Callable[..., float]
    dual: Callable[..., float]
    weights: Callable[..., Any]
    kkt: Callable[..., float]
    solve: Callable[..., Any]
    two_classes: tuple[float, float, float]
    peer: Callable[..., Any] | None = None


def _one_vs_rest(loss):
    def signs(y, rows):
        return ovr.ovr_signs(y, 2 if rows == 1 else rows)

    return Reference(
        weights_of=ovr.ovr_weights_of,
        primal=lambda W, A, y, box: ovr.ovr_primal(W, A, signs(y, len(W)), box, loss),
        dual=lambda a, A, y, box: ovr.ovr_dual(a, A, signs(y, a.shape[1]), box, loss),
        weights=lambda a, A, y: ovr.ovr_weights(a, A, signs(y, a.shape[1])),
        kkt=lambda a, A, y, box: ovr.ovr_kkt(a, A, signs(y, a.shape[1]), box, loss),
        solve=lambda A, y, box, k: ovr.solve_ovr_qp(A, ovr.ovr_signs(y, k), box, loss),
        two_classes=(1.0, 1.0, 1.0),
        peer=lambda **options: LinearSVC(loss=loss, dual=True, **options),
    )


def _centred(name, two_classes):
    svm = CENTRED[name]
    return Reference(
        weights_of=ww.weights_of,
        primal=svm.primal,
        dual=svm.dual,
        weights=svm.weights,
        kkt=svm.kkt,
        solve=svm.solve,
        two_classes=two_classes,
    )


_REFERENCES = {
    ("ww", "hinge"): Reference(
        weights_of=ww.weights_of,
        primal=ww.ww_primal,
        dual=ww.ww_dual,
        weights=ww.weights_from_alpha,
        kkt=ww.ww_kkt,
        solve=ww.solve_ww_qp,
        two_classes=(2.0, 1.0, 0.5),
    ),
    ("cs", "hinge"): Reference(
        weights_of=ww.weights_of,
        primal=cs.cs_primal,
        dual=cs.cs_dual,
        weights=ww.weights_from_alpha,
        # An interior point ends next to the bounds: so little of a budget is none.
        kkt=partial(cs.cs_kkt, negligible=1e-4),
        solve=cs.solve_cs_qp,
        two_classes=(2.0, 1.0, 0.5),
        peer=lambda **options: LinearSVC(multi_class="crammer_singer", **options),
    ),
    ("llw", "hinge"): Reference(
        weights_of=ww.weights_of,
        primal=llw.llw_primal,
        dual=llw.llw_dual,
        weights=llw.llw_weights,
        kkt=llw.llw_kkt,
        solve=llw.solve_llw_qp,
        two_classes=(0.5, 2.0, 2.0),
    ),
    # Of two classes, scores are opposites, and both have the same loss: one pays, or both.
    ("adm", "hinge"): _centred("adm", (0.5, 2.0, 2.0)),
    ("ats", "hinge"): _centred("ats", (1.0, 2.0, 2.0)),
    ("atm", "hinge"): _centred("atm", (0.5, 2.0, 2.0)),
    ("mmr", "hinge"): _centred("mmr", (0.5, 2.0, 2.0)),
    ("rm", "hinge"): _centred("rm", (1.0, 2.0, 2.0)),
    ("ovr", "hinge"): _one_vs_rest("hinge"),
    ("ovr", "squared_hinge"): _one_vs_rest("squared_hinge"),
}


def reference_of(formulation, loss="hinge"):
    """The reference; a formulation that has none yet is told where to put it."""
    if (formulation, loss) not in _REFERENCES:
        raise LookupError(
            f"no reference for formulation {formulation!r} with loss {loss!r}: add one to "
            "tests/reference/references.py"
        )
    return _REFERENCES[formulation, loss]
