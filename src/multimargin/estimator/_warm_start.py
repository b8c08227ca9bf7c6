"""Starts from the dual variables of an earlier fit, of other samples and classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.formulations import OwnClass
from multimargin.models._sample_keys import Samples, matched
from multimargin.solvers._problem import Problem
from multimargin.solvers._solution import Alpha, DenseAlpha, Start


def carried_over(
    start: Start, before: Samples, now: Samples, problem: Problem
) -> tuple[Start | None, int]:
    """A start from the dual variables of an earlier problem, and how many samples it knows.

    Any values within the bounds are a start, so only another formulation or loss is refused,
    whose variables mean something else. A sample keeps its variables if it was there with the
    same label (`Samples`), or if the sample at its place had its label and is gone: then its
    features were made anew. `before` are the samples of the earlier fit, `now` of `problem`.
    """
    assert isinstance(start, Alpha | DenseAlpha)
    loss = start.loss if isinstance(start, DenseAlpha) else "hinge"
    if start.formulation != problem.formulation or loss != problem.loss:
        return None, 0
    labels = start.labels()
    if len(before.keys) != len(labels) or len(now.keys) != len(problem.y):
        return None, 0
    number = {label: k for k, label in enumerate(now.classes.tolist())}
    # The present numbers of the earlier classes; -1 where one is gone.
    renumbered = np.array([number.get(c, -1) for c in before.classes.tolist()], dtype=np.int32)
    # Where samples have sets of labels, these are in the keys.
    given = renumbered[labels] if problem.sets is None else np.zeros_like(labels)
    origin = _origin(before, given, now, problem)
    known = int(np.count_nonzero(origin >= 0))
    if known == 0:
        return None, 0
    same_samples = np.array_equal(origin, np.arange(len(labels)))
    if same_samples and np.array_equal(renumbered, np.arange(problem.n_classes)):
        return start, known
    if isinstance(start, Alpha):
        return _ragged(start, origin, renumbered, problem), known
    return _dense(start, origin, renumbered, problem), known


def _origin(
    before: Samples, old_labels: NDArray[np.int32], now: Samples, problem: Problem
) -> NDArray[np.int64]:
    """The place of each sample in the earlier fit; -1 for a new one."""
    sample = matched(before.keys, old_labels, now.keys, problem.y)
    if len(old_labels) == len(problem.y) and problem.sets is None:
        free = np.ones(len(old_labels), dtype=bool)
        free[sample[sample >= 0]] = False
        here = np.flatnonzero((sample < 0) & free & (old_labels == problem.y))
        sample[here] = here
    return sample


def _ragged(start: Alpha, origin: Any, renumbered: Any, problem: Problem) -> Alpha:
    """Known samples keep the classes that are left; new ones have their own class."""
    known = origin >= 0
    at = np.where(known, origin, 0)
    length = np.where(known, np.diff(start.slot_begin)[at], 1)
    first = np.cumsum(length) - length
    entry = np.arange(int(length.sum())) + np.repeat(start.slot_begin[:-1][at] - first, length)
    cls, value = renumbered[start.cls[entry]], start.value[entry]
    cls[first], value[first[~known]] = problem.y, 0
    kept = cls >= 0
    count = np.add.reduceat(kept.astype(np.int64), first)
    slot_begin = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    box = np.where(known, start.box[at], problem.box)
    constant = None
    if problem.free_intercept and start.constant is not None:
        constant = np.zeros(problem.n_classes, dtype=start.constant.dtype)
        left = renumbered >= 0
        constant[renumbered[left]] = start.constant[left]
    return Alpha(start.formulation, slot_begin, cls[kept], value[kept], box, constant=constant)


def _dense(start: DenseAlpha, origin: Any, renumbered: Any, problem: Problem) -> DenseAlpha:
    known = origin >= 0
    # For each weight vector its column in the earlier fit; -1 for a new one.
    column = np.full(problem.n_classes, -1, dtype=np.int64)
    left = np.flatnonzero(renumbered >= 0)
    # One binary problem for two classes tells each of them from the other.
    column[renumbered[left]] = left if start.value.shape[1] > 1 else 0
    column = column[problem.n_classes - problem.weight_rows :]
    value = np.zeros((len(problem.y), problem.weight_rows), dtype=start.value.dtype)
    there = np.flatnonzero(column >= 0)
    value[np.ix_(known, there)] = start.value[np.ix_(origin[known], column[there])]
    box = np.where(known, start.box[np.where(known, origin, 0)], problem.box)
    if problem.facts.centred:
        # Weights are made of the deviations of a sample's signed variables from their mean, own
        # class included. With the mean, a new class has zero weights and no other weights change;
        # with zeros, it has larger weights than any solution.
        own = OwnClass.among(problem.y, 0, problem.n_classes)
        mean = problem.facts.signed(value, own).sum(axis=1, dtype=np.float64) / max(1, len(there))
        value[:, column < 0] = np.maximum(-mean, 0)[:, None]
        value[~problem.facts.variables(problem.y, problem.n_classes)] = 0
    return DenseAlpha(start.formulation, start.loss, problem.y, value, box)
