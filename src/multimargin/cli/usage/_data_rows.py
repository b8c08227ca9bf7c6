"""Rows about data to train on and about costs of labels, which several commands take."""

from __future__ import annotations

from typing import Any

from multimargin.cli.support import _arguments as arguments
from multimargin.cli.support._choices import ANALYZERS, FEATURES, NORMS

LABEL_COSTS = """\
--hierarchy FILE        labels in a tree: the cost of taking one for another is their distance in
                        it, siblings 1. Lines 'parent child', or whole paths from the root down;
                        with tabs, names may hold spaces
--hierarchy-cost distance|depth = distance  depth: edges are half as long from level to level
--label-cost FILE       lines 'label other cost': the cost of taking label for other, where it is
                        not 1"""
# Rows that begin and that end the options of a command which trains.
TRAINING = f"""\
DATA                     LIBSVM text; or, with --text and --label, a table: CSV, TSV or JSON lines,
                         all of these plain or compressed, or Parquet; or vectors: .npy with
                         --labels, .npz with arrays X and y, or Parquet with --vector and --label
--tol T = 0.01           tolerance
--no-intercept           scores without a constant term
--free-intercept         a constant term that is not regularised (ww and cs)
--class-weight balanced  weigh classes by their inverse frequency
{LABEL_COSTS}"""
DATA_OPTIONS = f"""\
{arguments.LABELLED_TABLES}
--numeric A,B       columns with numbers, as further features
--categorical A,B   columns with categories, likewise
[features of texts]
--features WHICH    tfidf, embedding or both (default: both with --encoder, else tfidf). For LIBSVM
                    text: how many there are (default: as found)
--analyzer {"|".join(ANALYZERS)}  what features are made of: words, characters, or characters within
                    words (default: word)
--ngrams N-M        from N to M of them (default: 1-1)
--min-df N          leave out what is in fewer texts, a number (2) or a share (0.001) (default: 1)
--max-df N          leave out what is in more texts (default: 1.0, all)
--max-features N    keep the N most frequent
--stop-words english  leave out frequent words of a language
--no-idf            do not give rare words more weight
[LIBSVM text and vectors]
--normalize {"|".join(NORMS)} = none  l2: scale each sample to unit length, here and in predict and
                    evaluate
--zero-based        feature numbers of LIBSVM text start at 0, not at 1
--dtype float32|float64 = float32  type of the feature values of LIBSVM text"""


def _bounds(text: str) -> tuple[int, int]:
    low, dash, high = text.partition("-")
    return int(low), int(high if dash else low)


def _count_or_share(text: str) -> int | float:
    return int(text) if text.strip().isdigit() else float(text)


def _features(text: str) -> int | str:
    return text if text in FEATURES else int(text)


_frequency = arguments.checked(
    _count_or_share,
    lambda value: value >= 1 if isinstance(value, int) else 0 <= value <= 1,
    "a whole number of at least 1 or a share from 0.0 to 1.0",
)
KINDS: dict[str, Any] = {
    "tol": arguments.positive_float,
    "seed": arguments.seed,
    **dict.fromkeys(("numeric", "categorical"), arguments.names),
    "ngrams": arguments.checked(_bounds, lambda n: 1 <= n[0] <= n[1], "a range such as 1-2"),
    **dict.fromkeys(("min_df", "max_df"), _frequency),
    "features": arguments.checked(
        _features,
        lambda value: isinstance(value, str) or value >= 1,
        f"{', '.join(FEATURES)} or a whole number of at least 1",
    ),
}
