"""One-vs-rest reaches the optimum of every binary problem, and says truthfully how near it is."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from multimargin import MulticlassSVC
from tests.reference.ovr import ovr_primal, ovr_signs, ovr_weights_of, solve_ovr_qp
from tests.reference.ww import box_of, dense, with_intercept
from tests.support.certificate import check_history, check_optimum, check_reported
from tests.support.tiny_problems import integer_problems, labels, many_classes_problem, tiny_problem

LOSSES = ["hinge", "squared_hinge"]
TIGHT = {"formulation": "ovr", "tol": 1e-6, "max_iter": 10**6, "random_state": 0}


def blobs(seed, n=60, d=6, n_classes=4):
    """Overlapping classes, off the origin so that the intercept has work."""
    rng = np.random.default_rng(seed)
    y = labels(rng, n, n_classes)
    return rng.standard_normal((n, d)) + rng.standard_normal((n_classes, d))[y] + 0.5, y


def check_tiny(model, problem, rel=1e-9):
    A, signs, box = problem.A, ovr_signs(problem.y, problem.n_classes), problem.box
    W = ovr_weights_of(model, problem.scaling)
    assert W.shape == (signs.shape[1], A.shape[1])
    primal = ovr_primal(W, A, signs, box, model.loss)
    check_optimum(model, W, primal, solve_ovr_qp(A, signs, box, model.loss), rel)


@pytest.mark.parametrize("number", range(40))
@pytest.mark.parametrize("loss", LOSSES)
def test_optimum_of_tiny_problems(number, loss):
    problem = tiny_problem(number)
    if problem.C > 100.0:
        # What makes coordinates slow is C |x|^2: LIBLINEAR takes 3 million passes over some of
        # these problems at C = 1e4 and rows of length 3. Short rows keep the penalty reachable.
        problem = replace(problem, X=0.05 * problem.X, scaling=0.05 * problem.scaling)
    options = {**TIGHT, "tol": 1e-6 if problem.C <= 1.0 else 1e-4, **problem.options}
    model = MulticlassSVC(loss=loss, **options)
    model.fit(problem.X, problem.y, sample_weight=problem.sample_weight)
    check_tiny(model, problem)


@pytest.mark.parametrize("number", [14, 34])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_penalty_too_large_to_finish_is_reported_truthfully(number, loss):
    problem = tiny_problem(number)
    assert problem.C == 1e4
    options = {**TIGHT, "tol": 1e-9, "max_iter": 300, **problem.options}
    model = MulticlassSVC(loss=loss, **options)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.fit(problem.X, problem.y, sample_weight=problem.sample_weight)
    A, signs, box = problem.A, ovr_signs(problem.y, problem.n_classes), problem.box
    check_reported(model, ovr_primal(ovr_weights_of(model, problem.scaling), A, signs, box, loss))
    best = solve_ovr_qp(A, signs, box, loss)[2]
    assert model.dual_objective_ <= best * (1.0 + 1e-8) <= model.primal_objective_ * (1.0 + 1e-6)


@pytest.mark.parametrize("loss", LOSSES)
@settings(max_examples=30, deadline=None, derandomize=True)
@given(problem=integer_problems())
def test_optimum_of_generated_problems(loss, problem):
    model = MulticlassSVC(loss=loss, **{**TIGHT, "tol": 1e-5, **problem.options})
    model.fit(problem.X, problem.y, sample_weight=problem.sample_weight)
    check_tiny(model, problem)


@pytest.mark.parametrize("number", range(40, 52))
@pytest.mark.parametrize("loss", LOSSES)
def test_optimum_in_float32(number, loss):
    problem = tiny_problem(number, np.float32, C=[0.01, 1.0, 5.0][number % 3])
    model = MulticlassSVC(loss=loss, **{**TIGHT, "tol": 1e-3, **problem.options})
    model.fit(problem.X, problem.y, sample_weight=problem.sample_weight)
    assert model.coef_.dtype == np.float32
    # Single precision sums these rows to about 1e-6; 1e-4 leaves room and catches a wrong sum.
    check_tiny(model, problem, rel=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_agrees_with_liblinear(n_classes, fit_intercept, C, loss):
    X, y = blobs(n_classes, n_classes=n_classes)
    options = {"C": C, "loss": loss, "fit_intercept": fit_intercept, "intercept_scaling": 2.0}
    model = MulticlassSVC(**{**TIGHT, "tol": 1e-8}, **options).fit(X, y)
    peer = LinearSVC(tol=1e-9, max_iter=10**6, dual=True, **options).fit(X, y)
    assert model.coef_.shape == peer.coef_.shape
    assert np.shape(model.intercept_) == ((1 if n_classes == 2 else n_classes),)
    A = with_intercept(X, 2.0) if fit_intercept else X
    theirs = peer.coef_
    if fit_intercept:
        theirs = np.hstack([theirs, peer.intercept_[:, None] / 2.0])
    signs, box = ovr_signs(y, n_classes), box_of(y, C)
    objective = ovr_primal(theirs, A, signs, box, loss)
    assert model.primal_objective_ == pytest.approx(objective, rel=1e-6)
    ours = ovr_weights_of(model, 2.0)
    np.testing.assert_allclose(ours, theirs, atol=2e-3 * np.abs(theirs).max())
    scores = peer.decision_function(X)
    atol = 5e-3 * np.abs(scores).max()
    np.testing.assert_allclose(model.decision_function(X), scores, atol=atol)
    # Where the two best classes are further apart than the scores may differ.
    both = np.sort(np.column_stack([scores, np.zeros(len(y))]) if n_classes == 2 else scores)
    clear = both[:, -1] - both[:, -2] > 2.0 * atol
    assert np.mean(clear) > 0.5
    np.testing.assert_array_equal(model.predict(X)[clear], peer.predict(X)[clear])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("names", [["no", "yes"], ["yes", "zebra"]])
def test_two_classes_are_one_problem_with_the_second_class_positive(loss, names):
    X, y = blobs(9, n_classes=2)
    text = np.array(names)[y]
    model = MulticlassSVC(loss=loss, **TIGHT).fit(X, text)
    peer = LinearSVC(loss=loss, tol=1e-9, max_iter=10**6, dual=True).fit(X, text)
    assert model.coef_.shape == (1, X.shape[1])
    assert model.decision_function(X).shape == (len(y),)
    atol = 2e-3 * np.abs(peer.coef_).max()
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=atol)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=atol)
    positive = model.decision_function(X) > 0
    np.testing.assert_array_equal(model.predict(X), np.array(names)[positive.astype(int)])


def test_every_binary_problem_is_what_it_would_be_alone():
    X, y = blobs(10, n_classes=4)
    model = MulticlassSVC(**{**TIGHT, "tol": 1e-9}).fit(X, y)
    for c in range(4):
        alone = MulticlassSVC(**{**TIGHT, "tol": 1e-9}).fit(X, y == c)
        atol = 1e-3 * np.abs(alone.coef_).max()
        np.testing.assert_allclose(model.coef_[c], alone.coef_[0], atol=atol)
        np.testing.assert_allclose(model.intercept_[c], alone.intercept_[0], atol=atol)


def test_the_losses_differ():
    X, y = blobs(11)
    hinge, squared = (MulticlassSVC(loss=loss, **TIGHT).fit(X, y) for loss in LOSSES)
    assert np.abs(hinge.coef_ - squared.coef_).max() > 1e-2


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_integer_weights_are_repetitions(loss, n_classes):
    X, y = blobs(12, n_classes=n_classes)
    weight = np.random.default_rng(12).integers(0, 4, size=len(y))
    weight[:n_classes] = 2  # no class vanishes
    weighted = MulticlassSVC(loss=loss, **TIGHT).fit(X, y, sample_weight=weight)
    repeated = MulticlassSVC(loss=loss, **TIGHT).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    assert weighted.primal_objective_ == pytest.approx(repeated.primal_objective_, rel=2e-6)
    difference = ovr_weights_of(weighted) - ovr_weights_of(repeated)
    # Each is within sqrt(2 * gap) of the one optimum, so the two are within twice that.
    allowed = 4.0 * TIGHT["tol"] * weighted.primal_objective_ * 1.01
    assert 0.5 * np.sum(difference**2) <= allowed


@pytest.mark.parametrize("loss", LOSSES)
def test_balanced_class_weights(loss):
    rng = np.random.default_rng(13)
    y = np.concatenate([[1, 2, 2], np.zeros(27, dtype=int)])
    X = rng.standard_normal((30, 5)) + np.eye(3, 5)[y]
    model = MulticlassSVC(loss=loss, class_weight="balanced", **TIGHT).fit(X, y)
    box = box_of(y, 1.0, class_weight=30.0 / (3.0 * np.bincount(y)))
    A, signs = with_intercept(X), ovr_signs(y, 3)
    W = ovr_weights_of(model)
    primal = ovr_primal(W, A, signs, box, loss)
    check_optimum(model, W, primal, solve_ovr_qp(A, signs, box, loss))


@pytest.mark.parametrize(("n_classes", "problems"), [(2, 1), (3, 3)])
@pytest.mark.parametrize("loss", LOSSES)
def test_samples_that_are_all_empty(n_classes, problems, loss):
    """Without features or intercept every margin is 1: P = D = C n per binary problem, W = 0."""
    X, y = scipy.sparse.csr_array((12, 5)), np.arange(12) % n_classes
    model = MulticlassSVC("ovr", 0.5, loss=loss, fit_intercept=False).fit(X, y)
    assert model.converged_
    assert model.primal_objective_ == pytest.approx(0.5 * 12 * problems)
    assert model.dual_objective_ == pytest.approx(0.5 * 12 * problems, rel=0.01)
    assert not np.any(dense(model.coef_))


def test_small_penalty_is_all_at_the_bound():
    """Nothing to decide: w_c = sum of own rows - sum of the others, times C, after few passes."""
    X, y = blobs(14)
    C = 1e-5
    model = MulticlassSVC(**{**TIGHT, "tol": 1e-9}, C=C).fit(X, y)
    assert model.converged_
    assert model.n_iter_ <= 5
    closed = C * ovr_signs(y, 4).T @ with_intercept(X)
    np.testing.assert_allclose(ovr_weights_of(model), closed, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("loss", LOSSES)
def test_violation_stopping_bounds_the_gap(loss):
    """hinge: no projected gradient above tol makes P - D <= tol * B * sum_i u_i."""
    X, y = blobs(15)
    model = MulticlassSVC("ovr", loss=loss, stopping="violation", tol=1e-3, max_iter=10**6)
    model.fit(X, y)
    assert model.converged_
    assert 0.0 <= model.violation_ <= 1e-3
    A, signs, box = with_intercept(X), ovr_signs(y, 4), box_of(y, 1.0)
    primal = ovr_primal(ovr_weights_of(model), A, signs, box, loss)
    check_reported(model, primal)
    best = solve_ovr_qp(A, signs, box, loss)[2]
    assert primal >= best * (1.0 - 1e-8)
    if loss == "hinge":
        assert primal - model.dual_objective_ <= 1e-3 * len(y) * 4 * (1.0 + 1e-9)
    else:
        # u (max(0, m) - a / 2u)^2 is u g^2 where a > 0; what is left out of it has a = 0, m <= g.
        assert primal - best <= 0.01 * best


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("path", [[0.01, 0.1, 1.0, 10.0], [10.0, 1.0, 0.1, 0.01]])
def test_warm_start_along_a_path(loss, path):
    X, y = blobs(16)
    warm = MulticlassSVC(loss=loss, warm_start=True, **{**TIGHT, "tol": 1e-4})
    signs, A = ovr_signs(y, 4), with_intercept(X)
    for C in path:
        warm.set_params(C=C).fit(X, y)
        cold = MulticlassSVC(loss=loss, C=C, **{**TIGHT, "tol": 1e-4}).fit(X, y)
        reference = solve_ovr_qp(A, signs, box_of(y, C), loss)
        for model in [warm, cold]:
            W = ovr_weights_of(model)
            check_optimum(model, W, ovr_primal(W, A, signs, box_of(y, C), loss), reference)


@pytest.mark.parametrize("stopping", ["gap", "violation"])
@pytest.mark.parametrize("shrinking", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
def test_warm_lines_of_classes_reach_the_cold_optimum(loss, shrinking, stopping):
    """Several lines, the last one in part; machines that are done wait for others in theirs."""
    X, y = many_classes_problem()
    options = {**TIGHT, "tol": 1e-5, "loss": loss, "shrinking": shrinking, "stopping": stopping}
    warm = MulticlassSVC(warm_start=True, **options)
    for C in [0.05, 0.2, 3.0, 1.0]:
        warm.set_params(C=C).fit(X, y)
        cold = MulticlassSVC(C=C, **options).fit(X, y)
        assert warm.converged_ and cold.converged_
        assert warm.primal_objective_ == pytest.approx(cold.primal_objective_, rel=1e-4)
        assert warm.dual_objective_ <= cold.primal_objective_ * (1 + 1e-9)
        assert np.allclose(dense(warm.coef_), dense(cold.coef_), atol=0.02 * C**0.5)


def test_a_fit_that_keeps_its_dual_variables_is_the_cold_fit():
    X, y = many_classes_problem()
    fits = [MulticlassSVC(warm_start=keep, **TIGHT).fit(X, y) for keep in (False, True)]
    assert np.array_equal(dense(fits[0].coef_), dense(fits[1].coef_))
    assert fits[0].n_iter_ == fits[1].n_iter_


@pytest.mark.parametrize("loss", LOSSES)
def test_warm_fits_have_the_same_bits_for_any_number_of_threads(loss):
    X, y = many_classes_problem()
    ends = []
    for jobs in [1, 3]:
        model = MulticlassSVC("ovr", 0.3, loss=loss, tol=1e-3, n_jobs=jobs, random_state=3)
        model.set_params(warm_start=True).fit(X, y).set_params(C=1.0).fit(X, y)
        ends.append((dense(model.coef_), model.n_iter_, model.dual_objective_))
    assert np.array_equal(ends[0][0], ends[1][0])
    assert ends[0][1:] == ends[1][1:]


@pytest.mark.parametrize("loss", LOSSES)
def test_warm_start_from_the_solution_has_nothing_to_do(loss):
    X, y = blobs(17)
    model = MulticlassSVC(loss=loss, warm_start=True, **{**TIGHT, "tol": 1e-4}).fit(X, y)
    cold, before = model.n_iter_, model.primal_objective_
    model.fit(X, y)
    assert model.converged_
    assert model.n_iter_ <= 1 < cold
    assert model.primal_objective_ == pytest.approx(before, rel=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_classes", [2, 40])
def test_same_bits_for_any_number_of_threads(dtype, loss, n_classes):
    X, y = many_classes_problem()
    X, y = X.astype(dtype), y % n_classes
    fits = [
        MulticlassSVC("ovr", 2.0, loss=loss, tol=1e-3, n_jobs=jobs, random_state=3).fit(X, y)
        for jobs in [1, 2, 4]
    ]
    for other in fits[1:]:
        assert np.array_equal(dense(fits[0].coef_), dense(other.coef_))
        assert np.array_equal(fits[0].intercept_, other.intercept_)
        assert fits[0].n_iter_ == other.n_iter_
        assert fits[0].dual_objective_ == other.dual_objective_


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_classes", [2, 5])
def test_history_tells_the_run(loss, n_classes):
    X, y = blobs(18, n_classes=n_classes)
    model = MulticlassSVC(loss=loss, C=10.0, **TIGHT).fit(X, y)
    check_history(model)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("limit", [{"time_limit": 1e-6}, {"max_iter": 1}])
def test_stopped_early_warns_with_numbers_and_leaves_a_model(loss, limit):
    X, y = blobs(19)
    model = MulticlassSVC("ovr", 100.0, loss=loss, tol=1e-12, random_state=0, **limit)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, y)
    (message,) = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    assert next(iter(limit)) in message, "the message must name the remedy"
    assert f"{model.dual_gap_:.3g}" in message
    assert "1e-12" in message
    assert not model.converged_
    signs, box = ovr_signs(y, 4), box_of(y, 100.0)
    check_reported(model, ovr_primal(ovr_weights_of(model), with_intercept(X), signs, box, loss))


def test_converged_fits_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for loss in LOSSES:
            MulticlassSVC("ovr", loss=loss, time_limit=600.0).fit(*blobs(20))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"loss": "log"}, ["loss", "log", "hinge", "squared_hinge"]),
        ({"loss": None}, ["loss", "None"]),
        ({"solver": "block"}, ["solver", "block"]),
        ({"solver": "alternating"}, ["solver", "alternating"]),
        ({"solver": "newton"}, ["solver", "newton"]),
        ({"n_reductions": 5}, ["n_reductions", "5"]),
        ({"C": np.inf}, ["C", "inf"]),
        ({"C": -np.inf}, ["C", "inf"]),
    ],
)
@pytest.mark.parametrize("formulation", ["ovr", "ww"])
def test_options_that_do_not_apply_are_refused(options, named, formulation):
    with pytest.raises(ValueError) as error:
        MulticlassSVC(formulation, **options).fit(*blobs(21))
    for word in named:
        assert word in str(error.value)


def test_squared_hinge_is_for_one_vs_rest_alone():
    for formulation in ["ww", "llw"]:
        with pytest.raises(ValueError, match=r"loss.*squared_hinge"):
            MulticlassSVC(formulation, loss="squared_hinge").fit(*blobs(22))
