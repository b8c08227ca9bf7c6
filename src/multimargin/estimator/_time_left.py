"""How far a fit has come, and about how long it will still take."""

from __future__ import annotations

import math

_RECORDS = 5  # by which the rate is judged
_LEAST = 0.02  # of the way has to be behind: before that, the rate tells nothing


class TimeLeft:
    """An estimate from the history of a measure, such as the gap, that falls towards ``tol``.

    It falls about geometrically: its logarithm is a line over time. Times are seconds since the
    fit began.
    """

    def __init__(self, tol: float, start: float | None) -> None:
        self._end = math.log(tol)
        self._first: float | None = None
        self._records: list[tuple[float, float]] = []  # times, and logarithms of the least so far
        self._work = 0.0  # the share done, where a fit knows it
        if start is not None:
            self.add(0.0, start)

    def add(self, seconds: float, value: float) -> None:
        """Take a measure; those that prove nothing, such as infinity, are left out."""
        if not 0 <= value < math.inf:
            return
        level = max(self._end, math.log(value) if value > 0 else -math.inf)
        if self._records:
            level = min(level, self._records[-1][1])
        if self._first is None:
            self._first = max(level, self._end + 0.01)
        self._records = [*self._records[1 - _RECORDS :], (seconds, level)]

    def add_work(self, share: float) -> None:
        """Take the share of the work that is done, of fits whose classes are trained in turn."""
        self._work = max(self._work, share)

    def done(self, now: float) -> float:
        """Return the share of the way that is behind, from 0 to 1."""
        if self._first is None or not self._records:
            return self._work
        seconds, level = self._records[-1]
        whole = self._first - self._end
        share = max(self._work, (self._first - level) / whole)
        # Between two records it goes on at their rate, but not to the end.
        onward = (self._rate() or 0.0) * max(0.0, now - seconds) / whole
        return share if self._work else share + min(onward, 0.25 * (1 - share))

    def left(self, now: float) -> float | None:
        """Return about how many seconds are left; None if that is not known."""
        if self._work:
            return now * (1 - self._work) / self._work
        rate = self._rate()
        if rate is None or self._first is None:
            return None
        seconds, level = self._records[-1]
        if self._first - level < _LEAST * (self._first - self._end):
            return None
        since = now - seconds
        return max((level - self._end) / rate - since, 0.5 * since)  # the later, the later

    def _rate(self) -> float | None:
        """Return by how much the logarithm falls in a second: a line of least squares."""
        n = len(self._records)
        if n < 2:
            return None
        middle = sum(t for t, _ in self._records) / n
        spread = sum((t - middle) ** 2 for t, _ in self._records)
        fall = -sum((t - middle) * level for t, level in self._records)
        return fall / spread if spread > 0 and fall > 0 else None


def said(seconds: float) -> str:
    """Return a time as people say it: "12 s", "5 min", "1 h 20 min"."""
    if seconds < 59.5:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
