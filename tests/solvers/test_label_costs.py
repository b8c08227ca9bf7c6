"""Costs between labels: the optimum, its certificate, and everything that a fit goes through."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

import multimargin
from multimargin import LabelTree, MulticlassSVC, _core, distributed
from multimargin.inspection import margins as measured_margins
from multimargin.solvers._solution import Limits
from multimargin.solvers._stopping import GapStopping
from multimargin.solvers.active_set._solver import ActiveSetSolver
from tests.reference.costs import primal, solve
from tests.reference.ww import box_of, weights_of, with_intercept
from tests.support.certificate import check_optimum
from tests.support.rank_threads import run_ranks

FORMULATIONS = ["ww", "cs"]
CLASSES = 4
PARENTS = {0: "left", 1: "left", 2: "right", "left": "root", "right": "root", 3: "root"}
# Half the edges between two classes of that tree.
DISTANCE = np.array([[0, 1, 2, 1.5], [1, 0, 2, 1.5], [2, 2, 0, 1.5], [1.5, 1.5, 1.5, 0]])
ONES = 1.0 - np.eye(CLASSES)


def random_costs(seed=0, n_classes=CLASSES):
    """Not symmetric, some of them 0 and some of them 1."""
    rng = np.random.default_rng(seed)
    costs = np.round(rng.uniform(0, 3, (n_classes, n_classes)), 2)
    costs[rng.random(costs.shape) < 0.2] = 1.0
    costs[0, 1] = 0.0
    np.fill_diagonal(costs, 0)
    return costs


def exceptions(costs):
    """The sparse matrix of all that is not 1, zeros off the diagonal included."""
    own, other = np.nonzero((costs != 1) & ~np.eye(len(costs), dtype=bool))
    return sp.csr_matrix((costs[own, other], (own, other)), shape=costs.shape)


# What is given, and the costs that it means.
FORMS = {
    "array": (random_costs(), random_costs()),
    "sparse": (exceptions(random_costs()), random_costs()),
    "tree": (LabelTree(PARENTS), DISTANCE),
    "dict": (PARENTS, DISTANCE),
}


def make_data(seed=1, n=24, d=5, empty=True, dtype=np.float64):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(CLASSES), rng.integers(CLASSES, size=n - CLASSES)])
    X = rng.standard_normal((n, d)) + 1.5 * np.eye(CLASSES, d)[y]
    if empty:
        X[n // 2] = 0.0
    return X.astype(dtype), y


def check(model, X, y, box, costs, rel=1e-9):
    A = with_intercept(X) if model.fit_intercept else X.astype(np.float64)
    W = weights_of(model)
    value = primal(model.formulation, W, A, y, box, costs)
    check_optimum(model, W, value, solve(model.formulation, A, y, box, costs), rel)
    return value


def bits(model):
    return np.asarray(model.coef_).tobytes() + model.intercept_.tobytes()


# ---------------------------------------------------------------- the optimum


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("intercept", [True, False])
def test_optimum(formulation, form, intercept):
    given, costs = FORMS[form]
    X, y = make_data()
    weight = np.random.default_rng(3).uniform(0.3, 2, len(y))
    class_weight = {0: 1.0, 1: 2.0, 2: 0.5, 3: 1.0}
    box = box_of(y, 0.7, weight, np.array([1.0, 2.0, 0.5, 1.0]))
    model = MulticlassSVC(
        formulation, 0.7, label_cost=given, fit_intercept=intercept, tol=1e-6,
        class_weight=class_weight, random_state=0, max_iter=10**5, warm_start=True,
    )  # fmt: skip
    value = check(model.fit(X, y, weight), X, y, box, costs)
    found = model.certify(X, y, weight)
    assert found.primal == pytest.approx(value, rel=1e-12)
    assert found.dual_recomputed and -1e-12 <= found.gap <= 1e-6
    if intercept:  # other samples without entries would add nothing
        lost = measured_margins(model, X, y).loss
        assert 0.5 * np.sum(weights_of(model) ** 2) + box @ lost == pytest.approx(value)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("C", [0.01, 100.0])
def test_optimum_at_other_penalties(formulation, C):
    X, y = make_data(seed=2)
    model = MulticlassSVC(formulation, C, label_cost=random_costs(1), tol=1e-4, random_state=0)
    check(model.fit(X, y), X, y, box_of(y, C), random_costs(1))


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bundles", [None, 3])
def test_single_precision_and_bundles(formulation, form, bundles):
    given, costs = FORMS[form]
    X, y = make_data(dtype=np.float32)
    options = {"label_cost": given, "tol": 1e-4, "random_state": 0, "n_bundles": bundles}
    check(MulticlassSVC(formulation, 1.0, **options).fit(X, y), X, y, box_of(y, 1.0), costs, 1e-6)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_two_classes(formulation):
    X, y = make_data()
    y, costs = (y > 1).astype(int), np.array([[0.0, 0.5], [3.0, 0.0]])
    model = MulticlassSVC(formulation, 1.0, label_cost=costs, tol=1e-6, random_state=0).fit(X, y)
    check(model, X, y, box_of(y, 1.0), costs)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_costs_of_zero(formulation):
    X, y = make_data()
    model = MulticlassSVC(formulation, 1.0, label_cost=0 * ONES, random_state=0).fit(X, y)
    assert not np.any(model.coef_) and model.dual_gap_ == model.primal_objective_ == 0


# ---------------------------------------------------------------- the same problem, another way


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("ones", [ONES, sp.csr_matrix((4, 4)), sp.csr_matrix(ONES)])
def test_ones_are_no_costs(formulation, ones):
    X, y = make_data()
    plain = MulticlassSVC(formulation, 1.0, random_state=0).fit(X, y)
    assert bits(MulticlassSVC(formulation, 1.0, label_cost=ones, random_state=0).fit(X, y)) == bits(
        plain
    )


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_scaled_costs_scale_the_weights(formulation):
    X, y = make_data()
    options = {"tol": 1e-9, "max_iter": 10**5, "random_state": 0}
    plain = MulticlassSVC(formulation, 0.1, label_cost=random_costs(), **options).fit(X, y)
    # 1/2 |W|^2 + C loss(t D, W) is t^2 times 1/2 |V|^2 + (C / t) loss(D, V) at W = t V.
    for t in (1e-4, 32.0):
        scaled = MulticlassSVC(formulation, 0.1 * t, label_cost=t * random_costs(), **options)
        scaled.fit(X, y)
        np.testing.assert_allclose(scaled.coef_, t * plain.coef_, atol=1e-3 * t)
        assert scaled.primal_objective_ == pytest.approx(t**2 * plain.primal_objective_, rel=1e-8)


def many_classes(n_classes=150, n=450, dtype=np.float32):
    """More classes than are active from the start, as leaves of a tree of three levels."""
    rng = np.random.default_rng(5)
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])
    words = [rng.integers(40, size=6), 40 + 8 * (y[:, None] // 10) + rng.integers(8, size=(n, 4)),
             200 + 3 * y[:, None] + rng.integers(3, size=(n, 2))]  # fmt: skip
    X = np.zeros((n, 650), dtype=dtype)
    for columns in words:
        np.add.at(X, (np.arange(n)[:, None], np.broadcast_to(columns, (n, columns.shape[-1]))), 1)
    parents = {c: ("a", c // 10) for c in range(n_classes)}
    parents |= {("a", k): ("b", k // 4) for k in range(n_classes // 10)}
    return normalize(sp.csr_matrix(X)), y, parents


def by_ancestors(parents, classes, length):
    """Costs by walking up from every class, node by node."""

    def path(node):
        up = [node]
        while up[-1] in parents:
            up.append(parents[up[-1]])
        return [None, *up[::-1]]  # several roots have one parent

    costs = np.zeros((len(classes),) * 2)
    for (i, a), (j, b) in itertools.product(enumerate(map(path, classes)), repeat=2):
        shared = sum(x == y for x, y in zip(a, b, strict=False))
        costs[i, j] = length(len(a) - 1) + length(len(b) - 1) - 2 * length(shared - 1)
    return costs


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_tree_of_siblings_is_no_cost(formulation, dtype):
    """Costs of 1 that the kernels are given have the bits of a 1 that they know."""
    X, y, _ = many_classes(n_classes=80, n=240, dtype=dtype)
    options = {"C": 10.0, "tol": 1e-3, "random_state": 0, "sparse_coef": False}
    for bundles in (None, 3):
        plain = MulticlassSVC(formulation, n_bundles=bundles, **options).fit(X, y)
        flat = MulticlassSVC(
            formulation, n_bundles=bundles, label_cost=dict.fromkeys(range(80), "root"), **options
        ).fit(X, y)
        assert bits(flat) == bits(plain)
        assert flat.primal_objective_ == plain.primal_objective_


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("cost", ["distance", "depth"])
def test_forms_threads_and_ranks_make_the_same_bits(formulation, cost):
    X, y, parents = many_classes()
    tree, length = LabelTree(parents, cost), {"distance": 0.5, "depth": None}[cost]
    costs = by_ancestors(parents, range(150), lambda d: d * length if length else 1 - 0.5**d)
    options = {"tol": 1e-3, "random_state": 0, "sparse_coef": False}
    model = MulticlassSVC(formulation, 1.0, label_cost=tree, warm_start=True, **options).fit(X, y)
    assert model.converged_ and len(model.history_) > 1
    W, A = weights_of(model), with_intercept(X)
    value = primal(formulation, W, A, y, box_of(y, 1.0), costs)
    assert value <= model.primal_objective_ <= value * (1 + 1e-3)
    assert -1e-9 <= model.certify(X, y).gap <= 1e-3
    for given in (costs, exceptions(costs)):
        assert bits(MulticlassSVC(formulation, 1.0, label_cost=given, **options).fit(X, y)) == bits(
            model
        )
    two = MulticlassSVC(formulation, 1.0, label_cost=tree, n_jobs=2, **options).fit(X, y)
    assert bits(two) == bits(model)
    divided = MulticlassSVC(formulation, 1.0, label_cost=tree, n_bundles=4, **options)
    plain = MulticlassSVC(**divided.get_params()).fit(X, y)
    assert plain.primal_objective_ == pytest.approx(model.primal_objective_, rel=2e-3)
    gathered = run_ranks(3, lambda comm: distributed.fit(divided, X, y, comm=comm).gather())
    assert bits(gathered[0]) == bits(plain)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("isa", [isa for isa in range(3) if _core.isa_available(isa)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_instruction_set(formulation, isa, dtype):
    X, y, parents = many_classes(n_classes=80, n=240, dtype=dtype)
    _, problem = MulticlassSVC(formulation, 1.0, label_cost=LabelTree(parents))._problem(X, y, None)
    costs = by_ancestors(parents, range(80), lambda d: d / 2)
    for exact in (False, True):
        solver = ActiveSetSolver(problem, GapStopping(1e-3), Limits(1000), isa=isa)
        solver._exact = exact
        found = solver.run()
        W = np.hstack([found.weights.coef.toarray(), found.weights.constant[:, None]])
        value = primal(formulation, W.astype(float), with_intercept(X), y, box_of(y, 1.0), costs)
        assert found.converged
        assert value * (1 - 1e-12) <= found.primal <= value * (1 + 1e-3)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_violation_of_stopping_is_true(formulation):
    X, y, parents = many_classes(n_classes=80, n=240, dtype=np.float64)
    tree = LabelTree(parents)
    costs = by_ancestors(parents, range(80), lambda d: d / 2)
    model = MulticlassSVC(
        formulation, 1.0, label_cost=tree, stopping="violation", tol=0.01, random_state=0,
        warm_start=True,
    ).fit(X, y)  # fmt: skip
    alpha = np.zeros((len(y), 80))
    kept = model._warm_alpha
    rows = np.repeat(np.arange(len(y)), np.diff(kept.slot_begin))
    alpha[rows, kept.cls] = kept.value
    alpha[np.arange(len(y)), y] = 0
    facts = multimargin.formulations.FORMULATIONS[formulation]
    W = facts.weights(alpha, with_intercept(X), y)
    margins = facts.margins(with_intercept(X) @ W.T, y, costs[y])
    assert facts.violations(margins, alpha, np.ones(len(y))).max() <= 0.01 + 1e-6


# ---------------------------------------------------------------- what a fit goes through


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_warm_start_from_other_costs(formulation):
    X, y = make_data()
    model = MulticlassSVC(
        formulation, 1.0, tol=1e-6, warm_start=True, random_state=0, max_iter=10**5
    )
    model.fit(X, y).set_params(label_cost=random_costs(), C=5.0).fit(X, y)
    assert model.n_known_samples_ == len(y)
    check(model, X, y, box_of(y, 5.0), random_costs())
    model.set_params(label_cost=PARENTS, C=0.5).fit(X, y)
    check(model, X, y, box_of(y, 0.5), DISTANCE)


def test_path_and_tune():
    X, y = make_data(n=60)
    path = multimargin.path(
        X, y, estimator=MulticlassSVC("cs", label_cost=PARENTS, tol=1e-4, random_state=0),
        Cs=[0.1, 1.0], validation=(X, y), keep="all",
    )  # fmt: skip
    for point in path.points:
        check(point.model, X, y, box_of(y, point.C), DISTANCE)
        predicted = point.model.predict(X)
        mean = np.mean(DISTANCE[y, predicted])
        assert point.measures["mean_cost"] == pytest.approx(mean)
        assert multimargin.mean_label_cost(y, predicted, PARENTS) == pytest.approx(mean)
    tuning = multimargin.tune(
        X, y, label_cost=PARENTS, Cs=[0.1, 1.0], folds=2, measure="mean-cost", random_state=0
    )
    assert {each.formulation for each in tuning.candidates} == set(FORMULATIONS)
    assert tuning.left_out == {"ovr": "it takes no label_cost"}
    assert tuning.best().mean("mean-cost") == min(c.mean("mean-cost") for c in tuning.candidates)
    with pytest.raises(ValueError, match="needs costs between labels: give label_cost"):
        multimargin.tune(X, y, Cs=[1.0], folds=2, measure="mean-cost")


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_run_goes_on_with_the_same_costs_alone(formulation, tmp_path):
    X, y = make_data(n=60)
    model = MulticlassSVC(
        formulation, 1.0, label_cost=PARENTS, tol=1e-7, max_iter=6, random_state=0
    )
    with pytest.warns(ConvergenceWarning):
        distributed.fit(model, X, y, checkpoint=tmp_path, checkpoint_every=0.0)
    model.set_params(max_iter=10**5)
    with pytest.raises(ValueError, match="another run"):
        other = MulticlassSVC(**model.get_params()).set_params(label_cost=random_costs())
        distributed.fit(other, X, y, checkpoint=tmp_path)
    resumed = distributed.fit(model, X, y, checkpoint=tmp_path).gather()
    straight = distributed.fit(model, X, y, checkpoint=tmp_path / "other").gather()
    assert bits(resumed) == bits(straight)


def test_ranks_with_other_costs_are_told_so():
    X, y = make_data(n=60)

    def work(comm):
        costs = 2 * ONES if comm.rank else 3 * ONES
        distributed.fit(MulticlassSVC(label_cost=costs, random_state=0), X, y, comm=comm)

    with pytest.raises(ValueError, match="label_cost"):
        run_ranks(2, work)
