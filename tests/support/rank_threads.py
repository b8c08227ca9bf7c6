"""Ranks as threads of one process: a communicator for tests that need no mpiexec."""

from __future__ import annotations

import queue
import threading

import numpy as np

from multimargin.parallel._communicator import Communicator, check_reduction


class _Sent:
    def wait(self):
        pass


class ThreadCommunicator(Communicator):
    def __init__(self, rank, size, mail, barrier, host=None, firsts=None):
        self.rank, self.size, self.bytes_sent = rank, size, 0
        self._mail, self._barrier, self._host = mail, barrier, host
        self._firsts = firsts

    @property
    def host(self):
        return self if self._host is None else self._host

    @property
    def first_of_hosts(self):
        return self._firsts

    def send(self, message, to):
        return self._send(message, to, "own")

    def _send(self, message, to, kind):
        copies = [np.array(array, order="C", copy=True) for array in message]
        if to != self.rank:
            self.bytes_sent += sum(array.nbytes for array in copies)
        self._mail[self.rank, to, kind].put(copies)
        return _Sent()

    def receive(self, source):
        return self._receive(source, "own")

    def _receive(self, source, kind):
        while True:
            try:
                return self._mail[source, self.rank, kind].get(timeout=0.2)
            except queue.Empty:
                if self._barrier.broken:
                    raise threading.BrokenBarrierError from None

    def broadcast(self, message, root=0):
        if self.rank == root:
            for to in range(self.size):
                self._send(message, to, "shared")
        return self._receive(root, "shared")

    def allgather(self, message):
        return self.alltoall([message] * self.size)

    def alltoall(self, messages):
        assert len(messages) == self.size
        for to, message in enumerate(messages):
            self._send(message, to, "shared")
        return [self._receive(source, "shared") for source in range(self.size)]

    def allreduce(self, values, how):
        check_reduction(values, how)
        everyones = [message[0] for message in self.allgather([values])]
        return {"max": np.maximum, "min": np.minimum, "sum": np.add}[how].reduce(everyones)

    def barrier(self):
        self._barrier.wait()

    def abort(self, status=1):
        self._barrier.abort()
        raise SystemExit(status)


def _communicators(size, hosts=None):
    """One per rank, with those of its host and of the first ranks; ``hosts`` as of `run_ranks`."""
    mail = {
        (a, b, kind): queue.Queue()
        for a in range(size)
        for b in range(size)
        for kind in ("own", "shared")
    }
    barrier = threading.Barrier(size)
    inner = [None] * size
    for host in set(hosts or []):
        ranks = [rank for rank in range(size) if hosts[rank] == host]
        for rank, comm in zip(ranks, _communicators(len(ranks)), strict=True):
            inner[rank] = comm
    comms = [ThreadCommunicator(rank, size, mail, barrier, inner[rank]) for rank in range(size)]
    places = list(hosts or [0] * size)
    first = [places.index(host) for host in dict.fromkeys(places)]
    alone = len(first) == size
    between = comms if alone else _communicators(len(first), list(range(len(first))))
    for rank, comm in zip(first, between, strict=True):
        comms[rank]._firsts = comm
    return comms


def run_ranks(size, function, hosts=None):
    """What ``function(comm)`` returned on each of ``size`` ranks; raises what one of them raised.

    ``hosts`` says on which host each rank is, such as ``[0, 0, 1]``; by default all are on one.
    """
    comms = _communicators(size, hosts)
    results, errors = [None] * size, []

    def work(rank):
        try:
            results[rank] = function(comms[rank])
        except threading.BrokenBarrierError:
            pass
        except BaseException as error:
            errors.append(error)
            for comm in comms:
                comm._barrier.abort()
                comm.host._barrier.abort()
                if comm.first_of_hosts is not None:
                    comm.first_of_hosts._barrier.abort()

    threads = [threading.Thread(target=work, args=(rank,), daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=240)
        assert not thread.is_alive(), "the ranks wait for each other"
    if errors:
        raise errors[0]
    return results
