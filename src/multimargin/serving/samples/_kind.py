"""What all kinds of samples have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NoReturn

import scipy.sparse as sp

from multimargin.inspection._class_weights import ClassWeights
from multimargin.serving import _schema as schema
from multimargin.serving._errors import RequestError, shown
from multimargin.serving._limits import Limits
from multimargin.serving.samples._spans import Span


class SampleKind:
    """The samples that a model takes, from their JSON to features.

    ``takes`` is the member of a question that holds one sample, ``many`` the one that holds
    several; ``columns`` are the fields of a form, if there is one, and ``analyzer`` is how texts
    become features, if there are texts. ``nothing`` says of a sample that no feature of it has a
    weight; ``blank`` is a checked sample.
    """

    takes: ClassVar[Literal["text", "row"]] = "row"
    many: ClassVar[str] = "rows"
    nothing: ClassVar[str]
    blank: ClassVar[Any]
    analyzer: Literal["word", "char", "char_wb"] | None = None

    def __init__(self, model: Any) -> None:
        self.model = model
        self.weights = ClassWeights(model)
        self.columns: list[schema.Column] = []

    def checked(self, value: Any, field: str, limits: Limits) -> Any:
        """Return a sample from JSON; raise a RequestError that names what is wrong in it."""
        raise NotImplementedError

    def features(self, samples: Sequence[Any]) -> sp.csr_matrix:
        """Return the features of checked samples; raise a `BadValuesError` for bad ones."""
        raise NotImplementedError

    def spans(self, sample: Any, names: Sequence[str]) -> dict[str, list[Span]]:
        """Return where features are in a sample, if it is a text."""
        return {name: [] for name in names}

    def unknown(self, sample: Any) -> list[str]:
        """Return the parts of a sample that the model does not know."""
        return []

    def typical(self, place: int) -> Any:
        """Return a sample made of the largest weights of a class, None if it has none."""
        raise NotImplementedError


def checked_text(text: Any, field: str, limits: Limits) -> str:
    """Return a text from JSON; raise a RequestError if it is none or too long."""
    if not isinstance(text, str):
        wrong(field, f"{field} must be a string: {shown(text)}")
    if len(text) > limits.max_chars:
        found = f"{field} has {len(text):,} characters (Unicode code points)"
        message = f"{found}; at most {limits.max_chars:,} are read"
        raise RequestError(413, "text_too_long", message, field)
    if text.isascii():
        return text
    # JSON can hold halves of surrogate pairs, which nothing behind this takes as text.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def wrong(field: str | None, message: str) -> NoReturn:
    """Refuse a request that is JSON but no question."""
    raise RequestError(422, "invalid_request", message, field)
