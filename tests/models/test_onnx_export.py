"""ONNX files against onnxruntime."""

import json
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from multimargin import (
    Calibration,
    MulticlassSVC,
    TextClassifier,
    export_onnx,
    load_model,
    prune,
    save_model,
)
from multimargin.cli import main

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")


def padded(X):
    """Rows as ids and values of the longest one's length."""
    count = np.diff(X.indptr)
    shape = (X.shape[0], int(count.max(initial=0)))
    ids, values = np.zeros(shape, np.int64), np.zeros(shape, np.float32)
    row = np.repeat(np.arange(X.shape[0]), count)
    place = np.arange(X.nnz) - np.repeat(X.indptr[:-1], count)
    ids[row, place], values[row, place] = X.indices, X.data
    return {"ids": ids, "values": values}


def fed(X, inputs):
    return {"X": X.toarray().astype(np.float32)} if inputs == "dense" else padded(X)


def session(path):
    onnx.checker.check_model(str(path), full_check=True)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def rows(n=40, d=50, seed=0):
    X = sp.random(n, d, 0.15, format="csr", random_state=seed, dtype=np.float32)
    X.data[X.indptr[3] : X.indptr[4]] = 0  # one without features
    X.eliminate_zeros()
    return sp.csr_matrix(normalize(X))


@pytest.mark.parametrize("inputs", ["dense", "sparse"])
@pytest.mark.parametrize("sparse_coef", [True, False])
@pytest.mark.parametrize("formulation", ["ww", "ovr"])
@pytest.mark.parametrize("classes", [2, 5])
def test_scores_and_labels_agree(tmp_path, inputs, sparse_coef, formulation, classes):
    X = rows()
    y = np.arange(X.shape[0]) % classes + 10
    model = MulticlassSVC(formulation, 1.0, sparse_coef=sparse_coef, random_state=0).fit(X, y)
    path = tmp_path / "m.onnx"
    export_onnx(model, path, inputs=inputs)
    label, score = session(path).run(["label", "scores"], fed(X, inputs))
    expected = model.decision_function(X)
    if classes == 2:
        best, values = model.predict_topk(X, 2)
        expected = np.take_along_axis(values, np.argsort(best, axis=1), axis=1)
    assert label.dtype == np.int64 and score.dtype == np.float32
    assert np.array_equal(label, model.predict(X))
    assert np.abs(score - expected).max() < 1e-5


@pytest.mark.parametrize("inputs", ["dense", "sparse"])
def test_many_classes_by_columns_of_both_kinds(tmp_path, inputs):
    rng = np.random.default_rng(0)
    classes, d = 900, 700
    often = rng.random((classes, 5)) < 0.6
    coef = sp.hstack(
        [often * rng.normal(size=often.shape), sp.random(classes, d - 5, 0.02, rng=rng)]
    )
    model = MulticlassSVC()
    model.classes_ = np.array([f"ä{k:04}" for k in range(classes)])
    model.coef_ = sp.csr_matrix(coef, dtype=np.float32)
    model.intercept_ = rng.normal(size=classes).astype(np.float32)
    model.n_features_in_ = d
    X = rows(30, d)
    export_onnx(model, tmp_path / "m", inputs=inputs)
    assert (tmp_path / "m").stat().st_size < 4 * classes * d / 4
    run = session(tmp_path / "m").run
    label, score = run(None, fed(X, inputs))
    assert np.abs(score - model.decision_function(X)).max() < 1e-5
    assert label.tolist() == model.predict(X).tolist()
    # One row, and rows without any feature at all.
    for part in (X[:1], X[3:4]):
        assert np.abs(run(None, fed(part, inputs))[1] - model.decision_function(part)).max() < 1e-5


@pytest.mark.parametrize("classes", [2, 5])
def test_probabilities_agree(tmp_path, classes):
    X = rows(80)
    y = np.arange(80) % classes
    model = MulticlassSVC(random_state=0).fit(X, y)
    assert "probabilities" not in outputs(model, tmp_path)
    for made in (Calibration(0.3), Calibration(0.1, curvature=0.7, floor=0.05, origin=-0.2)):
        model.calibration_ = made
        export_onnx(model, tmp_path / "m")
        run = session(tmp_path / "m").run
        np.testing.assert_allclose(
            run(["probabilities"], fed(X, "dense"))[0], model.predict_proba(X), atol=1e-5
        )
        export_onnx(model, tmp_path / "m", top_k=2)
        found = session(tmp_path / "m").run(["probabilities"], fed(X, "dense"))[0]
        np.testing.assert_allclose(found, model.predict_topk(X, 2, proba=True)[2], atol=1e-5)


def outputs(model, folder):
    export_onnx(model, folder / "m")
    return [each.name for each in session(folder / "m").get_outputs()]


@pytest.mark.parametrize("inputs", ["dense", "sparse"])
def test_best_classes(tmp_path, inputs):
    X = rows()
    y = np.array(list("abcdef"))[np.arange(X.shape[0]) % 6]
    model = MulticlassSVC(random_state=0).fit(X, y)
    # Of samples on their margin several classes have the same score, but for rounding.
    X = rows(seed=1)
    export_onnx(model, tmp_path / "m", inputs=inputs, top_k=3)
    labels, scores = session(tmp_path / "m").run(["labels", "scores"], fed(X, inputs))
    best, values = model.predict_topk(X, 3)
    assert labels.tolist() == best.tolist()
    assert np.abs(scores - values).max() < 1e-5


def test_what_the_file_says_of_itself(tmp_path):
    texts = ["red rose", "white rose", "small dog", "big dog", "blue sea", "deep sea"]
    model = TextClassifier("cs", C=2, random_state=0).fit(texts, list("rrddss"))
    export_onnx(prune(model, keep=0.9), tmp_path / "m", inputs="sparse")
    made = onnx.load(tmp_path / "m")
    said = {each.key: each.value for each in made.metadata_props}
    assert made.producer_name == "multimargin"
    assert said["formulation"] == "cs" and json.loads(said["classes"]) == ["d", "r", "s"]
    assert json.loads(said["feature_names"]) == model.features_.get_feature_names_out().tolist()
    assert "threshold" in json.loads(said["pruned"])
    features = model.features_.transform(texts)
    label, _ = session(tmp_path / "m").run(None, padded(features))
    assert label.tolist() == prune(model, keep=0.9).predict(texts).tolist()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"inputs": "csr"}, "inputs must be"),
        ({"top_k": 0}, "top_k must be"),
        ({"top_k": 9}, "between 1 and the 4 classes"),
    ],
)
def test_wrong_arguments(tmp_path, given, message):
    model = MulticlassSVC(random_state=0).fit(rows(), np.arange(40) % 4)
    with pytest.raises(ValueError, match=message):
        export_onnx(model, tmp_path / "m", **given)
    assert not list(tmp_path.iterdir())


def test_labels_and_sizes_that_onnx_cannot_hold(tmp_path, monkeypatch):
    model = MulticlassSVC(random_state=0).fit(rows(), np.arange(40) % 4)
    monkeypatch.setattr("multimargin.models._onnx_export._MOST_BYTES", 100)
    with pytest.raises(ValueError, match=r"2 GiB: make it smaller with multimargin\.prune"):
        export_onnx(model, tmp_path / "m")
    monkeypatch.undo()
    model.classes_ = np.array([b"a", b"b", b"c", b"d"])
    with pytest.raises(ValueError, match="no ONNX type"):
        export_onnx(model, tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_the_extra_is_named(tmp_path, monkeypatch):
    model = MulticlassSVC(random_state=0).fit(rows(), np.arange(40) % 4)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"multimargin\[onnx\]"):
        export_onnx(model, tmp_path / "m")


def test_export_command(tmp_path, capsys):
    X = rows()
    model = MulticlassSVC(random_state=0).fit(X, np.arange(40) % 4)
    save_model(model, tmp_path / "m")
    out = tmp_path / "m.onnx"
    status = main(["export", str(tmp_path / "m"), str(out), "--top-k", "2", "--json"])
    assert status == 0
    assert json.loads(capsys.readouterr().out)["bytes"] == out.stat().st_size
    X = rows(seed=1)  # samples on their margin have ties, but for rounding
    labels, _ = session(out).run(None, fed(X, "dense"))
    assert np.array_equal(labels, load_model(tmp_path / "m").predict_topk(X, 2)[0])
    assert main(["export", str(tmp_path / "m"), str(tmp_path / "m")]) == 1
    assert "would be overwritten" in capsys.readouterr().err


@pytest.mark.parametrize("inputs", ["dense", "sparse"])
@pytest.mark.parametrize("labels", [1, 2, 6])
def test_sets_of_labels(tmp_path, inputs, labels):
    X = rows()
    Y = sp.csr_matrix(np.random.default_rng(0).random((40, labels)) < 0.4)
    model = MulticlassSVC("ovr", 10.0, random_state=0).fit(X, Y)
    export_onnx(model, tmp_path / "m.onnx", inputs=inputs)
    names = ["indicator", "scores"]
    found, scores = session(tmp_path / "m.onnx").run(names, fed(X, inputs))
    assert found.tolist() == model.predict(X).toarray().tolist()
    assert np.abs(scores - model.decision_function(X)).max() < 1e-5
    export_onnx(model, tmp_path / "k.onnx", inputs=inputs, top_k=1)
    best, _ = session(tmp_path / "k.onnx").run(["labels", "scores"], fed(X, inputs))
    assert best.tolist() == model.predict_topk(X, 1)[0].tolist()
