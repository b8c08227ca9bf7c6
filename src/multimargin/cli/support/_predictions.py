"""Predictions as lines of text or of a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

from multimargin import distributed
from multimargin.tables._write import table_lines

# Rows for which labels and scores are held as Python objects at a time.
_ROWS = 4096


def predicted_lines(
    model: distributed.DistributedModel, X: Any, k: int | None, format: str | None
) -> Iterator[str]:
    """Return the lines to write, which are made as they are read. Called by all ranks.

    With `k` so many labels for each sample, with scores; None: one label, in tables with its score.
    A format ("csv", "tsv", "jsonl") makes a table, None plain lines.
    """
    if format is None:
        separator = _separator(model.classes_, k)
        if k is None:
            labels: NDArray[Any] = model.predict(X)
            return (f"{label}\n" for label in labels.tolist())
    best, scores = model.predict_topk(X, min(k or 1, len(model.classes_)))
    if format is None:
        return (
            separator.join(f"{name}:{value:.6g}" for name, value in pairs) + "\n"
            for pairs in _pairs(best, scores)
        )
    places = range(1, best.shape[1] + 1)
    names = ("label", "score")
    header = names if k is None else [f"{name}_{i}" for i in places for name in names]
    rows = (
        [cell for name, value in pairs for cell in (name, float(f"{value:.6g}"))]
        for pairs in _pairs(best, scores)
    )
    return table_lines(format, header, rows)


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
    """Yield labels with scores, row by row."""
    for start in range(0, len(best), _ROWS):
        rows = slice(start, start + _ROWS)
        for names, values in zip(best[rows].tolist(), scores[rows].tolist(), strict=True):
            yield list(zip(names, values, strict=True))
