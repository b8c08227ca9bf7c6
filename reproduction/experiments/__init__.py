"""The experiments by the names that users write, in the order of the report."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from reproduction.interface._experiment import Experiment


def _of(module: str, name: str) -> Callable[[], Experiment]:
    """Import an experiment only when it is asked for."""

    def make_one() -> Experiment:
        kind: type[Experiment] = getattr(import_module(f"reproduction.experiments.{module}"), name)
        return kind()

    return make_one


EXPERIMENTS: dict[str, Callable[[], Experiment]] = {
    "validation": _of("_validation", "Validation"),
    "lshtc": _of("_lshtc", "Lshtc"),
    "llw": _of("_llw", "Llw"),
    "speedup": _of("_speedup", "Speedup"),
    "timing": _of("_timing", "Timing"),
}


def make(name: str) -> Experiment:
    """Return a new experiment, with nothing loaded."""
    return EXPERIMENTS[name]()
