"""Small fits, measured, next to the model: the rise of memory, and bytes sent."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from benchmarks.cluster_costs.model import Sizes, memory, sent_per_pass, sent_per_scan
from benchmarks.common.data import WORDNET, by_sizes
from benchmarks.common.ranks import POOL
from benchmarks.common.run import Job, measure
from benchmarks.peers import Task

LEAST, MOST = 0.8, 1.25  # modelled over measured
SMALL = by_sizes(10_000, 60_000, 2_000, 60, 25)
WIDE = by_sizes(30_000, 150_000, 4_000, 40, 35)
FITS = (
    (WORDNET, "ww", 1),
    (WORDNET, "ww", 2),
    (WORDNET, "cs", 1),
    (WORDNET, "cs", 2),
    (SMALL, "ww", 1),
    (SMALL, "ww", 2),
    (SMALL, "ww", 4),
    (SMALL, "cs", 2),
    (WIDE, "ww", 1),
    (WIDE, "ww", 2),
)
"""Data set, formulation, hosts."""


@dataclass(frozen=True)
class Compared:
    """A figure of the model next to the measured one, in bytes."""

    name: str
    modelled: float
    measured: float

    @property
    def ratio(self) -> float:
        return self.modelled / self.measured

    @property
    def agrees(self) -> bool:
        return LEAST <= self.ratio <= MOST


def fitted(dataset: str, formulation: str, hosts: int) -> dict[str, Any]:
    """Fit to a gap of 1 %; ranks stand for hosts, each left to itself."""
    os.environ[POOL] = "0"
    task = Task(formulation, threads=1, tol=0.01)
    if hosts == 1:
        return measure(Job("multimargin", dataset, None, task, test=True))
    return measure(Job("multimargin", dataset, None, task, ranks=hosts))


def sizes(result: dict[str, Any], formulation: str, hosts: int) -> Sizes:
    """Return the sizes of a measured fit, with the most pairs of the run."""
    n, features, classes = result["shape"]
    pairs = max(result["details"]["active"]) / n
    words = result["nonzeros"] / n
    shared = formulation == "cs"
    return Sizes(n, features, classes, words, pairs, result["density"], hosts, shared)


def compared(result: dict[str, Any], formulation: str, hosts: int) -> list[Compared]:
    """Compare memory and, of several hosts, what one sends: means over the hosts."""
    s = sizes(result, formulation, hosts)
    ranks = result["details"].get("ranks", [])
    rise = fmean(each["rise_mb"] for each in ranks or [result])
    found = [Compared("memory", sum(memory(s).values()), rise * 1e6)]
    if not ranks:
        return found
    # Phases differ in their pairs: for bytes the mean counts.
    s = replace(s, pairs=fmean(result["details"]["active"]) / s.samples)
    passes, scans = ranks[0]["passes"], result["details"]["scans"]
    in_passes = fmean(rank["bytes_in_passes"] for rank in ranks)
    in_all = fmean(rank["bytes_sent"] for rank in ranks)
    per_pass, per_scan = (sum(terms(s).values()) for terms in (sent_per_pass, sent_per_scan))
    return [
        *found,
        Compared("sent per pass", per_pass, in_passes / passes),
        Compared("sent in all", passes * per_pass + scans * per_scan, in_all),
    ]
