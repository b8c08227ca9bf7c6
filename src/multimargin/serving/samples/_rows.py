"""Models of a table: texts, numbers and categories by the names of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from multimargin.serving import _schema as schema
from multimargin.serving._errors import shown
from multimargin.serving._limits import Limits
from multimargin.serving.samples._kind import SampleKind, checked_text, wrong
from multimargin.serving.samples._spans import Spans
from multimargin.serving.samples._texts import strongest_text
from multimargin.solvers._layout import as_core_csr
from multimargin.text._raw_columns import value_text

Row = dict[str, Any]


class Rows(SampleKind):
    """Samples are mappings of columns to strings, numbers or None; absent ones are missing."""

    nothing: ClassVar[str] = (
        "The model knows nothing of this row, so nothing tells the classes apart: the scores are "
        "the intercepts alone."
    )
    blank: ClassVar[Row] = {}

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        features = model.features_
        self._texts, self._numbers = features._texts, features._numbers
        self._categories = features._categories
        if self._texts:
            self.analyzer = self._texts[0].options.analyzer
            self._spans = Spans(self._texts[0].options.counter())
        for text in self._texts or features._embeddings:
            self.columns.append(_column(text.name, "text"))
        if self._numbers is not None:
            for name, mean in zip(self._numbers.names, self._numbers.mean.tolist(), strict=True):
                self.columns.append({**_column(name, "number"), "mean": mean})
        for category in self._categories:
            values = category.values.strings[: schema.MOST_VALUES]
            self.columns.append({**_column(category.name, "category"), "values": values})
        self._kinds = {column["name"]: column["kind"] for column in self.columns}

    def checked(self, value: Any, field: str, limits: Limits) -> Row:
        if not isinstance(value, dict):
            wrong(field, f"{field} must be an object of columns and values: {shown(value)}")
        cells: Row = {}
        for name, cell in value.items():
            if name not in self._kinds:
                listed = ", ".join(map(repr, self._kinds))
                wrong(field, f"{field}: there is no column {shown(name)}; there are {listed}")
            what = f"{field}: column {shown(name)}"
            if isinstance(cell, str) or (cell is not None and self._kinds[name] == "text"):
                cells[name] = checked_text(cell, what, limits)
            elif isinstance(cell, bool) or not isinstance(cell, int | float | None):
                wrong(field, f"{what} must be a string, a number or null: {shown(cell)}")
            else:
                cells[name] = cell
        return cells

    def features(self, samples: Sequence[Row]) -> sp.csr_matrix:
        columns = {name: [sample.get(name) for sample in samples] for name in self._kinds}
        matrix = as_core_csr(self.model._checked(columns))
        # A number that is the mean is a zero: no part of any score.
        matrix.eliminate_zeros()
        return matrix

    def unknown(self, sample: Row) -> list[str]:
        found: list[str] = []
        for column in self._texts:
            found += self._spans.unknown(sample.get(column.name) or "", column.words.places)
        for category in self._categories:
            value = value_text(sample.get(category.name))
            if value and value not in category.values.places:
                found.append(f"{category.name}={value}")
        return found[: schema.MOST_UNKNOWN]

    def typical(self, place: int) -> Row | None:
        features, weights = self.weights.row(place)
        row: Row = {}
        begin = 0
        for part in (*self._texts, *([self._numbers] if self._numbers else []), *self._categories):
            inside = (features >= begin) & (features < begin + len(part))
            own, weight = features[inside] - begin, weights[inside]
            begin += len(part)
            if not len(own):
                continue
            if part is self._numbers:
                at = part.mean[own] + np.sign(weight) * part.scale[own]
                row |= {part.names[j]: float(f"{v:.3g}") for j, v in zip(own, at, strict=True)}
            elif part in self._texts:
                row[part.name] = strongest_text(part, own, weight)
            elif weight.max() > 0:
                row[part.name] = part.values.strings[own[np.argmax(weight)]]
        return row or None


def _column(name: str, kind: Any) -> schema.Column:
    return {"name": name, "kind": kind, "required": False, "values": [], "mean": None}
