"""Checks of the parameters that text features are made with."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, Literal, get_args

from multimargin.models._arguments import is_whole, require, require_flags, require_one_of
from multimargin.text._encoder import check_encoder
from multimargin.text._raw_columns import names_of

AnalyzerName = Literal["word", "char", "char_wb"]
AccentsName = Literal["ascii", "unicode"]
FeaturesName = Literal["tfidf", "embedding", "both"]
ANALYZERS: tuple[str, ...] = get_args(AnalyzerName)
ACCENTS = (None, *get_args(AccentsName))
MOST_NGRAMS = 100


def check_options(given: Any) -> None:
    """Raise a ValueError at the first parameter that is not valid; it says what is allowed."""
    require_one_of(given, "analyzer", ANALYZERS)
    require_one_of(given, "strip_accents", ACCENTS)
    require_flags(given, "lowercase", "sublinear_tf", "use_idf")
    allowed = f"two integers (shortest, longest) with 1 <= shortest <= longest <= {MOST_NGRAMS}"
    require(given, _is_range(given.ngram_range), "ngram_range", allowed)
    _check_frequencies(given)
    stop = given.stop_words
    ok = stop is None or stop == "english" or (isinstance(stop, list | tuple) and _are_names(stop))
    require(given, ok, "stop_words", "None, 'english' or a list of words")
    _check_columns(given)
    _check_features(given)


def kind_of_features(given: Any) -> FeaturesName:
    """Return which features texts get: with an encoder both kinds, unless told otherwise."""
    if given.features is not None:
        kind: FeaturesName = given.features
        return kind
    return "tfidf" if given.encoder is None else "both"


def _check_features(given: Any) -> None:
    require_one_of(given, "features", (None, *get_args(FeaturesName)))
    kind, has_encoder = kind_of_features(given), given.encoder is not None
    if kind != "tfidf" and not has_encoder:
        raise ValueError(f"features={kind!r} needs an encoder, such as encoder='all-MiniLM-L6-v2'")
    columns = names_of(given.numeric) or names_of(given.categorical)
    if has_encoder:
        ok = names_of(given.text) or not columns
        require(given, ok, "encoder", "None where there is no column of texts (text=)")
        check_encoder(given.encoder)


def _is_range(value: Any) -> bool:
    if not isinstance(value, tuple | list) or len(value) != 2:
        return False
    low, high = value
    return is_whole(low) and is_whole(high) and low <= high <= MOST_NGRAMS


def _check_frequencies(given: Any) -> None:
    allowed = "an integer of at least 1 (texts) or a float from 0.0 to 1.0 (share of the texts)"
    for name in ("min_df", "max_df"):
        value = getattr(given, name)
        share = isinstance(value, Real) and not isinstance(value, Integral)
        ok = is_whole(value) or (share and 0 <= float(value) <= 1)
        require(given, ok, name, allowed)
    ok = given.max_features is None or is_whole(given.max_features)
    require(given, ok, "max_features", "None or an integer of at least 1")


def _are_names(value: Any) -> bool:
    return isinstance(value, Iterable) and all(isinstance(each, str) for each in value)


def _check_columns(given: Any) -> None:
    used: set[str] = set()
    for name in ("text", "numeric", "categorical"):
        value = getattr(given, name)
        ok = value is None or _are_names(value)
        require(given, ok, name, "the name of a column, or a list of such names")
    for each in (*names_of(given.text), *names_of(given.numeric), *names_of(given.categorical)):
        if each in used:
            raise ValueError(f"column {each!r} is named twice among text, numeric and categorical")
        used.add(each)
