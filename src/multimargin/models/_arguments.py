"""Checks of arguments, with messages that name the argument and the values allowed."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np


def is_number(value: object) -> bool:
    """Whether it is a real number, neither a truth value nor NaN."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return not np.isnan(float(value))
    except OverflowError:  # an integer of hundreds of digits
        return False


def is_whole(value: object, least: int = 1) -> bool:
    """Whether it is an integer, not a truth value, of at least `least`."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def whole_number(name: str, value: Any, least: int) -> int:
    """An integer of at least `least`, or a ValueError."""
    if not is_whole(value, least):
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
    return int(value)


def require(given: Any, ok: object, name: str, allowed: str) -> None:
    """Raise a ValueError about the attribute `name` of `given`, unless it is `ok`."""
    if not ok:
        raise ValueError(f"{name} must be {allowed}, got {getattr(given, name)!r}")


def require_one_of(given: Any, name: str, allowed: Iterable[str | None], where: str = "") -> None:
    """Raise a ValueError unless the attribute `name` of `given` is one of the values allowed."""
    value, choices = getattr(given, name), tuple(allowed)
    ok = isinstance(value, str | None) and value in choices
    require(given, ok, name, " or ".join(repr(one) for one in choices) + where)


def require_flags(given: Any, *names: str) -> None:
    """Raise a ValueError at the first of these attributes that is neither True nor False."""
    for name in names:
        require(given, isinstance(getattr(given, name), bool | np.bool_), name, "True or False")
