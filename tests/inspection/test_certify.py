"""Certificates computed anew: against the twins, for every kind of model, and who is refused."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from multimargin import (
    MulticlassSVC,
    TextClassifier,
    distributed,
    dump_svmlight,
    load_model,
    prune,
    save_model,
)
from multimargin.cli import main
from multimargin.formulations import FORMULATIONS
from multimargin.inspection import Certificate, _objectives
from multimargin.solvers._solution import Alpha, DenseAlpha
from tests.reference.cases import CASES
from tests.reference.llw import llw_hard_margin, solve_llw_hard
from tests.reference.references import reference_of
from tests.reference.ww import weights_of
from tests.support.rank_threads import run_ranks
from tests.support.tiny_problems import many_classes_problem, separable_problem, tiny_problem

KINDS = [(case.formulation, case.loss) for case in CASES]


def primal_twin(model, p):
    """By the formulas, of what the model has for weights."""
    reference = reference_of(model.formulation, model.loss)
    W = reference.weights_of(model, p.scaling)
    if FORMULATIONS[model.formulation].centred:
        W = W - W.mean(axis=0)
    return reference.primal(W, p.A, p.y, p.box)


def dual_twin(model, alpha, p):
    return reference_of(model.formulation, model.loss).dual(alpha, p.A, p.y, p.box)


def fitted(p, formulation, loss="hinge", **options):
    options = {"tol": 1e-3, "warm_start": True, "random_state": 0, **p.options, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MulticlassSVC(formulation, loss=loss, **options).fit(p.X, p.y, p.sample_weight)


def empty_rows(p):
    return np.flatnonzero(np.all(p.A == 0, axis=1))


def random_alpha(p, formulation, loss, rng):
    """Feasible variables: of what fits keep, a part, and of what certificates assume, all."""
    facts, empty = FORMULATIONS[formulation], empty_rows(p)
    columns = facts.weight_rows(p.n_classes)
    alpha = rng.random((len(p.y), columns)) * p.box[:, None]
    full = 2.0 if loss == "squared_hinge" else 1.0
    alpha[empty] = full * p.box[empty, None]
    alpha *= facts.variables(p.y - (columns < p.n_classes), columns)
    if not facts.separable:
        alpha /= p.n_classes
        # Of an empty row all is taken, by whichever class.
        alpha[empty] = 0
        alpha[empty, (p.y[empty] + 1) % p.n_classes] = p.box[empty]
    return alpha


def as_kept(alpha, p, formulation, loss):
    """The same as a fit would keep it, without what it has no variables for."""
    kept = alpha.copy()
    kept[empty_rows(p)] = 0
    if not FORMULATIONS[formulation].sparse_dual:
        return DenseAlpha(formulation, loss, p.y.astype(np.int32), kept, p.box)
    pair, cls, value = [0], [], []
    for i, own in enumerate(p.y):
        others = np.flatnonzero(kept[i])
        cls += [own, *others]
        value += [kept[i].sum(), *kept[i, others]]  # what stands with the own class is not used
        pair.append(len(cls))
    lists = (np.array(pair, dtype=np.int64), np.array(cls, dtype=np.int32), np.array(value))
    return Alpha(formulation, *lists, p.box)


@pytest.mark.parametrize("number", range(12))
@pytest.mark.parametrize(("formulation", "loss"), KINDS)
def test_any_weights_and_any_variables(formulation, loss, number, monkeypatch):
    # Not only at an optimum, where mistakes of the first order do not show.
    p, rng = tiny_problem(number), np.random.default_rng(number)
    model = fitted(p, formulation, loss, max_iter=2)
    model.coef_ = rng.normal(size=model.coef_.shape)
    if p.fit_intercept:
        model.intercept_ = rng.normal(size=model.intercept_.shape)
    if number % 2:
        model.sparsify()
    alpha = random_alpha(p, formulation, loss, rng)
    model._warm_alpha = as_kept(alpha, p, formulation, loss)
    for block_bytes in (2**26, 1):  # all classes at once, and one by one
        monkeypatch.setattr(_objectives, "_BLOCK_BYTES", block_bytes)
        found = model.certify(p.X, p.y, p.sample_weight)
        assert found.primal == pytest.approx(primal_twin(model, p), rel=1e-12)
        assert found.dual == pytest.approx(dual_twin(model, alpha, p), rel=1e-12)
        scale = max(abs(found.primal), abs(found.dual))
        assert found.gap == pytest.approx((found.primal - found.dual) / scale)
        assert found.dual_recomputed


@pytest.mark.parametrize(("formulation", "loss"), KINDS)
def test_variables_beyond_their_bounds_are_cut_off(formulation, loss):
    p = replace(tiny_problem(5), fit_intercept=True)
    model = fitted(p, formulation, loss)
    alpha = model._warm_alpha
    larger = np.where(np.arange(alpha.value.size).reshape(alpha.value.shape) % 3, 5.0, -1.0)
    model._warm_alpha = replace(alpha, value=larger * np.maximum(alpha.value, p.box.max()))
    assert model.certify(p.X, p.y, p.sample_weight).dual <= fitted(
        p, formulation, loss, tol=1e-6
    ).primal_objective_ * (1 + 1e-6)


@pytest.mark.parametrize("number", range(8))
@pytest.mark.parametrize(("formulation", "loss"), KINDS)
def test_what_a_fit_claims(formulation, loss, number):
    p = tiny_problem(number, C=0.5)
    found = (model := fitted(p, formulation, loss)).certify(p.X, p.y, p.sample_weight)
    assert found.primal == pytest.approx(model.primal_objective_, rel=1e-9)
    assert found.dual == pytest.approx(model.dual_objective_, rel=1e-9)
    assert found.gap == pytest.approx(model.dual_gap_, abs=1e-9)


def test_samples_of_weight_zero_are_no_part_of_it():
    p = tiny_problem(7)
    weight = np.where(np.arange(len(p.y)) % 3, 1.0, 0.0)
    model = MulticlassSVC(warm_start=True, random_state=0).fit(p.X, p.y, weight)
    used = weight > 0
    assert model.certify(p.X, p.y, weight) == model.certify(p.X[used], p.y[used])


def test_balanced_classes_are_counted_anew():
    p = replace(tiny_problem(6), class_weight="balanced")
    model = MulticlassSVC("ww", class_weight="balanced", warm_start=True, random_state=0)
    found = model.fit(p.X, p.y, p.sample_weight).certify(p.X, p.y, p.sample_weight)
    assert found.gap == pytest.approx(model.dual_gap_, abs=1e-9)


# ------------------------------------------------------------ hard margin


@pytest.mark.parametrize("n_classes", [2, 4])
def test_hard_margin(n_classes):
    X, y = separable_problem(0, n_classes=n_classes)
    model = MulticlassSVC("llw", np.inf, tol=1e-3, warm_start=True, fit_intercept=False)
    found = model.set_params(random_state=0).fit(X, y).certify(X, y)
    best = solve_llw_hard(X, y)[2]
    assert found.dual <= best * (1 + 1e-9) and best <= found.primal * (1 + 1e-9)
    assert -1e-9 <= found.gap <= 1e-3
    model.coef_ = 0.5 * model.coef_  # obeys no more, and does again when it is scaled
    W = weights_of(model)
    short = model.certify(X, y)
    assert short.primal == pytest.approx(0.5 * np.sum(W**2) / llw_hard_margin(W, X, y) ** 2)
    model.coef_ = -model.coef_
    assert model.certify(X, y).primal == np.inf
    assert model.certify(X, y).gap == 1.0


# ------------------------------------------------------------ models of all kinds


@pytest.fixture
def sparse():
    X, y = many_classes_problem(n=300, d=80, n_classes=12)
    return X.astype(np.float32), y


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("weights", [None, "float16"])
def test_files(sparse, tmp_path, formulation, weights):
    X, y = sparse
    C = 1.0
    if formulation in ("adm", "atm"):  # many samples have zero weights, whatever C
        X, y, C = X[:60], y[:60], 100.0
    model = MulticlassSVC(formulation, C, warm_start=True, random_state=0).fit(X, y)
    whole = model.certify(X, y)
    assert whole.gap <= model.dual_gap_ + 1e-6
    for dual in (True, False):
        save_model(model, tmp_path / "m", weights=weights, dual=dual)
        loaded = load_model(tmp_path / "m")
        found = loaded.certify(X, y)
        assert found.dual_recomputed == dual
        assert found.dual == pytest.approx(whole.dual, rel=1e-6)
        if weights is None:
            assert found.primal == whole.primal
        else:
            assert not hasattr(loaded, "dual_gap_")
            assert found.primal != whole.primal
            assert found.gap == pytest.approx(whole.gap, abs=0.01)
    if FORMULATIONS[formulation].centred:  # the mean that rounding leaves is taken off
        loaded.coef_ = loaded.coef_ + 1.0
        assert loaded.certify(X, y).primal == pytest.approx(found.primal, rel=1e-5)


def test_smaller_models(sparse, tmp_path):
    X, y = sparse
    model = MulticlassSVC(warm_start=True, random_state=0).fit(X, y)
    pruned = prune(model, keep=0.3)
    save_model(pruned, tmp_path / "pruned", weights="float16")
    for one in (pruned, load_model(tmp_path / "pruned")):
        found = one.certify(X, y)
        assert not found.dual_recomputed
        assert found.dual == model.dual_objective_
        assert model.dual_gap_ < found.gap < 1
    del pruned.dual_objective_
    with pytest.raises(ValueError, match="no dual objective and no dual variables"):
        pruned.certify(X, y)


def test_text_models(tmp_path):
    texts = ["a red rose", "white roses", "a loud dog", "the red cat", "", "a tree"]
    y = np.array([*"ffppff"])
    model = TextClassifier(C=10.0, warm_start=True, fit_intercept=False, random_state=0)
    model.fit(iter(texts), y)
    found = model.certify(iter(texts), y)
    assert found.dual_recomputed and found.gap <= model.dual_gap_ + 1e-6
    save_model(model, tmp_path / "m", dual=True)
    assert load_model(tmp_path / "m").certify(texts, y) == found
    again = model.certify(texts[::-1], y[::-1])
    assert (again.primal, again.dual) == pytest.approx((found.primal, found.dual))
    with pytest.raises(ValueError, match="1 of 6 are others, and 1 of 6 are missing"):
        model.certify([*texts[:-1], "a flower"], y)


def test_tables_with_numbers():
    table = {"title": ["a small dog", "a big dog", "a red rose", "a white rose"]}
    table["price"] = [100, 200, 3, 4]
    model = TextClassifier(text="title", numeric="price", warm_start=True, random_state=0)
    assert model.fit(table, [*"ppff"]).certify(table, [*"ppff"]).dual_recomputed


def test_over_ranks(sparse, tmp_path):
    X, y = sparse

    def on_a_rank(comm):
        model = distributed.fit(MulticlassSVC("cs", random_state=0), X, y, comm=comm)
        model.save(tmp_path / "m")
        return model.certify(X, y)

    one, other = run_ranks(2, on_a_rank)
    assert isinstance(one, Certificate) and one == other
    assert one == load_model(tmp_path / "m").certify(X, y)
    assert one.gap <= 0.01 + 1e-6 and not one.dual_recomputed


# ------------------------------------------------------------ which samples


def test_another_order_is_the_same_problem(sparse):
    X, y = sparse
    X = sp.vstack([X, X[:20]], format="csr")  # some twice, and of these some with other labels
    y = np.append(y, (y[:20] + np.arange(20) % 2) % 12)
    order = np.random.default_rng(0).permutation(len(y))
    for formulation in FORMULATIONS:
        model = MulticlassSVC(formulation, warm_start=True, random_state=0).fit(X, y)
        one, other = model.certify(X, y), model.certify(X[order], y[order])
        assert one.primal == pytest.approx(other.primal, rel=1e-12)
        assert one.dual == pytest.approx(other.dual, rel=1e-12)


def test_other_samples_are_refused(sparse):
    X, y = sparse
    model = MulticlassSVC(warm_start=True, random_state=0)
    with pytest.raises(NotFittedError):
        model.certify(X, y)
    model.fit(X, y)
    with pytest.raises(ValueError, match="0 of 290 are others, and 10 of 300 are missing"):
        model.certify(X[10:], y[10:])
    with pytest.raises(ValueError, match="1 of 301 are others, and 0 of 300 are missing"):
        model.certify(sp.vstack([X, 2 * X[:1]], format="csr"), np.append(y, y[0]))
    swapped = y.copy()
    swapped[[0, 1]] = y[[1, 0]]
    with pytest.raises(ValueError, match="2 of 300 are others"):
        model.certify(X, swapped)
    with pytest.raises(ValueError, match="11 classes, which are not the 12"):
        model.certify(X[y > 0], y[y > 0])
    with pytest.raises(ValueError, match="features"):
        model.certify(X[:, 1:], y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.certify(X, y[1:])


# ------------------------------------------------------------ the command


@pytest.fixture
def folder(sparse, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dump_svmlight("data.svm", *sparse)
    dump_svmlight("part.svm", sparse[0][:150], sparse[1][:150])
    return tmp_path


def evaluated(capsys, *words, status=0):
    assert main(["evaluate", *words, "--json", "--certify"]) == status
    out, err = capsys.readouterr()
    return json.loads(out) if out else {}, err


def test_evaluate(folder, capsys):
    assert main(["train", "data.svm", "kept", "--quiet", "--keep-dual"]) == 0
    assert main(["train", "data.svm", "plain", "--quiet"]) == 0
    kept, plain = (evaluated(capsys, name, "data.svm")[0] for name in ("kept", "plain"))
    assert kept["dual_recomputed"] and not plain["dual_recomputed"]
    for result in (kept, plain):
        assert result["dual_objective"] <= result["primal_objective"]
        assert result["claimed_gap"] - 1e-4 <= result["gap"] <= result["claimed_gap"] + 1e-6
    assert main(["evaluate", "plain", "data.svm", "--certify"]) == 0
    out = capsys.readouterr().out
    assert f"claimed gap       {plain['claimed_gap']:.6g}" in out
    assert "(as the model has it, which keeps no dual variables)" in out
    assert main(["evaluate", "plain", "data.svm"]) == 0
    assert "gap" not in capsys.readouterr().out


def test_evaluate_finds_what_is_not_true(folder, sparse, capsys):
    assert main(["train", "data.svm", "kept", "--quiet", "--keep-dual"]) == 0
    assert main(["train", "data.svm", "plain", "--quiet"]) == 0
    assert "150 of 300 are missing" in evaluated(capsys, "kept", "part.svm", status=1)[1]
    result, err = evaluated(capsys, "plain", "part.svm", status=1)
    assert result["gap"] < 0 and "trained on other data" in err
    model = load_model("plain")
    model.coef_ = 1.1 * model.coef_
    save_model(model, "worse")
    result, err = evaluated(capsys, "worse", "data.svm", status=1)
    assert f"but the model claims {result['claimed_gap']:.6g}" in err
    assert main(["prune", "plain", "small", "--keep", "0.5"]) == 0
    capsys.readouterr()
    assert evaluated(capsys, "small", "data.svm")[0]["claimed_gap"] is None


def test_evaluate_a_text_model(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = ["a red rose,f", "white roses,f", "a loud dog,p", "the red cat,p"]
    (tmp_path / "t.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    train = ["train", "t.csv", "m", "--text", "text", "--label", "label", "--keep-dual", "--quiet"]
    assert main(train) == 0
    result, _ = evaluated(capsys, "m", "t.csv")
    assert result["dual_recomputed"] and result["gap"] <= result["claimed_gap"] + 1e-6
