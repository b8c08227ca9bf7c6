"""A second interior point for dual problems, for large C too.

`reference.solve_box_qp` factors the Hessian with Cholesky. At C = 1e4 most variables are free,
they outnumber the rank, and rounding makes the matrix indefinite; this one then factors a slightly
larger matrix and mends what that costs by refinement.
"""

import numpy as np
import scipy.linalg

from tests.reference.ww import _room


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


def solve_large_box_qp(Q, upper, tol=1e-11, max_iter=200):
    """Maximise ``1'a - 1/2 a'Qa`` over ``0 <= a <= upper``, whatever the size of ``upper``.

    Mehrotra's predictor and corrector, as in `reference.solve_box_qp`. Returns ``a``, which the
    caller certifies by a duality gap.
    """
    a = np.zeros(len(upper))
    live = upper > 0.0
    # In units of the box every variable lives in [0, 1], whatever C is.
    scale = upper[live]
    H = Q[np.ix_(live, live)] * scale[:, None] * scale[None, :]
    x = np.full(len(scale), 0.5)
    z, v = scale.copy(), scale.copy()  # multipliers of x >= 0 and x <= 1
    best, best_gap = x, np.inf
    for _ in range(max_iter):
        curved = H @ x
        gradient = curved - scale
        # P - D at this very point, multipliers or not.
        gap = (1.0 - x) @ np.maximum(0.0, -gradient) + x @ np.maximum(0.0, gradient)
        if gap < best_gap:
            best, best_gap = x, gap
        size = max(1e-300, abs(scale @ x - 0.5 * x @ curved))
        mu = (z @ x + v @ (1.0 - x)) / (2.0 * max(1, len(x)))
        # The second test ends a run that rounding keeps from the first.
        if gap <= tol * size or mu * len(x) <= 1e-4 * tol * size:
            break
        system = _System(H + np.diag(z / x + v / (1.0 - x)))

        def step_to(target_z, target_v, system=system, residual=gradient - z + v, x=x, z=z, v=v):
            dx = system.solve(-residual + target_z / x - target_v / (1.0 - x))
            return dx, (target_z - z * dx) / x, (target_v + v * dx) / (1.0 - x)

        dx, dz, dv = step_to(-z * x, -v * (1.0 - x))
        room = min(_room(x, dx), _room(1.0 - x, -dx), _room(z, dz), _room(v, dv))
        ahead = (z + room * dz) @ (x + room * dx) + (v + room * dv) @ (1.0 - x - room * dx)
        centre = mu * (ahead / (2.0 * len(x)) / mu) ** 3
        dx, dz, dv = step_to(-z * x + centre - dz * dx, -v * (1.0 - x) + centre + dv * dx)
        room = 0.995 * min(_room(x, dx), _room(1.0 - x, -dx), _room(z, dz), _room(v, dv))
        x, z, v = x + room * dx, z + room * dz, v + room * dv
    a[live] = np.clip(best * scale, 0.0, scale)
    return a
