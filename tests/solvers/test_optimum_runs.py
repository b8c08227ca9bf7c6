"""Runs of every formulation: warm starts, histories, limits, options, and bits on threads."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from multimargin import MulticlassSVC
from multimargin.formulations import FORMULATIONS
from multimargin.solvers._registry import SOLVERS
from tests.reference.cases import CASES, WAYS
from tests.reference.ww import box_of, dense
from tests.support.certificate import check_history
from tests.support.tiny_problems import blobs, many_classes_problem, tiny_problem

every_case = pytest.mark.parametrize("case", CASES, ids=str)
every_way = pytest.mark.parametrize("case", WAYS, ids=str)


def bits(model):
    """All that a fit decides, byte for byte."""
    arrays = [dense(model.coef_).tobytes(), np.asarray(model.intercept_).tobytes()]
    return [*arrays, model.n_iter_, model.primal_objective_, model.dual_objective_]


# ---------------------------------------------------------------- warm starts


@every_way
@pytest.mark.parametrize("path", [[0.01, 0.3, 3.0], [3.0, 0.3, 0.01]], ids=["up", "down"])
def test_warm_start_along_a_path(case, path):
    X, y = blobs(12, n=40)
    warm = case.model(warm_start=True, tol=max(case.tol, 1e-4))
    for C in path:
        warm.set_params(C=C).fit(X, y)
        case.check_optimum(warm, X, y, box_of(y, C))


@every_case
def test_warm_start_from_the_solution_has_nothing_to_do(case):
    X, y = blobs(17)
    model = case.model(warm_start=True, tol=1e-4).fit(X, y)
    cold, before = model.n_iter_, model.primal_objective_
    model.fit(X, y)
    assert model.converged_
    assert model.n_iter_ <= 1 < cold
    assert model.primal_objective_ == pytest.approx(before, rel=1e-9)


@pytest.mark.parametrize(
    ("case", "before"),
    [(case, name) for case in CASES for name in FORMULATIONS if name != case.formulation],
    ids=str,
)
def test_a_warm_start_from_another_formulation_is_a_cold_one(case, before):
    """Its dual variables have another meaning, and may exceed this one's bounds."""
    X, y = blobs(14, n=40)
    model = MulticlassSVC(before, C=0.02, warm_start=True, random_state=0).fit(X, y)
    model.set_params(formulation=case.formulation, loss=case.loss, tol=1e-5, max_iter=10**5)
    cold = case.model(C=0.02, tol=1e-5, max_iter=10**5).fit(X, y)
    assert bits(model.fit(X, y)) == bits(cold)


@every_case
def test_a_fit_that_keeps_its_dual_variables_is_the_cold_fit(case):
    X, y = many_classes_problem()
    fits = [case.model(warm_start=keep, tol=1e-3).fit(X, y) for keep in (False, True)]
    assert bits(fits[0]) == bits(fits[1])


# ---------------------------------------------------------------- histories and limits


@every_way
@pytest.mark.parametrize(("n_classes", "C"), [(2, 10.0), (5, 0.1), (5, 10.0)])
def test_history_tells_the_run(case, n_classes, C):
    if case.tol > 1e-3:
        C = min(C, 1.0)
    X, y = blobs(16, n=40, n_classes=n_classes)
    model = case.model(C=C).fit(X, y)
    check_history(model)
    best = case.best(X, y, C)
    assert all(entry["primal"] >= best * (1.0 - 1e-8) for entry in model.history_)
    assert all(entry["dual"] <= best * (1.0 + 1e-8) for entry in model.history_)


@every_way
@pytest.mark.parametrize(
    "limit", [{"time_limit": 1e-6}, {"max_iter": 1}], ids=lambda one: next(iter(one))
)
def test_stopped_early_warns_with_numbers_and_leaves_a_model(case, limit):
    X, y = blobs(18)
    model = case.model(C=100.0, tol=1e-12, **limit)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, y)
    (message,) = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    assert next(iter(limit)) in message, "the message must name the remedy"
    assert f"{model.dual_gap_:.3g}" in message
    assert "1e-12" in message
    assert not model.converged_
    case.check_reported(model, X, y, box_of(y, 100.0))


@every_way
@pytest.mark.parametrize("number", [14, 34])
def test_a_large_penalty_and_few_passes_are_reported_truthfully(case, number):
    problem = tiny_problem(number)
    assert problem.C == 1e4
    model = case.model(tol=1e-9, max_iter=20, **problem.options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(problem.X, problem.y, sample_weight=problem.sample_weight)
    assert model.converged_ == (model.dual_gap_ <= 1e-9) == (not caught)
    assert all("max_iter" in str(warning.message) for warning in caught)
    case.check_reported(model, problem.X, problem.y, problem.box, problem.scaling)
    best = case.reference.solve(problem.A, problem.y, problem.box, problem.n_classes)
    slack = 1.0 + 1e-6
    assert model.dual_objective_ <= best[2] * slack
    assert best[3] <= model.primal_objective_ * slack


@every_case
def test_converged_fits_do_not_warn(case):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        case.model(tol=0.01, time_limit=600.0).fit(*blobs(19))


# ---------------------------------------------------------------- threads


@every_way
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [2, 80])
def test_same_bits_for_any_number_of_threads(case, dtype, n_classes):
    X, y = many_classes_problem(n_classes=80)
    X, y = X.astype(dtype), y % n_classes
    with warnings.catch_warnings():
        # Short steps need not arrive: the way must be the same.
        warnings.simplefilter("ignore", ConvergenceWarning)
        fits = [case.model(tol=0.01, max_iter=60, n_jobs=j).fit(X, y) for j in [1, 2, 4]]
    assert np.any(dense(fits[0].coef_))
    assert bits(fits[0]) == bits(fits[1]) == bits(fits[2])


@every_case
def test_warm_fits_have_the_same_bits_for_any_number_of_threads(case):
    X, y = many_classes_problem()
    ends = []
    for jobs in [1, 3]:
        model = case.model(C=0.3, tol=1e-3, n_jobs=jobs, warm_start=True).fit(X, y)
        ends.append(bits(model.set_params(C=1.0).fit(X, y)))
    assert ends[0] == ends[1]


# ---------------------------------------------------------------- options


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"loss": "log"}, ["loss", "log", "hinge", "squared_hinge"]),
        ({"loss": None}, ["loss", "None"]),
        ({"solver": "newton"}, ["solver", "newton", "auto", "passes"]),
        ({"solver": None}, ["solver", "None"]),
        ({"n_reductions": 5}, ["n_reductions", "5"]),
        ({"C": -np.inf}, ["C", "-inf"]),
    ],
    ids=lambda one: "-".join(map(str, one)),
)
def test_options_that_are_wrong_for_all(formulation, options, named):
    with pytest.raises(ValueError) as error:
        MulticlassSVC(formulation, **options).fit(*blobs(20))
    assert all(word in str(error.value) for word in named)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_options_that_are_for_other_formulations(formulation):
    facts, own = FORMULATIONS[formulation], SOLVERS[formulation]
    others = {name for solvers in SOLVERS.values() for name in solvers} - set(own)
    wrong = [("solver", name) for name in others]
    if not facts.hard_margin:
        wrong.append(("C", np.inf))
    if "squared_hinge" not in facts.offered_losses:
        wrong.append(("loss", "squared_hinge"))
    for name, value in wrong:
        with pytest.raises(ValueError, match=rf"^{name} must be .*{value}"):
            MulticlassSVC(formulation, **{name: value}).fit(*blobs(21))
