"""Embeddings on disk: found again by text and encoder, also after damage and by two at a time."""

import threading

import numpy as np
import pytest

from multimargin import TextClassifier, load_model, save_model
from multimargin.io._array_file import read_arrays
from multimargin.text import _encoder
from multimargin.text._embedding_cache import LEAST_KEPT, EmbeddingCache, keys_of
from tests.text.encoders import Encoder, encode, labelled

TEXTS, Y = labelled(150)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A folder of embeddings for these tests alone."""
    monkeypatch.setenv("MULTIMARGIN_EMBEDDINGS", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def named(tmp_path, monkeypatch, cache):
    """The folder of an encoder, and the encoder that stands for the one in it."""
    encoder, folder = Encoder(), tmp_path / "encoder"
    folder.mkdir()
    (folder / "weights").write_bytes(b"1")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    monkeypatch.setattr(_encoder, "loaded_encoder", lambda name, revision: encoder)
    return folder, encoder


def model_of(folder, **options):
    return TextClassifier(encoder=str(folder), features="embedding", random_state=0, **options)


def files(cache):
    return sorted(path for path in cache.rglob("*") if path.is_file())


def test_the_same_texts_are_not_embedded_again(named, cache, tmp_path):
    folder, encoder = named
    model = model_of(folder).fit(TEXTS, Y)
    assert encoder.calls == [len(TEXTS)]
    assert len(files(cache)) == 1
    save_model(model, tmp_path / "m")
    loaded = load_model(tmp_path / "m", verify=True)
    assert np.array_equal(
        loaded.decision_function(TEXTS[::-1]), model.decision_function(TEXTS)[::-1]
    )
    assert np.array_equal(model_of(folder).fit(TEXTS, Y).coef_, model.coef_)
    assert encoder.calls == [len(TEXTS)]
    loaded.predict([*TEXTS, "a new text"])
    assert encoder.calls == [len(TEXTS), 1]
    more, y = labelled(400, seed=1)
    model_of(folder).fit(TEXTS + more, Y + y)
    assert encoder.calls == [len(TEXTS), 1, len(set(more) - set(TEXTS))]
    assert len(files(cache)) == 2


def test_few_texts_are_not_kept(named, cache):
    folder, _ = named
    model_of(folder).fit(TEXTS[: LEAST_KEPT - 1], Y[: LEAST_KEPT - 1])
    assert files(cache) == []
    model_of(folder).fit(TEXTS[:LEAST_KEPT], Y[:LEAST_KEPT])
    assert len(files(cache)) == 1


def test_functions_and_objects_are_not_kept(cache):
    TextClassifier(encoder=Encoder()).fit(TEXTS, Y)
    TextClassifier(encoder=encode).fit(TEXTS, Y)
    assert files(cache) == []


@pytest.mark.parametrize("where", [10, -10, None])
def test_damaged_files_are_made_again(named, cache, where):
    folder, encoder = named
    expected = model_of(folder).fit(TEXTS, Y).coef_
    (file,) = files(cache)
    content = bytearray(file.read_bytes())
    if where is None:
        content = content[:-100]
    else:
        content[where] ^= 1
    file.unlink()  # the old one may be mapped
    file.write_bytes(content)
    assert np.array_equal(model_of(folder).fit(TEXTS, Y).coef_, expected)
    assert encoder.calls == [len(TEXTS)] * 2
    read_arrays(file, verify=True)
    model_of(folder).fit(TEXTS, Y)
    assert encoder.calls == [len(TEXTS)] * 2


def test_another_revision_has_other_files(named, cache, tmp_path):
    folder, encoder = named
    save_model(model_of(folder).fit(TEXTS, Y), tmp_path / "m")
    moved = folder.rename(tmp_path / "moved")
    with pytest.raises(ValueError, match="there is no such folder; if it has moved"):
        load_model(tmp_path / "m").predict(["a new text"])
    model = load_model(tmp_path / "m", encoder=str(moved))
    assert model.predict(TEXTS[:1]).tolist() == Y[:1]
    model.predict(TEXTS)
    assert encoder.calls == [len(TEXTS)]  # by its content, it is the same
    (moved / "weights").write_bytes(b"2")
    with pytest.raises(ValueError, match=r"moved' is revision \w+, but the model was trained with"):
        load_model(tmp_path / "m", encoder=str(moved))
    moved.rename(folder)
    with pytest.raises(ValueError, match=r"encoder' is revision \w+, but the model was trained"):
        load_model(tmp_path / "m").predict(["a new text"])
    model_of(folder).fit(TEXTS, Y)
    assert encoder.calls == [len(TEXTS)] * 2


def test_an_interruption_keeps_what_was_done(named, cache):
    folder, encoder = named
    texts, y = labelled(1500)

    def interrupted(batch):
        if len(encoder.calls) == 3:
            raise KeyboardInterrupt
        return encode(batch)

    encoder.function = interrupted
    with pytest.raises(KeyboardInterrupt):
        model_of(folder).fit(texts, y)
    encoder.function = encode
    model_of(folder).fit(texts, y)
    assert encoder.calls == [512, 512, 476, 476]


def test_no_folder_and_no_room(named, monkeypatch, tmp_path):
    folder, encoder = named
    monkeypatch.setenv("MULTIMARGIN_EMBEDDINGS", "")
    model_of(folder).fit(TEXTS, Y)
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("MULTIMARGIN_EMBEDDINGS", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="embeddings are not kept for the next time: "):
        model_of(folder).fit(TEXTS, Y)
    assert encoder.calls == [len(TEXTS)] * 2


def test_many_at_a_time(cache):
    """Writers of the same and of other texts do not disturb each other, nor readers."""
    texts = [f"text {i}" for i in range(1000)]
    vectors = np.arange(3000, dtype=np.float32).reshape(1000, 3)
    keys, failed = keys_of(texts), []

    def work(begin):
        own = EmbeddingCache("encoder")
        for end in range(begin + 100, 1001, 100):
            own.add(keys[begin:end], vectors[begin:end])
            found, known = own.find(keys, 3)
            if not (found[begin:end].all() and np.array_equal(known[found], vectors[found])):
                failed.append(begin)

    workers = [threading.Thread(target=work, args=(begin,)) for begin in (0, 0, 300, 500)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failed == []
    found, known = EmbeddingCache("encoder").find(keys[::-1], None)
    assert found.all()
    assert np.array_equal(known, vectors[::-1])
    assert not EmbeddingCache("another").find(keys, None)[0].any()


def test_a_model_of_the_hub_keeps_its_commit(monkeypatch, cache, tmp_path):
    loaded, encoder = [], Encoder()

    def load(name, revision):
        loaded.append((name, revision))
        return encoder

    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    monkeypatch.setattr(_encoder, "loaded_encoder", load)
    # It is on this machine once it was loaded.
    monkeypatch.setattr(_encoder, "revision_of", lambda name: "c0ffee" if loaded else None)
    save_model(model_of("some/model").fit(TEXTS, Y), tmp_path / "m")
    assert loaded == [("some/model", None), ("some/model", "c0ffee")]
    monkeypatch.setattr(_encoder, "revision_of", lambda name: "another")
    model = load_model(tmp_path / "m")
    assert model.predict([*TEXTS, "a new text"]).tolist()[:-1] == Y
    assert loaded[2:] == [("some/model", "c0ffee")]
    assert encoder.calls == [len(TEXTS), 1]
