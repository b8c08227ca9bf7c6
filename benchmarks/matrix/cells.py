"""The cells of the matrix: a data set, a formulation, C, with or without an intercept.

Every formulation has a rival and a bar. LIBLINEAR is the rival of Crammer-Singer and of
one-vs-rest: it runs at its defaults, and ours runs until a certificate whose objective is at or
below LIBLINEAR's. The rival of the others is another formulation of ours; both run to a gap of 1 %.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.common.data import DMOZ, EMBEDDINGS, LSHTC, WORDNET
from benchmarks.peers import Task

LIBLINEAR = "liblinear"
SETS = ("news20", DMOZ, "clinc150", "letter", "usps", "satimage", "dna")
MANY_CLASSES = (WORDNET, LSHTC, EMBEDDINGS)
GAP = 0.01  # of the cells whose rival is ours


@dataclass(frozen=True)
class Rule:
    """What a formulation is compared with, where, and what it is held to.

    Attributes
    ----------
    title, rival_title : str
        For readers.
    formulation : str
    rival : str
        "liblinear", or a formulation of ours.
    bar : float
        The least ratio: seconds of the rival over ours. A cell below it is red.
    median_bar : float or None
        The least median of all ratios.
    loss : str
    sets, penalties, intercepts : tuple
        The cells, unless the command line names others.
    """

    title: str
    formulation: str
    rival: str
    rival_title: str
    bar: float = 1.0
    median_bar: float | None = None
    loss: str = "hinge"
    sets: tuple[str, ...] = SETS
    penalties: tuple[float, ...] = (0.1, 1.0, 10.0)
    intercepts: tuple[bool, ...] = (False, True)

    @property
    def against_peer(self) -> bool:
        return self.rival == LIBLINEAR


def _new_loss(name: str, title: str) -> Rule:
    """One of the losses that take at most twice the time of Lee-Lin-Wahba."""
    cells: dict[str, Any] = {"sets": (LSHTC, "letter"), "penalties": (1.0,), "intercepts": (False,)}
    return Rule(title, name, "llw", "Lee-Lin-Wahba", bar=1 / 2, **cells)


RULES = {
    "cs": Rule(
        "Crammer-Singer",
        "cs",
        LIBLINEAR,
        "LIBLINEAR -s 4",
        median_bar=2,
        sets=(*SETS, *MANY_CLASSES),
    ),
    "ovr": Rule("one-vs-rest", "ovr", LIBLINEAR, "LIBLINEAR -s 3", median_bar=5),
    "ovr-squared": Rule(
        "one-vs-rest, squared hinge",
        "ovr",
        LIBLINEAR,
        "LIBLINEAR -s 1",
        median_bar=5,
        loss="squared_hinge",
    ),
    "ww": Rule("Weston-Watkins", "ww", "cs", "Crammer-Singer", bar=1 / 1.5),
    "mmr": _new_loss("mmr", "max-margin regression"),
    "adm": _new_loss("adm", "absolute, discriminative max"),
    "ats": _new_loss("ats", "absolute, total sum"),
    "atm": _new_loss("atm", "absolute, total max"),
    "rm": _new_loss("rm", "reinforced"),
}


@dataclass(frozen=True)
class Cell:
    """One comparison; `name` is a key of `RULES`."""

    dataset: str
    name: str
    C: float
    intercept: bool

    @property
    def rule(self) -> Rule:
        return RULES[self.name]

    def __str__(self) -> str:
        tail = ", intercept" if self.intercept else ""
        return f"{self.name} {self.dataset} C={self.C:g}{tail}"

    def task(self, tol: float | None = None, **options: Any) -> Task:
        """The problem, without a tolerance the one that LIBLINEAR is given."""
        return self._task(self.rule.formulation, self.rule.loss, tol, options)

    def rival_task(self) -> Task:
        """The problem of the rival: LIBLINEAR's is the same, at its own tolerance."""
        if self.rule.against_peer:
            return self.task()
        return self._task(self.rule.rival, "hinge", GAP, {})

    def _task(self, formulation: str, loss: str, tol: float | None, more: dict[str, Any]) -> Task:
        options = {"fit_intercept": self.intercept, **more}
        if loss != "hinge":
            options["loss"] = loss
        return Task(formulation, self.C, 1, tol, options)


@dataclass(frozen=True)
class Selection:
    """The cells that a command line asks for; what is empty is left to the rules."""

    names: Sequence[str] = ()
    sets: Sequence[str] = ()
    penalties: Sequence[float] = ()
    intercepts: Sequence[bool] = ()

    def cells(self) -> Iterable[Cell]:
        """In the order of the rules; what is given replaces what a rule says."""
        for name, rule in RULES.items():
            if self.names and name not in self.names:
                continue
            for dataset in self.sets or rule.sets:
                for C in self.penalties or rule.penalties:
                    for intercept in self.intercepts or rule.intercepts:
                        yield Cell(dataset, name, C, intercept)
