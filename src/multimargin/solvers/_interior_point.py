"""An interior-point method for problems of few weights, where passes crawl.

    max  sum gamma a - 1/2 |B a|^2 - 1/2 sum q a^2,    0 <= a <= u        (B a: all weights)

Data of few dense features and large C make the dual so ill-conditioned that visiting one sample
after the other takes tens of thousands of passes. A Newton step costs little there: with
D = diag(q + z / a + v / (u - a)) it is (D + B'B)^-1, which by the matrix inversion lemma needs
only I + B D^-1 B', a matrix of as many rows as there are weights. Twenty to forty steps (Mehrotra's
predictor and corrector) go as far as the digits do; badly scaled features with a very large C can
still end before the tolerance.

One thread of BLAS does the work, so that the result does not depend on how many there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from multimargin.formulations import OwnClass
from multimargin.parallel._blas_threads import one_blas_thread
from multimargin.solvers._problem import Problem

Array = NDArray[np.float64]

_MOST_WEIGHTS = 2600
_MOST_VARIABLES = 2_000_000
_MOST_ENTRIES = 20_000_000  # of the dense data, and of all matrices to be factored
_MOST_WORK = 5e9  # multiply-adds of one step
_STEPS = 100
_ITERATIONS = 12  # of conjugate gradients in one Newton step
_ACCURACY = 1e-8
# Of the solved weights, at most. Without any, the lemma has lost its digits when many variables are
# free: LLW on two classes of iris ends at a gap of 4e-5 for C = 1,000 and of 1e-4 for C = 100,000;
# with two at 8e-7 and 4e-6, with four at 8e-7 and 9e-8 with one kind of processor and at 3e-8 and
# 2e-5 with another, with eight at 8e-7 and 4e-7 there (tests/test_interior_point.py).
_REFINEMENTS = 8
_NEAR = 0.01  # relative gap
_SHORT = 0.1  # a step that is better spent on coming back to the middle
_STALE_STEPS = 12  # without a smaller gap: rounding allows no more


class InteriorPoint:
    """One run on one problem."""

    @staticmethod
    def suits(problem: Problem) -> bool:
        """Say whether the formulation allows it, and the problem has few enough weights."""
        n, d, k = len(problem.y), problem.X.shape[1] + 1, problem.weight_rows
        alone = problem.facts.independent  # every class has a matrix of its own
        return (
            problem.facts.interior_point
            and (d if alone else d * k) <= _MOST_WEIGHTS
            and (k * d * d if alone else 0) <= _MOST_ENTRIES
            and n * k <= _MOST_VARIABLES
            and n * d <= _MOST_ENTRIES
            and float(n) * k * d * d <= _MOST_WORK
        )

    def __init__(self, problem: Problem) -> None:
        self._twin: Any = problem.facts
        X = problem.X.toarray().astype(np.float64)
        if problem.bias:
            X = np.hstack([X, np.full((len(X), 1), problem.bias)])
        self._X = X
        self._y = problem.own_row.astype(np.intp)
        self._own = OwnClass.among(self._y, 0, problem.weight_rows), problem.n_classes
        box = np.asarray(problem.box, dtype=np.float64)
        shape = (len(X), problem.weight_rows)
        squared = problem.loss == "squared_hinge"
        self._q = np.broadcast_to((0.5 / box if squared else 0 * np.isinf(box))[:, None], shape)
        ceiling = np.full(len(X), np.inf) if squared else box
        self._u = np.broadcast_to(ceiling[:, None], shape)
        variables = self._twin.variables(self._y, problem.weight_rows)
        filled = np.any(X != 0, axis=1)[:, None]
        self._mask = variables & filled
        # Of a variable and its multiplier: with an upper bound there are two. Were they counted
        # once, mu would be twice their mean, and steps that should centre would lead away.
        self._products = max(1, int(self._mask.sum() + (np.isfinite(self._u) & self._mask).sum()))
        self._asked = problem.asked()  # of all classes, or 1
        # Samples without entries: their variables are at the bound, whatever the weights.
        empty = np.where(variables & ~filled, box[:, None], 0.0)
        self._empty_value = self._twin.dual_gains(empty, *self._own, self._asked)
        self._box, self._squared = box, squared

    def solve(self, tol: float, goes_on: Callable[[Array], bool]) -> Array:
        """Return dual variables with a relative duality gap of about ``tol``, or near it.

        Before every step ``goes_on`` is given the dual variables.
        """
        # The last steps may run out of digits or of range; the best point before is kept.
        with one_blas_thread(), np.errstate(all="ignore"):
            return self._solve(tol, goes_on)

    def _solve(self, tol: float, goes_on: Callable[[Array], bool]) -> Array:
        mask, u = self._mask, self._u
        bounded = np.isfinite(u) & mask
        squares = np.sum(self._X * self._X, axis=1)
        alone = 1.0 / np.maximum(squares, 1e-300)
        alone = np.broadcast_to((self._box if self._squared else alone)[:, None], u.shape)
        a = np.where(mask, np.where(np.isfinite(u), 0.5 * u, alone), 0.0)
        room = np.where(bounded, u - a, 1.0)
        # Multipliers of the gradient's size, so that the first steps can be long.
        size = max(1.0, float(np.abs(self._margins(a)).max()))
        z = np.where(mask, size, 0.0)
        v = np.where(bounded, size, 0.0)
        best, best_dual, best_gap, stale = a, -np.inf, np.inf, 0
        for _ in range(_STEPS):
            margins = self._margins(a)
            gap, size = self._gap(a, margins)
            dual = float(self.duals(a).sum())
            better = dual - best_dual > 1e-3 * abs(dual) or gap < 0.9 * best_gap
            stale = 0 if better else stale + 1
            # Every point is feasible for the dual, whose value tells how good it is to start
            # from; the primal at its weights may be far off for long. Near the end the gap tells.
            if gap < best_gap if min(gap, best_gap) <= _NEAR * size else dual > best_dual:
                best = a
            best_gap, best_dual = min(gap, best_gap), max(dual, best_dual)
            mu = float(np.sum(a * z) + np.sum(room * v * bounded)) / self._products
            done = gap <= tol * size or not np.isfinite(mu) or stale > _STALE_STEPS
            if done or not goes_on(a):
                break
            try:
                a, z, v = self._newton(a, z, v, margins, mu)
            except (np.linalg.LinAlgError, ValueError):
                break  # the matrix has lost its last digits
            room = np.where(bounded, u - a, 1.0)
        snapped = self._snapped(best)
        gap, size = self._gap(snapped, self._margins(snapped))
        # Many variables that are next to a bound can be worth more than the tolerance together.
        return snapped if gap <= max(tol * size, best_gap) else best

    def duals(self, a: Array) -> Array:
        """Return the dual objective, class by class."""
        with one_blas_thread():  # sums of several threads differ in their last bits
            W = self._weights(a)
        squares = np.sum(self._q * a * a, axis=0) + np.sum(W * W, axis=1)
        duals: Array = self._twin.dual_gains(a, *self._own, self._asked) - 0.5 * squares
        return duals + self._empty_value

    def relative_gap(self, a: Array) -> float:
        with one_blas_thread(), np.errstate(all="ignore"):
            gap, size = self._gap(a, self._margins(a))
            return gap / size

    def _snapped(self, a: Array) -> Array:
        """Put variables that are next to a bound on it; an interior point has none there."""
        a = np.where(a < 1e-10 * a.max(), 0.0, a)
        return np.where(a > (1 - 1e-10) * self._u, self._u, a)

    def _weights(self, a: Array) -> Array:
        weights: Array = self._twin.weights(a, self._X, self._y)
        return weights

    def _margins(self, a: Array) -> Array:
        """Return the gradient of the dual."""
        scores = self._X @ self._weights(a).T
        margins: Array = self._twin.margins(scores, self._y, self._asked) - self._q * a
        return np.where(self._mask, margins, 0.0)

    def _gap(self, a: Array, margins: Array) -> tuple[float, float]:
        """Return primal minus dual at ``a``, and the size to compare it with."""
        hinge = np.where(self._mask, np.maximum(margins + self._q * a, 0), 0)
        dual = float(np.sum(self.duals(a)))
        if np.isinf(self._box[0]):
            largest = float(margins.max())
            primal = self._half_norm(a) / (1 - largest) ** 2 if largest < 1 else np.inf
        else:
            loss = self._box[:, None] * (hinge * hinge if self._squared else hinge)
            primal = self._half_norm(a) + float(np.sum(loss) + self._empty_value.sum())
        return primal - dual, max(abs(dual), 1e-300)

    def _half_norm(self, a: Array) -> float:
        W = self._weights(a)
        return 0.5 * float(np.sum(W * W))

    def _newton(
        self, a: Array, z: Array, v: Array, margins: Array, mu: float
    ) -> tuple[Array, Array, Array]:
        mask, bounded = self._mask, np.isfinite(self._u) & self._mask
        room = np.where(bounded, self._u - a, 1.0)
        safe = np.where(mask, a, 1.0)
        diagonal = np.where(mask, self._q + z / safe + v / room, 1.0)
        inverse = np.where(mask, 1.0 / diagonal, 0.0)
        blocks = self._twin.normal_matrix(inverse, self._X, self._y)
        factor = [_cholesky(block) for block in blocks]
        residual = np.where(mask, margins + z - v, 0.0)

        def step(target_z: Array, target_v: Array) -> tuple[Array, Array, Array]:
            right = residual + target_z / safe - target_v / room
            da = self._inverse_times(right * mask, inverse, diagonal, factor)
            dz = np.where(mask, (target_z - z * da) / safe, 0.0)
            dv = np.where(bounded, (target_v + v * da) / room, 0.0)
            return da, dz, dv

        def reach(da: Array, dz: Array, dv: Array) -> float:
            return min(_room(a, da), _room(room, -da * bounded), _room(z, dz), _room(v, dv))

        da, dz, dv = step(-z * a, -v * room * bounded)
        far = reach(da, dz, dv)
        ahead = np.sum((z + far * dz) * (a + far * da))
        ahead += np.sum(bounded * (v + far * dv) * (room - far * da))
        centre = mu * (max(0.0, float(ahead)) / self._products / mu) ** 3
        da, dz, dv = step(
            np.where(mask, centre - z * a - dz * da, 0.0),
            np.where(bounded, centre - v * room + dv * da, 0.0),
        )
        far = reach(da, dz, dv)
        if far < _SHORT:
            # Some products are far below their mean, and block the way: bring them up first.
            da, dz, dv = step(
                np.where(mask, mu - z * a, 0.0), np.where(bounded, mu - v * room, 0.0)
            )
            far = reach(da, dz, dv)
        far *= 0.995
        return a + far * da, z + far * dz, v + far * dv

    def _inverse_times(
        self, right: Array, inverse: Array, diagonal: Array, factor: list[Any]
    ) -> Array:
        """Return (diagonal + B'B)^-1 right.

        The lemma cancels where variables are free, so it only preconditions conjugate gradients;
        one iteration is enough most of the time.
        """
        solved, left = np.zeros_like(right), right
        direction, before = np.zeros_like(right), 0.0
        wanted = _ACCURACY * float(np.linalg.norm(right))
        for _ in range(_ITERATIONS):
            step = self._lemma(left, inverse, factor)
            size = float(np.sum(step * left))
            if not 0 < size < np.inf:
                break
            direction = step + (size / before if before else 0.0) * direction
            before = size
            image = diagonal * direction * self._mask + self._transposed(self._weights(direction))
            length = size / float(np.sum(direction * image))
            solved = solved + length * direction
            left = left - length * image
            if float(np.linalg.norm(left)) <= wanted:
                break
        return solved

    def _lemma(self, right: Array, inverse: Array, factor: list[Any]) -> Array:
        left, solved = right, np.zeros(1)
        for _ in range(1 + _REFINEMENTS):
            W = self._weights(inverse * left) - solved
            parts = W.reshape(len(factor), -1)
            found = [scipy.linalg.cho_solve(f, part) for f, part in zip(factor, parts, strict=True)]
            step = np.stack(found).reshape(W.shape)
            solved = solved + step
            left = right - self._transposed(solved)
            if float(np.linalg.norm(step)) <= _ACCURACY * float(np.linalg.norm(solved)):
                break
        return inverse * left

    def _transposed(self, W: Array) -> Array:
        """Return B' W: how the margins fall with the weights."""
        scores = self._X @ W.T
        still = self._twin.margins(np.zeros_like(scores), self._y)
        return np.where(self._mask, still - self._twin.margins(scores, self._y), 0.0)


def _cholesky(block: Array) -> Any:
    """Return a factor of I + block, with as little added to the diagonal as rounding asks for."""
    rows = np.arange(len(block))
    block[rows, rows] += 1.0
    added = 1e-14
    for _ in range(6):
        try:
            return scipy.linalg.cho_factor(block, lower=True)
        except np.linalg.LinAlgError:
            # Relative to each, since features may be of very different size.
            block[rows, rows] *= 1 + added
            added *= 30
    return scipy.linalg.cho_factor(block, lower=True)


def _room(value: Array, change: Array) -> float:
    """Return the longest step in [0, 1] that keeps ``value + step * change`` at or above 0."""
    shrinking = change < 0
    return min(1.0, float(np.min(-value[shrinking] / change[shrinking], initial=1.0)))
