"""Certificates where arithmetic is at its limits, and limits that are limits."""

import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, load_wine, make_classification

from multimargin import MulticlassSVC
from multimargin.formulations import FORMULATIONS
from multimargin.solvers._stopping import GapStopping, relative_gap
from multimargin.solvers.ovr._solver import OvrSolver

VARIANTS = [
    ("ww", {}),
    ("cs", {}),
    ("ovr", {}),
    ("ovr", {"loss": "squared_hinge"}),
    ("llw", {}),
    ("adm", {}),
    ("ats", {}),
    ("atm", {}),
    ("mmr", {}),
    ("rm", {}),
    ("llw", {"solver": "extrapolated"}),
]


@pytest.fixture
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("data", [load_iris, load_wine])
@pytest.mark.parametrize("C", [1e2, 1e4, 1e6])
@pytest.mark.parametrize(("formulation", "options"), VARIANTS)
@pytest.mark.usefixtures("quiet")
def test_single_precision_and_a_large_penalty(data, C, formulation, options):
    # The sums behind the weights are huge here and nearly cancel; a gap far below zero would
    # mean a certificate that proves nothing.
    X, y = data(return_X_y=True)
    model = MulticlassSVC(formulation, C, max_iter=300, random_state=0, **options)
    model.fit(X.astype(np.float32), y)
    assert model.dual_gap_ >= -1e-3
    assert model.converged_ == (model.dual_gap_ <= model.tol)
    if FORMULATIONS[formulation].centred:
        assert np.abs(model.coef_.sum(axis=0)).max() <= 1e-5 * np.abs(model.coef_).max()


def test_what_is_not_a_number_proves_nothing():
    seen = SimpleNamespace(primal=math.nan, dual=1.0, violation=0.0)
    assert not GapStopping(0.5).reached(seen)
    assert relative_gap(SimpleNamespace(primal=math.inf, dual=1.0)) == 1.0


def test_a_penalty_that_cannot_be_inverted_is_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="too small"):
        MulticlassSVC("ovr", 1e-40, loss="squared_hinge").fit(X.astype(np.float32), y)


@pytest.mark.parametrize("formulation", [name for name in FORMULATIONS if name != "cs"])
def test_rows_without_entries_do_not_keep_newton_steps_away(formulation):
    X, y = load_iris(return_X_y=True)
    X = np.vstack([np.hstack([X, np.ones((150, 1))]), np.zeros((50, 5))])
    y = np.append(y, np.arange(50) % 3)
    model = MulticlassSVC(formulation, 1e3, tol=1e-3, fit_intercept=False, random_state=0)
    assert model.fit(X, y).converged_
    assert model.n_iter_ < 5000


def test_a_time_limit_does_not_change_how_one_vs_rest_finishes(monkeypatch):
    X = sp.random(400, 200, density=0.05, format="csr", random_state=0)
    y = np.random.default_rng(0).integers(30, size=400)

    def refuse(*args):
        raise AssertionError("passes would have done")

    monkeypatch.setattr(OvrSolver, "_row_variables", refuse)
    model = MulticlassSVC("ovr", tol=1e-3, time_limit=600.0, n_bundles=1, random_state=0).fit(X, y)
    assert model.converged_


@pytest.mark.timeout(60)
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.usefixtures("quiet")
def test_the_last_lines_of_one_vs_rest_hear_of_the_time_limit(n_jobs):
    # One easy line of classes and one that would take minutes, by whichever thread.
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(16), 40)
    X = np.zeros((640, 46))
    X[np.arange(640), y] = 1.0
    hard = y >= 8
    X[hard, 16:] = rng.normal(size=(hard.sum(), 30)) * 50
    model = MulticlassSVC("ovr", 1e4, tol=1e-12, max_iter=10**6, time_limit=1.0, n_jobs=n_jobs)
    model.set_params(solver="passes", n_bundles=1, stopping="violation", random_state=0).fit(X, y)
    assert not model.converged_


@pytest.mark.parametrize("most", [1, 4, 40])
@pytest.mark.parametrize(("formulation", "options"), VARIANTS)
@pytest.mark.usefixtures("quiet")
def test_max_iter_is_a_limit(formulation, options, most):
    X, y = load_iris(return_X_y=True)
    wide = np.random.default_rng(0).normal(size=(40, 100))
    for data, labels in ((X, y), (wide, np.arange(40) % 4)):
        for time_limit in (None, 600.0):
            model = MulticlassSVC(formulation, 1e4, tol=1e-13, max_iter=most, random_state=0)
            model.set_params(time_limit=time_limit, **options).fit(data, labels)
            assert 1 <= model.n_iter_ <= most + 1  # a last step of conjugate gradients counts two


def test_history_does_not_depend_on_threads():
    X = sp.random(300, 100, density=0.1, format="csr", random_state=0)
    y = np.arange(300) % 150
    told = [
        [
            {key: value for key, value in record.items() if key != "time"}
            for record in MulticlassSVC("ovr", n_jobs=t, random_state=0).fit(X, y).history_
        ]
        for t in (1, 2, 4)
    ]
    assert told[0] == told[1] == told[2]


@pytest.mark.parametrize("apart", [1e-2, 1e-4])
def test_hard_margin_of_near_samples_is_found(apart):
    X = np.array([[1.0, 0.0], [1.0, apart]])
    model = MulticlassSVC("llw", np.inf, fit_intercept=False, random_state=0).fit(X, [0, 1])
    scores = X @ model.coef_[0] / 2  # of the second class; those of the first are minus these
    assert scores[0] <= -1 + 1e-6
    assert scores[1] >= 1 - 1e-6


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.usefixtures("quiet")
def test_hard_margin_is_found_or_refused(seed):
    # Overlapping and separable ones alike: never a fitted model that does not obey.
    rng = np.random.default_rng(1000 + seed)
    n, k, d = int(rng.integers(20, 60)), int(rng.integers(2, 5)), int(rng.integers(2, 15))
    X = rng.normal(size=(n, d))
    y = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    X[np.arange(n), y % d] += rng.choice([0.0, 3.0, 6.0])
    model = MulticlassSVC("llw", np.inf, random_state=0)
    try:
        model.fit(X, y)
    except ValueError as error:
        assert "infeasible" in str(error)
        return
    assert model.converged_


def test_a_run_that_ends_early_returns_its_best_certificate():
    X, y = load_wine(return_X_y=True)
    for formulation in FORMULATIONS:
        with pytest.warns(match="tol was not reached"):
            model = MulticlassSVC(formulation, 1e3, tol=1e-12, max_iter=25, random_state=0)
            model.fit(X, y)
        assert model.primal_objective_ == min(record["primal"] for record in model.history_)
        assert model.dual_objective_ == max(record["dual"] for record in model.history_)
        assert model.history_[-1]["gap"] == model.dual_gap_


def test_alternation_brings_dropped_variables_back_before_it_gives_up():
    X, y = make_classification(200, 20, n_informative=10, n_classes=5, random_state=0)
    model = MulticlassSVC("llw", 0.1, solver="alternating", tol=1e-12, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    assert model.dual_gap_ <= 1e-5  # without them 0.008
