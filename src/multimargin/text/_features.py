"""TextFeatures: raw texts and columns as a matrix."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from multimargin.solvers._layout import Matrix
from multimargin.text._columns import CategoryColumn, NumberColumns, TextColumn, TextOptions
from multimargin.text._embedding_column import EmbeddingColumn
from multimargin.text._lengths import lengths
from multimargin.text._options import (
    AccentsName,
    AnalyzerName,
    FeaturesName,
    check_options,
    kind_of_features,
)
from multimargin.text._raw_columns import (
    column_of,
    has_columns,
    names_of,
    placed,
    same_length,
    texts_of,
)


class TextFeatures(TransformerMixin, BaseEstimator):
    """Tf-idf features or embeddings of texts, next to standardised numbers and one-hot categories.

    Words are counted by scikit-learn's vectorizer and weighted by ``1 + log(count)`` and by their
    inverse document frequency; each text's features have unit Euclidean length. The features of
    several columns stand side by side: texts, numbers, categories, and then embeddings.

    Parameters
    ----------
    analyzer, ngram_range, min_df, max_df, max_features, lowercase, strip_accents, stop_words, \
sublinear_tf, use_idf, text, numeric, categorical, encoder, features
        As of `multimargin.TextClassifier`.

    Attributes
    ----------
    n_features_out_ : int
        Number of features.

    Examples
    --------
    >>> from multimargin.text import TextFeatures
    >>> features = TextFeatures(min_df=1)
    >>> features.fit_transform(["a red car", "a red red rose"]).shape
    (2, 3)
    >>> features.get_feature_names_out().tolist()
    ['car', 'red', 'rose']
    """

    n_features_out_: int
    # Whether embedding may show a progress bar.
    shows_progress = False

    def __init__(
        self,
        *,
        analyzer: AnalyzerName = "word",
        ngram_range: tuple[int, int] = (1, 1),
        min_df: float = 1,
        max_df: float = 1.0,
        max_features: int | None = None,
        lowercase: bool = True,
        strip_accents: AccentsName | None = None,
        stop_words: str | Sequence[str] | None = None,
        sublinear_tf: bool = True,
        use_idf: bool = True,
        text: str | Sequence[str] | None = None,
        numeric: str | Sequence[str] = (),
        categorical: str | Sequence[str] = (),
        encoder: Any = None,
        features: FeaturesName | None = None,
    ) -> None:
        self.analyzer = analyzer
        self.ngram_range = ngram_range
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.stop_words = stop_words
        self.sublinear_tf = sublinear_tf
        self.use_idf = use_idf
        self.text = text
        self.numeric = numeric
        self.categorical = categorical
        self.encoder = encoder
        self.features = features

    def fit(self, X: Any, y: Any = None) -> TextFeatures:
        """Learn the features.

        Parameters
        ----------
        X : sequence of str, data frame, `multimargin.tables.Table` or mapping of columns
        y : array-like of shape (n_samples,), default=None
            Labels, by which embeddings are weighted beside tf-idf; ignored otherwise.

        Returns
        -------
        self : TextFeatures
        """
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Matrix:
        """Learn the features and return the matrix of `X`: the same bits as `transform`.

        Parameters
        ----------
        X : sequence of str, data frame, `multimargin.tables.Table` or mapping of columns
        y : array-like of shape (n_samples,), default=None
            Labels, by which embeddings are weighted beside tf-idf; ignored otherwise.

        Returns
        -------
        csr_matrix of float32, shape (n_samples, n_features); an array for one embedding alone
        """
        check_options(self)
        with placed(X):
            return self._fitted(X, y)

    def _fitted(self, X: Any, y: Any) -> Matrix:
        texts, numeric = names_of(self.text), names_of(self.numeric)
        categorical = names_of(self.categorical)
        bare = not (texts or numeric or categorical)
        columns = _columns(X, texts, numeric, categorical)
        numbers, number_blocks = None, []
        if numeric:  # first: their errors should not wait for all words to be counted
            numbers, block = NumberColumns.fitted(numeric, [columns[name] for name in numeric])
            number_blocks = [block]
        kind, read = kind_of_features(self), (None,) if bare else texts
        fitted = [self._fit_text(name, columns) for name in read if kind != "embedding"]
        categories = [CategoryColumn.fitted(name, columns[name]) for name in categorical]
        embedded = [
            EmbeddingColumn.fitted(
                name, self.encoder, columns[name or ""], shows=self.shows_progress
            )
            for name in read
            if kind != "tfidf"
        ]
        if kind == "both":
            joined = (_joined([block for _, block in each]) for each in (fitted, embedded))
            of_words, of_embeddings = lengths(next(joined), next(joined), y)
            for text, rows in fitted:
                text.length = of_words
                text.scaled(rows)
            for embedding, vectors in embedded:
                embedding.length = of_embeddings
                embedding.scaled(vectors)
        self._set_columns(
            [text for text, _ in fitted],
            numbers,
            [one for one, _ in categories],
            [one for one, _ in embedded],
        )
        made = (fitted, categories, embedded)
        texts_, categories_, embeddings_ = ([block for _, block in each] for each in made)
        return _joined([*texts_, *number_blocks, *categories_, *embeddings_])

    def _fit_text(
        self, name: str | None, columns: dict[str, list[Any]]
    ) -> tuple[TextColumn, sp.csr_matrix]:
        stop = self.stop_words
        options = TextOptions(
            analyzer=self.analyzer,
            ngram_range=(int(self.ngram_range[0]), int(self.ngram_range[1])),
            lowercase=bool(self.lowercase),
            strip_accents=self.strip_accents,
            stop_words=stop if stop is None or isinstance(stop, str) else tuple(stop),
            sublinear_tf=bool(self.sublinear_tf),
        )
        return TextColumn.fitted(
            name,
            options,
            columns[name or ""],
            use_idf=bool(self.use_idf),
            min_df=self.min_df,
            max_df=self.max_df,
            max_features=self.max_features,
        )

    def _set_columns(
        self,
        texts: list[TextColumn],
        numbers: NumberColumns | None,
        categories: list[CategoryColumn],
        embeddings: list[EmbeddingColumn],
    ) -> None:
        self._texts, self._numbers, self._categories = texts, numbers, categories
        self._embeddings = embeddings
        parts: list[Sized] = [*texts, *([numbers] if numbers else []), *categories, *embeddings]
        self.n_features_out_ = sum(len(part) for part in parts)

    def transform(self, X: Any) -> Matrix:
        """Return the features of new samples; words and values that training lacked have none.

        Parameters
        ----------
        X : sequence of str, data frame, `multimargin.tables.Table` or mapping of columns
            With the columns of the training data, others are not looked at. If there is a single
            column, of texts, also a sequence of str.

        Returns
        -------
        csr_matrix of float32, shape (n_samples, n_features); an array for one embedding alone
        """
        check_is_fitted(self, "n_features_out_")
        texts, numeric, categorical = self.column_names()
        columns = _columns(X, texts, numeric, categorical)
        with placed(X):
            blocks: list[Matrix] = [
                column.transform(columns[column.name or ""]) for column in self._texts
            ]
            if self._numbers is not None:
                blocks.append(self._numbers.transform([columns[name] for name in numeric]))
            blocks.extend(each.transform(columns[each.name]) for each in self._categories)
            blocks.extend(
                column.transform(columns[column.name or ""], shows=self.shows_progress)
                for column in self._embeddings
            )
        return _joined(blocks)

    def replace_encoder(self, source: Any) -> None:
        """Take the same encoder from elsewhere; a ValueError says that it is another one."""
        if not self._embeddings:
            raise ValueError("the model was trained without an encoder: none can be given")
        for column in self._embeddings:
            column.encoder = column.encoder.replaced_by(source)
        self.encoder = source

    def column_names(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Return the columns that `transform` needs: texts, numbers, categories; none for texts."""
        read = self._texts or self._embeddings
        texts = tuple(column.name for column in read if column.name is not None)
        numeric = () if self._numbers is None else self._numbers.names
        return texts, numeric, tuple(category.name for category in self._categories)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the features.

        Words, ``column:word`` (several columns), numeric columns, ``column=value`` and
        ``embedding 0``, ``embedding 1``, ...

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of object, shape (n_features,)
        """
        check_is_fitted(self, "n_features_out_")
        names: list[str] = []
        for column in self._texts:
            prefix = f"{column.name}:" if len(self._texts) > 1 else ""
            names.extend(prefix + word for word in column.words.strings)
        if self._numbers is not None:
            names.extend(self._numbers.names)
        for category in self._categories:
            names.extend(f"{category.name}={value}" for value in category.values.strings)
        for name, columns in self.embedded_columns():
            names.extend(f"{name} {place}" for place in range(len(columns)))
        return np.array(names, dtype=object)

    def embedded_columns(self) -> list[tuple[str, range]]:
        """Return the name of each embedding, and which features it is."""
        found, end = [], self.n_features_out_
        for column in reversed(self._embeddings):
            prefix = f"{column.name}:" if len(self._embeddings) > 1 else ""
            found.append((f"{prefix}embedding", range(end - len(column), end)))
            end -= len(column)
        return found[::-1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags


def _columns(
    X: Any, texts: tuple[str, ...], numeric: tuple[str, ...], categorical: tuple[str, ...]
) -> dict[str, list[Any]]:
    """Return the columns by name; texts without columns are named by the empty string."""
    columns = named_columns(X, texts, (*texts, *numeric, *categorical))
    if not same_length(columns):
        raise ValueError("X has no samples: found 0 sample(s) while a minimum of 1 is required.")
    return columns


def named_columns(X: Any, texts: tuple[str, ...], names: tuple[str, ...]) -> dict[str, list[Any]]:
    """Return the columns of these names, `texts` among them; without names, `X` is the texts."""
    if not names:
        return {"": texts_of(X)}
    if not has_columns(X):
        if names == texts and len(texts) == 1:
            return {texts[0]: texts_of(X)}
        listed = ", ".join(map(repr, names))
        raise ValueError(
            f"X must be a data frame or a mapping with the columns {listed}, got {type(X).__name__}"
        )
    return {name: column_of(X, name) for name in names}


def _joined(blocks: Sequence[Matrix]) -> Matrix:
    if len(blocks) == 1:
        return blocks[0]
    sparse = [sp.csr_matrix(block) for block in blocks]
    matrix = sp.csr_matrix(sp.hstack(sparse, format="csr", dtype=np.float32))
    matrix.sort_indices()
    return matrix
