"""scikit-learn's callback interface, from version 1.9 on; without it fits have no callbacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import sklearn

_Method = TypeVar("_Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin: an estimator without callbacks."""

        def set_callbacks(self, *callbacks: object) -> Any:
            """Say which version has callbacks."""
            raise NotImplementedError(
                "callbacks need scikit-learn 1.9 or newer, and this is scikit-learn "
                f"{sklearn.__version__}; history_ and verbose=1 show the progress of a fit here"
            )

    def _with_callbacks(method: Any) -> Any:
        return method


def with_callbacks(method: _Method) -> _Method:
    """scikit-learn's decorator, with types: it ships none."""
    return cast(_Method, _with_callbacks(method))


class FitTasks:
    """The tasks of one fit as scikit-learn's callbacks see them: the fit, and each scan in it."""

    def __init__(self, estimator: Any, X: Any, y: Any) -> None:
        self._estimator = estimator
        self._data = {"X": X, "y": y}
        self._context = None
        if hasattr(estimator, "_init_callback_context"):
            self._context = estimator._init_callback_context(max_subtasks=None)
            self._context.call_on_fit_task_begin(estimator=estimator, **self._data)

    def scan_ended(self, attributes: Callable[[], dict[str, Any]]) -> bool:
        """Report a scan; True if a callback asks to stop.

        ``attributes`` makes the fitted attributes of the model as it is now, if they are wanted.
        """
        if self._context is None:
            return False
        task = self._context.subcontext(task_name="scan")
        task.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        return bool(
            task.call_on_fit_task_end(
                estimator=self._estimator, reconstruction_attributes=attributes, **self._data
            )
        )

    def fit_ended(self, attributes: Callable[[], dict[str, Any]]) -> None:
        if self._context is not None:
            self._context.call_on_fit_task_end(
                estimator=self._estimator, reconstruction_attributes=attributes, **self._data
            )


__all__ = ["CallbackSupportMixin", "FitTasks", "with_callbacks"]
