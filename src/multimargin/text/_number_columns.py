"""Standardised features of columns of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multimargin.text._raw_columns import BadValueError, is_missing, says_missing

# Squares of it can be added in double precision.
_LARGEST = 1e150


@dataclass(eq=False)
class NumberColumns:
    """Columns of numbers, less their mean and divided by their standard deviation.

    A missing number is the mean, which is zero then. `mean` and `scale` have a number per column.
    """

    names: tuple[str, ...]
    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def fitted(
        cls, names: tuple[str, ...], columns: Sequence[Sequence[Any]]
    ) -> tuple[NumberColumns, sp.csr_matrix]:
        """Return the columns learned from their values, and their features."""
        mean, scale = np.zeros(len(names)), np.ones(len(names))
        numbers = [_numbers(name, values) for name, values in zip(names, columns, strict=True)]
        for j, column in enumerate(numbers):
            known = column[~np.isnan(column)]
            if len(known):
                mean[j], scale[j] = known.mean(), known.std()
                if known.min() == known.max():  # rounding would be all that is left
                    mean[j], scale[j] = known[0], 1.0
                elif scale[j] <= 1e-12 * abs(mean[j]):
                    scale[j] = 1.0
        fitted = cls(names, mean, scale)
        return fitted, fitted._standardised(numbers)

    def transform(self, columns: Sequence[Sequence[Any]]) -> sp.csr_matrix:
        """Return the features of new values, float32."""
        named = zip(self.names, columns, strict=True)
        return self._standardised([_numbers(name, values) for name, values in named])

    def _standardised(self, numbers: Sequence[NDArray[np.float64]]) -> sp.csr_matrix:
        values = (np.column_stack(numbers) - self.mean) / self.scale
        values[np.isnan(values)] = 0.0
        for row, j in np.argwhere(np.abs(values) > np.finfo(np.float32).max ** 0.5):
            raise BadValueError(
                self.names[j],
                int(row),
                f"{numbers[j][row]:g} is too far from the numbers of the training data, whose "
                f"mean is {self.mean[j]:g}",
            )
        return sp.csr_matrix(values.astype(np.float32))


def _numbers(name: str, values: Sequence[Any]) -> NDArray[np.float64]:
    """Return the numbers of a column, NaN where one is missing."""
    numbers = np.empty(len(values))
    for row, value in enumerate(values):
        if is_missing(value) or (isinstance(value, str) and says_missing(value)):
            numbers[row] = np.nan
            continue
        try:
            numbers[row] = float(value)
        except (TypeError, ValueError, OverflowError):
            raise BadValueError(name, row, f"{str(value)[:40]!r} is not a number") from None
        if abs(numbers[row]) > _LARGEST:
            raise BadValueError(
                name, row, f"{numbers[row]:g} is too large; at most {_LARGEST:g} can be used"
            )
    return numbers
