"""Newton steps of the proximal point method, and how strong each proximal step is.

The functions are at the head of ``src/core/rows/row_engine.hpp``. A proximal step of strength s
lets a dual variable move from one bound to the other where its margin is violated by 1 / s. Weak
steps are solved at once, strong ones get far: so the strength grows, the faster the fewer Newton
steps the last proximal step took, and falls where one takes too many. Every Newton step has a
primal value, that of its weights, and a dual value.
"""

from __future__ import annotations

from typing import Any

from multimargin._core import NewtonReport

_MOST_STRENGTH = 1e12
_REDUCTION = 0.1  # of the residual, by conjugate gradients
_SOLVED = 0.25  # residual over what the dual variables moved by: the next point comes closer
_QUICK, _SLOW = 3, 8  # Newton steps in one proximal step
_GROWTH_QUICK, _GROWTH, _GROWTH_SLOW = 5.0, 3.0, 2.0
_MOST_STEPS = 15  # in one proximal step; then it is tried with less strength
_WEAKER = 0.3
_MOST_ITERATIONS = 250  # of conjugate gradients in one step
_SHORT, _MOST_SHORT = 0.02, 3  # lengths of steps; so many in a row, and the point is too strong
_EXACT_GAP, _EXACT_RESIDUAL = 1e-13, 1e-20  # relative to the primal
_STALE = 6  # proximal steps without progress: rounding allows no more
_NUMBERS = ("strength", "steps", "short", "stale", "weakened", "growth", "best_primal", "best_dual")


class Newton:
    """Newton steps of one row engine, from its present weights and dual variables."""

    def __init__(self, engine: Any, strength: float) -> None:
        self._engine, self._strength = engine, strength
        self._steps = self._short = self._stale = 0
        self._weakened = False
        self._growth: float | None = None  # of the strength, at the point that is due
        self.report: NewtonReport = engine.begin_newton(strength)
        self._best_primal, self._best_dual = self.report.primal, self.report.dual

    @classmethod
    def resumed(cls, engine: Any, numbers: dict[str, Any]) -> Newton:
        """Return the steps as `numbers` left them, at a point; the engine has its state."""
        newton = object.__new__(cls)
        newton.__dict__.update({f"_{name}": value for name, value in numbers.items()})
        newton._engine = engine
        return newton

    @property
    def numbers(self) -> dict[str, Any]:
        """All that another run needs besides the engine's state, where `point_is_due`."""
        return {name: getattr(self, f"_{name}") for name in _NUMBERS}

    @property
    def point_is_due(self) -> bool:
        """Whether the proximal step is solved, or given up, and the next step begins another."""
        return self._growth is not None

    @property
    def gap(self) -> float:
        """Relative gap of the present weights and the best dual variables, unless rounded."""
        return (self.report.primal - self.report.dual) / max(abs(self.report.primal), 1e-300)

    @property
    def is_exact(self) -> bool:
        """Whether rounding is all that separates the weights from those of the dual variables."""
        report = self.report
        return self.gap <= _EXACT_GAP and report.residual <= _EXACT_RESIDUAL * abs(report.primal)

    @property
    def exhausted(self) -> bool:
        """Whether further steps change nothing."""
        return self._stale >= _STALE

    def step(self) -> bool:
        """Take one step; return False where the time was up."""
        if self._growth is not None:
            self._strength = min(_MOST_STRENGTH, self._growth * self._strength)
            self._steps = self._short = 0
            self.report = self._engine.next_point(self._strength)
        self._steps += 1
        self.report = self._engine.newton_step(_REDUCTION, _MOST_ITERATIONS)
        self._short = self._short + 1 if self.report.length < _SHORT else 0
        self._growth = self._next_growth()
        if self._growth is not None:
            self._note()
        return bool(self.report.complete)

    def _next_growth(self) -> float | None:
        """Return the factor of the strength for the next point; None: go on with this one."""
        if self.report.residual <= _SOLVED * self.report.moved:
            if self._steps <= _QUICK and not self._weakened:
                return _GROWTH_QUICK
            growth = _GROWTH_SLOW if self._steps > _SLOW or self._weakened else _GROWTH
            self._weakened = False
            return growth
        if self._steps >= _MOST_STEPS or self._short >= _MOST_SHORT:
            self._weakened = True
            return _WEAKER
        return None

    def _note(self) -> None:
        """Look at what the proximal step that ends here has brought."""
        primal, dual = self.report.primal, self.report.dual
        noise = 1e-14 * max(abs(primal), abs(dual))
        better = primal < self._best_primal - noise or dual > self._best_dual + noise
        self._stale = 0 if better else self._stale + 1
        self._best_primal = min(self._best_primal, primal)
        self._best_dual = max(self._best_dual, dual)
