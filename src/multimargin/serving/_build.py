"""Build the application for a model, with everything checked before the first request."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from multimargin.formulations import FORMULATIONS
from multimargin.persistence import load_model
from multimargin.serving import _schema as schema
from multimargin.serving._limits import Limits
from multimargin.serving.samples import SampleKind, kind_of
from multimargin.serving.samples._examples import given_example, made_examples

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from multimargin.serving._answers import Answers


def require_serving() -> None:
    """Raise an ImportError that names the extra if a library is missing."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"serving needs Starlette and uvicorn ({error.name} is missing): "
            'pip install "multimargin[serve]"'
        ) from error


def served(path: str | os.PathLike[str]) -> SampleKind:
    """Open a model file and check all of it: it may be from elsewhere, and is opened once."""
    return checked_kind(load_model(path, verify=True), os.fspath(path))


def checked_kind(model: Any, name: str) -> SampleKind:
    """Return what a model takes; refuse one that cannot be served."""
    coef: Any = model.coef_
    values = coef if isinstance(coef, np.ndarray) else coef.data
    if not (np.isfinite(values).all() and np.isfinite(model.intercept_).all()):
        raise ValueError(f"{name}: the model has coefficients that are not numbers: train it again")
    if len(model.classes_) < 2:
        raise ValueError(f"{name}: the model has one label: there is nothing to compare it with")
    try:
        return kind_of(model)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def create_app(
    model: Any,
    *,
    name: str = "model",
    threads: int = 1,
    limits: Limits | None = None,
    hosts: Collection[str] | None = None,
    examples: Sequence[str] = (),
) -> Starlette:
    """Return the page and the JSON endpoint of a model as an ASGI application.

    Parameters
    ----------
    model : MulticlassSVC
        A fitted estimator, of texts, of columns of a table, or of numbers such as embeddings.
    name : str, default="model"
        Its name on the page.
    threads : int, default=1
        Threads for requests of many samples.
    limits : Limits, default=None
        Limits of requests; by default ``Limits()``.
    hosts : collection of str, default=None
        Names by which the server may be called, such as ``"localhost"``; None is any.
    examples : sequence of str, default=()
        Texts that the page offers; rows as JSON for a model that takes rows. Without any, they are
        made of the largest weights of some classes.

    Returns
    -------
    app : starlette.applications.Starlette
        For ``uvicorn.run(app)``, or to be mounted into another application.

    Raises
    ------
    ImportError
        If Starlette is missing: ``pip install "multimargin[serve]"``.
    ValueError
        If the model has coefficients that are not numbers, was trained on samples that were
        treated in a way unknown here, or does not take an example.

    Examples
    --------
    >>> from multimargin import TextClassifier
    >>> from multimargin.serving import create_app
    >>> model = TextClassifier().fit(["red rose", "fast car"], ["flower", "vehicle"])
    >>> app = create_app(model, name="things")
    >>> app.routes[0].path
    '/predict'
    """
    require_serving()
    from multimargin.serving._answers import Answers
    from multimargin.serving._routes import build

    limits = limits or Limits()
    answers = Answers(checked_kind(model, name), threads=threads)
    return build(answers, about_model(answers, name, limits, examples), limits, hosts)


def about_model(
    answers: Answers, name: str, limits: Limits, examples: Sequence[str]
) -> schema.Model:
    """Return the answer of ``/model``; without examples, they are made from the weights."""
    from multimargin import __version__

    kind = answers.kind
    model = kind.model
    formulation = FORMULATIONS[model.formulation]
    about: schema.Model = {
        "name": name,
        "classes": len(model.classes_),
        "features": int(model.n_features_in_),
        "takes": kind.takes,
        "columns": kind.columns,
        "formulation": str(model.formulation),
        "formulation_title": formulation.title,
        "C": _number(formulation.penalty(model.C, model.loss)),
        "tol": _number(model.tol),
        "gap": _number(getattr(model, "dual_gap_", None)),
        "converged": getattr(model, "converged_", None),
        "calibrated": hasattr(model, "calibration_"),
        "version": __version__,
        "examples": (
            [given_example(text, kind, limits) for text in examples] or made_examples(answers)
        ),
        "limits": {
            "max_bytes": limits.max_bytes,
            "max_texts": limits.max_texts,
            "max_chars": limits.max_chars,
            "max_k": min(limits.max_k, len(model.classes_)),
            "rate": limits.rate,
        },
    }
    if kind.analyzer is not None:
        about["analyzer"] = kind.analyzer
    return about


def _number(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
