"""Steps for large boxes: hardly any variable gets to its bound, and losses count a lot.

Variables of samples that are alike but for their labels go a long way, and a margin that is a
little short counts C times in the primal. So the few samples with most of the gap are visited
alone, and passes before a scan take off losses by moving variables too far.
"""

from __future__ import annotations

import numpy as np

from multimargin import _core
from multimargin.solvers._layout import sum_of_squares
from multimargin.solvers._problem import Problem
from multimargin.solvers._stopping import Certificate, Stopping
from multimargin.solvers.active_set._rank_workspace import Workspace
from multimargin.solvers.active_set._workspace import LocalWorkspace

# A box so many times the 1 / |x|^2 by which a visit moves variables is large. Where it is not,
# there is no need for all this: 23 s instead of 16 (12,582 classes, C = 10).
_LARGE = 50.0
_FEW_SAMPLES = 16  # a share of 1/16 of the samples with half of the gap is worth passes of its own
# Variables go too far by what costs this share of the tolerance. Six passes leave a hundredth of
# the loss (12,582 classes, C = 1000); without them it was half of the primal when the dual was
# within 0.01%. So the passes before them may end with more of the gap.
_SPARE_SHARE, _SPARE_PASSES, _FLOOR_TIMES = 0.2, 6, 3.0


class LargeBoxes:
    """The steps for large boxes, in one process and when stopping by the gap."""

    def __init__(self, problem: Problem, stopping: Stopping, workspace: Workspace) -> None:
        self._workspace = workspace
        self._samples = len(problem.y)
        self._tol = stopping.tol
        local = isinstance(workspace, LocalWorkspace) and stopping.by_gap
        reach = sum_of_squares(problem.X) / self._samples * float(np.median(problem.box))
        self.there = local and reach >= _LARGE
        self.floor_times = _FLOOR_TIMES if self.there else 1.0
        self.spare = -1.0  # see VisitRule; known after the first scan

    @property
    def passes_before_scan(self) -> int:
        """Return how many passes take off losses."""
        return _SPARE_PASSES if self.spare >= 0 else 0

    def scanned(self, scan: Certificate) -> None:
        """Choose how far variables go too far: margins 1 + s take weights 1 + s times as large."""
        if self.there:
            assert isinstance(self._workspace, LocalWorkspace)
            cost = 2 * self._workspace.half_norm / max(scan.dual, 1e-300)
            self.spare = min(0.1, _SPARE_SHARE * self._tol / max(cost, 1e-300))

    def focus(self, rule: _core.VisitRule) -> bool:
        """Visit the samples with most of the gap alone; return whether that was worth it."""
        assert isinstance(self._workspace, LocalWorkspace)
        seen = self._workspace.focus(rule)
        return _FEW_SAMPLES * seen.samples <= self._samples and seen.left < seen.gap / 2
