"""Seeded generator of sparse text-like data with a tree of classes."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any, Literal, NamedTuple, overload

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from sklearn.utils import check_random_state

from multimargin.io._svmlight import canonical_csr, float_type
from multimargin.models._arguments import whole_number

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]

# Tokens drawn at a time: bounds the memory of the temporaries. The result does not depend on it,
# since each token takes exactly one number from one stream, in order.
_CHUNK_TOKENS = 1 << 20
_TOPIC_WORDS = 64  # words in the topic of one node of the tree
_LENGTH_SIGMA = 0.5  # of the logarithm of the number of tokens in a sample
_FOCUS = 20.0  # a + b of the Beta distribution of a sample's share of topic words
_PILOT_WORDS = 100_000  # distinct words in the pilot that sets the length of the samples
_MAX_TOKENS_PER_WORD = 20.0


class _Corpus(NamedTuple):
    words: npt.NDArray[np.int32]  # (n_features,): the word at each global frequency rank
    topics: npt.NDArray[np.int32]  # (n_classes, _TOPIC_WORDS): the words of each class, by rank
    labels: _Ints  # (n_samples,)
    shares: _Floats  # (n_samples,): probability that a token comes from the topic
    spread: _Floats  # (n_samples,): length relative to the mean length


@overload
def make_hierarchical_text(
    n_samples: int = ...,
    n_features: int = ...,
    n_classes: int = ...,
    *,
    words_per_sample: float = ...,
    branching: int = ...,
    topic_share: float = ...,
    sibling_share: float = ...,
    class_exponent: float = ...,
    random_state: int | np.random.RandomState | None = ...,
    dtype: npt.DTypeLike = ...,
    return_hierarchy: Literal[False] = ...,
) -> tuple[csr_matrix[Any], _Ints]: ...


@overload
def make_hierarchical_text(
    n_samples: int = ...,
    n_features: int = ...,
    n_classes: int = ...,
    *,
    words_per_sample: float = ...,
    branching: int = ...,
    topic_share: float = ...,
    sibling_share: float = ...,
    class_exponent: float = ...,
    random_state: int | np.random.RandomState | None = ...,
    dtype: npt.DTypeLike = ...,
    return_hierarchy: Literal[True],
) -> tuple[csr_matrix[Any], _Ints, _Ints]: ...


def make_hierarchical_text(
    n_samples: int = 4000,
    n_features: int = 5000,
    n_classes: int = 100,
    *,
    words_per_sample: float = 40.0,
    branching: int = 8,
    topic_share: float = 0.35,
    sibling_share: float = 0.9,
    class_exponent: float = 0.8,
    random_state: int | np.random.RandomState | None = None,
    dtype: npt.DTypeLike = np.float32,
    return_hierarchy: bool = False,
) -> tuple[csr_matrix[Any], _Ints] | tuple[csr_matrix[Any], _Ints, _Ints]:
    """Make sparse, text-like data whose classes are the leaves of a tree.

    The data resemble a large web directory: word frequencies and class sizes follow power laws,
    most words of a sample are background words that all classes share, and the topic of a class
    is mostly made of the words of its parent, in another order of frequency, so that a class is
    confused mostly with its siblings. Counts become tf-idf features
    (``(1 + log tf) * (1 + log((1 + n) / (1 + df)))``, with ``df`` counted over all samples), and
    each row has unit Euclidean length. Time and memory grow with the number of non-zeros plus
    ``n_features + n_classes``.

    Parameters
    ----------
    n_samples : int, default=4000
        Number of rows, at least `n_classes`.
    n_features : int, default=5000
        Number of columns: the size of the vocabulary. Rare words may occur in no sample.
    n_classes : int, default=100
        Number of classes. Each has at least one sample.
    words_per_sample : float, default=40
        Mean number of distinct words (non-zeros) in a row, met to within a few percent; at most a
        quarter of `n_features`. The lengths themselves are log-normal.
    branching : int, default=8
        Number of children of an inner node of the tree: the number of siblings, at least 2.
    topic_share : float, default=0.35
        Mean share of a sample's words that come from its class, in (0, 1). Smaller is harder.
    sibling_share : float, default=0.9
        Share of the words of a node's topic that its parent has, in [0, 1]. Larger is harder.
    class_exponent : float, default=0.8
        The expected size of the k-th largest class falls as ``k ** -class_exponent``.
    random_state : int, RandomState instance or None, default=None
        The same int gives the same arrays.
    dtype : dtype, default=numpy.float32
        Type of the values: float32 or float64.
    return_hierarchy : bool, default=False
        Whether to return `parents` too.

    Returns
    -------
    X : csr_matrix of shape (n_samples, n_features)
        Unit rows with sorted, unique column indices; no row is empty.
    y : ndarray of int64 of shape (n_samples,)
        Class of each sample, in ``range(n_classes)``; rows are in random order.
    parents : ndarray of int64 of shape (n_classes,)
        Only with ``return_hierarchy=True``: the parent of each class, numbered from 0. The parent
        of inner node ``p`` is ``p // branching`` one level up, and so on to the root.

    Raises
    ------
    ValueError
        If an argument is out of its range, or `words_per_sample` cannot be reached.

    Examples
    --------
    >>> from multimargin.datasets import make_hierarchical_text
    >>> X, y = make_hierarchical_text(1000, 2000, 50, random_state=0)
    >>> X.shape, int(y.max())
    ((1000, 2000), 49)
    """
    _check_sizes(n_samples, n_features, n_classes, branching)
    _check_reals(n_features, words_per_sample, topic_share, sibling_share, class_exponent)
    value_type = float_type(dtype)

    seed = check_random_state(random_state).randint(0, 2**32, size=4, dtype=np.uint32)
    label_seed, topic_seed, sample_seed, pilot_seed, token_seed = np.random.SeedSequence(
        [int(word) for word in seed]
    ).spawn(5)
    labels = _draw_labels(n_samples, n_classes, class_exponent, np.random.default_rng(label_seed))
    topic_rng = np.random.default_rng(topic_seed)
    words = topic_rng.permutation(np.arange(n_features, dtype=np.int32))
    sample_rng = np.random.default_rng(sample_seed)
    corpus = _Corpus(
        words=words,
        topics=_draw_topics(words, n_classes, branching, sibling_share, topic_rng),
        labels=labels,
        shares=sample_rng.beta(_FOCUS * topic_share, _FOCUS * (1 - topic_share), n_samples),
        spread=_mean_one(np.exp(_LENGTH_SIGMA * sample_rng.standard_normal(n_samples))),
    )
    lengths = _token_lengths(corpus.spread, _calibrate(corpus, words_per_sample, pilot_seed))
    X = _collect(corpus, lengths, np.random.default_rng(token_seed), value_type)
    if return_hierarchy:
        return X, labels, np.arange(n_classes, dtype=np.int64) // branching
    return X, labels


def _check_sizes(n_samples: int, n_features: int, n_classes: int, branching: int) -> None:
    whole_number("n_samples", n_samples, 1)
    whole_number("n_features", n_features, 1)
    whole_number("n_classes", n_classes, 1)
    whole_number("branching", branching, 2)
    if n_features > np.iinfo(np.int32).max:
        raise ValueError(f"n_features must fit in 32 bits, at most 2147483647; got {n_features}.")
    if n_samples < n_classes:
        raise ValueError(
            f"n_samples must be at least n_classes, since each class has a sample; got "
            f"n_samples={n_samples} and n_classes={n_classes}: raise n_samples or lower n_classes."
        )


def _check_reals(
    n_features: int, words: float, topic_share: float, sibling_share: float, exponent: float
) -> None:
    for name, value in (
        ("words_per_sample", words),
        ("topic_share", topic_share),
        ("sibling_share", sibling_share),
        ("class_exponent", exponent),
    ):
        if isinstance(value, bool) or not isinstance(value, Real) or not np.isfinite(value):
            raise ValueError(f"{name} must be a finite number; got {value!r}.")
    if not 1 <= words <= max(1, n_features / 4):
        raise ValueError(
            f"words_per_sample must be at least 1 and at most a quarter of n_features={n_features},"
            f" as most words are rare; got {words}: lower words_per_sample or raise n_features."
        )
    if not 0 < topic_share < 1:
        raise ValueError(f"topic_share must lie strictly between 0 and 1; got {topic_share}.")
    if not 0 <= sibling_share <= 1:
        raise ValueError(f"sibling_share must lie in [0, 1]; got {sibling_share}.")
    if exponent < 0:
        raise ValueError(f"class_exponent must be 0 or more; got {exponent}.")


def _draw_labels(
    n_samples: int, n_classes: int, exponent: float, rng: np.random.Generator
) -> _Ints:
    """Draw one sample of each class, the others by a power law over shuffled classes."""
    weights = np.arange(1, n_classes + 1, dtype=np.float64) ** -exponent
    # Without the shuffle, siblings would all be large or all be small.
    rng.shuffle(weights)
    sizes = 1 + rng.multinomial(n_samples - n_classes, weights / weights.sum())
    labels = np.repeat(np.arange(n_classes, dtype=np.int64), sizes)
    rng.shuffle(labels)
    return labels


def _draw_topics(
    words: npt.NDArray[np.int32],
    n_classes: int,
    branching: int,
    sibling_share: float,
    rng: np.random.Generator,
) -> npt.NDArray[np.int32]:
    """Draw the words of each class by rank, from the root of the tree down to the classes."""
    level_sizes = [n_classes]
    while level_sizes[-1] > 1:
        level_sizes.append(-(-level_sizes[-1] // branching))
    topics = _fresh_words(words, _TOPIC_WORDS, rng).reshape(1, _TOPIC_WORDS)
    for size in reversed(level_sizes[:-1]):
        topics = topics[np.arange(size) // branching]
        # Inner nodes are further apart than classes: confusions should stay among siblings.
        inherited = sibling_share if size == n_classes else sibling_share / 2
        own = rng.random(topics.shape, dtype=np.float32) >= inherited
        topics[own] = _fresh_words(words, int(np.count_nonzero(own)), rng)
    return topics


def _fresh_words(
    words: npt.NDArray[np.int32], count: int, rng: np.random.Generator
) -> npt.NDArray[np.int32]:
    """Draw words for topics; squaring prefers frequent ones, far less than the background."""
    return words[(rng.random(count) ** 2 * words.size).astype(np.int64)]


def _mean_one(values: _Floats) -> _Floats:
    return values / float(values.mean())


def _token_lengths(spread: _Floats, mean_tokens: float) -> _Ints:
    return np.maximum(np.rint(spread * mean_tokens), 1).astype(np.int64)


def _calibrate(corpus: _Corpus, words_per_sample: float, seed: np.random.SeedSequence) -> float:
    """Return the mean number of tokens that gives `words_per_sample` distinct words in a pilot."""
    n_pilot = int(min(max(_PILOT_WORDS / words_per_sample, 100), 1000))
    # Copies of the samples, when there are few, estimate the mean as well as more samples do.
    rows = np.resize(np.arange(min(n_pilot, corpus.labels.size)), n_pilot)
    pilot = corpus._replace(
        labels=corpus.labels[rows],
        shares=corpus.shares[rows],
        spread=_mean_one(corpus.spread[rows]),
    )
    tokens = float(words_per_sample)
    # Distinct words grow slower in number than tokens, so this converges.
    for _ in range(30):
        lengths = _token_lengths(pilot.spread, tokens)
        chunks = _draw_chunks(pilot, lengths, np.random.default_rng(seed))
        distinct = sum(keys.size for _, keys, _ in chunks) / n_pilot
        if abs(distinct / words_per_sample - 1) < 0.005:
            break
        tokens *= words_per_sample / distinct
        if tokens > _MAX_TOKENS_PER_WORD * words_per_sample:
            raise ValueError(
                f"words_per_sample={words_per_sample} distinct words would need samples of more "
                f"than {tokens:.0f} tokens, since few words are frequent and a topic has only "
                f"{_TOPIC_WORDS} words: lower words_per_sample or topic_share."
            )
    return tokens


def _draw_chunks(
    corpus: _Corpus, lengths: _Ints, rng: np.random.Generator
) -> Iterator[tuple[_Ints, npt.NDArray[np.int32], _Ints]]:
    """Yield, for successive rows, the row lengths, the sorted distinct words and their counts."""
    ends = np.cumsum(lengths)
    start = 0
    n_features = corpus.words.size
    while start < lengths.size:
        drawn = ends[start] - lengths[start]
        stop = int(np.searchsorted(ends, drawn + _CHUNK_TOKENS, side="right"))
        stop = max(stop, start + 1)
        rows = np.repeat(np.arange(stop - start), lengths[start:stop])
        words = _draw_words(corpus, start + rows, rng.random(rows.size))
        keys = rows * n_features + words
        keys.sort()
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        counts = np.diff(first, append=keys.size)
        row_of, word_of = np.divmod(keys[first], n_features)
        sizes = np.bincount(row_of, minlength=stop - start)
        yield sizes, word_of.astype(np.int32), counts
        start = stop


def _draw_words(corpus: _Corpus, samples: _Ints, uniform: _Floats) -> npt.NDArray[np.int32]:
    """Draw a word for each token from one uniform number: the source, then the rank in it."""
    share = corpus.shares[samples]
    topical = uniform < share
    words = np.empty(samples.size, dtype=np.int32)

    ranks = _zipf_ranks(uniform[topical] / share[topical], _TOPIC_WORDS)
    words[topical] = corpus.topics[corpus.labels[samples[topical]], ranks]

    background = ~topical
    share = share[background]
    outside = (uniform[background] - share) / (1 - share)
    words[background] = corpus.words[_zipf_ranks(outside, corpus.words.size)]
    return words


def _zipf_ranks(uniform: _Floats, count: int) -> _Ints:
    """Draw ranks in ``range(count)`` with probability ~ 1 / (rank + 1), by inversion."""
    ranks: _Ints = np.exp(uniform * np.log(count + 1.0)).astype(np.int64) - 1
    # Rounding in exp can reach count when uniform is next to 1.
    np.minimum(ranks, count - 1, out=ranks)
    return ranks


def _collect(
    corpus: _Corpus, lengths: _Ints, rng: np.random.Generator, value_type: np.dtype[Any]
) -> csr_matrix[Any]:
    n_features = corpus.words.size
    sizes, indices, values = [], [], []
    frequency = np.zeros(n_features, dtype=np.int64)
    for row_sizes, row_words, counts in _draw_chunks(corpus, lengths, rng):
        sizes.append(row_sizes)
        indices.append(row_words)
        values.append((1 + np.log(counts)).astype(value_type))
        frequency += np.bincount(row_words, minlength=n_features)
    idf = 1 + np.log((1 + lengths.size) / (1 + frequency))
    for row_sizes, row_words, chunk in zip(sizes, indices, values, strict=True):
        weighted = chunk * idf[row_words]
        starts = np.cumsum(row_sizes) - row_sizes
        norms = np.sqrt(np.add.reduceat(weighted * weighted, starts))
        chunk[:] = weighted / np.repeat(norms, row_sizes)
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    return canonical_csr(np.concatenate(values), np.concatenate(indices), indptr, n_features)
