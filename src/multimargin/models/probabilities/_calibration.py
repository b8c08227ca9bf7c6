"""Probabilities from scores: a temperature, and where it pays a curvature and a floor.

The probability of a class with the score s, of K classes, is

    (1 - floor) * exp(g / temperature) / (sum of that over all classes) + floor / K,
    g = (s - origin) / (1 + curvature * |s - origin|),

where `origin` is the mean score. So the order of the scores stays. All three are fitted to the
log-loss of samples that the model was not trained on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multimargin.models._scores import ClassScores
from multimargin.models.probabilities._softmax import (
    ABOVE,
    COUNT,
    GG,
    GH,
    HH,
    LARGEST,
    SUM,
    G,
    H,
    Shape,
    sums_of,
)

_BOUND = 20.0  # of the logarithm of the inverse temperature
_MOST_STEPS = 60
# What a parameter has to take off the total log-loss to be kept (Akaike).
_PAYS = 1.0
_MOST_KEPT = 2**16  # numbers for prediction sets


@dataclass(frozen=True)
class Calibration:
    """How the scores of a model become probabilities; see `MulticlassSVC.calibrate`.

    Parameters
    ----------
    temperature : float
        Scores are divided by it: the larger, the closer are the probabilities of all classes.
    curvature : float, default=0.0
        How much less large scores count than small ones; 0 for a plain softmax.
    floor : float, default=0.0
        Share of the probability that all classes have alike.
    origin : float, default=0.0
        The score that `curvature` counts from: the mean one.
    n_samples : int, default=0
        Samples that this was fitted to.
    log_loss : float, default=nan
        Their mean log-loss.
    stale : bool, default=False
        Whether the weights have changed since.
    nonconformity : ndarray, default=no numbers
        How far the labels of these samples are below the best one (`nonconformity_of`), sorted; of
        more than 65,536 samples so many quantiles. Prediction sets come from them.

    Examples
    --------
    >>> import numpy as np
    >>> from multimargin import Calibration
    >>> Calibration(0.5).probabilities(np.array([[0.0, 0.0], [0.0, 1.0]])).round(2).tolist()
    [[0.5, 0.5], [0.12, 0.88]]
    """

    temperature: float
    curvature: float = 0.0
    floor: float = 0.0
    origin: float = 0.0
    n_samples: int = 0
    log_loss: float = float("nan")
    stale: bool = False
    nonconformity: NDArray[np.float64] = field(
        default_factory=lambda: np.empty(0), compare=False, repr=False
    )

    def __post_init__(self) -> None:
        numbers = (self.temperature, self.curvature, self.floor, self.origin)
        ok = all(isinstance(each, int | float) and math.isfinite(each) for each in numbers)
        if not ok or self.temperature <= 0 or self.curvature < 0 or not 0 <= self.floor < 1:
            raise ValueError(f"no calibration: {self!r}")
        kept = self.nonconformity
        if kept.ndim != 1 or len(kept) > self.n_samples or not (kept[:-1] <= kept[1:]).all():
            raise ValueError(f"the nonconformity of {self!r} is not sorted")

    @classmethod
    def of(
        cls, made: Mapping[str, Any], nonconformity: NDArray[np.float64] | None = None
    ) -> Calibration:
        """Return what `as_dict` made a dict of; members that are not known are left out."""
        known = {each.name for each in fields(cls) if each.compare}
        found = cls(**{name: value for name, value in made.items() if name in known})
        return found if nonconformity is None else replace(found, nonconformity=nonconformity)

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON has of it: not `nonconformity`, nor a `log_loss` that is not known."""
        made = {each.name: getattr(self, each.name) for each in fields(self) if each.compare}
        return {k: v for k, v in made.items() if v == v}  # noqa: PLR0124

    @property
    def shape(self) -> Shape:
        return Shape(1 / self.temperature, self.curvature, self.origin)

    def probabilities(self, scores: NDArray[Any], *, logs: bool = False) -> NDArray[np.floating]:
        """Probabilities of all classes, or their logarithms.

        Parameters
        ----------
        scores : ndarray of shape (n_samples, n_classes)
        logs : bool, default=False

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        sums = sums_of(scores, self.shape, None)
        found = (self.logs_of_some if logs else self.of_some)(scores, sums, scores.shape[1])
        return found.astype(scores.dtype, copy=False)

    def logs_of_some(
        self, scores: NDArray[Any], sums: NDArray[np.float64], n_classes: int
    ) -> NDArray[np.float64]:
        """Logarithms of the probabilities of some scores, (n_samples, any), from `sums`."""
        g = self.shape.values(scores).astype(np.float64)
        logs = self.shape.beta * (g - sums[:, [LARGEST]]) - np.log(sums[:, [SUM]])
        if self.floor:
            logs = np.logaddexp(np.log1p(-self.floor) + logs, np.log(self.floor / n_classes))
        return np.minimum(logs, 0.0)

    def of_some(
        self, scores: NDArray[Any], sums: NDArray[np.float64], n_classes: int
    ) -> NDArray[np.float64]:
        """Return the probabilities of some scores, (n_samples, any), from `sums`."""
        found: NDArray[np.float64] = np.exp(self.logs_of_some(scores, sums, n_classes))
        return found

    def above(self, sums: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
        """The probability of the classes that rank above the own one of each sample."""
        share = (1 - self.floor) * sums[:, ABOVE] / sums[:, SUM]
        return np.asarray(share + self.floor * sums[:, COUNT] / n_classes)

    def nonconformity_of(self, best: NDArray[Any], scores: NDArray[Any]) -> NDArray[np.float64]:
        """Return how far scores are below the best one, as the logarithm of a ratio of shares.

        The floor, under which thousands of classes would be alike, is left out. The temperature
        changes no set.
        """
        high, low = (self.shape.values(each.astype(np.float64)) for each in (best, scores))
        return np.asarray(self.shape.beta * (high - low))

    def with_sets(self, nonconformity: NDArray[np.float64]) -> Calibration:
        """Return this calibration with the nonconformity of its samples."""
        n = len(nonconformity)
        kept = min(n, _MOST_KEPT)
        last = -(-np.arange(1, kept + 1) * n // max(1, kept)) - 1  # of each of so many parts
        return replace(self, nonconformity=np.sort(nonconformity)[last])

    def limit(self, coverage: float) -> float:
        """Return the most nonconformity in sets with this coverage; infinite for all classes.

        One more sample is as likely to come at any place among the `n_samples` sorted ones. It is
        not behind the number ceil((n + 1) coverage) of them with at least that probability.
        """
        n, kept = self.n_samples, self.nonconformity
        place = math.ceil((n + 1) * Fraction(str(coverage)))  # 0.9 as it is written
        return math.inf if place > n else float(kept[(place - 1) * len(kept) // n])


class HeldOut(NamedTuple):
    """Samples that a model was not trained on."""

    scores: ClassScores
    X: Any
    own: NDArray[np.int32]  # the place of the label of each among the classes
    weight: NDArray[np.float64]


def fitted_calibration(
    parts: list[HeldOut], n_classes: int, origin: float, *, plain: bool
) -> Calibration:
    """Return the calibration with the least log-loss of samples, or the best plain temperature.

    But for the plain one, one sample more is assumed, whose class scores as the mean class does: or
    else, where all samples are right, the temperature would be zero and all probabilities one.
    """
    fit = _Fit(parts, n_classes, origin, assumed=0.0 if plain else 1.0)
    best = found = fit.least(_Point(0.0, 0.0, 0.0), curved=False, floored=False)
    least = found.total
    for floored, curved in () if plain else ((True, False), (False, True), (True, True)):
        found = fit.least(found.point, curved=curved, floored=floored)
        cost = found.total + _PAYS * (floored + curved)
        if cost < least:
            best, least = found, cost
    beta, curvature, floor = best.point
    n = sum(len(part.own) for part in parts)
    return Calibration(float(np.exp(-beta)), curvature, floor, origin, n, best.log_loss)


class _Point(NamedTuple):
    log_beta: float
    curvature: float
    floor: float


class _Found(NamedTuple):
    """The total log-loss at a point; its gradient and Fisher's information there."""

    total: float
    log_loss: float  # mean, of the samples that there are
    point: _Point
    gradient: NDArray[np.float64]  # by log beta and curvature
    information: NDArray[np.float64]


class _Fit:
    def __init__(self, parts: list[HeldOut], n_classes: int, origin: float, assumed: float) -> None:
        self._parts, self._n_classes, self._origin = parts, n_classes, origin
        weight = np.concatenate([part.weight for part in parts])
        # Every sample once more, as a part of the one that is assumed.
        self._weight = np.concatenate([weight, assumed * weight / weight.sum()])

    def least(self, start: _Point, *, curved: bool, floored: bool) -> _Found:
        """Minimise by scoring steps that become shorter where they fail (Levenberg-Marquardt)."""
        if not curved:
            start = start._replace(curvature=0.0)
        found, damping = self.at(start, floored), 0.0
        enough = (1e-6 if curved or floored else 1e-12) * found.total
        for _ in range(_MOST_STEPS):
            step = _step(found, 1 + curved, damping)
            if -found.gradient @ step <= enough:  # twice what the step is to gain
                break
            trial = _Point(
                float(np.clip(found.point.log_beta + step[0], -_BOUND, _BOUND)),
                max(0.0, found.point.curvature + float(step[1])),
                found.point.floor,
            )
            if trial == found.point or damping > 1e6:
                break
            other = self.at(trial, floored)
            if other.total < found.total:
                found, damping = other, damping / 10
            else:
                damping = max(10 * damping, 0.3)
        return found

    def at(self, point: _Point, floored: bool) -> _Found:
        shape = Shape(float(np.exp(point.log_beta)), point.curvature, self._origin)
        made = [part.scores.sums(part.X, part.own, shape) for part in self._parts]
        sums = np.concatenate([each for each, _ in made])
        n, sums = len(sums), np.concatenate([sums, sums])
        score = np.concatenate([score for _, score in made])
        g = np.concatenate([shape.values(score.astype(np.float64)), np.zeros(n)])
        logs = np.minimum(shape.beta * (g - sums[:, LARGEST]) - np.log(sums[:, SUM]), 0.0)
        p, even = np.exp(logs), 1 / self._n_classes
        floor = _best_floor(p, even, self._weight) if floored else 0.0
        mixed = np.logaddexp(np.log1p(-floor) + logs, np.log(floor * even)) if floor else logs
        # Samples that the floor explains say nothing about the softmax.
        weight = self._weight * (np.exp(np.log1p(-floor) + logs - mixed) if floor else 1.0)
        mean = sums[:, [G, H]] / sums[:, [SUM]]
        own = np.column_stack([g, -g * np.abs(g)])
        gradient = shape.beta * (weight[:, None] * (mean - own)).sum(axis=0)
        squares = sums[:, [GG, GH, GH, HH]] / sums[:, [SUM]]
        spread = squares - np.column_stack([mean[:, :1] * mean, mean[:, 1:] * mean])
        information = shape.beta**2 * (weight[:, None] * spread).sum(axis=0).reshape(2, 2)
        total = -float(self._weight @ mixed)
        log_loss = -float(np.average(mixed[:n], weights=self._weight[:n]))
        return _Found(total, log_loss, point._replace(floor=floor), gradient, information)


def _step(found: _Found, free: int, damping: float) -> NDArray[np.float64]:
    # A curvature of zero stays where the loss would fall below it.
    if found.point.curvature == 0 and found.gradient[1] >= 0:
        free = 1
    matrix = found.information[:free, :free].copy()
    matrix[np.diag_indices(free)] *= 1 + damping
    step = np.zeros(2)
    step[:free] = np.linalg.lstsq(matrix, -found.gradient[:free], rcond=None)[0]
    # Far from the optimum steps may be far too long.
    shorter: NDArray[np.float64] = step / max(1.0, abs(step[0]) / 2)
    return shorter


def _best_floor(p: NDArray[Any], even: float, weight: NDArray[Any]) -> float:
    """Return the floor with the least log-loss, by halving: the loss is convex in it."""
    low, high = 0.0, 0.5
    for _ in range(50):
        floor = (low + high) / 2
        slope = (weight * (p - even) / ((1 - floor) * p + floor * even)).sum()
        low, high = (low, floor) if slope > 0 else (floor, high)
    return 0.0 if high < 1e-9 else low
