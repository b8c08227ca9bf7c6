"""The data sets of the LSHTC experiments: the paper's, and stand-ins for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from multimargin.datasets._catalog import CATALOG
from multimargin.datasets._sets import is_there
from reproduction.interface._experiment import Missing, Options


@dataclass(frozen=True)
class Shown:
    """A data set of the tables.

    Attributes
    ----------
    name : str
        In the catalogue.
    paper : str
        The paper's name for the set whose figures stand beside it, or "".
    stand_in : bool
        Whether it is another set than the paper's.
    """

    name: str
    paper: str
    stand_in: bool

    @property
    def title(self) -> str:
        if not self.stand_in:
            return self.paper
        stands_for = f"for {self.paper}" if self.paper else "of fewer classes than the paper's sets"
        return f"{self.name} (stand-in {stands_for})"


SMALL = (
    Shown("lshtc-small", "LSHTC-small", stand_in=False),
    Shown("lshtc1-dryrun-task2", "LSHTC-small", stand_in=True),
    Shown("generator-lshtc-small", "LSHTC-small", stand_in=True),
)
SHOWN = (
    *SMALL,
    # None of the paper's sets has as few classes, so none has figures to set beside it.
    Shown("dmoz-108", "", stand_in=True),
    Shown("lshtc-large", "LSHTC-large", stand_in=False),
    Shown("wordnet-hypernym", "LSHTC-large", stand_in=True),
    Shown("generator-lshtc-large", "LSHTC-large", stand_in=True),
    Shown("lshtc-2012", "LSHTC-2012", stand_in=False),
    Shown("generator-lshtc-2012", "LSHTC-2012", stand_in=True),
    Shown("lshtc-2011", "LSHTC-2011", stand_in=False),
    Shown("generator-lshtc-2011", "LSHTC-2011", stand_in=True),
)
"""Small ones first."""


def generated(shown: Iterable[Shown]) -> tuple[str, ...]:
    """Return the names of the sets that are generated."""
    return tuple(item.name for item in shown if CATALOG[item.name].made)


def present(shown: Iterable[Shown], options: Options) -> tuple[list[Shown], list[Missing]]:
    """Return the requested sets that are on the disk, and the requested sets that are missing."""
    there, missing = [], []
    for item in shown:
        if not options.wanted(item.name):
            continue
        if is_there(item.name, options.data):
            there.append(item)
        else:
            why = f"{options.data / item.name} has no training file"
            missing.append(Missing(item.name, why, CATALOG[item.name].where))
    return there, missing
