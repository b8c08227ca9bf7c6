"""The attributes of a fitted model that functions on models rely on."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray


class LinearModel(Protocol):
    """A fitted linear classifier, such as `MulticlassSVC`."""

    formulation: str
    C: float
    classes_: NDArray[Any]
    coef_: Any
    intercept_: NDArray[Any]
    n_features_in_: int

    def predict(self, X: Any) -> NDArray[Any]: ...
