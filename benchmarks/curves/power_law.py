"""Power laws through measured points: how time grows with size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class PowerLaw:
    """``y = factor * x ** exponent``.

    Attributes
    ----------
    exponent : float
    factor : float
    error : float or None
        Standard error of the exponent, from the scatter about the line; None with two points,
        through which every line goes exactly.
    """

    exponent: float
    factor: float
    error: float | None

    def __str__(self) -> str:
        return f"{self.exponent:.2f}" + ("" if self.error is None else f" ± {self.error:.2f}")


def fit(x: Sequence[float], y: Sequence[float]) -> PowerLaw | None:
    """The power law of least squares in the logarithms; None with fewer than two different x.

    Parameters
    ----------
    x, y : sequences of float of the same length
        All greater than 0.
    """
    if len(x) != len(y) or any(not value > 0 for value in (*x, *y)):
        raise ValueError(f"x and y must be as many and greater than 0, not {x} and {y}")
    if len(set(x)) < 2:
        return None
    log_x, log_y = [math.log(value) for value in x], [math.log(value) for value in y]
    mean_x, mean_y = math.fsum(log_x) / len(x), math.fsum(log_y) / len(y)
    spread = math.fsum((value - mean_x) ** 2 for value in log_x)
    pairs = list(zip(log_x, log_y, strict=True))
    exponent = math.fsum((a - mean_x) * (b - mean_y) for a, b in pairs) / spread
    factor = math.exp(mean_y - exponent * mean_x)
    if len(x) == 2:
        return PowerLaw(exponent, factor, None)
    off = math.fsum((b - mean_y - exponent * (a - mean_x)) ** 2 for a, b in pairs)
    return PowerLaw(exponent, factor, math.sqrt(off / (len(x) - 2) / spread))
