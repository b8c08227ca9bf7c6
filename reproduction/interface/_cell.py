"""One run of an experiment: the smallest thing that is measured, kept and never repeated."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

UNLIKE = "unlike"
"""A measurement, in words: in what the data differ from the set that they are called."""


@dataclass(frozen=True)
class Cell:
    """A formulation, a data set, a C, and when to stop.

    Attributes
    ----------
    experiment : str
        The name of an experiment, such as "validation".
    dataset : str
        A name of the catalogue of data sets.
    formulation : {"ww", "cs", "llw", "ovr"}
    log_c : float
        The decimal logarithm of C, as the paper has it.
    stop : str
        The experiment's name for the way to stop, such as "optimum" or "paper".
    seed : int, default=0
        Of the order of visits; repetitions differ in nothing else.
    options : mapping of str to JSON value
        What else distinguishes runs of this experiment: threads, ranks, limits.
    """

    experiment: str
    dataset: str
    formulation: str
    log_c: float
    stop: str
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """A string that is the same for the same run, in any process."""
        return json.dumps(asdict(self), sort_keys=True)

    @property
    def penalty(self) -> float:
        return float(10.0**self.log_c)

    def __str__(self) -> str:
        words = [self.dataset, self.formulation, f"log C {self.log_c:g}", self.stop]
        words += [f"{name} {value}" for name, value in self.options.items()]
        return ", ".join([*words, f"seed {self.seed}"])


@dataclass(frozen=True)
class Record:
    """A cell and its measurements: numbers, words and lists that JSON can hold.

    A run that failed has only the measurement "error", in words, and is tried again next time.
    """

    cell: Cell
    measured: Mapping[str, Any]
    machine: str = ""  # which of the report's machines it was measured on

    @property
    def failed(self) -> bool:
        return "error" in self.measured


def spread(values: list[float]) -> tuple[float, float, float]:
    """Return mean, lowest and highest."""
    return sum(values) / len(values), min(values), max(values)
