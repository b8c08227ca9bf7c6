"""What a fitted model says of itself, against what a reference finds."""

import numpy as np
import pytest


def check_reported(model, primal, rel=1e-9):
    """The reported objectives are those of the returned weights, whose primal is ``primal``.

    The reported one is a bound: no less than the primal, and by little more.
    """
    assert model.primal_objective_ == pytest.approx(primal, rel=max(rel, 1e-8))
    # Bounds of dual variables are rounded to the type of the data.
    assert model.primal_objective_ >= primal * (1 - min(rel, 2e-7))
    gap = (model.primal_objective_ - model.dual_objective_) / abs(model.primal_objective_)
    assert model.dual_gap_ == pytest.approx(gap, rel=1e-6, abs=1e-12)
    assert model.dual_gap_ >= -rel


def check_optimum(model, W, primal, reference, rel=1e-9):
    """Converged, weak duality, and as near to the certified optimum as promised.

    ``W`` and ``primal`` are the model's weights and their objective; ``reference`` is what a
    reference solver returned: weights, alpha, primal, dual.
    """
    best_W, _, best, bound = reference
    check_reported(model, primal, rel)
    slack = rel * best + 1e-8 * best
    assert model.converged_
    assert model.dual_gap_ <= model.tol
    assert model.dual_objective_ <= best + slack, "the dual must bound the optimum from below"
    assert primal >= bound - slack, "no model can be better than the optimum"
    assert primal - best <= model.tol * primal + slack
    # Strong convexity turns a gap into a distance from the one optimum,
    # 1/2 |W - W*|^2 <= P(W) - P(W*), for the model and for the reference alike.
    reach = np.sqrt(max(0.0, primal - bound) + slack) + np.sqrt(max(0.0, best - bound) + slack)
    assert 0.5 * np.sum((W - best_W) ** 2) <= reach**2


def check_history(model, falls=1e-9):
    """``history_`` tells a run that ends where the model is and never loses dual value."""
    assert len(model.history_) >= 1
    for entry in model.history_:
        assert {"time", "primal", "dual", "gap", "violation", "active", "passes"} <= set(entry)
        assert entry["dual"] <= entry["primal"] + 1e-9 * abs(entry["primal"])
    for key in ["time", "passes"]:
        values = [entry[key] for entry in model.history_]
        assert values == sorted(values)
        assert values[0] >= 0
    duals = np.array([entry["dual"] for entry in model.history_])
    assert np.all(np.diff(duals) >= -falls * np.abs(duals[:-1])), "the dual fell"
    last = model.history_[-1]
    assert last["primal"] == pytest.approx(model.primal_objective_)
    assert last["dual"] == pytest.approx(model.dual_objective_)
    assert last["gap"] == pytest.approx(model.dual_gap_, rel=1e-6, abs=1e-12)
    assert last["passes"] == model.n_iter_
