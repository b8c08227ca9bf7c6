"""Observers of a fit: a progress bar, and scikit-learn's callbacks, from its version 1.9 on."""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

import sklearn
from tqdm import tqdm

from multimargin.estimator._time_left import TimeLeft, said
from multimargin.solvers._records import ScanRecord, Weights

__all__ = ["Bar", "CallbackSupportMixin", "FitTasks", "note", "with_callbacks"]

_INTERVAL = 0.1  # seconds between two states of a bar
_Method = TypeVar("_Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin: an estimator without callbacks."""

        def set_callbacks(self, *callbacks: object) -> Any:
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

    def on_pass(self, passes: int, done: float | None = None) -> None:
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


def progress_bar(**options: Any) -> Any:
    """Return tqdm's bar: a widget in notebooks that show them, else text on stderr."""
    if "IPython" not in sys.modules:
        return tqdm(file=sys.stderr, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about notebooks without widgets, which get text
        from tqdm import auto
    return auto.tqdm(file=sys.stderr, **options)


class Bar:
    """A progress bar on stderr, of the decades that the measure has come down towards ``tol``.

    It moves on between scans, too, and tells about how long the fit will still take.
    """

    def __init__(
        self, name: str, tol: float, measure: str, time_limit: float | None = None
    ) -> None:
        self._measure, self._last = measure, ""
        self._time_limit = math.inf if time_limit is None else time_limit
        # Of zero weights, with which every fit begins, the gap is 1.
        self._estimate = TimeLeft(tol, 1.0 if measure == "gap" else None)
        self._began = self._shown = time.monotonic()
        shown = "{desc} {percentage:3.0f}%|{bar}| {elapsed}{postfix}"
        self._bar = progress_bar(total=100, desc=name, bar_format=shown)

    def on_pass(self, passes: int, done: float | None = None) -> None:
        if done is not None:
            self._estimate.add_work(done)
        if time.monotonic() - self._shown >= _INTERVAL:
            self._show(passes)

    def on_scan(self, record: ScanRecord, weights: Callable[[], Weights]) -> bool:
        value = record.gap if self._measure == "gap" else record.violation
        self._estimate.add(time.monotonic() - self._began, value)
        self._last = f"gap {record.gap:.2%}, {record.active:,} active pairs, "
        self._show(record.passes)
        return False

    def _show(self, passes: int) -> None:
        self._shown = time.monotonic()
        now = self._shown - self._began
        self._bar.n = max(self._bar.n, round(100 * self._estimate.done(now), 1))
        left = self._estimate.left(now)
        if left is not None:
            left = min(left, max(0.0, self._time_limit - now))
        about = f"about {said(left)} left, " if left is not None and self._bar.n < 100 else ""
        self._bar.set_postfix_str(f"{about}{self._last}pass {passes}", refresh=True)

    def close(self) -> None:
        self._bar.close()
