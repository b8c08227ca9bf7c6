"""Values of C to try."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from numbers import Real
from typing import Any, cast

import numpy as np

from multimargin.estimator._names import FormulationName
from multimargin.formulations import FORMULATIONS

_COUNT = 10
_DECADES = 2.5
_MORE = 3  # values beyond an end of the grid, as far from each other as the ten


def default_penalties(formulation: FormulationName, n_classes: int) -> tuple[float, ...]:
    """Return the ten values of C that are tried where none are given, rising geometrically.

    "cs", "ovr" and "mmr": 0.03 to 10, which for samples of about unit length (texts)
    reaches from models near the class means to models that fit all training samples. "ww", whose
    loss adds up over classes: the same, but for less than 333 classes from 10 / `n_classes` on, at
    most 0.1. Below that every sample needs most classes to reach its margin: fits are slow, and
    models dense and no better. "llw", "ats" and "rm": from `n_classes` / 100, at least 1 and at
    most 10, to 316 times that, since below nearly all dual variables are at C, and models are the
    same but for their scale. "adm" and "atm": from the square of `n_classes` / 40, for
    the same reason.

    Parameters
    ----------
    formulation : {"ww", "cs", "llw", "ovr", "adm", "ats", "atm", "mmr", "rm"}
    n_classes : int

    Examples
    --------
    >>> from multimargin.selection import default_penalties
    >>> [round(C, 2) for C in default_penalties("cs", 20)]
    [0.03, 0.06, 0.11, 0.2, 0.39, 0.73, 1.39, 2.64, 5.0, 9.49]
    """
    low = FORMULATIONS[check_formulation(formulation)].least_penalty(n_classes)
    return tuple(float(C) for C in low * np.logspace(0, _DECADES, _COUNT))


def beyond(Cs: Iterable[float], edge: str) -> tuple[float, ...]:
    """Return more values of C, rising, beyond the "smallest" or the "largest" of some."""
    step = 10 ** (_DECADES / (_COUNT - 1))
    if edge == "smallest":
        return tuple(min(Cs) * step**k for k in range(-_MORE, 0))
    return tuple(max(Cs) * step**k for k in range(1, _MORE + 1))


def check_formulation(name: Any) -> FormulationName:
    """Return the name of a formulation, or raise a ValueError."""
    if not isinstance(name, str) or name not in FORMULATIONS:
        known = " or ".join(repr(one) for one in FORMULATIONS)
        raise ValueError(f"formulation must be {known}, got {name!r}")
    return cast(FormulationName, name)


def checked_penalties(Cs: Any) -> tuple[float, ...]:
    """Return positive, finite and different values of C in rising order, or raise a ValueError."""
    given = [Cs] if isinstance(Cs, Real) else list(Cs) if isinstance(Cs, Iterable) else [Cs]
    if not given:
        raise ValueError("Cs is empty: give at least one value of C, or None for the default ones")
    for C in given:
        if not isinstance(C, Real) or isinstance(C, bool) or not 0 < float(C) < np.inf:
            raise ValueError(f"Cs must hold positive finite numbers, got {C!r}")
    values = sorted(float(C) for C in given)
    twice = [a for a, b in pairwise(values) if a == b]
    if twice:
        raise ValueError(f"Cs holds {twice[0]:g} twice: give each value once")
    return tuple(values)
