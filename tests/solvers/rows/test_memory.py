"""What the row engine allocates: one W, one alpha, and what Newton steps need."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning

from multimargin import MulticlassSVC, _core
from multimargin.formulations import FORMULATIONS
from multimargin.solvers._problem import Problem
from multimargin.solvers.rows._newton import Newton

ISAS = [isa for isa in range(3) if _core.isa_available(isa)]


def padded(rows, isa):
    """Numbers of a row of classes: whole registers, and never a multiple of 1 KiB."""
    lanes = 8 if isa == 2 else 4
    wide = -(-rows // lanes) * lanes
    return wide + lanes if wide % 128 == 0 else wide


def problem_of(name, n, d, n_classes, density):
    X = sp.random(n, d, density, format="csr", random_state=0)
    y = (np.arange(n) % n_classes).astype(np.int32)
    return Problem(X, y, np.full(n, 10.0), n_classes, 1.0, name)


def step(engine):
    """All that a run allocates: passes, a certificate, and Newton steps."""
    engine.begin_newton(1.0)
    for _ in range(3):
        engine.newton_step(0.1, 20)
    engine.next_point(2.0)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("name", FORMULATIONS)
@pytest.mark.parametrize(
    ("n", "d", "n_classes", "density"),
    [(300, 9, 5, 1.0), (300, 40, 9, 0.5), (130, 2000, 3, 0.02), (60, 6, 128, 1.0)],
    ids=["few features", "more of them", "sparse", "many classes"],
)
def test_bytes(name, isa, n, d, n_classes, density):
    problem = problem_of(name, n, d, n_classes, density)
    engine = _core.row_engine(
        problem.samples, name, "hinge", problem.weight_rows, threads=2, seed=0, isa=isa
    )
    width = padded(problem.weight_rows, isa)
    w, alpha = 8 * (d + 1) * width, 8 * n * width
    assert engine.bytes == w + alpha
    engine.run_pass(True, -np.inf, -np.inf, -np.inf)
    engine.certify()
    assert engine.bytes == w + alpha
    # Weights are made in up to 16 parts, that threads may share: the first is W itself.
    parts = min(max(problem.X.nnz // (8 * (d + 1)), 1), 16)
    engine.recompute()
    assert engine.bytes == w * parts + alpha
    step(engine)
    # Three of alpha's size for all samples, one for those with free variables; six of W's size,
    # and one more where the matrix of a class is its diagonal.
    lanes = 8 if isa == 2 else 4
    matrices = 8 * problem.weight_rows * (d + 1) * (-(-(d + 1) // lanes) * lanes)
    least = w * (parts + 6) + 4 * alpha + (matrices if d < 1024 else 0)
    most = least + alpha + (0 if d < 1024 else w)
    assert least < engine.bytes <= most
    assert engine.bytes - w - alpha <= engine.newton_bytes
    assert (engine.matrix_work > 0) == (d < 1024)
    held = engine.bytes
    step(engine)
    engine.end_newton()
    assert held / 2 < engine.bytes <= most


def test_passes_alone_where_newton_steps_do_not_fit(monkeypatch):
    X, y = load_wine(return_X_y=True)
    model = MulticlassSVC("ww", 10.0, tol=1e-3, max_iter=30, random_state=0)

    def steps(self):
        raise AssertionError("a Newton step")

    monkeypatch.setattr(Newton, "step", steps)
    with pytest.raises(AssertionError, match="a Newton step"):
        model.fit(X, y)
    monkeypatch.setattr("multimargin.solvers.rows._solver.available", lambda: 1000)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.fit(X, y)
