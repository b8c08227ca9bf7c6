"""The data of the splits that are being trained on, no longer than they are."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")


class Folds(Generic[T]):
    """What is made for a split by its first user, shared by the next ones, and let go by the last.

    `uses` has the number of the split for each time that it will be used.
    """

    def __init__(self, make: Callable[[int], T], uses: Iterable[int]) -> None:
        self._make, self._left = make, Counter(uses)
        self._made: dict[int, T] = {}
        self._lock = threading.Lock()

    @contextmanager
    def of(self, split: int) -> Iterator[T]:
        """Yield what is made for a split; one at a time is made, for any number of threads."""
        with self._lock:
            if split not in self._made:
                self._made[split] = self._make(split)
            found = self._made[split]
        try:
            yield found
        finally:
            with self._lock:
                self._left[split] -= 1
                if not self._left[split]:
                    del self._made[split]
