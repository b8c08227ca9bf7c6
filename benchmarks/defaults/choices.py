"""What can be chosen: a formulation with its loss and intercept, and a rule that says C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Intercept = bool | str  # False, True or "free"

FIXED, BY_NORM, BY_LENGTH = "a", "a/|x|", "a/|x|^2"
BY_ROOT, BY_BOTH = "a/sqrt(K)", "a/(sqrt(K)|x|)"
# Powers of the number of classes and of the mean squared length of a sample that C falls with.
_FORMS = {
    FIXED: (0.0, 0.0),
    BY_NORM: (0.0, 0.5),
    BY_LENGTH: (0.0, 1.0),
    BY_ROOT: (0.5, 0.0),
    BY_BOTH: (0.5, 0.5),
}


@dataclass(frozen=True)
class Kind:
    """A formulation, its loss and its intercept."""

    formulation: str
    loss: str = "hinge"
    intercept: Intercept = False

    def __str__(self) -> str:
        squared = "-squared" if self.loss == "squared_hinge" else ""
        words = {False: "none", True: "True"}
        return f"{self.formulation}{squared}, intercept {words.get(self.intercept, self.intercept)}"  # type: ignore[arg-type]


LINEAR_SVC = Kind("LinearSVC", "squared_hinge", True)

# In the order in which they are measured: what decides comes first.
KINDS = (
    Kind("cs"),
    Kind("ww"),
    Kind("ovr", "squared_hinge", True),
    Kind("cs", intercept="free"),
    Kind("ww", intercept="free"),
    Kind("ovr", "squared_hinge"),
    Kind("cs", intercept=True),
    Kind("ww", intercept=True),
    Kind("ovr"),
    Kind("ovr", intercept=True),
)
LATE_KINDS = KINDS[-2:]  # after all steps of the others
FEW_CLASSES_KINDS = (Kind("llw"),)  # where there are few, since its models are dense
FEW_CLASSES = 30


@dataclass(frozen=True)
class Rule:
    """A number and how C follows from it: fixed, or falling with classes or lengths."""

    number: float
    form: str = FIXED

    def __str__(self) -> str:
        return f"C = {self.form.replace('a', f'{self.number:g}', 1)}"

    def of(self, n_classes: int, squared_norm: float) -> float:
        """C for a set."""
        classes, length = _FORMS[self.form]
        return float(self.number / n_classes**classes / squared_norm**length)


def rules(kind: Kind) -> list[Rule]:
    """All rules that a kind may have; only a loss that adds up over classes falls with them."""
    forms = [FIXED, BY_NORM, BY_LENGTH]
    if kind.formulation == "ww":
        forms += [BY_ROOT, BY_BOTH]
    return [Rule(number, form) for form in forms for number in _numbers(-2, 2)]


def _numbers(first: int, last: int) -> list[float]:
    """1, 2 and 5 times the powers of ten from the first to the last."""
    return [float(f"{digit}e{power}") for power in range(first, last + 1) for digit in (1, 2, 5)]


def penalties(kind: Kind, n_classes: int, squared_norm: float) -> list[float]:
    """The values of C that are measured on a set, rising: 1 and what is good, with room.

    For rows of unit length and Crammer-Singer from 0.05 to 10. Rows t times as long have the same
    model at C / t^2, so that the range reaches down to there.
    """
    low, high = 0.05, 10.0
    if kind.formulation == "ww":
        low, high = (0.01, 10.0) if n_classes < 300 else (0.05, 2.0)
    if kind.formulation == "llw":
        low, high = max(1.0, n_classes / 30), 300.0
    long = max(1.0, squared_norm)
    return [C for C in _numbers(-5, 2) if low / long * 0.99 <= C <= high * 1.01]


def nearest(C: float, measured: Sequence[float]) -> float:
    """The measured value that is nearest in ratio."""
    return min(measured, key=lambda other: abs(np.log(other / C)))
