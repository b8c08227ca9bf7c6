"""The names of a model's features, the columns of ``coef_``."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray


def names_of(model: Any, features: NDArray[Any]) -> list[str]:
    """The names of some features, columns of ``coef_``; lists all of them only where they exist.

    These are the words (and columns) of a text model, the column names of the data frame that the
    model was trained on, or "feature 0", "feature 1", ... where there are no names. A model that
    was trained on a LIBSVM file counts as that file does, mostly from 1.
    """
    known = _known_names(model)
    if known is None:
        first = 1 if getattr(model, "preprocessing_", {}).get("zero_based") is False else 0
        return [f"feature {first + int(j)}" for j in features]
    return [str(known[int(j)]) for j in features]


def has_feature_names(model: Any) -> bool:
    """Whether the features are more than numbers."""
    return _known_names(model) is not None


def _known_names(model: Any) -> Any:
    """The names that the model has for its features, or None."""
    features = getattr(model, "features_", None)
    names = getattr(model, "feature_names_in_", None) if features is None else _listed(model)
    # Names of something else, such as of the columns that a text was in, are no help.
    return names if names is not None and len(names) == model.coef_.shape[1] else None


def _listed(model: Any) -> Any:
    """The names that a text model's features give; listed once, for they may be many."""
    kept = model.__dict__.get("_listed_names")
    if kept is None or kept[0] is not model.features_:
        kept = model._listed_names = (model.features_, model.features_.get_feature_names_out())
    return kept[1]
