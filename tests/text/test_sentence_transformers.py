"""A model of sentence-transformers, made here: by name, by folder and as an object."""

import json
import subprocess
import sys

import numpy as np
import pytest

from multimargin import TextClassifier, load_model, save_model
from multimargin.cli import main
from multimargin.text._encoder import _loaded, revision_of
from tests.cli.commands import error_line
from tests.text.encoders import LABELS, SIZE, labelled, vector_of

pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
TEXTS, Y = labelled(150)


@pytest.fixture(scope="module")
def encoder():
    """Static embeddings of a few words, as sentence-transformers has them."""
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer, models, pre_tokenizers

    try:
        from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    except ImportError:  # before version 6
        from sentence_transformers.models import StaticEmbedding

    words = sorted({word for text in TEXTS for word in text.split()} | {"hen", "lane", "petal"})
    places = {word: place for place, word in enumerate(["[UNK]", *words])}
    tokenizer = Tokenizer(models.WordLevel(places, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    weights = np.array([vector_of(word) for word in places], dtype=np.float32)
    static = StaticEmbedding(tokenizer, embedding_weights=weights)
    return SentenceTransformer(modules=[static], device="cpu")


@pytest.fixture
def folder(encoder, tmp_path, monkeypatch):
    monkeypatch.setenv("MULTIMARGIN_EMBEDDINGS", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    encoder.save(str(tmp_path / "static"))
    _loaded.cache_clear()
    return tmp_path / "static"


def test_by_folder_and_as_an_object(encoder, folder):
    model = TextClassifier(encoder="./static", random_state=0).fit(TEXTS, Y)
    assert model.predict(["hen", "petal", "lane"]).tolist() == LABELS
    (embedding,) = model.features_._embeddings
    assert (embedding.encoder.name, embedding.encoder.dimension) == (str(folder), SIZE)
    assert embedding.encoder.revision == revision_of(str(folder))
    as_object = TextClassifier(encoder=encoder, random_state=0).fit(TEXTS, Y)
    assert np.array_equal(as_object.coef_, model.coef_)
    save_model(model, "m")
    loaded = load_model("m", verify=True)
    assert loaded.encoder == "./static"
    assert np.array_equal(loaded.decision_function(["hen"]), model.decision_function(["hen"]))


def test_on_the_command_line(folder, capsys):
    from tests.cli.tables.table_files import write

    write(folder.parent / "train.csv", zip(TEXTS, Y, strict=True), ("text", "label"))
    write(
        folder.parent / "test.csv",
        zip(["hen", "petal"], ["pet", "flower"], strict=True),
        ("text", "label"),
    )
    columns = ["--text", "text", "--label", "label"]
    options = [*columns, "--encoder", "static", "--features", "embedding", "--quiet"]
    assert main(["train", "train.csv", "m", *options]) == 0
    assert main(["info", "m", "--json"]) == 0
    about = json.loads(capsys.readouterr().out)
    expected = {"name": str(folder), "revision": revision_of(str(folder)), "dimension": SIZE}
    assert about["encoder"] == expected
    assert main(["evaluate", "m", "test.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["error"] == 0
    folder.rename(folder.parent / "moved")
    assert main(["predict", "m", "test.csv", "-o", "-"]) == 1
    assert "there is no such folder; if it has moved" in error_line(capsys)
    assert main(["predict", "m", "test.csv", "-o", "-", "--encoder", "moved"]) == 0
    assert capsys.readouterr().out == "pet\nflower\n"
    assert (
        main(
            [
                "tune",
                "train.csv",
                *options[:-1],
                "--C",
                "1",
                "--folds",
                "2",
                "--encoder",
                "moved",
                "--formulations",
                "cs",
                "--quiet",
            ]
        )
        == 0
    )
    assert "--features embedding" in capsys.readouterr().out


def test_known_texts_load_no_encoder(folder):
    model = TextClassifier(encoder="static", random_state=0).fit(TEXTS, Y)
    save_model(model, "m")
    code = (
        "import sys, multimargin; from tests.text.encoders import labelled\n"
        "texts, y = labelled(150)\n"
        "assert multimargin.load_model('m').score(texts, y) == 1\n"
        "assert 'sentence_transformers' not in sys.modules and 'torch' not in sys.modules"
    )
    from tests.support.paths import ROOT

    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_what_is_no_encoder(folder, capsys):
    (folder / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(ValueError, match=r"encoder '.*static' cannot be loaded: ") as raised:
        TextClassifier(encoder="static").fit(TEXTS, Y)
    assert "\n" not in str(raised.value)
