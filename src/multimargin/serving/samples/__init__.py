"""What a model takes: a text, a row of columns, or a row of numbers."""

from __future__ import annotations

from typing import Any

from multimargin.serving.samples._kind import SampleKind
from multimargin.serving.samples._numbers import Numbers
from multimargin.serving.samples._rows import Rows
from multimargin.serving.samples._texts import Texts


def kind_of(model: Any) -> SampleKind:
    """Return what a fitted model takes; raise a ValueError if that cannot be made here."""
    features = getattr(model, "features_", None)
    if features is None:
        return Numbers(model)
    texts, numeric, categorical = features.column_names()
    if numeric or categorical or len(texts) > 1:
        return Rows(model)
    return Texts(model)


__all__ = ["SampleKind", "kind_of"]
