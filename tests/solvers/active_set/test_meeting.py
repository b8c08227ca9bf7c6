"""One meeting of bundles, what a rank holds, and what it sends."""

import numpy as np
import pytest
import scipy.sparse as sp

from multimargin import _core
from multimargin.formulations import FORMULATIONS
from multimargin.solvers._solution import Limits
from multimargin.solvers._stopping import GapStopping
from multimargin.solvers.active_set._solver import ActiveSetSolver
from tests.solvers.active_set.rank_problems import (
    NAMES,
    run,
    visit_rule,
)
from tests.support.rank_runs import problem_of
from tests.support.rank_threads import run_ranks
from tests.support.tiny_problems import many_classes_problem

# ---------------------------------------------------------------- one meeting


def one_sample(name, dtype):
    """One sample with entries and four bundles of two classes; dual variables in all."""
    rng = np.random.default_rng(1)
    k, own = 8, 2
    X = sp.csr_matrix((np.array([0.7, -0.4, 1.1]), ([0] * 3, [0, 2, 5])), shape=(k, 6))
    y = np.array([own, *[c for c in range(k) if c != own]])
    problem = problem_of(X, y, name, C=1.5, dtype=dtype, bias=0.5)
    core = _core.rank_workspace(problem.samples, name, threads=2)
    bundle_of = np.array([0, 0, 1, 1, 2, 2, 3, 3], dtype=np.int32)
    core.divide(bundle_of, 4)
    others = np.array([c for c in range(k) if c != own])
    alpha = np.zeros(k)
    share = rng.uniform(0, 1, k - 1)
    alpha[others] = 1.5 * (share / share.sum() if name == "cs" else share)
    alpha = alpha.astype(dtype)
    slot_begin = np.concatenate([[0, k], k + 1 + np.arange(k - 1)]).astype(np.int64)
    cls = np.concatenate([[own], others, y[1:]]).astype(np.int32)
    values = np.concatenate([[0], alpha[others], np.zeros(k - 1)]).astype(dtype)
    sums = np.zeros(k)
    for b in range(4):
        core.take(b, slot_begin, cls, values)
        core.lay_out(b)
        core.add_sums(b, sums)
    for b in range(4):
        core.make_bundle_state(b, sums)
    return problem, core, alpha.astype(float), own


@pytest.mark.parametrize("meeting", [(0, 1), (1, 3), (0, 2), (2, 3)])
@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_a_meeting_solves_the_block_of_both_bundles(name, dtype, batch, meeting):
    """Variables outside the meeting keep their part of the budget; the own class may be away."""
    problem, core, alpha, own = one_sample(name, dtype)
    a, b = meeting
    core.build(a, b, list(core.structure(a)), list(core.structure(b)), False)
    own_here = 1 in meeting
    inside = np.array([c for c in (2 * a, 2 * a + 1, 2 * b, 2 * b + 1) if c != own])
    k = float(problem.X.data @ problem.X.data) + 0.25
    # w_c = -alpha_c x, w_own = sum x: margins are 1 - k (sum + alpha_c).
    margin = 1 - k * (alpha.sum() + alpha)
    twin, curvature = FORMULATIONS[name], np.full(len(inside), k)
    expected = alpha.copy()
    if own_here:
        outside = alpha.sum() - alpha[inside].sum()
        room = 1.5 - (0 if name == "ww" else outside)
        expected[inside] = twin.solve_block(margin[inside], alpha[inside], room, k, curvature)
    elif name == "cs":
        expected[inside] = twin.solve_exchange(margin[inside], alpha[inside], curvature)
    else:
        assert len(core.meeting_state(a, b)[0]) == 0
        return
    (report,) = core.run_meetings([meeting], visit_rule(batch), 7)
    assert report.complete and report.visits == 1
    found = np.zeros(8)
    for bundle in range(4):
        core.unpack_alpha(bundle)
    if name == "ww":
        for bundle, which in ((a, 0), (b, 1)):
            core.put_alpha(bundle, *core.collect(a, b, which))
    for bundle in range(4):
        begin, sample, value = core.columns(bundle)
        cls = np.repeat([2 * bundle, 2 * bundle + 1], np.diff(begin))
        found[cls[sample == 0]] = value[sample == 0]
    near = 1e-5 if dtype == np.float32 else 1e-12
    here = np.arange(8) if name == "cs" else inside
    np.testing.assert_allclose(found[here], expected[here], atol=near)
    # Weights follow: those of the two bundles are those of the new dual variables.
    coefficient = -expected
    coefficient[own] = expected.sum()
    x = problem.X.toarray()[0].astype(float)
    for bundle in meeting:
        data, index, begin, constant = core.weights(bundle)
        rows = sp.csr_matrix((data, index, begin), shape=(2, 6)).toarray()
        mine = coefficient[2 * bundle : 2 * bundle + 2]
        np.testing.assert_allclose(rows, mine[:, None] * x, atol=near * 10)
        np.testing.assert_allclose(constant, 0.5 * mine, atol=near * 10)


# ---------------------------------------------------------------- memory and messages


def held(solver):
    """Pairs, slots and positions at a rank, from what the core gives out."""
    workspace = solver._workspace
    core = workspace._core
    pairs = sum(len(core.columns(b)[1]) for b in workspace.owned)
    weights = sum(int(core.pack(b)[0][0]) for b in workspace.owned)
    slots = sum(len(core.meeting_state(a, b)[0]) for a, b in workspace._placement.meetings())
    return np.array([pairs, weights, slots])


@pytest.mark.parametrize("name", NAMES)
def test_a_rank_holds_its_part(name):
    X, y = many_classes_problem(n=600, d=300, n_classes=96)
    problem = problem_of(X, y, name, dtype=np.float32)
    whole = held(run(problem, bundles=8).solvers[0])
    assert np.all(whole > 0)
    parts = [held(solver) for solver in run(problem, 4, bundles=8).solvers]
    np.testing.assert_array_equal(np.sum(parts, axis=0), whole)
    for part in parts:
        assert np.all(part <= 1.6 * whole / 4)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ranks", [2, 4])
def test_messages_of_a_pass(name, ranks):
    """Numbers of moving bundles that are not zero, a bit for each number, and reports."""
    X, y = many_classes_problem(n=600, d=300, n_classes=64)
    problem = problem_of(X, y, name, dtype=np.float32, bias=0.0)

    def work(comm):
        solver = ActiveSetSolver(problem, GapStopping(0.01), Limits(30), comm=comm, bundles=8)
        solver.run()
        workspace, messages = solver._workspace, []
        workspace.arrange()
        pack, before = workspace._pack, comm.bytes_sent

        def noted(bundle):
            messages.append(pack(bundle))
            return messages[-1]

        workspace._pack = noted
        for _ in range(2):
            solver._pass(True, None)
        for sizes, mask, values in messages:
            assert np.all(values != 0)
            assert len(mask) == np.sum(-(-sizes // 64))
            assert values.nbytes < 4 * sizes[1] * problem.X.shape[1], "less than dense weights"
        last = len(workspace._placement.rounds) - 1
        ways = [(r, r + 1) for r in range(last)]
        moves = sum(
            move.source == comm.rank
            for way in (*ways, (last, 0), *ways)
            for move in workspace._placement.moves(*way)
        )
        assert len(messages) == moves
        sent = sum(part.nbytes for message in messages for part in message)
        # Two places and three numbers of every meeting go to everybody.
        reports = (
            2
            * comm.size
            * (40 * len(workspace._placement.rounds) * len(workspace._placement.mine) + 8)
        )
        assert sent <= comm.bytes_sent - before <= sent + reports
        return len(messages)

    messages = sum(run_ranks(ranks, work))
    # Four matches: each sends one bundle a round, and one or two from the last round to the first.
    # Moves within a rank cost nothing.
    assert messages <= 2 * 6 * 4 + 2 * 4
    assert messages >= 2 * 6 * 4 + 4 or ranks < 4
