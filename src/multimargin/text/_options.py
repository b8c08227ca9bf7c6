"""Are the parameters of the features what they may be?"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

from multimargin.text._raw_columns import names_of

ANALYZERS = ("word", "char", "char_wb")
ACCENTS = (None, "ascii", "unicode")
MOST_NGRAMS = 100


def check_options(given: Any) -> None:
    """Raise ValueError, with the name and what is allowed, at the first that is not right."""
    _one_of(given, "analyzer", ANALYZERS)
    _one_of(given, "strip_accents", ACCENTS)
    for name in ("lowercase", "sublinear_tf", "use_idf"):
        _require(given, isinstance(getattr(given, name), bool | np.bool_), name, "True or False")
    allowed = f"two integers (shortest, longest) with 1 <= shortest <= longest <= {MOST_NGRAMS}"
    _require(given, _is_range(given.ngram_range), "ngram_range", allowed)
    _check_frequencies(given)
    stop = given.stop_words
    _require(
        given,
        stop is None or stop == "english" or (isinstance(stop, list | tuple) and _are_names(stop)),
        "stop_words",
        "None, 'english' or a list of words",
    )
    _check_columns(given)


def _require(given: Any, ok: bool, name: str, allowed: str) -> None:
    if not ok:
        raise ValueError(f"{name} must be {allowed}, got {getattr(given, name)!r}")


def _one_of(given: Any, name: str, allowed: tuple[str | None, ...]) -> None:
    value = getattr(given, name)
    ok = value is None or isinstance(value, str)
    _require(given, ok and value in allowed, name, " or ".join(repr(one) for one in allowed))


def is_whole(value: object, least: int = 1) -> bool:
    """Whether it is an integer, and no truth value, of at least `least`."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def _is_range(value: Any) -> bool:
    if not isinstance(value, tuple | list) or len(value) != 2:
        return False
    low, high = value
    return is_whole(low) and is_whole(high) and low <= high <= MOST_NGRAMS


def _check_frequencies(given: Any) -> None:
    for name in ("min_df", "max_df"):
        value = getattr(given, name)
        share = isinstance(value, Real) and not isinstance(value, Integral)
        share = share and 0 <= float(value) <= 1
        allowed = "an integer of at least 1 (texts) or a float from 0.0 to 1.0 (share of the texts)"
        _require(given, share or is_whole(value), name, allowed)
    most = given.max_features
    _require(
        given, most is None or is_whole(most), "max_features", "None or an integer of at least 1"
    )


def _are_names(value: Any) -> bool:
    return isinstance(value, Iterable) and all(isinstance(each, str) for each in value)


def _check_columns(given: Any) -> None:
    for name in ("text", "numeric", "categorical"):
        value = getattr(given, name)
        _require(
            given, value is None or _are_names(value), name, "the name of a column, or a list of"
        )
    used: set[str] = set()
    for each in (*names_of(given.text), *names_of(given.numeric), *names_of(given.categorical)):
        if each in used:
            raise ValueError(f"column {each!r} is named twice among text, numeric and categorical")
        used.add(each)
