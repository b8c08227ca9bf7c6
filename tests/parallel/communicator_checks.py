"""What every communicator must do, as functions of a communicator that its ranks call together.

``mpiexec -n 3 python communicator_checks.py`` runs them all on MPI's ranks.
"""

from __future__ import annotations

import sys

import numpy as np

from multimargin.parallel._collectives import sum_parts

TYPES = ("int8", "int32", "uint64", "float32", "float64", "complex128", "bool", ">f4", "U5")


def message_of(seed):
    """Arrays of all sorts: no, one and several dimensions, empty, strided, in Fortran's order."""
    rng = np.random.default_rng(seed)
    arrays = [rng.integers(0, 100, size=rng.integers(0, 40)).astype(t) for t in TYPES]
    return [
        *arrays,
        np.array(rng.random()),
        np.zeros((0, 3), dtype=np.int16),
        rng.random((5, 7))[::2, 1::3],
        np.asfortranarray(rng.random((4, 6))),
        rng.random((3, 4, 5)).astype(np.float32),
    ]


def assert_same(received, sent):
    assert len(received) == len(sent)
    for got, want in zip(received, sent, strict=True):
        assert got.dtype == want.dtype
        assert got.shape == want.shape
        np.testing.assert_array_equal(got, want)


def check_point_to_point(comm):
    """Messages come as they were sent, in order, to all and from all, oneself included."""
    for to in range(comm.size):
        for k in range(3):
            comm.send(message_of((comm.rank, to, k)), to).wait()
    for source in reversed(range(comm.size)):
        for k in range(3):
            received = comm.receive(source)
            assert_same(received, message_of((source, comm.rank, k)))
            assert all(array.flags.writeable and array.flags.c_contiguous for array in received)


def check_messages_without_arrays(comm):
    comm.send([], (comm.rank + 1) % comm.size).wait()
    assert comm.receive((comm.rank - 1) % comm.size) == []
    assert comm.allgather([]) == [[]] * comm.size


def check_arrays_are_free_after_wait(comm):
    values = np.full(300_000, comm.rank, dtype=np.float64)
    sending = comm.send([values], (comm.rank + 1) % comm.size)
    sending.wait()
    sending.wait()  # a second time is no harm
    values[:] = -1
    (received,) = comm.receive((comm.rank - 1) % comm.size)
    assert (received == (comm.rank - 1) % comm.size).all()


def check_large_messages_cannot_lock_up(comm):
    """All send before anyone receives, and wait for it; far more than any network buffers."""
    large = np.arange(1_500_000, dtype=np.float64) + comm.rank
    for to in range(comm.size):
        comm.send([large], to).wait()
    for source in range(comm.size):
        (received,) = comm.receive(source)
        assert received[0] == source
        assert received[-1] == source + 1_499_999


def check_broadcast(comm):
    for root in range(comm.size):
        sent = message_of(root)
        assert_same(comm.broadcast(sent if comm.rank == root else None, root), sent)


def check_gather(comm):
    for k in range(2):
        everyones = comm.allgather(message_of((comm.rank, k)))
        for rank, received in enumerate(everyones):
            assert_same(received, message_of((rank, k)))


def check_exchange(comm):
    """Uneven: ranks send more to higher ones, and nothing to themselves."""

    def piece(source, to):
        length = 0 if source == to else 40_000 * to * (source + 1) + 1
        return [np.full(length, 100 * source + to), np.array([source, to])]

    received = comm.alltoall([piece(comm.rank, to) for to in range(comm.size)])
    for source in range(comm.size):
        assert_same(received[source], piece(source, comm.rank))


def check_reduce(comm):
    def values(rank):
        return np.array([[rank, -rank, 7], [rank * rank, 1, 2**40 + rank]])

    everyones = np.array([values(rank) for rank in range(comm.size)])
    assert_same([comm.allreduce(values(comm.rank), "sum")], [everyones.sum(axis=0)])
    assert_same([comm.allreduce(values(comm.rank), "max")], [everyones.max(axis=0)])
    assert_same([comm.allreduce(values(comm.rank), "min")], [everyones.min(axis=0)])
    assert_same(
        [comm.allreduce(np.array(0.5 * comm.rank), "max")], [np.array(0.5 * (comm.size - 1))]
    )
    unknown = np.array([np.nan if comm.rank == comm.size - 1 else 1.0])
    assert np.isnan(comm.allreduce(unknown, "max"))[0]


def check_sums_do_not_depend_on_ranks(comm):
    parts = np.random.default_rng(5).normal(size=(7, 1001)) * 10.0 ** np.arange(-3, 4)[:, None]
    held = {k: parts[k] for k in range(7) if k % comm.size == comm.rank}
    expected = np.zeros(1001)
    for part in parts:
        expected = expected + part
    assert (sum_parts(comm, held, 1001, np.float64) == expected).all()


def check_barrier(comm):
    """Nobody is through before all have come: a message sent before it is there after it."""
    for _ in range(5):
        comm.barrier()


def check_collectives_do_not_mix_with_messages(comm):
    """A message sent before collective calls is still there, untouched, after them."""
    to, source = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    sending = comm.send(message_of(comm.rank), to)
    comm.barrier()
    assert comm.host.size <= comm.size
    assert_same(comm.broadcast([np.arange(3)]), [np.arange(3)])
    assert [int(m[0]) for (m,) in comm.allgather([np.array([comm.rank])])] == [*range(comm.size)]
    assert comm.allreduce(np.array([comm.rank]), "max")[0] == comm.size - 1
    own = comm.host.allgather([np.array([comm.rank])])
    assert comm.rank in [int(ranks[0][0]) for ranks in own]
    assert_same(comm.receive(source), message_of(source))
    sending.wait()
    total = comm.allreduce(np.array([comm.rank]), "sum")
    assert total[0] == comm.size * (comm.size - 1) // 2


def check_bytes(comm):
    """At least what was sent to others, and little more; nothing for what stays here."""
    before = comm.bytes_sent
    values = np.zeros(50_000)
    comm.send([values], comm.rank).wait()
    comm.receive(comm.rank)
    assert comm.bytes_sent == before
    comm.send([values, values], (comm.rank + 1) % comm.size).wait()
    comm.receive((comm.rank - 1) % comm.size)
    sent = comm.bytes_sent - before
    assert sent == 0 if comm.size == 1 else 800_000 <= sent < 800_200
    comm.allgather([values])
    sent = comm.bytes_sent - before - sent
    assert (comm.size - 1) * 400_000 <= sent < (comm.size - 1) * 400_200 + 1


def check_refusals(comm):
    """They are refused before anything is sent, so ranks stay in step."""
    refused = [
        (TypeError, lambda: comm.allreduce(np.zeros(2), "sum")),
        (ValueError, lambda: comm.allreduce(np.zeros(2), "mean")),
    ]
    for kind, call in refused:
        try:
            call()
        except kind:
            continue
        raise AssertionError(f"{kind.__name__} expected")
    comm.barrier()


LAUNCHED = ("OMPI_", "PMI_", "PMIX_", "MV2_", "PALS_", "SLURM_")
"""How variables begin that launchers of ranks set."""

CHECKS = [value for name, value in list(globals().items()) if name.startswith("check_")]


def main(chunk):
    from mpi4py import MPI

    from multimargin.parallel._mpi import MpiCommunicator, world

    plain = world()
    assert (plain.rank, plain.size) == (MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size)
    comm = plain if chunk == 0 else MpiCommunicator(MPI.COMM_WORLD, chunk=chunk)
    for check in CHECKS:
        if 0 < chunk < 10_000 and "large" in check.__name__:
            continue  # millions of messages
        check(comm)
        comm.barrier()
        if comm.rank == 0:
            print(check.__name__, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
