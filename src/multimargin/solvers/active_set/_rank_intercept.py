"""The intercept of a run over ranks: held while samples move, and moved between two passes.

Dual variables lie with their classes. To move the intercept, every rank gathers all slots of some
parts of the samples (src/core/round_robin/sample_slots.hpp) and adds up what these say; the sums of
the parts are added in the order of the parts. All ranks then have the same sums, and move alike.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin import _core
from multimargin.parallel._collectives import sum_parts
from multimargin.parallel._communicator import Communicator
from multimargin.parallel._partition import divided
from multimargin.solvers.active_set._rank_scan import StepClock


class RankIntercept:
    """Moves the intercept in the compiled workspace ``core``, with bundles at their owners."""

    def __init__(self, classes: int, comm: Communicator, core: Any, timed: StepClock) -> None:
        self._classes, self._comm, self._core, self._timed = classes, comm, core, timed
        self.holds: bool = core.holds_bias  # else it moves with the samples
        self._ranges = list(itertools.pairwise(divided(core.parts, comm.size)))
        self._mine = self._ranges[comm.rank]
        self._add_up = None if comm.size == 1 else self._add_up_all
        self.heights = False  # whether all are noted: all samples were visited in these meetings
        self._gathered = False  # since the last pass

    def arrange(self) -> None:
        """Tell the ranks of each part of the samples which pairs there are."""
        self.heights = self._gathered = False
        self._core.intercept_steps = []
        if not self.holds:
            return
        outgoing = []
        for some in self._ranges:
            sample, cls, noted = self._timed(self._core.told_pairs, some)
            outgoing.append([sample, cls, np.array([noted])])
        pairs = [(s, c, int(noted[0])) for s, c, noted in self._comm.alltoall(outgoing)]
        self._timed(self._core.gather_pairs, self._mine, pairs)

    def passed(self, everything: bool) -> None:
        """Note that a pass has moved samples: all of them, or some."""
        self._gathered = False
        self.heights = self.heights or (self.holds and everything)

    def made(self) -> NDArray[np.float64]:
        """Return the weights of the constant feature that the dual variables make."""
        self._gather()
        return self._timed(self._core.made_intercept, self._mine, self._add_up)  # type: ignore[no-any-return]

    def resume(self, heights: bool, steps: Any) -> None:
        """Go on as a checkpoint has it: with the last steps, on which the next one depends."""
        self.heights, self._core.intercept_steps = heights, [float(number) for number in steps]

    def steps(self) -> NDArray[np.float64]:
        """Return the last steps, for `resume`."""
        return np.array(self._core.intercept_steps)

    def moved(self, rule: _core.VisitRule, reach: float, constant: NDArray[Any]) -> NDArray[Any]:
        """Return weights in better balance; samples that have to answer are due next."""
        self._gather()
        constant, awake = self._timed(
            self._core.move_intercept, rule, reach, constant, self._mine, self._add_up
        )
        self._core.wake(np.concatenate([part for (part,) in self._comm.allgather([awake])]))
        return constant

    def _gather(self) -> None:
        if self._gathered:
            return
        told = [list(self._timed(self._core.told_values, some)) for some in self._ranges]
        values = [tuple(message) for message in self._comm.alltoall(told)]
        self._timed(self._core.gather_values, values)
        self._gathered = True

    def _add_up_all(self, parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        numbered = dict(enumerate(parts, self._mine[0]))
        return sum_parts(self._comm, numbered, self._classes, np.float64)
