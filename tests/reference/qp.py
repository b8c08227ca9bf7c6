"""An interior point for dual problems over boxes, for large C too.

At C = 1e4 most variables are free, they outnumber the rank, and rounding makes the matrix
indefinite: it then factors a slightly larger matrix and mends what that costs by refinement.
"""

from functools import cache, wraps

import numpy as np
import scipy.linalg
import threadpoolctl


@cache
def _libraries():
    return threadpoolctl.ThreadpoolController()


def one_blas_thread(solve):
    """Let a solver have one thread of BLAS.

    On two busy cores a program of 250 variables took 0.2 s with one thread, and 5 s with two.
    """

    @wraps(solve)
    def limited(*args, **kwargs):
        with _libraries().limit(limits=1):
            return solve(*args, **kwargs)

    return limited


def require_certified(primal, dual, max_gap):
    """Refuse a point whose own duality gap is too large for a reference."""
    if not primal - dual <= max_gap * abs(primal):
        raise ArithmeticError(f"the reference stopped at primal {primal!r}, dual {dual!r}")


def room(value, change):
    """Longest step in [0, 1] that keeps ``value + step * change`` at or above 0."""
    shrinking = change < 0.0
    return min(1.0, np.min(-value[shrinking] / change[shrinking], initial=1.0))


class _System:
    """``A x = r`` for a positive semidefinite ``A``, scaled to a unit diagonal."""

    def __init__(self, A):
        self._scale = 1.0 / np.sqrt(np.diag(A))
        self._A = A * self._scale[:, None] * self._scale[None, :]
        ridge = 0.0
        while True:
            try:
                self._factor = scipy.linalg.cho_factor(self._A + ridge * np.eye(len(A)))
                break
            except scipy.linalg.LinAlgError:
                ridge = max(1e-15, 10.0 * ridge)

    def solve(self, r):
        r = r * self._scale
        x = np.zeros(len(r))
        for _ in range(4):
            x = x + scipy.linalg.cho_solve(self._factor, r - self._A @ x)
        return x * self._scale


@one_blas_thread
def solve_box_qp(Q, upper, gain=1.0, tol=1e-11, max_iter=200):
    """Maximise ``gain'a - 1/2 a'Qa`` over ``0 <= a <= upper``, whatever the size of ``upper``.

    Mehrotra's predictor and corrector; the dense system costs p^3 for p variables, which is what
    keeps this to tiny problems. Returns ``a``, which the caller certifies by a duality gap.
    """
    a = np.zeros(len(upper))
    live = upper > 0.0
    # In units of the box every variable lives in [0, 1], whatever C is.
    scale = upper[live]
    gains = np.broadcast_to(gain, upper.shape)[live] * scale
    H = Q[np.ix_(live, live)] * scale[:, None] * scale[None, :]
    x = np.full(len(scale), 0.5)
    z, v = scale.copy(), scale.copy()  # multipliers of x >= 0 and x <= 1
    best, best_gap, stale = x, np.inf, 0
    for _ in range(max_iter):
        curved = H @ x
        gradient = curved - gains
        # P - D at this very point, multipliers or not.
        gap = (1.0 - x) @ np.maximum(0.0, -gradient) + x @ np.maximum(0.0, gradient)
        stale = 0 if gap < 0.5 * best_gap else stale + 1
        if gap < best_gap:
            best, best_gap = x, gap
        size = max(1e-300, abs(gains @ x - 0.5 * x @ curved))
        mu = (z @ x + v @ (1.0 - x)) / (2.0 * max(1, len(x)))
        # The second test ends a run that rounding keeps from the first.
        if gap <= tol * size or mu * len(x) <= 1e-4 * tol * size:
            break
        system = _System(H + np.diag(z / x + v / (1.0 - x)))

        def step_to(target_z, target_v, system=system, residual=gradient - z + v, x=x, z=z, v=v):
            dx = system.solve(-residual + target_z / x - target_v / (1.0 - x))
            return dx, (target_z - z * dx) / x, (target_v + v * dx) / (1.0 - x)

        dx, dz, dv = step_to(-z * x, -v * (1.0 - x))
        t = min(room(x, dx), room(1.0 - x, -dx), room(z, dz), room(v, dv))
        ahead = (z + t * dz) @ (x + t * dx) + (v + t * dv) @ (1.0 - x - t * dx)
        centre, bent = mu * (ahead / (2.0 * len(x)) / mu) ** 3, 1.0
        if stale > 6:
            centre, bent = 0.1 * mu, 0.0  # the corrector can go in circles: plain steps do not
        dx, dz, dv = step_to(
            -z * x + centre - bent * dz * dx, -v * (1.0 - x) + centre + bent * dv * dx
        )
        t = 0.995 * min(room(x, dx), room(1.0 - x, -dx), room(z, dz), room(v, dv))
        x, z, v = x + t * dx, z + t * dz, v + t * dv
    a[live] = np.clip(best * scale, 0.0, scale)
    return a
