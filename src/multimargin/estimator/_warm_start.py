"""Starts from the dual variables of an earlier fit, of other samples and classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multimargin.models._sample_keys import Samples, matched
from multimargin.solvers._problem import Problem
from multimargin.solvers._solution import Alpha, DenseAlpha, Start


@dataclass(frozen=True)
class Origin:
    """Where the samples and classes of a problem come from.

    Attributes
    ----------
    sample : ndarray of int64, shape (n_samples,)
        Its place in the earlier fit; -1 for a new sample.
    renumbered : ndarray of int32, shape (n_classes before,)
        The present number of an earlier class; -1 if it is gone.
    """

    sample: NDArray[np.int64]
    renumbered: NDArray[np.int32]

    @property
    def known(self) -> int:
        """The number of samples that were there before."""
        return int(np.count_nonzero(self.sample >= 0))

    def is_identity(self, n_before: int, n_classes: int) -> bool:
        """Whether nothing changed."""
        return np.array_equal(self.sample, np.arange(n_before)) and np.array_equal(
            self.renumbered, np.arange(n_classes)
        )


def carried_over(
    start: Start, before: Samples, now: Samples, problem: Problem
) -> tuple[Start | None, int]:
    """A start from the dual variables of an earlier problem, and how many samples it knows.

    Any values within the bounds are a start, so only another formulation or loss is refused,
    whose variables mean something else. A sample keeps its variables if it was there with the
    same label (`Samples`), or if the sample at its place had its label and is gone: then its
    features were made anew. `before` are the samples of the earlier fit, `now` those of `problem`.
    """
    assert isinstance(start, Alpha | DenseAlpha)
    loss = start.loss if isinstance(start, DenseAlpha) else "hinge"
    if start.formulation != problem.formulation or loss != problem.loss:
        return None, 0
    labels = start.labels()
    if len(before.keys) != len(labels) or len(now.keys) != len(problem.y):
        return None, 0
    origin = _origin(before, labels, now, problem)
    if origin.known == 0:
        return None, 0
    if origin.is_identity(len(labels), problem.n_classes):
        return start, origin.known
    if isinstance(start, Alpha):
        return _ragged(start, origin, problem), origin.known
    return _dense(start, len(before.classes), origin, problem), origin.known


def _origin(before: Samples, labels: NDArray[np.int32], now: Samples, problem: Problem) -> Origin:
    number = {label: k for k, label in enumerate(now.classes.tolist())}
    renumbered = np.array([number.get(c, -1) for c in before.classes.tolist()], dtype=np.int32)
    old_labels = renumbered[labels]
    sample = matched(before.keys, old_labels, now.keys, problem.y)
    if len(labels) == len(problem.y):
        free = np.ones(len(labels), dtype=bool)
        free[sample[sample >= 0]] = False
        here = np.flatnonzero((sample < 0) & free & (old_labels == problem.y))
        sample[here] = here
    return Origin(sample, renumbered)


def _ragged(start: Alpha, origin: Origin, problem: Problem) -> Alpha:
    """Known samples keep the classes that are left; new ones have their own class."""
    known = origin.sample >= 0
    at = np.where(known, origin.sample, 0)
    length = np.where(known, np.diff(start.slot_begin)[at], 1)
    first = np.cumsum(length) - length
    entry = np.arange(int(length.sum())) + np.repeat(start.slot_begin[:-1][at] - first, length)
    cls, value = origin.renumbered[start.cls[entry]], start.value[entry]
    cls[first], value[first[~known]] = problem.y, 0
    kept = cls >= 0
    count = np.add.reduceat(kept.astype(np.int64), first)
    slot_begin = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    box = np.where(known, start.box[at], problem.box)
    return Alpha(start.formulation, slot_begin, cls[kept], value[kept], box)


def _dense(start: DenseAlpha, classes_before: int, origin: Origin, problem: Problem) -> DenseAlpha:
    known = origin.sample >= 0
    column = _columns(start.value.shape[1], classes_before, origin.renumbered, problem)
    value = np.zeros((len(problem.y), problem.weight_rows), dtype=start.value.dtype)
    there = np.flatnonzero(column >= 0)
    value[np.ix_(known, there)] = start.value[np.ix_(origin.sample[known], column[there])]
    box = np.where(known, start.box[np.where(known, origin.sample, 0)], problem.box)
    if problem.facts.centred:
        # Weights are made of the deviations of a sample's variables from their mean, own class
        # included. With the mean, a new class has zero weights and no other weights change; with
        # zeros, it has larger weights than any solution.
        mean = value[:, there].sum(axis=1, dtype=np.float64) / max(1, len(there))
        value[:, column < 0] = mean[:, None]
    return DenseAlpha(start.formulation, start.loss, problem.y, value, box)


def _columns(
    rows_before: int, classes_before: int, renumbered: NDArray[np.int32], problem: Problem
) -> NDArray[np.int64]:
    """For each weight vector of the problem the column of the earlier one; -1 for a new one."""
    of_class = np.full(problem.n_classes, -1, dtype=np.int64)
    there = renumbered >= 0
    # One binary problem for two classes tells each of them from the other.
    column = np.arange(classes_before) if rows_before > 1 else np.zeros(classes_before, int)
    of_class[renumbered[there]] = column[there]
    return of_class if problem.weight_rows > 1 else of_class[1:]
