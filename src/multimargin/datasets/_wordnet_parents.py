"""The hierarchy above the classes of WordNet."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict

from multimargin.datasets._wordnet import _read_definitions

# Of a split and a part of speech: places in the file, and the offsets of the synsets there.
_Bucket = tuple[bool, str]
_Anchor = tuple[str, int]


def wordnet_parents() -> dict[str, str]:
    """Return the hypernym of each class of `load_wordnet_hypernyms`, if the definitions tell it.

    A class is a synset, and most of them are also among the definitions, labelled with a hypernym
    of their own. Definitions bear no number, so they are found by their first word; where several
    have it, by their order, which is that of the numbers. What remains uncertain is left out.

    Returns
    -------
    dict of str to str
        From class to parent, which is one of the classes.

    Examples
    --------
    >>> from multimargin.datasets import wordnet_parents
    >>> parents = wordnet_parents()
    >>> parents["hunting_dog.n#n02087122"]
    'dog.n#n02084071'
    """
    labels, bucket, named = _numbered_definitions()
    candidates = {
        label: named.get((_part(label), _word(label)), []) for label in sorted(set(labels))
    }
    anchors: dict[_Bucket, list[_Anchor]] = defaultdict(list)
    for label, rows in candidates.items():
        if len(rows) == 1:
            anchors[bucket[rows[0]]].append((_offset(label), rows[0]))
    # A word that is found once may still be another synset's: such a one is out of order.
    rising = {place: _longest_rising(sorted(found)) for place, found in anchors.items()}
    parents = {}
    for label, rows in candidates.items():
        fitting = [row for row in rows if _fits(_offset(label), row, rising.get(bucket[row], []))]
        found = {labels[row] for row in fitting}
        if len(found) == 1 and label not in found:
            parents[label] = found.pop()
    # No two are above each other: one of them is not what it seems.
    return {label: parent for label, parent in parents.items() if parents.get(parent) != label}


def _numbered_definitions() -> tuple[list[str], list[_Bucket], dict[tuple[str, str], list[int]]]:
    """Return labels and buckets of all definitions, and where each first word is found."""
    definitions = _read_definitions()
    labels = definitions.labels.tolist()
    bucket = [
        (bool(train), _part(label))
        for train, label in zip(definitions.is_train, labels, strict=True)
    ]
    named: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row, text in enumerate(definitions.texts):
        word = text.partition(":")[0].split(",")[0].strip().casefold()
        named[bucket[row][1], word].append(row)
    return labels, bucket, named


def _word(label: str) -> str:
    return label.rpartition("#")[0].rpartition(".")[0].replace("_", " ").casefold()


def _offset(label: str) -> str:
    return label.rpartition("#")[2]


def _part(label: str) -> str:
    return _offset(label)[:1]


def _longest_rising(anchors: list[_Anchor]) -> list[_Anchor]:
    """Return the longest list of anchors whose rows rise with their offsets."""
    ends: list[int] = []  # the lowest row that a series of this length can end in
    at: list[int] = []
    before: list[int] = []
    for i, (_, row) in enumerate(anchors):
        length = bisect_left(ends, row)
        before.append(at[length - 1] if length else -1)
        ends[length : length + 1] = [row]
        at[length : length + 1] = [i]
    series = []
    i = at[-1] if at else -1
    while i >= 0:
        series.append(anchors[i])
        i = before[i]
    return series[::-1]


def _fits(offset: str, row: int, anchors: list[_Anchor]) -> bool:
    """Tell whether a synset of this offset can be in this row, between the known ones."""
    i = bisect_left(anchors, (offset, -1))
    if i < len(anchors) and anchors[i][0] == offset:
        return anchors[i][1] == row
    above = i == 0 or anchors[i - 1][1] < row
    below = i == len(anchors) or row < anchors[i][1]
    return above and below
