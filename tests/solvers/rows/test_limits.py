"""Newton steps that are interrupted, or whose time is up."""

import math
import os
import signal
import threading
import time
from unittest.mock import patch

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from multimargin.solvers.rows._newton import Newton
from multimargin.solvers.rows._solver import RowSolver
from tests.reference.cases import CASES
from tests.support.tiny_problems import blobs

every_case = pytest.mark.parametrize("case", CASES, ids=str)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = rng.integers(8, size=3000)
    return rng.standard_normal((3000, 40)) + 0.5 * rng.standard_normal((8, 40))[y], y


@pytest.mark.timeout(60)
@every_case
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_during_newton_steps(data, case, n_jobs):
    steps = []

    def pressed(newton):
        """Ctrl-C while the core takes steps, again and again, that nothing else ends."""
        if not steps:
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        steps.append(newton._engine.newton_step(1e-12, 10**6))
        return True

    model = case.model(C=1e3, tol=1e-13, n_jobs=n_jobs)
    with patch.object(Newton, "step", pressed), pytest.raises(KeyboardInterrupt):
        model.fit(*data)
        time.sleep(5)  # a fit that ended before the signal
    assert not hasattr(model, "coef_")
    # The process is as good as new.
    assert case.model(C=0.01, tol=0.5, n_jobs=n_jobs).fit(*data).converged_


@every_case
@pytest.mark.parametrize("left", [0.0, 1e-9], ids=["between steps", "in a step"])
def test_a_time_limit_during_newton_steps(case, left, data):
    # Steps on small data end before the clock is asked.
    X, y = data if left else blobs(15, n=200, d=12, n_classes=4)
    begun = []

    def seconds_left(solver):
        if solver._newton is None:
            return math.inf
        begun.append(solver._passes)
        return left if len(begun) > 2 else math.inf

    model = case.model(C=1e3, tol=1e-15, warm_start=True)
    with (
        patch.object(RowSolver, "_seconds_left", seconds_left),
        pytest.warns(ConvergenceWarning, match="time_limit"),
    ):
        model.fit(X, y)
    assert len(begun) > 2 and not model.converged_
    assert model.history_[-1]["gap"] == model.dual_gap_
    assert model.primal_objective_ == min(record["primal"] for record in model.history_)
    assert model.dual_objective_ == max(record["dual"] for record in model.history_)
    found = model.certify(X, y)
    assert found.primal == pytest.approx(model.primal_objective_, rel=1e-9)
    assert found.dual == pytest.approx(model.dual_objective_, rel=1e-9)
