"""Model files of text classifiers: the same bits back, and nothing else out of forged ones."""

import json

import numpy as np
import pytest

from multimargin import ModelFileError, TextClassifier, load_model, save_model
from multimargin.io._array_file import read_arrays, write_arrays
from multimargin.text import TextFeatures

TEXTS = [
    "a red rose",
    "an old dog",
    "the red car",
    "some dog or other",
    "Ähre und Öl",
    "\U0001f339 x",
]
LABELS = ["flower", "pet", "car", "pet", "plant", "flower"]
TABLE = {
    "title": TEXTS,
    "body": [text.upper() for text in TEXTS],
    "price": [1, None, 3, 4, 5, 6],
    "kind": ["a", "b", "ü", None, "a", "a"],
}
COLUMNS = {"text": ["title", "body"], "numeric": ("price",), "categorical": "kind"}


def saved(path, X=TEXTS, labels=LABELS, **parameters):
    model = TextClassifier(random_state=0, **parameters).fit(X, labels)
    save_model(model, path)
    return model


@pytest.mark.parametrize(
    ("X", "parameters"),
    [
        (TEXTS, {}),
        (TEXTS, {"formulation": "ovr", "analyzer": "char_wb", "ngram_range": (1, 3), "C": 0.5}),
        (TEXTS, {"stop_words": ["the", "or"], "use_idf": False, "strip_accents": "unicode"}),
        (TEXTS, {"sublinear_tf": False, "lowercase": False, "sparse_coef": True}),
        (TABLE, COLUMNS),
        (TABLE, {"text": "title"}),
        (TABLE, {"numeric": ["price"], "categorical": ["kind"]}),
    ],
)
@pytest.mark.parametrize("verify", [False, True])
def test_same_bits(tmp_path, X, parameters, verify):
    model = saved(tmp_path / "m", X, **parameters)
    loaded = load_model(tmp_path / "m", verify=verify)
    assert type(loaded) is TextClassifier
    assert loaded.get_params() == model.get_params()
    assert loaded.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    names = loaded.features_.get_feature_names_out()
    assert names.tolist() == model.features_.get_feature_names_out().tolist()
    save_model(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()
    assert loaded.fit(X, LABELS).predict(X).tolist() == model.predict(X).tolist()


def test_words_are_read_when_they_are_needed(tmp_path):
    saved(tmp_path / "m")
    words = load_model(tmp_path / "m").features_._texts[0].words
    assert words._strings is None
    assert len(words) == 13
    assert words.strings[0] == "an"
    assert words._strings is not None


def test_half_of_a_surrogate_pair_is_kept(tmp_path):
    texts = ["a\ud800b cd", "ef gh"]
    saved(tmp_path / "m", texts, ["x", "y"], analyzer="char")
    assert load_model(tmp_path / "m", verify=True).predict(texts).tolist() == ["x", "y"]


def forge(path, change):
    meta, arrays = read_arrays(path)
    meta = json.loads(json.dumps(meta))
    arrays = {name: np.array(array) for name, array in arrays.items()}
    change(meta, arrays)
    write_arrays(path, meta, arrays)


def swap(name, make):
    def change(meta, arrays):
        arrays[name] = make(arrays[name])

    return change


def about(**changes):
    def change(meta, arrays):
        meta["features"]["text"][0].update(changes)

    return change


def top(**changes):
    return lambda meta, arrays: meta["features"].update(changes)


ALWAYS = {
    "features no object": lambda meta, arrays: meta.update(features=[1]),
    "features null": lambda meta, arrays: meta.update(features=None),
    "no text": lambda meta, arrays: meta["features"].pop("text"),
    "text no list": top(text={}),
    "text of numbers": top(text=[1]),
    "numeric no list": top(numeric="price"),
    "numeric of numbers": top(numeric=[1]),
    "fewer numbers": top(numeric=[]),
    "more numbers": top(numeric=["price", "more"]),
    "categories of numbers": top(categorical=[None]),
    "more categories": top(categorical=["kind", "more"]),
    "the same column twice": top(categorical=["title"]),
    "column a number": about(column=3),
    "column without name": about(column=None),
    "analyzer": about(analyzer="__import__('os')"),
    "analyzer a list": about(analyzer=["word"]),
    "ngrams": about(ngram_range=[1, 10**9]),
    "ngrams text": about(ngram_range="ab"),
    "ngrams true": about(ngram_range=[True, True]),
    "lowercase": about(lowercase="no"),
    "accents": about(strip_accents="evil"),
    "stop words": about(stop_words="klingon"),
    "stop words of numbers": about(stop_words=[1, 2]),
    "stop words object": about(stop_words={"a": 1}),
    "idf a number": about(use_idf=1),
    "idf not used": lambda meta, arrays: arrays.pop("features.text0.idf"),
    "no words": lambda meta, arrays: arrays.pop("features.text0.utf8"),
    "short idf": swap("features.text0.idf", lambda a: a[:-1]),
    "wide idf": swap("features.text0.idf", lambda a: a.astype(np.float64)),
    "idf nan": swap("features.text0.idf", lambda a: a * np.nan),
    "idf negative": swap("features.text0.idf", lambda a: -a),
    "idf of two dimensions": swap("features.text0.idf", lambda a: a[:, None]),
    "fewer words": swap("features.text0.offsets", lambda a: np.append(a[:-2], a[-1])),
    "offsets falling": swap("features.text0.offsets", lambda a: np.append(a[-2::-1], a[-1])),
    "offsets beyond": swap("features.text0.offsets", lambda a: a + 1),
    "offsets negative": swap("features.text0.offsets", lambda a: a - 5),
    "offsets empty": swap("features.text0.offsets", lambda a: a[:0]),
    "offsets of another type": swap("features.text0.offsets", lambda a: a.astype(np.int32)),
    "offsets of floats": swap("features.text0.offsets", lambda a: a.astype(np.float64)),
    "bytes of another type": swap("features.text0.utf8", lambda a: a.astype(np.int16)),
    "bytes missing": swap("features.text0.utf8", lambda a: a[:-3]),
    "mean nan": swap("features.mean", lambda a: a * np.nan),
    "scale zero": swap("features.scale", lambda a: a * 0),
    "scale of float32": swap("features.scale", lambda a: a.astype(np.float32)),
    "scale too long": swap("features.scale", lambda a: np.ones(2)),
    "category offsets": swap("features.category0.offsets", lambda a: a[::-1].copy()),
    "other width": lambda meta, arrays: meta.update(n_features=meta["n_features"] - 1),
}


@pytest.mark.parametrize("case", ALWAYS)
@pytest.mark.parametrize("verify", [False, True])
def test_forged_features_are_refused(tmp_path, case, verify):
    saved(tmp_path / "m", TABLE, **COLUMNS)
    forge(tmp_path / "m", ALWAYS[case])
    with pytest.raises(ModelFileError, match="damaged"):
        load_model(tmp_path / "m", verify=verify)


def same_words(utf8):
    """The first two words are two letters each."""
    return np.concatenate([utf8[:2], utf8[:2], utf8[4:]])


LATE = {
    "no UTF-8": swap("features.text0.utf8", lambda a: np.full_like(a, 0xFF)),
    "words out of order": swap("features.text0.utf8", lambda a: a[::-1].copy()),
    "a word twice": swap("features.text0.utf8", same_words),
}


@pytest.mark.parametrize("case", LATE)
def test_forged_words_are_refused_by_verify_or_when_used(tmp_path, case):
    saved(tmp_path / "m", ["aa bb", "cc dd"], ["x", "y"])
    forge(tmp_path / "m", LATE[case])
    with pytest.raises(ModelFileError, match="damaged"):
        load_model(tmp_path / "m", verify=True)
    model = load_model(tmp_path / "m")
    for use in (lambda: model.predict(["aa"]), model.features_.get_feature_names_out):
        with pytest.raises(ModelFileError, match="damaged"):
            use()


def test_a_changed_word_is_found_by_its_checksum(tmp_path):
    saved(tmp_path / "m")
    raw = bytearray((tmp_path / "m").read_bytes())
    at = raw.rindex(b"dog")
    raw[at] ^= 1
    (tmp_path / "m").write_bytes(raw)
    with pytest.raises(ModelFileError, match=r"checksum of array 'features.text0.utf8'"):
        load_model(tmp_path / "m", verify=True)


def test_files_do_not_depend_on_how_often_a_model_was_used(tmp_path):
    model = saved(tmp_path / "m")
    model.predict(["dog"])
    save_model(model, tmp_path / "again")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "again").read_bytes()


def test_loaded_features_describe_themselves(tmp_path):
    saved(tmp_path / "m", TABLE, **COLUMNS)
    features = load_model(tmp_path / "m").features_
    assert isinstance(features, TextFeatures)
    assert features.column_names() == (("title", "body"), ("price",), ("kind",))
    assert list(features.text) == ["title", "body"]
