"""The lines of one-vs-rest classes that this rank holds, and the certificates of all classes."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.checkpoints._store import Checkpoint
from multimargin.parallel._communicator import Communicator
from multimargin.parallel._partition import divided, stretches
from multimargin.solvers._core_types import OneVsRest
from multimargin.solvers._problem import Problem
from multimargin.solvers._solution import Weights, csr_weights, stacked_weights

# Lines handed over at a time, but no more than 16 times in all; the same for any number of
# threads and ranks, since the history shows it.
_LINES, _GROUPS = 64, 16
_WEIGHTS = ("value", "index", "begin", "constant")  # parts of a checkpoint
_row = attrgetter("primal", "dual", "violation", "passes", "reached", "precision")


class Lines:
    """The lines of one rank. A class is a binary problem; two classes are one, numbered 0."""

    def __init__(self, engine: OneVsRest, problem: Problem, comm: Communicator) -> None:
        self._engine, self._problem, self._comm = engine, problem, comm
        self._lanes = engine.lanes
        lines = -(-problem.weight_rows // self._lanes)
        step = max(_LINES, -(-lines // _GROUPS))
        # Lines that all ranks work on at the same time.
        self.groups = [range(k, min(lines, k + step)) for k in range(0, lines, step)]
        held = [line for group in range(len(self.groups)) for line in self.of_group(group)]
        self._held = held
        # Classes of this rank, ascending: rows of its weights, columns of its alpha.
        self.classes = np.array([c for k in held for c in self._range(k)], dtype=np.int32)
        self.round_of = np.zeros(lines, dtype=np.int64)  # in which this rank last solved a line
        # The last certificates of all classes; from other ranks as of the last `exchange`.
        self._table = np.array([_row(r) for r in engine.reports()], dtype=np.float64)
        columns: NDArray[np.float64] = self._table.T
        self.primal, self.dual, self.violation, self.passes, self.reached = columns[:5]
        self.at_precision = columns[5]  # whether rounding kept a class from its tolerance

    def of_group(self, group: int) -> range:
        lines, size = self.groups[group], self._comm.size
        # Ranks take turns in having one line more than others.
        slot = (self._comm.rank - group * (len(lines) % size)) % size
        cuts = divided(len(lines), size)
        return range(lines.start + cuts[slot], lines.start + cuts[slot + 1])

    def _range(self, line: int) -> range:
        return range(line * self._lanes, min(self._problem.weight_rows, (line + 1) * self._lanes))

    def untouched(self) -> NDArray[np.bool_]:
        untouched: NDArray[np.bool_] = self.round_of[self.classes // self._lanes] == 0
        return untouched

    def stretches(self, lines: list[int]) -> Iterator[tuple[int, int]]:
        """Yield the ranges of classes that make up ascending lines."""
        for begin, end in stretches(lines):
            yield begin * self._lanes, min(self._problem.weight_rows, end * self._lanes)

    def column_of(self, label: int) -> int:
        return int(np.searchsorted(self.classes, label))

    def solved(self, begin: int, end: int, number: int) -> None:
        """Note the core's reports on some classes, solved in the round of this number."""
        self._table[begin:end] = [_row(r) for r in self._engine.reports()[begin:end]]
        self.round_of[begin // self._lanes : -(-end // self._lanes)] = number

    def exchange(self, group: int) -> NDArray[np.int64]:
        """Send the reports on a group's classes to all ranks; return the classes."""
        lines = self.groups[group]
        self._allgather([c for k in self.of_group(group) for c in self._range(k)])
        return np.arange(self._range(lines[0]).start, self._range(lines[-1]).stop)

    def _allgather(self, classes: list[int]) -> None:
        mine = np.array(classes, dtype=np.int64)
        for numbers, rows in self._comm.allgather([mine, self._table[mine]]):
            self._table[numbers] = rows

    def reopen(self, group: int, number: int, most: int) -> int:
        """Reopen lines that ran out of passes in this round, now that the limit ``most`` is larger.

        Groups before ``group`` were done. Return the first that is not, the same on all ranks.
        """
        ended = (self.reached != 0) | (self.at_precision != 0) | (self.passes >= most)
        for line in self._held:
            here = self._range(line)
            if self.round_of[line] == number and not ended[here.start : here.stop].all():
                self.round_of[line] = number - 1
        ranges = (slice(self._range(g[0]).start, self._range(g[-1]).stop) for g in self.groups)
        done = [bool(ended[some].all()) for some in ranges]
        return next((k for k in range(group) if not done[k]), group)

    def weights(self) -> Weights:
        features = self._problem.X.shape[1]
        parts = [
            csr_weights(self._engine.weights(*r), features) for r in self.stretches(self._held)
        ]
        if self._comm.size == 1:
            return parts[0]
        stacked = stacked_weights(parts, features, self._problem.X.dtype)
        return Weights(stacked.coef, stacked.constant, self.classes)

    def save(self, alpha: NDArray[Any] | None) -> dict[str, dict[str, NDArray[Any]]]:
        parts = {}
        for line in self._held:
            here = self._range(line)
            if self.round_of[line] == 0 and alpha is None:
                continue
            part: dict[str, NDArray[Any]] = {
                "round": self.round_of[line : line + 1],
                "reports": self._table[here.start : here.stop],
                **dict(zip(_WEIGHTS, self._engine.weights(here.start, here.stop), strict=True)),
            }
            if alpha is not None:
                column = self.column_of(here.start)
                part["alpha"] = np.ascontiguousarray(alpha[:, column : column + len(here)])
            parts[f"line-{line}"] = part
        return parts

    def load(self, found: Checkpoint, alpha: NDArray[Any] | None) -> None:
        known = set(found.names)
        for line in self._held:
            if f"line-{line}" not in known:
                continue
            part, here = found.part(f"line-{line}"), self._range(line)
            self.round_of[line] = part["round"][0]
            self._table[here.start : here.stop] = part["reports"]
            rows = [np.ascontiguousarray(part[name]) for name in _WEIGHTS]
            rows.append(self.primal[here.start : here.stop].copy())
            self._engine.put_weights(here.start, *rows)
            if alpha is not None:
                column = self.column_of(here.start)
                alpha[:, column : column + len(here)] = part["alpha"]
        self._allgather(self.classes.tolist())
