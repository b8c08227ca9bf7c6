"""Models in use: opened by several processes, rounded, pruned, asked about few samples."""

import copy
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from multimargin import (
    ModelFileError,
    MulticlassSVC,
    PruningCost,
    _core,
    load_model,
    prune,
    pruning_costs,
    save_model,
)
from multimargin.cli import main
from multimargin.io._array_file import read_arrays
from multimargin.models._feature_major import SplitColumns
from multimargin.models._scores import LinearScores
from multimargin.models.file._disk_dtype import to_disk
from multimargin.solvers._layout import core_rows

ISAS = [isa for isa in range(3) if _core.isa_available(isa)]


def text_like(n=120, d=60, classes=7, seed=0, dtype=np.float32):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    dense = rng.random((n, d)) * (rng.random((n, d)) < 0.1)
    dense[np.arange(n), y] += 1  # a feature that tells the class
    X = sp.csr_matrix(dense, dtype=dtype)
    return X, y


@pytest.fixture(scope="module")
def fitted():
    X, y = text_like()
    return MulticlassSVC(sparse_coef=True, random_state=0).fit(X, y), X, y


@pytest.fixture(scope="module")
def path(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model"
    save_model(fitted[0], path)
    return path


# ---------------------------------------------------------------- few samples, again and again


def asked_often(path, X):
    model = load_model(path)
    for i in range(12):
        model.predict(X[i])
    assert model._feature_major._weights is not None
    return model


def test_weights_by_feature_give_the_same_bits(fitted, path):
    _, X, _ = fitted
    plain, often = load_model(path), asked_often(path, X)
    assert plain._feature_major._weights is None
    assert plain.decision_function(X).tobytes() == often.decision_function(X).tobytes()
    for one, other in zip(plain.predict_topk(X, 4), often.predict_topk(X, 4), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("classes", [3, 64, 130])
def test_all_forms_of_weights_give_the_same_bits(isa, dtype, classes):
    rng = np.random.default_rng(classes)
    coef = sp.random(classes, 40, 0.1, format="lil", random_state=1, dtype=dtype)
    X = sp.random(50, 40, 0.2, format="csr", random_state=2, dtype=dtype)
    intercept = rng.normal(size=classes).astype(dtype)
    coef[:, 3] = 0.25  # a frequent feature
    coef = coef.tocsr()
    split = SplitColumns(coef)
    assert 0 < split.n_dense < 40
    given = {"rows": core_rows(X), "isa": isa, "threads": 2}
    by_class = np.empty((50, classes), dtype)
    weights = _core.sparse_weights(coef.data, coef.indices, coef.indptr, 40, intercept)
    _core.scores(**given, weights=weights, out=by_class)
    by_feature, dense = np.empty_like(by_class), np.empty_like(by_class)
    lists = split.lists
    weights = _core.weights_by_feature(
        lists.data, lists.indices, lists.indptr, split.slot, split.matrix, intercept
    )
    _core.scores(**given, weights=weights, out=by_feature)
    weights = _core.dense_weights(coef.toarray(), intercept)
    _core.scores(**given, weights=weights, out=dense)
    assert by_class.tobytes() == by_feature.tobytes() == dense.tobytes()
    np.testing.assert_allclose(by_class, X @ coef.toarray().T + intercept, atol=1e-5)


def test_weights_that_can_change_are_not_kept_twice(fitted):
    model, X, _ = fitted
    model = copy.deepcopy(model)
    for i in range(12):
        model.predict(X[i])
    model.coef_.data[:] = 0
    assert np.all(model.decision_function(X[:1]) == model.intercept_)


def test_other_weights_of_a_loaded_model_are_used_at_once(fitted, path):
    _, X, _ = fitted
    model = asked_often(path, X)
    model.coef_ = model.coef_ * 2
    np.testing.assert_array_equal(
        model.decision_function(X[:3]), LinearScores(model.coef_, model.intercept_, 1).scores(X[:3])
    )


def test_copies_and_pickles_leave_the_second_form_behind(fitted, path):
    _, X, _ = fitted
    model = asked_often(path, X)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert twin._feature_major._weights is None
        assert np.array_equal(twin.predict(X), model.predict(X))


def test_a_forged_index_is_still_found_when_asked_often(fitted, path, tmp_path):
    _, X, _ = fitted
    content = bytearray(path.read_bytes())
    _, arrays = read_arrays(path)
    at = content.index(arrays["coef.indices"].tobytes())
    content[at : at + 4] = np.int32(1 << 20).tobytes()
    forged = tmp_path / "forged"
    forged.write_bytes(bytes(content))
    model = load_model(forged)
    for _ in range(12):
        with pytest.raises(ModelFileError, match="corrupt"):
            model.predict(X[0])


def test_checks_are_not_left_out_for_plain_samples(path):
    model = load_model(path)
    with pytest.raises(ValueError, match="NaN"):
        model.predict(sp.csr_matrix(([np.nan], ([0], [0])), shape=(1, 60)))
    with pytest.raises(ValueError, match="59 features"):
        model.predict(sp.csr_matrix((1, 59)))
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(sp.csr_matrix((0, 60)))


_CHILD = """
import sys
import numpy as np
from multimargin import load_model
model = load_model(sys.argv[1])
model.predict(np.ones((1, model.n_features_in_), dtype=np.float32))
float(model.coef_.data.sum() + model.coef_.indices.sum())
print("ready", flush=True)
sys.stdin.readline()
inside, total = False, dict(Rss=0, Pss=0, Private_Dirty=0)
for line in open("/proc/self/smaps"):
    name = line.split()[0]
    if not name.endswith(":"):
        inside = line.rstrip().endswith(sys.argv[1])
    elif inside and name[:-1] in total:
        total[name[:-1]] += 1024 * int(line.split()[1])
print(*total.values(), flush=True)
sys.stdin.readline()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/smaps")
def test_processes_share_the_pages_of_a_model(tmp_path):
    coef = sp.random(3000, 2000, 0.1, format="csr", random_state=0, dtype=np.float32)
    model = MulticlassSVC()
    model.classes_, model.coef_ = np.arange(3000), coef
    model.intercept_, model.n_features_in_ = np.zeros(3000, np.float32), 2000
    path = tmp_path / "large"
    save_model(model, path)
    command = [sys.executable, "-c", _CHILD, str(path.resolve())]
    children = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    try:
        assert [child.stdout.readline() for child in children] == ["ready\n"] * 2
        found = []
        for child in children:
            child.stdin.write("\n")
            child.stdin.flush()
            found.append([int(number) for number in child.stdout.readline().split()])
    finally:
        for child in children:
            child.communicate()
    size = coef.data.nbytes + coef.indices.nbytes
    for resident, part, own in found:
        assert resident >= 0.9 * size
        assert part <= 0.6 * resident  # of two
        assert own == 0  # nothing was written, so nothing was copied


# ---------------------------------------------------------------- float16


@pytest.mark.parametrize("sparse", [True, False])
def test_float16_is_rounding_and_nothing_else(fitted, tmp_path, sparse):
    model, X, _ = fitted
    model = copy.deepcopy(model)
    if not sparse:
        model.densify()
    save_model(model, tmp_path / "half", weights="float16")
    save_model(model, tmp_path / "full")
    loaded = load_model(tmp_path / "half", verify=True)
    expected = model.coef_.astype(np.float32) if sparse else model.coef_
    if sparse:
        expected.data = expected.data.astype(np.float16).astype(np.float32)
        assert (loaded.coef_ != expected).nnz == 0
        assert not loaded.coef_.data.flags.writeable
    else:
        assert np.array_equal(loaded.coef_, expected.astype(np.float16).astype(np.float32))
    assert loaded.coef_.dtype == np.float32
    assert loaded.n_iter_ == model.n_iter_
    assert not hasattr(loaded, "dual_gap_") and not hasattr(loaded, "converged_")
    assert (tmp_path / "half").stat().st_size < (tmp_path / "full").stat().st_size
    assert np.mean(loaded.predict(X) == model.predict(X)) > 0.97


def test_float16_refuses_what_it_cannot_hold():
    with pytest.raises(ValueError, match=r"reach 7e\+04, more than float16 can hold .65504"):
        to_disk(np.array([1.0, -7e4], dtype=np.float32), "float16")
    with pytest.raises(ValueError, match="few digits left"):
        to_disk(np.array([1e-6, 0.0], dtype=np.float32), "float16")
    # Small ones beside large ones are noise.
    assert to_disk(np.array([1.0, 1e-9]), "float16").tolist() == [1.0, 0.0]
    assert to_disk(np.zeros(3), "float16").tolist() == [0, 0, 0]


def test_unknown_type_of_weights(fitted, tmp_path):
    with pytest.raises(ValueError, match="weights must be 'float16' or 'float32'"):
        save_model(fitted[0], tmp_path / "x", weights="int8")
    assert not (tmp_path / "x").exists()


# ---------------------------------------------------------------- pruning


def test_pruning_keeps_the_largest(fitted):
    model, X, _ = fitted
    before = model.coef_.copy()
    pruned = prune(model, keep=0.25)
    sizes = np.sort(np.abs(before.data))[::-1]
    assert pruned.coef_.nnz == round(0.25 * before.nnz)
    assert np.abs(pruned.coef_.data).min() == sizes[pruned.coef_.nnz - 1]
    assert (model.coef_ != before).nnz == 0
    kept = pruned.coef_.toarray() != 0
    assert np.array_equal(pruned.coef_.toarray()[kept], before.toarray()[kept])
    assert pruned.model_density_ == pruned.coef_.nnz / np.prod(before.shape)
    assert pruned.predict(X).shape == (X.shape[0],)


def test_threshold_is_the_smallest_that_stays():
    model = MulticlassSVC()
    model.classes_, model.n_features_in_ = np.arange(3), 3
    model.coef_ = np.array([[0.5, -0.25, 0], [0.1, 0.25, 0.2], [0, 0, -1]])
    model.intercept_ = np.array([0.01, 0, 0])
    pruned = prune(model, threshold=0.25)
    assert pruned.coef_.toarray().tolist() == [[0.5, -0.25, 0], [0, 0.25, 0], [0, 0, -1]]
    assert pruned.intercept_.tolist() == [0.01, 0, 0]
    # Equal ones stay together.
    assert prune(model, keep=0.5).coef_.nnz == 4
    assert pruned.pruned_ == {"threshold": 0.25, "weights_before": 6, "weights": 4}
    again = prune(pruned, threshold=0.3)
    assert again.pruned_ == {"threshold": 0.3, "weights_before": 6, "weights": 2}


def test_a_pruned_model_claims_no_optimum(fitted, tmp_path):
    X, y = fitted[1], fitted[2]
    model = MulticlassSVC(warm_start=True, random_state=0).fit(X, y)
    pruned = prune(model, keep=0.5)
    save_model(pruned, tmp_path / "pruned")
    loaded = load_model(tmp_path / "pruned")
    for one in (pruned, loaded):
        for name in ("converged_", "dual_gap_", "primal_objective_", "history_", "_warm_alpha"):
            assert not hasattr(one, name), name
        assert one.pruned_["weights"] == pruned.coef_.nnz
    with pytest.raises(ValueError, match="warm_start=True"):
        save_model(pruned, tmp_path / "dual", dual=True)
    assert hasattr(model, "dual_gap_")
    assert not hasattr(loaded.fit(X, y), "pruned_")


def test_two_classes_and_nothing_to_drop():
    X, y = text_like(classes=2)
    model = MulticlassSVC(random_state=0).fit(X, y)
    assert np.array_equal(prune(model, threshold=0.0).predict(X), model.predict(X))
    assert prune(model, threshold=1e9).coef_.nnz == 0


def test_what_it_costs(fitted):
    model, X, y = fitted
    costs = pruning_costs(model, X, y, keep=[1.0, 0.3, 0.05])
    assert [type(cost) for cost in costs] == [PruningCost] * 3
    assert costs[0].agreement == 1 and costs[0].error == np.mean(model.predict(X) != y)
    assert costs[2].nonzeros < costs[1].nonzeros < costs[0].nonzeros == model.coef_.nnz
    small = prune(model, keep=0.05).predict(X)
    assert costs[2].error == np.mean(small != y)
    assert costs[2].agreement == np.mean(small == model.predict(X))
    assert pruning_costs(model, keep=[0.5])[0].error is None


def test_as_few_weights_as_the_loss_allows(fitted):
    model, X, y = fitted
    before = np.mean(model.predict(X) != y)
    for allowed in (0.0, 0.05):
        pruned = prune(model, max_loss=allowed, X=X, y=y)
        assert np.mean(pruned.predict(X) != y) <= before + allowed
        assert pruned.coef_.nnz < model.coef_.nnz


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "give one of"),
        ({"keep": 0.5, "threshold": 0.1}, "give one of"),
        ({"keep": 0}, "keep must be"),
        ({"keep": 1.5}, "keep must be"),
        ({"threshold": -1}, "threshold must be"),
        ({"threshold": float("nan")}, "threshold must be"),
        ({"max_loss": 0.01}, "needs samples and labels"),
    ],
)
def test_pruning_says_what_it_wants(fitted, given, message):
    with pytest.raises(ValueError, match=message):
        prune(fitted[0], **given)


# ---------------------------------------------------------------- the command


@pytest.fixture
def files(tmp_path):
    from multimargin import dump_svmlight

    X, y = text_like(200)
    dump_svmlight(tmp_path / "train.svm", X[:150], y[:150])
    dump_svmlight(tmp_path / "test.svm", X[150:], y[150:])
    return tmp_path


def run(capsys, *words):
    status = main([str(word) for word in words])
    out, err = capsys.readouterr()
    return status, out, err


def test_prune_command(files, capsys):
    model, out = files / "m", files / "small"
    assert run(capsys, "train", files / "train.svm", model, "--quiet")[0] == 0
    status, text, _ = run(
        capsys, "prune", model, out, "--keep", 0.4, "--data", files / "test.svm", "--json"
    )
    result = json.loads(text)
    assert status == 0
    assert result["before"]["agreement"] == 1 and result["bytes"] == out.stat().st_size
    assert result["after"]["nonzeros"] == load_model(out).coef_.nnz
    _, text, _ = run(capsys, "evaluate", out, files / "test.svm", "--json")
    assert json.loads(text)["error"] == pytest.approx(result["after"]["error"])
    assert "pruned" in run(capsys, "info", out)[1]
    # A table alone, and in words.
    status, text, _ = run(capsys, "prune", model, "--data", files / "test.svm")
    assert status == 0 and "agreement" in text and "chosen" not in text
    status, text, _ = run(
        capsys, "prune", model, out, "--max-loss", 0.02, "--data", files / "test.svm",
        "--weights", "float16",
    )  # fmt: skip
    assert status == 0 and "chosen" in text
    assert "float16" in run(capsys, "info", out)[1]


def test_prune_command_refuses(files, capsys):
    model = files / "m"
    run(capsys, "train", files / "train.svm", model, "--quiet")
    content = model.read_bytes()
    for words, message in (
        ((model, files / "x"), "say what to drop"),
        ((model, model, "--keep", "0.5"), "would be overwritten"),
        ((model, files / "x", "--max-loss", "0.01"), "needs --data"),
        ((model, files / "no" / "x", "--keep", "0.5"), "No such file"),
    ):
        status, _, err = run(capsys, "prune", *words)
        assert status == 1 and message in err
    assert model.read_bytes() == content and not (files / "x").exists()


def test_train_writes_float16(files, capsys):
    for name, options in (("a", ()), ("b", ("--weights", "float16"))):
        assert run(capsys, "train", files / "train.svm", files / name, "--quiet", *options)[0] == 0
    assert (files / "b").stat().st_size < (files / "a").stat().st_size
    assert "float16" in run(capsys, "info", files / "b")[1]


def test_entries_that_come_twice_are_added():
    """The coefficients may be a user's own matrix."""
    model = MulticlassSVC(sparse_coef=True, random_state=0)
    X, y = np.eye(6)[[0, 1, 2, 3, 4, 5] * 3], np.repeat(["a", "b", "c"], 6)
    model.fit(X, y)
    expected = model.decision_function(X)
    coef = model.coef_
    halves = np.repeat(coef.data / 2, 2), np.repeat(coef.indices, 2), coef.indptr * 2
    model.coef_ = sp.csr_matrix(halves, shape=coef.shape)
    assert np.array_equal(model.decision_function(X), expected)
