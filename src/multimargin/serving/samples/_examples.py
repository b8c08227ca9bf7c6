"""Examples for the page, made of what a model file has: classes and their largest weights."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from multimargin.datasets._wordnet_examples import examples_of
from multimargin.serving import _schema as schema
from multimargin.serving._errors import RequestError
from multimargin.serving._limits import Limits
from multimargin.serving.samples._kind import SampleKind

if TYPE_CHECKING:
    from multimargin.serving._answers import Answers

_EXAMPLES = 5
_CANDIDATES = 40  # classes, evenly spaced: a sample of each is made and classified


def given_example(text: str, kind: SampleKind, limits: Limits) -> schema.Example:
    """Return an example that was asked for: a text, or a row as JSON; ValueError if it is none."""
    if kind.takes == "text":
        return {"text": text}
    try:
        row: Any = json.loads(text)
        kind.checked(row, "row", limits)
    except (ValueError, RequestError) as error:
        reason = error.message if isinstance(error, RequestError) else f"it is not JSON: {error}"
        raise ValueError(f"the example {text!r} is no row for this model: {reason}") from None
    return {"row": row}


def made_examples(answers: Answers) -> list[schema.Example]:
    """Return samples that the model puts into the class of whose weights they were made.

    Those with the largest lead over the next class come from different classes, in their order.
    A model of WordNet gets the definitions of the demo.
    """
    kind = answers.kind
    definitions = examples_of(kind.model) if kind.takes == "text" else ()
    if definitions:
        return [{"text": definition} for definition in definitions]
    count = min(_CANDIDATES, answers.n_classes)
    places = np.linspace(0, answers.n_classes - 1, count).astype(int).tolist()
    found = {place: sample for place in places if (sample := kind.typical(place)) is not None}
    if not found:
        return []
    checked = [kind.checked(sample, kind.takes, Limits()) for sample in found.values()]
    best, scores, *_ = answers.best(kind.features(checked), 2)
    lead = np.where(best[:, 0] == list(found), scores[:, 0] - scores[:, 1], -np.inf)
    chosen = sorted(np.argsort(-lead, kind="stable")[:_EXAMPLES].tolist())
    listed = list(found.items())
    examples: list[schema.Example] = []
    for place, sample in (listed[n] for n in chosen if np.isfinite(lead[n])):
        example: schema.Example = {"label": answers.labels[place]}
        if kind.takes == "text":
            example["text"] = sample
        else:
            example["row"] = sample
        examples.append(example)
    return examples
