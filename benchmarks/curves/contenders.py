"""Who takes part in the curves: trainers, the problem each is given, and how far it is told to go.

All minimise half the squared norm of the weights plus C = 1 times the losses, without intercept.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks.peers import Offer, Task, _liblinear, peer, tolerances

OURS = "multimargin"
PROBLEMS = {
    "ww": "Weston-Watkins",
    "cs": "Crammer-Singer",
    "ovr": "one-vs-rest, hinge",
    "ovr-squared": "one-vs-rest, squared hinge",
}
# Those with code of their own: LinearSVC, LibMultiLabel and napkinXC train by LIBLINEAR's, and
# lightning by the same algorithm. The table of peers has them all.
_PEERS = ("liblinear", "sgd", "snapml", "libpecos", "liblinear-multicore")
_QUICK_PEERS = ("liblinear",)
_OUR_GAPS = (0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5)
_OUR_COARSE_GAPS = (0.1, 0.01, 1e-3, 1e-4)


@dataclass(frozen=True)
class Contender:
    """A trainer with a problem; `ladder` has its tasks from the loosest to the tightest.

    `title` says how the trainer is told the problem; `trainer` is the same for all its problems.
    """

    title: str
    trainer: str
    peer: str
    problem: str
    ladder: tuple[Task, ...]

    @property
    def key(self) -> tuple[str, str]:
        """The same for the same contender."""
        return self.title, self.problem

    @property
    def ours(self) -> bool:
        return self.peer == OURS

    @property
    def threads(self) -> int:
        return self.ladder[0].threads

    def rung(self, number: int) -> str:
        """How far it is told to go, in its own terms."""
        task = self.ladder[number]
        return f"{task.options['epochs']} epochs" if task.tol is None else f"tol {task.tol:g}"


def for_gap(problem: str, *, quick: bool, coarse: bool) -> list[Contender]:
    """Those of the gap over time, ours first.

    Parameters
    ----------
    problem : a key of `PROBLEMS`
    quick : bool
        Only LIBLINEAR beside ours.
    coarse : bool
        Every other step of the ladders alone.
    """
    gaps = _OUR_COARSE_GAPS if coarse else _OUR_GAPS
    found = [ours(problem, gaps)]
    for name in _QUICK_PEERS if quick else _PEERS:
        offer = _offer(name, problem)
        threads = 1 if offer is None or offer.can_use(1) else 2
        if offer is not None and threads <= (os.cpu_count() or 1):
            found.append(_contender(name, problem, offer, threads, step=2 if coarse else 1))
    if any(contender.threads == 2 for contender in found):
        # Two threads of ours, against those that take no fewer.
        found.append(ours(problem, gaps, threads=2))
    return found


def for_growth(gap: float) -> list[Contender]:
    """Those of the growth with sizes: ours to a duality gap, LIBLINEAR with its ladder."""
    found = [ours(problem, (gap,)) for problem in ("ww", "cs", "ovr")]
    for problem in ("cs", "ovr"):
        offer = _offer("liblinear", problem)
        if offer is not None:
            found.append(_contender("liblinear", problem, offer))
    return found


def ours(problem: str, gaps: Sequence[float], threads: int = 1) -> Contender:
    """multimargin, to these duality gaps."""
    formulation, _, squared = problem.partition("-")
    offer = Offer(formulation, tolerances(*gaps), squared=bool(squared))
    return _contender(OURS, problem, offer, threads)


def reference(problem: str, gap: float) -> Contender:
    """multimargin out of competition, to learn where the optimum is."""
    return replace(ours(problem, (gap,)), title="reference")


def _offer(name: str, problem: str) -> Offer | None:
    """The settings with which a peer solves a problem."""
    offers: tuple[Offer, ...] = peer(name).OFFERS
    names = {f"{offer.formulation}{'-squared' * offer.squared}": offer for offer in offers}
    found = names.get(problem)
    if found is not None and found.ladder == _liblinear.HINGE_LADDER:
        # The table leaves out a tolerance that is too loose on its sets; on others it may not be.
        return replace(found, ladder=_liblinear.LADDER)
    return found


def _contender(name: str, problem: str, offer: Offer, threads: int = 1, step: int = 1) -> Contender:
    tail = f", {threads} threads" if threads > 1 else ""
    trainer = peer(name).TITLE + tail
    title = f"{peer(name).TITLE} {offer.how}{tail}" if "liblinear" in name else trainer
    tasks = tuple(offer.task(rung, threads) for rung in range(0, len(offer.ladder), step))
    return Contender(title, trainer, name, problem, tasks)
