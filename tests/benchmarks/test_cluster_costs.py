"""The model of memory and traffic per host: its formulas, and a small fit next to it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.cluster_costs.__main__ import HOSTS, planned
from benchmarks.cluster_costs.check import compared, fitted, sizes
from benchmarks.cluster_costs.model import (
    Sizes,
    data,
    density_of,
    memory,
    sent_per_pass,
    sent_per_scan,
)
from tests.support import mpi

SET = "hierarchical:4000:12000:500:40:35"
S = Sizes(100_000, 200_000, 10_000, words=50, pairs=20, density=0.01)


def total(terms):
    assert min(terms.values()) >= 0
    return sum(terms.values())


def test_one_process_holds_what_its_pairs_take():
    terms = memory(S)
    assert terms["positions"] == 4 * 50 * 100_000 * 21
    assert terms["numbered rows"] + terms["rows for scans"] == 12 * 50 * 100_000
    assert data(S) == pytest.approx(8 * 50 * 100_000, rel=0.1)
    # The model takes the place of positions and rows for scans where it is larger.
    dense = memory(replace(S, density=0.5))
    assert "positions" not in dense and dense["the model"] == 8 * 0.5 * 200_000 * 10_000


@pytest.mark.parametrize("shared", [False, True])
def test_pairs_in_meetings(shared):
    """About as many as of samples whose pairs are drawn by lot; real ones lie closer together."""
    hosts, rng = 4, np.random.default_rng(0)
    s = replace(S, hosts=hosts, shared=shared)
    bundles, slots, meetings = s.bundles, 0, 0
    for _ in range(200):
        count = np.bincount(rng.integers(bundles, size=int(s.pairs)), minlength=bundles)
        others = [b for b in range(1, bundles) if count[b]]  # its own class is in bundle 0
        met = [(0, b) for b in others]
        met += [(a, b) for a in others for b in others if a < b] if shared else []
        meetings += len(met)
        slots += sum(1 + count[a] + count[b] for a, b in met)
    assert s.meetings == pytest.approx(meetings / 200, rel=0.35)
    assert s.meeting_slots == pytest.approx(slots / 200, rel=0.35)


def test_more_hosts_hold_less_each():
    for _, _, one in planned():
        held = [total(memory(replace(one, hosts=hosts))) for hosts in HOSTS]
        assert held[-1] < held[1] and held[-1] < held[0]
        several = replace(one, hosts=16)
        # Half of the bundles move in a round, and come back.
        assert several.bundles_sent == pytest.approx(several.bundles - 1, abs=2)
        assert total(sent_per_pass(several)) < total(sent_per_scan(several))
    assert density_of(S) == pytest.approx(0.47 * 50 * 100_000 * 21 / (200_000 * 10_000))


def test_a_small_fit_takes_what_the_model_says():
    result = fitted(SET, "ww", 1)
    (found,) = compared(result, "ww", 1)
    assert found.name == "memory" and 0.5 < found.ratio < 2
    assert sizes(result, "ww", 1).words == pytest.approx(40, rel=0.1)


@mpi.needs_mpi
def test_two_ranks_send_what_the_model_says():
    found = {row.name: row.ratio for row in compared(fitted(SET, "ww", 2), "ww", 2)}
    assert set(found) == {"memory", "sent per pass", "sent in all"}
    assert all(0.5 < ratio < 2 for ratio in found.values()), found
