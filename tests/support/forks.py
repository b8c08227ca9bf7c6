"""Functions that are run in forked children."""

import os
import pickle
import select
import signal
import time

import pytest


def in_fork(function, timeout=60.0):
    """``function()`` run in a forked child; fails, and ends the child, if it takes too long."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        # Leave by os._exit alone: the child must not run pytest's own clean-up.
        try:
            os.close(reader)
            with os.fdopen(writer, "wb") as stream:
                pickle.dump(function(), stream)
            os._exit(0)
        except BaseException:
            os._exit(1)
    os.close(writer)
    chunks, deadline = [], time.monotonic() + timeout
    try:
        while select.select([reader], [], [], max(0.0, deadline - time.monotonic()))[0]:
            chunk = os.read(reader, 1 << 16)
            if not chunk:
                return pickle.loads(b"".join(chunks))
            chunks.append(chunk)
        pytest.fail(f"the forked child did not end within {timeout} s")
    finally:
        os.close(reader)
        # A child that has answered leaves at once; one that hangs is ended.
        patience = time.monotonic() + 5.0
        while os.waitpid(child, os.WNOHANG)[0] == 0:
            if time.monotonic() > min(patience, deadline + 1.0):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                break
            time.sleep(0.01)
