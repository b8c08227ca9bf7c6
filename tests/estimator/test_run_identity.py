"""The identity of a run in its checkpoints."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from multimargin import MulticlassSVC, distributed
from multimargin.checkpoints._folder import read_manifest, step_folder, steps
from multimargin.solvers._registry import SOLVERS, choose

# What checkpoints on disk say: never change these, whatever the classes are called.
NAMES = {
    ("ww", "auto"): "activeset",
    ("ww", "passes"): "activesetpasses",
    ("cs", "auto"): "activeset",
    ("cs", "passes"): "activesetpasses",
    ("ovr", "auto"): "ovr",
    ("ovr", "passes"): "ovrpasses",
    ("llw", "auto"): "rows",
    ("llw", "passes"): "rowspasses",
    ("llw", "block"): "rows",
    ("llw", "alternating"): "alternating",
    ("llw", "extrapolated"): "extrapolated",
    **{(name, "auto"): "rows" for name in ("adm", "ats", "atm", "mmr", "rm")},
    **{(name, "passes"): "rowspasses" for name in ("adm", "ats", "atm", "mmr", "rm")},
}


def test_solvers_have_the_names_that_checkpoints_hold():
    found = {
        (formulation, solver): kind.name
        for formulation, kinds in SOLVERS.items()
        for solver, kind in kinds.items()
    }
    assert found == NAMES


@pytest.mark.parametrize("formulation", SOLVERS)
def test_a_checkpoint_opens_after_its_solver_was_renamed(formulation, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 4)), np.arange(60) % 5
    # Enough for a checkpoint, and too few for the optimum.
    most = 8 if formulation in ("adm", "atm") else 12
    model = MulticlassSVC(formulation, C=10.0, tol=1e-6, max_iter=most, random_state=0)
    with pytest.warns(ConvergenceWarning):
        before = distributed.fit(model, X, y, checkpoint=tmp_path, checkpoint_every=0.0)
    kind = choose(formulation, checkpoints=True).solver
    identity = read_manifest(step_folder(tmp_path, steps(tmp_path)[-1]))["identity"]
    assert identity["solver"] == kind.name
    called, kind.__name__ = kind.__name__, "Renamed"
    try:
        after = distributed.fit(model.set_params(max_iter=10_000), X, y, checkpoint=tmp_path)
    finally:
        kind.__name__ = called
    assert after.converged_ and after.n_iter_ > before.n_iter_
