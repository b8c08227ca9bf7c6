"""The features of a model in its file: plain arrays and JSON, nothing that could run."""

from __future__ import annotations

import os
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from multimargin.io._array_file import FilePath, damaged
from multimargin.models.file._strings import Arrays, pack_strings, unpack_strings
from multimargin.text._columns import CategoryColumn, NumberColumns, TextColumn, TextOptions
from multimargin.text._embedding_column import EmbeddingColumn
from multimargin.text._encoder import TextEncoder
from multimargin.text._features import TextFeatures
from multimargin.text._options import check_options
from multimargin.text._words import Words

_ENCODER = ("name", "described", "revision", "dimension")
_OPTIONS = tuple(field.name for field in fields(TextOptions))


def pack_features(features: TextFeatures, arrays: Arrays) -> dict[str, Any]:
    """Add the columns that make the features to the arrays, and return their metadata."""
    texts = []
    for i, column in enumerate(features._texts):
        pack_strings(f"features.text{i}", column.words.pack(), arrays)
        if column.idf is not None:
            arrays[f"features.text{i}.idf"] = column.idf
        about: dict[str, Any] = {"column": column.name, "use_idf": column.idf is not None}
        if column.length != 1:
            about["length"] = column.length
        texts.append(about | asdict(column.options))
    numbers = features._numbers
    if numbers is not None:
        arrays["features.mean"], arrays["features.scale"] = numbers.mean, numbers.scale
    for i, category in enumerate(features._categories):
        pack_strings(f"features.category{i}", category.values.pack(), arrays)
    embeddings = []
    for i, embedding in enumerate(features._embeddings):
        arrays[f"features.embedding{i}.mean"] = embedding.mean
        facts = {name: getattr(embedding.encoder, name) for name in _ENCODER}
        embeddings.append({"column": embedding.name, "length": embedding.length} | facts)
    return {
        "text": texts,
        "numeric": [] if numbers is None else list(numbers.names),
        "categorical": [category.name for category in features._categories],
        **({"embedding": embeddings} if embeddings else {}),
    }


def unpack_features(path: FilePath, about: Any, arrays: Arrays, *, verify: bool) -> TextFeatures:
    """Return the features that `pack_features` added, with everything in them checked.

    Words are read if `verify` is set; otherwise they are checked when they are first used.
    """
    if not isinstance(about, dict):
        damaged(path, "the features are not a JSON object")
    texts = [
        _unpack_text(path, i, each, arrays) for i, each in enumerate(_list(path, about, "text"))
    ]
    numeric = _names(path, about, "numeric")
    categorical = _names(path, about, "categorical")
    numbers = _unpack_numbers(path, numeric, arrays) if numeric else None
    categories = [
        CategoryColumn(name, _words(path, f"features.category{i}", arrays))
        for i, name in enumerate(categorical)
    ]
    embeddings = [
        _unpack_embedding(path, i, each, arrays)
        for i, each in enumerate(_list(path, {"embedding": [], **about}, "embedding"))
    ]
    for names in ([column.name for column in texts], [column.name for column in embeddings]):
        if None in names and (len(names) > 1 or numeric or categorical):
            damaged(path, "a column of texts has no name")
    features = _described(path, texts, embeddings, numeric, categorical)
    features._set_columns(texts, numbers, categories, embeddings)
    if verify:
        for words in [*(each.words for each in texts), *(each.values for each in categories)]:
            _ = words.strings
    return features


def _described(
    path: FilePath,
    texts: list[TextColumn],
    embeddings: list[EmbeddingColumn],
    numeric: list[str],
    categorical: list[str],
) -> TextFeatures:
    """Return unfitted features with these columns, and with the parameters of the first text."""
    options = texts[0].options if texts else TextOptions()
    named = [column.name for column in texts or embeddings if column.name is not None]
    features = TextFeatures(
        **asdict(options),
        use_idf=not texts or texts[0].idf is not None,
        text=(named[0] if len(named) == 1 else named) if named else None,
        numeric=tuple(numeric),
        categorical=tuple(categorical),
    )
    try:
        check_options(features)
    except ValueError as error:
        damaged(path, f"features: {error}")
    # After the check: the encoder is looked for when it is needed.
    if embeddings:
        features.encoder = embeddings[0].encoder.source
        features.features = "both" if texts else "embedding"
    return features


def _list(path: FilePath, about: dict[str, Any], name: str) -> list[Any]:
    value = about.get(name)
    if not isinstance(value, list):
        damaged(path, f"features: {name} is not a list")
    return value


def _names(path: FilePath, about: dict[str, Any], name: str) -> list[str]:
    names = _list(path, about, name)
    if not all(isinstance(each, str) for each in names):
        damaged(path, f"features: {name} holds something else than names of columns")
    return names


def _unpack_text(path: FilePath, i: int, about: Any, arrays: Arrays) -> TextColumn:
    if not isinstance(about, dict):
        damaged(path, f"features: text {i} is not a JSON object")
    column, use_idf = about["column"], about["use_idf"]
    if not isinstance(column, str | None) or not isinstance(use_idf, bool):
        damaged(path, f"features: text {i} is of column {column!r} with use_idf={use_idf!r}")
    given = {name: about[name] for name in _OPTIONS}
    # Checked as a user's would be, before any of it is used.
    try:
        check_options(TextFeatures(**given))
    except ValueError as error:
        damaged(path, f"features: text {i}: {error}")
    if isinstance(given["stop_words"], list):
        given["stop_words"] = tuple(given["stop_words"])
    given["ngram_range"] = tuple(given["ngram_range"])
    words = _words(path, f"features.text{i}", arrays)
    idf = None
    if use_idf:
        idf = arrays[f"features.text{i}.idf"]
        if idf.shape != (len(words),) or idf.dtype != np.float32:
            damaged(path, f"features: {idf.dtype} idf of shape {idf.shape} for {len(words)} words")
        if not (np.isfinite(idf).all() and (idf > 0).all()):
            damaged(path, "features: an idf is not a positive number")
    return TextColumn(column, TextOptions(**given), words, idf, _length(path, about))


def _unpack_embedding(path: FilePath, i: int, about: Any, arrays: Arrays) -> EmbeddingColumn:
    if not isinstance(about, dict):
        damaged(path, f"features: embedding {i} is not a JSON object")
    column = about["column"]
    name, described, revision, dimension = (about[each] for each in _ENCODER)
    mean = arrays[f"features.embedding{i}.mean"]
    ok = (
        all(isinstance(each, str | None) for each in (column, name, revision))
        and isinstance(described, str)
        and type(dimension) is int
        and mean.dtype == np.float32
        and mean.shape == (dimension,)
        and bool(np.isfinite(mean).all())
    )
    if not ok:
        damaged(path, f"features: embedding {i} has a part of the wrong type or length")
    encoder = TextEncoder(name, described=described, revision=revision, dimension=dimension)
    return EmbeddingColumn(column, encoder, mean, _length(path, about))


def _length(path: FilePath, about: dict[str, Any]) -> float:
    length = about.get("length", 1.0)
    if not isinstance(length, float) or not 0 < length <= 1:
        damaged(path, f"features: rows of the length {length!r}")
    return length


def _unpack_numbers(path: FilePath, names: list[str], arrays: Arrays) -> NumberColumns:
    mean, scale = arrays["features.mean"], arrays["features.scale"]
    for array in (mean, scale):
        found = f"{array.dtype} of shape {array.shape}"
        if array.shape != (len(names),) or array.dtype != np.float64:
            damaged(path, f"features: {found} for {len(names)} columns")
    if not (np.isfinite(mean).all() and np.isfinite(scale).all() and (scale > 0).all()):
        damaged(path, "features: the mean or the scale of a column is not a number")
    return NumberColumns(tuple(names), mean, scale)


def _words(path: FilePath, name: str, arrays: Arrays) -> Words:
    return Words.packed(unpack_strings(path, name, arrays), os.fspath(path))
