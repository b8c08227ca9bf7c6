"""The catalogue of data sets, and sets read from a folder by name."""

from __future__ import annotations

import bz2
import re
from pathlib import Path

import numpy as np
import pytest

from multimargin.datasets import SetUnavailableError, load_set
from multimargin.datasets._catalog import CATALOG
from multimargin.datasets._sets import SetDiffersWarning, default_folder, file_of, is_there
from reproduction.interface._experiment import Options
from tests.support.paths import SHARED

NINE = [
    "SensIT v.(com.)",
    "glass",
    "iris",
    "letter",
    "news20",
    "rcv1",
    "satimage",
    "splice",
    "usps",
]


def put(folder: Path, name: str, **files: str | bytes) -> Path:
    """Write files of a set; the keys have no dots, so '_' stands for one."""
    (folder / name).mkdir(parents=True, exist_ok=True)
    for file, content in files.items():
        data = content.encode() if isinstance(content, str) else content
        (folder / name / file.replace("_", ".")).write_bytes(data)
    return folder


@pytest.mark.parametrize("entry", CATALOG.values(), ids=lambda entry: entry.name)
def test_entries_are_sound(entry):
    assert CATALOG[entry.name] is entry
    assert re.fullmatch(r"[a-z0-9-]+", entry.name)
    assert min(entry.n_train, entry.n_features) > 0
    assert entry.n_train >= entry.n_classes >= 2
    assert entry.title
    assert entry.where
    assert entry.licence
    assert not (entry.paper and entry.stand_in_for)
    for part, remote in entry.files.items():
        assert re.fullmatch(rf"{part}\.libsvm(\.bz2)?", remote.name)
        assert remote.url.startswith("https://")
        assert remote.url.endswith(".bz2") == remote.name.endswith(".bz2")
        for digest, digits in ((remote.sha256, 64), (remote.md5, 32)):
            assert digest is None or re.fullmatch(rf"[0-9a-f]{{{digits}}}", digest)
    if entry.files:
        assert set(entry.files) == {"train", "test"}
        assert entry.remedy == f"'multimargin data fetch {entry.name}' gets it"
    else:
        assert entry.remedy == entry.where


def test_all_of_the_papers_sets_are_in_it():
    papers = [entry.paper for entry in CATALOG.values() if entry.paper]
    assert papers[:9] == NINE
    assert set(papers[9:]) == {"LSHTC-small", "LSHTC-large", "LSHTC-2012", "LSHTC-2011"}
    urls = [remote.url for entry in CATALOG.values() for remote in entry.files.values()]
    assert len(urls) == len(set(urls))


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the data sets")
@pytest.mark.parametrize("name", ["xcsvm-iris", "xcsvm-glass", "letter", "satimage", "dna"])
def test_real_sets_have_the_sizes_of_the_catalogue(name):
    entry, parts = CATALOG[name], load_set(name, SHARED)
    assert parts.X.shape == (entry.n_train, entry.n_features)
    assert parts.X_test.shape == (entry.n_test, entry.n_features)
    assert len(np.unique(parts.y)) == entry.n_classes
    assert set(parts.y_test) <= set(parts.y)


@pytest.mark.parametrize("suffix", ["", "_bz2"])
def test_libsvm_files(tmp_path, suffix):
    pack = bz2.compress if suffix else (lambda data: data)
    put(tmp_path, "xcsvm-iris", **{f"train_libsvm{suffix}": pack(b"1 1:0.5\n2 2:3\n")})
    assert is_there("xcsvm-iris", tmp_path)
    X, y, X_test, y_test = load_set("xcsvm-iris", tmp_path, dtype=np.float64)
    assert (X.shape, X.dtype, y.tolist()) == ((2, 4), np.float64, [1, 2])
    assert X_test is None
    assert y_test is None
    put(tmp_path, "xcsvm-iris", test_libsvm="2 4:1\n")
    assert load_set("xcsvm-iris", tmp_path).X_test.shape == (1, 4)


def test_lshtc_files_lose_the_columns_that_nothing_is_in(tmp_path):
    put(
        tmp_path,
        "lshtc-small",
        train_txt="Data\n7, 9 1199847:2 10:1\n9 40:3\n",
        test_txt="9 2000000:5 10:1 10:1\n",
    )
    X, y, X_test, y_test = load_set("lshtc-small", tmp_path)
    assert y.tolist() == [7, 9]
    assert y_test.tolist() == [9]
    np.testing.assert_array_equal(X.toarray(), [[1, 0, 2, 0], [0, 3, 0, 0]])
    np.testing.assert_array_equal(X_test.toarray(), [[2, 0, 0, 5]])
    (tmp_path / "lshtc-small" / "test.txt").unlink()
    assert load_set("lshtc-small", tmp_path).X.shape == (2, 3)


def test_test_file_without_labels_is_refused(tmp_path):
    put(tmp_path, "lshtc-2011", train_txt="7 1:2\n", test_txt="0 1:2\n0 1:1\n")
    with pytest.raises(SetUnavailableError, match=r"none of its labels .* the label 0 throughout"):
        load_set("lshtc-2011", tmp_path)


def test_files_of_two_formats_are_refused(tmp_path):
    # The same feature would be one column in one file and the next in the other.
    put(tmp_path, "lshtc-small", train_libsvm="7 1:2\n", test_txt="7 1:2\n")
    with pytest.raises(ValueError, match="in different formats"):
        load_set("lshtc-small", tmp_path)


def test_missing_sets(tmp_path):
    assert not is_there("rcv1", tmp_path)
    assert not is_there("rcv1", None)
    with pytest.raises(
        SetUnavailableError, match=r"rcv1 has no train.*'multimargin data fetch rcv1'"
    ):
        load_set("rcv1", tmp_path)
    with pytest.raises(SetUnavailableError, match=r"no data folder was given.*register at http"):
        load_set("lshtc-2011", None)
    with pytest.raises(ValueError, match=r"no data set is called '\.\./etc'; there are .*rcv1"):
        load_set("../etc", tmp_path)


def test_wordnet_is_in_the_package_unless_it_is_in_the_folder(tmp_path):
    assert is_there("wordnet-hypernym", None)
    assert file_of("wordnet-hypernym", "train", tmp_path) is None
    put(tmp_path, "wordnet-hypernym", train_libsvm="1 1:1\n2 2:1\n")
    assert load_set("wordnet-hypernym", tmp_path).X.shape == (2, 37_436)


def test_default_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MULTIMARGIN_DATA", str(tmp_path))
    assert default_folder() == tmp_path
    monkeypatch.delenv("MULTIMARGIN_DATA")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "multimargin" / "data"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_folder() == tmp_path / ".cache" / "multimargin" / "data"


def test_generated_sets_are_always_there():
    names = [name for name, entry in CATALOG.items() if entry.made]
    assert names == [f"generator-lshtc-{size}" for size in ("small", "large", "2012", "2011")]
    assert all(is_there(name, None) for name in names)
    parts, entry = load_set(names[0], None), CATALOG[names[0]]
    assert parts.X.shape == (entry.n_train, entry.n_features)
    assert parts.X_test is not None and parts.X_test.shape == (entry.n_test, entry.n_features)
    assert len(np.unique(parts.y)) == entry.n_classes
    assert Options(Path()).wanted("letter") and not Options(Path()).wanted(names[0])
    assert Options(Path(), datasets=(names[0],)).wanted(names[0])


def test_files_of_other_sizes_than_the_catalogues_are_told(tmp_path):
    (tmp_path / "xcsvm-iris").mkdir()
    (tmp_path / "xcsvm-iris" / "train.libsvm").write_text("1 1:1\n2 2:1\n")
    with pytest.warns(SetDiffersWarning, match="2 training samples instead of 134, 2 classes"):
        load_set("xcsvm-iris", tmp_path)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data are not on this machine")
def test_the_set_itself_is_no_reason_for_a_warning(recwarn):
    load_set("xcsvm-iris", SHARED)
    assert not recwarn.list
