"""Build the application for a model, with everything checked before the first request."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from multimargin.datasets._wordnet_examples import examples_of
from multimargin.formulations import FORMULATIONS
from multimargin.persistence import load_model
from multimargin.serving import _schema as schema
from multimargin.serving._limits import Limits

if TYPE_CHECKING:
    from starlette.applications import Starlette

_RETRAIN = (
    "train one on texts: 'multimargin train DATA.csv MODEL --text COLUMN --label COLUMN', or "
    "multimargin.TextClassifier"
)


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


def served_model(path: str | os.PathLike[str]) -> Any:
    """Open a model file and check all of it: it may be from elsewhere, and is opened once."""
    model = load_model(path, verify=True)
    check_served(model, os.fspath(path))
    return model


def check_served(model: Any, name: str) -> None:
    """Refuse models that take anything but one text."""
    features = getattr(model, "features_", None)
    if features is None:
        raise ValueError(
            f"{name}: the model has no text features, so texts cannot be asked of it; {_RETRAIN}"
        )
    texts, numeric, categorical = features.column_names()
    more = [*texts[1:], *numeric, *categorical]
    if more or (not texts and len(features._texts) != 1):
        raise ValueError(
            f"{name}: the model needs the columns {', '.join([*texts, *numeric, *categorical])}; "
            f"the page has one text and nothing else; {_RETRAIN}, with one --text column"
        )
    coef: Any = model.coef_
    values = coef if isinstance(coef, np.ndarray) else coef.data
    if not (np.isfinite(values).all() and np.isfinite(model.intercept_).all()):
        raise ValueError(f"{name}: the model has coefficients that are not numbers: train it again")


def create_app(
    model: Any,
    *,
    name: str = "model",
    threads: int = 1,
    limits: Limits | None = None,
    hosts: Collection[str] | None = None,
    examples: Sequence[str] = (),
) -> Starlette:
    """Return the page and the JSON endpoint of a text model as an ASGI application.

    Parameters
    ----------
    model : TextClassifier
        Fitted on texts alone.
    name : str, default="model"
        Its name on the page.
    threads : int, default=1
        Threads for requests of many texts.
    limits : Limits, default=None
        Limits of requests; by default ``Limits()``.
    hosts : collection of str, default=None
        Names by which the server may be called, such as ``"localhost"``; None is any.
    examples : sequence of str, default=()
        Texts that the page offers.

    Returns
    -------
    app : starlette.applications.Starlette
        For ``uvicorn.run(app)``, or to be mounted into another application.

    Raises
    ------
    ImportError
        If Starlette is missing: ``pip install "multimargin[serve]"``.
    ValueError
        If the model was not trained on texts alone.

    Examples
    --------
    >>> from multimargin import TextClassifier
    >>> from multimargin.serving import create_app
    >>> model = TextClassifier().fit(["red rose", "fast car"], ["flower", "vehicle"])
    >>> app = create_app(model, name="things")
    >>> sorted(route.path for route in app.routes)[:3]
    ['/', '/health', '/icon.svg']
    """
    require_serving()
    from multimargin.serving._answers import Answers
    from multimargin.serving._routes import build

    check_served(model, name)
    limits = limits or Limits()
    about = about_model(model, name, limits, examples)
    return build(Answers(model, threads=threads), about, limits, hosts)


def about_model(model: Any, name: str, limits: Limits, examples: Sequence[str]) -> schema.Model:
    """Return the answer of ``/model``; without examples, WordNet's if the model is of WordNet."""
    from multimargin import __version__

    return {
        "name": name,
        "classes": len(model.classes_),
        "features": int(model.n_features_in_),
        "analyzer": model.analyzer,
        "formulation": str(model.formulation),
        "formulation_title": FORMULATIONS[model.formulation].title,
        "C": _number(model.C),
        "tol": _number(model.tol),
        "gap": _number(getattr(model, "dual_gap_", None)),
        "converged": getattr(model, "converged_", None),
        "version": __version__,
        "examples": list(examples or examples_of(model)),
        "limits": {
            "max_bytes": limits.max_bytes,
            "max_texts": limits.max_texts,
            "max_chars": limits.max_chars,
            "max_k": min(limits.max_k, len(model.classes_)),
            "rate": limits.rate,
        },
    }


def _number(value: Any) -> float | None:
    """Return a number as JSON can hold it: None for infinity."""
    return None if value is None or not math.isfinite(value) else float(value)
