"""Damaged or forged model files are refused."""

import copy
import random
import struct
import zlib

import numpy as np
import pytest
import scipy.sparse as sp

from multimargin import ModelFileError, MulticlassSVC, load_model, prune, save_model
from multimargin.cli import main
from multimargin.io import _array_file
from multimargin.io._array_file import read_arrays, write_arrays
from tests.models.made_models import data, made_model, random_coef


def test_truncated_model(tmp_path):
    save_model(made_model(random_coef(3, 6), "abc"), tmp_path / "m")
    raw = (tmp_path / "m").read_bytes()
    for length in range(0, len(raw), 7):
        (tmp_path / "m").write_bytes(raw[:length])
        with pytest.raises(ModelFileError, match="m: truncated"):
            load_model(tmp_path / "m")


def changed(path, change):
    """Rewrite a model with its content changed and all checksums right."""
    meta, arrays = read_arrays(path)
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(meta, arrays)
    write_arrays(path, meta, arrays)


CHANGES = {
    "another kind": lambda m, a: m.update(kind="tree"),
    "no kind": lambda m, a: m.clear(),
    "no params": lambda m, a: m.pop("params"),
    "params of a wrong type": lambda m, a: m.update(params=[1]),
    "bad tag": lambda m, a: m["params"].update(C={"bad": 1}),
    "no coefficients": lambda m, a: a.pop("coef.data"),
    "no labels": lambda m, a: a.pop("classes"),
    "no intercept": lambda m, a: a.pop("intercept"),
    "unknown format": lambda m, a: m["coef"].update(format="coo"),
    "said to be dense": lambda m, a: m["coef"].update(format="dense", order="C"),
    "more features": lambda m, a: m.update(n_features="x"),
    "negative features": lambda m, a: m.update(n_features=-1),
    "absurd features": lambda m, a: m.update(n_features=1 << 80),
    "results of a wrong type": lambda m, a: m["results"].update(n_iter_="x"),
    "preprocessing of a wrong type": lambda m, a: m.update(preprocessing=3),
    "fewer labels": lambda m, a: a.update(classes=a["classes"][:-1]),
    "labels in two dimensions": lambda m, a: a.update(classes=a["classes"][None]),
    "fewer intercepts": lambda m, a: a.update(intercept=a["intercept"][:-1]),
    "integer intercepts": lambda m, a: a.update(intercept=a["intercept"].astype(int)),
    "fewer indices": lambda m, a: a.update({"coef.indices": a["coef.indices"][:-1]}),
    "indices of another type": lambda m, a: a.update({"coef.indices": a["coef.data"]}),
    "integer data": lambda m, a: a.update({"coef.data": a["coef.indices"]}),
    "row pointers falling": lambda m, a: a["coef.indptr"].__setitem__(1, 1000),
    "row pointers negative": lambda m, a: a["coef.indptr"].__setitem__(1, -1),
    "row pointers not to the end": lambda m, a: a["coef.indptr"].__setitem__(-1, 1),
    "text labels missing": lambda m, a: m.update(classes={"kind": "text", "dtype": "U3"}),
    "labels of an unknown dtype": lambda m, a: m.update(classes={"kind": "text", "dtype": "V8"}),
    "labels of an unknown kind": lambda m, a: m.update(classes={"kind": "pickle", "dtype": "U1"}),
    "names missing": lambda m, a: m.update(feature_names={"kind": "number"}),
    "names of a wrong type": lambda m, a: m.update(feature_names=None),
    "no writer": lambda m, a: m.pop("writer"),
    "writer a number": lambda m, a: m.update(writer=3),
    "results a list": lambda m, a: m.update(results=["n_iter_"]),
    "results a text": lambda m, a: m.update(results="n_iter_"),
    "features a truth value": lambda m, a: m.update(n_features=True),
    "pruned a list": lambda m, a: m.update(pruned=[["threshold", 1]]),
    "no classes": lambda m, a: a.update(
        {"classes": a["classes"][:0], "intercept": a["intercept"][:0]}
        | {"coef.data": a["coef.data"][:0], "coef.indices": a["coef.indices"][:0]}
        | {"coef.indptr": a["coef.indptr"][:1]}
    ),
}


@pytest.mark.parametrize("case", CHANGES)
def test_content_that_is_no_model(tmp_path, case):
    save_model(made_model(random_coef(4, 9), range(4), n_iter_=3), tmp_path / "m")
    changed(tmp_path / "m", CHANGES[case])
    with pytest.raises(ModelFileError, match="m: damaged: "):
        load_model(tmp_path / "m")


TEXT_CHANGES = {
    "offsets falling": lambda m, a: a["classes.offsets"].__setitem__(1, 100),
    "offsets short": lambda m, a: a["classes.offsets"].__setitem__(-1, 1),
    "no offsets": lambda m, a: a.update({"classes.offsets": a["classes.offsets"][:0]}),
    "not UTF-8": lambda m, a: a["classes.utf8"].fill(0xFF),
    "too narrow": lambda m, a: m["classes"].update(dtype="U1"),
    "absurdly wide": lambda m, a: m["classes"].update(dtype="U900000000"),
}


@pytest.mark.parametrize("case", TEXT_CHANGES)
def test_text_labels_that_are_none(tmp_path, case):
    save_model(made_model(random_coef(3, 9), ["aa", "bb", "cc"]), tmp_path / "m")
    changed(tmp_path / "m", TEXT_CHANGES[case])
    with pytest.raises(ModelFileError, match="m: damaged: "):
        load_model(tmp_path / "m")


@pytest.mark.parametrize("index", [-1, 9, 2**31 - 1])
def test_forged_indices_are_found_by_verify(tmp_path, index):
    save_model(made_model(random_coef(4, 9), range(4)), tmp_path / "m")
    changed(tmp_path / "m", lambda m, a: a["coef.indices"].__setitem__(2, index))
    with pytest.raises(ModelFileError, match=r"not within 0\.\.8"):
        load_model(tmp_path / "m", verify=True)


def test_unsorted_indices_are_found_by_verify(tmp_path):
    coef = sp.csr_matrix(np.array([[0, 0, 0], [0, 1, 2], [0, 0, 0], [3, 0, 0], [0, 0, 0]], "f4"))
    save_model(made_model(coef, range(5)), tmp_path / "m")
    load_model(tmp_path / "m", verify=True)
    changed(tmp_path / "m", lambda m, a: a["coef.indices"].__setitem__(slice(0, 2), [2, 1]))
    with pytest.raises(ModelFileError, match="not sorted"):
        load_model(tmp_path / "m", verify=True)


def test_damaged_array_is_found_by_verify(tmp_path):
    save_model(made_model(random_coef(4, 9), range(4)), tmp_path / "m")
    raw = bytearray((tmp_path / "m").read_bytes())
    (first,) = struct.unpack_from("<Q", raw, 32)
    raw[first] ^= 1
    (tmp_path / "m").write_bytes(raw)
    load_model(tmp_path / "m")
    with pytest.raises(ModelFileError, match=r"checksum of array 'coef\.data'"):
        load_model(tmp_path / "m", verify=True)


def test_random_damage_never_escapes(tmp_path):
    """Any change, with the header checksum mended, loads or is refused; nothing else."""
    X = sp.random(20, 9, 0.5, "csr", np.float32, np.random.default_rng(0))
    save_model(made_model(random_coef(4, 9), ["a", "b", "c", "d"]), tmp_path / "m")
    raw = (tmp_path / "m").read_bytes()
    (first,) = struct.unpack_from("<Q", raw, 32)
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(400):
        bad = bytearray(raw)
        bad[rng.integers(8, first)] = rng.integers(256)
        bad[60:64] = struct.pack("<I", zlib.crc32(bad[64:first], zlib.crc32(bad[:60])))
        (tmp_path / "bad").write_bytes(bad)
        try:
            load_model(tmp_path / "bad", verify=True).predict(X)
        except ModelFileError:
            refused += 1
    assert refused > 100


def nested(depth):
    value = []
    for _ in range(depth - 1):
        value = {"tuple": [value]}
    return value


def test_metadata_without_end_is_refused(tmp_path, monkeypatch):
    model = made_model(random_coef(4, 9), range(4))
    for depth in (40, 400):
        with pytest.raises(ModelFileError, match="nested more than 64 deep"):
            save_model(model, tmp_path / "m", preprocessing={"a": nested(depth)})
    save_model(model, tmp_path / "m", preprocessing={"a": nested(31)})
    assert load_model(tmp_path / "m").preprocessing_ == {"a": nested(31)}
    for place in ("params", "results", "preprocessing"):
        monkeypatch.setattr(_array_file, "MAX_DEPTH", 10**4)
        changed(tmp_path / "m", lambda m, a, place=place: m[place].update(C=nested(300)))
        monkeypatch.undo()
        with pytest.raises(ModelFileError, match=r"m: damaged: .* nested more than 64 deep"):
            load_model(tmp_path / "m")


def test_refusals_are_short(tmp_path):
    save_model(made_model(random_coef(4, 9), range(4)), tmp_path / "m")
    for change in (
        lambda m, a: m.update(kind="x" * 10**5),
        lambda m, a: m["params"].update(C={"float": "x" * 10**5}),
    ):
        changed(tmp_path / "m", change)
        with pytest.raises(ModelFileError) as refusal:
            load_model(tmp_path / "m")
        assert len(str(refusal.value)) < len(str(tmp_path)) + 350


ODD = (
    *(None, True, 0, -1, 1 << 31, 1 << 80, 1.5, 1e308, "", "x", "text", "U1", "csr", "cs"),
    *([], [1], [None], [[1, 2]], {}, {"a": 1}, {"float": "nan"}, {"float": []}),
    *({"tuple": 1}, {"tuple": [1]}, {"dict": [1]}, {"dict": [[[], 1]]}, nested(20)),
)


def places(value):
    """Every value within JSON, as what holds it and its key there."""
    for key in range(len(value)) if isinstance(value, list) else list(value):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_any_metadata_is_a_model_or_refused(tmp_path, kind, capsys):
    X, y = data()
    model = MulticlassSVC(warm_start=True, class_weight=dict.fromkeys(range(4), 1), random_state=0)
    if kind == "sparse":
        save_model(prune(model.fit(X, y), keep=0.5), tmp_path / "m")
    else:
        save_model(model.fit(X, y), tmp_path / "m", dual=True)
    meta, arrays = read_arrays(tmp_path / "m")
    draw, ends = random.Random(0), []
    for _ in range(250):
        odd = copy.deepcopy(meta)
        for _ in range(draw.choice([1, 1, 2])):
            value, key = draw.choice(list(places(odd)))
            if draw.random() < 0.8:
                value[key] = copy.deepcopy(draw.choice(ODD))
            else:
                del value[key]
        write_arrays(tmp_path / "odd", odd, arrays, durable=False)
        try:
            loaded = load_model(tmp_path / "odd", verify=True)
            X.resize(len(y), loaded.n_features_in_)
            loaded.predict(X)
            repr(loaded)
        except ModelFileError as error:
            assert "odd: damaged: " in str(error)
            ends.append(1)
        else:
            ends.append(0)
        if len(ends) % 5 == 0:
            assert main(["info", "--verify", str(tmp_path / "odd")]) == ends[-1]
            assert capsys.readouterr().err.count("\n") == ends[-1]
    assert 50 < sum(ends) < 200
