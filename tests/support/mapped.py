"""Whether arrays are views of a memory-mapped file."""

import mmap


def map_of(array):
    """The map whose memory an array shows; None if it has its own."""
    base = array
    while base is not None and not isinstance(base, memoryview):
        base = getattr(base, "base", None)
    return base.obj if base is not None and isinstance(base.obj, mmap.mmap) else None
