"""Observers of a fit: a progress bar, and scikit-learn's callbacks, from its version 1.9 on."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, TypeVar, cast

import sklearn
from tqdm import tqdm

from multimargin.solvers._records import ScanRecord, Weights

__all__ = ["Bar", "CallbackSupportMixin", "FitTasks", "note", "with_callbacks"]

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
    """The tasks of one fit as scikit-learn's callbacks see them: the fit, and each scan in it.

    An observer of the fit. Callbacks that want the model as it is get `attributes` of its weights.
    """

    def __init__(
        self, estimator: Any, X: Any, y: Any, attributes: Callable[[Weights], dict[str, Any]]
    ) -> None:
        self._given = {"estimator": estimator, "X": X, "y": y}
        self._attributes = attributes
        self._context = None
        if hasattr(estimator, "_init_callback_context"):
            self._context = estimator._init_callback_context(max_subtasks=None)
            self._context.call_on_fit_task_begin(**self._given)

    def on_pass(self, passes: int) -> None:
        pass

    def on_scan(self, record: ScanRecord, weights: Callable[[], Weights]) -> bool:
        if self._context is None:
            return False
        task = self._context.subcontext(task_name="scan")
        task.call_on_fit_task_begin(**self._given)
        return self._ended(task, weights)

    def close(self) -> None:
        pass

    def fit_ended(self, weights: Weights) -> None:
        if self._context is not None:
            self._ended(self._context, lambda: weights)

    def _ended(self, task: Any, weights: Callable[[], Weights]) -> bool:
        made = {"reconstruction_attributes": lambda: self._attributes(weights())}
        return bool(task.call_on_fit_task_end(**self._given, **made))


def note(text: str) -> None:
    """Say something on stderr; not through the progress bar, which may be there already."""
    tqdm.write(f"multimargin: {text}", file=sys.stderr)


class Bar:
    """A progress bar on stderr, of the decades that the measure has come down towards ``tol``."""

    def __init__(self, name: str, tol: float, measure: str) -> None:
        self._measure, self._tol, self._last = measure, tol, ""
        self._start: float | None = None
        self._bar: Any = tqdm(
            total=100,
            desc=name,
            file=sys.stderr,
            bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed}{postfix}",
        )

    def on_pass(self, passes: int) -> None:
        self._bar.set_postfix_str(f"{self._last}pass {passes}", refresh=False)
        self._bar.update(0)

    def on_scan(self, record: ScanRecord, weights: Callable[[], Weights]) -> bool:
        value = record.gap if self._measure == "gap" else record.violation
        if self._start is None:
            self._start = max(value, self._tol * 1.01)
        done = math.log(self._start / max(value, self._tol)) / math.log(self._start / self._tol)
        self._bar.n = round(100 * min(1.0, max(0.0, done)), 1)
        self._last = f"gap {record.gap:.2%}, {record.active:,} active pairs, "
        self._bar.set_postfix_str(f"{self._last}pass {record.passes}", refresh=True)
        return False

    def close(self) -> None:
        self._bar.close()
