"""Checkpoints in memory: every one that a run could have written, for tests to go on from."""

from __future__ import annotations

import json
import threading

import numpy as np


class MemoryCheckpoint:
    def __init__(self, common, parts):
        self.common, self._parts = common, parts
        self.names = tuple(parts)

    def part(self, name):
        return self._parts[name]


class Shelf:
    """What all ranks of one run wrote, by step."""

    def __init__(self):
        self._lock = threading.Lock()
        self._steps = {}

    def put(self, step, rank, common, parts):
        with self._lock:
            kept, all_parts = self._steps.setdefault(step, ({}, {}))
            if rank == 0:
                kept.update(json.loads(json.dumps(common)))  # only what a file could hold
            for name, part in parts.items():
                assert name not in all_parts, "a part has one owner"
                all_parts[name] = {key: np.array(value) for key, value in part.items()}
                for value in all_parts[name].values():
                    value.flags.writeable = False

    @property
    def checkpoints(self):
        return [MemoryCheckpoint(*self._steps[step]) for step in sorted(self._steps)]


class MemoryCheckpoints:
    """One rank's side of a shelf; due whenever asked."""

    def __init__(self, shelf, comm, resume_from=None):
        self._shelf, self._comm, self._from, self._step = shelf, comm, resume_from, 0

    def due(self):
        self._comm.barrier()
        return True

    def write(self, common, parts):
        self._shelf.put(self._step, self._comm.rank, common, parts)
        self._step += 1
        self._comm.barrier()

    def read(self):
        return self._from
