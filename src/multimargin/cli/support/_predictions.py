"""Predictions as lines of text or as rows of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin import distributed
from multimargin.cli.support._messages import note
from multimargin.inspection import PredictionSets

# Rows for which labels and scores are held as Python objects at a time.
_ROWS = 4096


def predicted_lines(
    model: distributed.DistributedModel,
    X: Any,
    k: int | None,
    proba: bool,
    between: str | None = None,
) -> Iterator[str]:
    """Return lines of one label, or of `k` labels with scores or with probabilities.

    `between` stands between the labels of a sample, where it may have several. Called by all ranks.
    """
    separator = _separator(model.classes_, k)
    if k is None and between is not None:
        return (f"{row}\n" for row in _joined(model, X, between))
    if k is None and not proba:
        labels: NDArray[Any] = model.predict(X)
        return (f"{label}\n" for label in labels.tolist())
    columns = _best(model, X, min(k or 1, len(model.classes_)), proba)
    return (
        separator.join(f"{name}:{values[-1]:.6g}" for name, *values in ranked) + "\n"
        for ranked in _ranked(columns)
    )


def set_lines(sets: PredictionSets) -> Iterator[str]:
    """Return lines of the labels of each set with their probabilities."""
    separator = _separator(sets.classes, 1)
    return (
        separator.join(f"{name}:{p:.6g}" for name, p in zip(*_set(sets, i), strict=True)) + "\n"
        for i in range(len(sets))
    )


def review_table(
    sets: PredictionSets, kept: Mapping[str, NDArray[Any]]
) -> tuple[list[str], Iterator[list[Any]]]:
    """Return header and rows of the samples whose set has more than one label."""
    new = ["row", "set_size", "set", "set_probabilities"]
    several = np.flatnonzero(sets.sizes > 1)
    rows = (
        [*before, i + 1, len(labels), labels, list(map(_rounded, probabilities))]
        for i, before in zip(several.tolist(), _kept_rows(kept, several), strict=True)
        for labels, probabilities in [_set(sets, i)]
    )
    return [*_renamed(list(kept), new).values(), *new], rows


def _set(sets: PredictionSets, i: int) -> tuple[list[Any], list[float]]:
    return sets[i].tolist(), sets.probabilities[sets.indptr[i] : sets.indptr[i + 1]].tolist()


def _kept_rows(
    kept: Mapping[str, NDArray[Any]], rows: NDArray[np.intp]
) -> Iterable[tuple[Any, ...]]:
    if not kept:
        return [()] * len(rows)
    return zip(*(values[rows].tolist() for values in kept.values()), strict=True)


def predicted_table(
    model: distributed.DistributedModel,
    X: Any,
    k: int | None,
    kept: Mapping[str, NDArray[Any]],
    proba: bool,
    sets: PredictionSets | None = None,
    between: str | None = None,
) -> tuple[list[str], Iterator[list[Any]]]:
    """Return the header and the rows of a table, which are made as they are read.

    Columns that are kept come first. Then a label with its score and, if asked for, its
    probability, or `k` of them, and the margin: the best score less the second. Then the set, if
    there is one. Samples that may have several labels get these alone, with `between` between them,
    or `k` with scores. A kept column of such a name gets "input_" before its own. Called by all
    ranks.
    """
    if k is None and between is not None:
        return _beside(kept, ["label"], ([row] for row in _joined(model, X, between)), X.shape[0])
    shown = min(k or 1, len(model.classes_))
    columns = _best(model, X, min(max(2, shown), len(model.classes_)), proba)
    places = [""] if k is None else [f"_{place}" for place in range(1, shown + 1)]
    names = ("label", "score", "probability")[: len(columns)]
    new = [f"{name}{place}" for place in places for name in names]
    new += ["margin"] if between is None else []
    cells = (
        [cell for name, *values in ranked[:shown] for cell in (name, *map(_rounded, values))]
        + ([_rounded(ranked[0][1] - ranked[1][1])] if between is None else [])
        for ranked in _ranked(columns)
    )
    if sets is not None:
        new += ["set_size", "set"]
        labels = (each.tolist() for each in sets)
        cells = ([*row, len(each), each] for row, each in zip(cells, labels, strict=True))
    return _beside(kept, new, cells, X.shape[0])


def _beside(
    kept: Mapping[str, NDArray[Any]], new: list[str], cells: Iterator[list[Any]], n_samples: int
) -> tuple[list[str], Iterator[list[Any]]]:
    before = _kept_rows(kept, np.arange(n_samples))
    rows = ([*old, *row] for old, row in zip(before, cells, strict=True))
    return [*_renamed(list(kept), new).values(), *new], rows


def _joined(model: Any, X: Any, between: str) -> Iterator[str]:
    """Return the labels of each sample in one text. Called by all ranks."""
    names = [str(label) for label in model.classes_.tolist()]
    odd = next((name for name in names if between in name), None)
    if odd is not None:
        raise ValueError(
            f"the label {odd[:60]!r} holds {between!r}: put something else between labels, "
            "--label-separator S"
        )
    found = model._positive(X)
    ends = found.indptr.tolist()
    rows = (found.indices[a:b].tolist() for a, b in pairwise(ends))
    return (between.join(names[place] for place in row) for row in rows)


def _renamed(kept: list[str], new: list[str]) -> dict[str, str]:
    """Return the names of kept columns in a table that has new ones."""
    renamed: dict[str, str] = {}
    for name in kept:
        other = name
        while other in new or (other != name and other in kept):
            other = f"input_{other}"
        renamed[name] = other
    if changed := [f"{old!r} as {name!r}" for old, name in renamed.items() if old != name]:
        note(f"note: columns of the input are kept under another name: {', '.join(changed)}")
    return renamed


def _rounded(score: float) -> float:
    return float(f"{score:.6g}")


def _separator(classes: NDArray[Any], k: int | None) -> str:
    """Return what to put between labels; refuse labels that lines of text cannot hold."""
    labels = [label for label in classes.tolist() if isinstance(label, str)]
    for label in labels:
        if "\n" in label or "\r" in label or (k is not None and "\t" in label):
            raise ValueError(
                f"the label {label[:60]!r} has a line break or a tab in it: write a table, such as "
                "-o OUT.csv or -o OUT.jsonl"
            )
    return "\t" if any(" " in label for label in labels) else " "


def _best(
    model: distributed.DistributedModel, X: Any, k: int, proba: bool
) -> tuple[NDArray[Any], ...]:
    """Return labels, scores and, if asked for, probabilities of the best classes."""
    return model.predict_topk(X, k, proba=True) if proba else model.predict_topk(X, k)


def _ranked(columns: tuple[NDArray[Any], ...]) -> Iterator[list[tuple[Any, ...]]]:
    """Return the best classes of each sample: a label with its numbers for each."""
    for start in range(0, len(columns[0]), _ROWS):
        part = (column[start : start + _ROWS].tolist() for column in columns)
        for row in zip(*part, strict=True):
            yield list(zip(*row, strict=True))
