"""Predictions as lines of text or as rows of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from numpy.typing import NDArray

from multimargin import distributed
from multimargin.cli.support._messages import note

# Rows for which labels and scores are held as Python objects at a time.
_ROWS = 4096


def predicted_lines(
    model: distributed.DistributedModel, X: Any, k: int | None, between: str | None = None
) -> Iterator[str]:
    """Return lines of one label, or of `k` labels with scores. Called by all ranks.

    `between` stands between the labels of a sample, where it may have several.
    """
    separator = _separator(model.classes_, k)
    if k is None and between is not None:
        return (f"{row}\n" for row in _joined(model, X, between))
    if k is None:
        labels: NDArray[Any] = model.predict(X)
        return (f"{label}\n" for label in labels.tolist())
    best, scores = model.predict_topk(X, min(k, len(model.classes_)))
    return (
        separator.join(f"{name}:{value:.6g}" for name, value in pairs) + "\n"
        for pairs in _pairs(best, scores)
    )


def predicted_table(
    model: distributed.DistributedModel,
    X: Any,
    k: int | None,
    kept: Mapping[str, NDArray[Any]],
    between: str | None = None,
) -> tuple[list[str], Iterator[list[Any]]]:
    """Return the header and the rows of a table, which are made as they are read.

    Columns that are kept come first. Then a label with its score, or `k` of them, and the margin:
    the best score less the second. Samples that may have several labels get these alone, with
    `between` between them, or `k` with scores. A kept column of such a name gets "input_" before
    its own. Called by all ranks.
    """
    shown = min(k or 1, len(model.classes_))
    cells: Iterator[list[Any]]
    if k is None and between is not None:
        new, cells = ["label"], ([row] for row in _joined(model, X, between))
        return _beside(kept, new, cells)
    best, scores = model.predict_topk(X, min(max(2, shown), len(model.classes_)))
    places = [""] if k is None else [f"_{place}" for place in range(1, shown + 1)]
    new = [f"{name}{place}" for place in places for name in ("label", "score")]
    new += ["margin"] if between is None else []
    cells = (
        [cell for name, value in pairs[:shown] for cell in (name, _rounded(value))]
        + ([_rounded(pairs[0][1] - pairs[1][1])] if between is None else [])
        for pairs in _pairs(best, scores)
    )
    return _beside(kept, new, cells)


def _beside(
    kept: Mapping[str, NDArray[Any]], new: list[str], cells: Iterator[list[Any]]
) -> tuple[list[str], Iterator[list[Any]]]:
    before = zip(*(values.tolist() for values in kept.values()), strict=True)
    rows = ([*old, *row] for old, row in zip(before, cells, strict=True)) if kept else cells
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


def _pairs(best: NDArray[Any], scores: NDArray[Any]) -> Iterator[list[tuple[Any, float]]]:
    for start in range(0, len(best), _ROWS):
        rows = slice(start, start + _ROWS)
        for names, values in zip(best[rows].tolist(), scores[rows].tolist(), strict=True):
            yield list(zip(names, values, strict=True))
