"""TextClassifier: a MulticlassSVC that takes raw texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from multimargin.estimator._names import FormulationName, LossName, SolverName, StoppingName
from multimargin.estimator._svc import MulticlassSVC
from multimargin.io._array_file import damaged
from multimargin.io._atomic import StrPath
from multimargin.models._sample_keys import Keys, text_keys
from multimargin.models.file._strings import Arrays
from multimargin.text._feature_file import pack_features, unpack_features
from multimargin.text._features import TextFeatures, named_columns
from multimargin.text._options import AccentsName, AnalyzerName, FeaturesName, check_options
from multimargin.text._raw_columns import names_of

# The parameters that come from either class: those of the features, and those of the machine.
_FEATURES = tuple(TextFeatures().get_params())
_OF_ANY_SAMPLES = tuple(MulticlassSVC().get_params())


class TextClassifier(MulticlassSVC):
    """Exact linear multi-class support vector machine on raw texts.

    It makes the features itself, tf-idf, embeddings by an encoder, or both, and keeps how they are
    made in its model file. Everything that takes samples, `fit`, `predict`, `predict_topk`,
    `decision_function` and `score`, takes

    - a sequence of str, or
    - where `text`, `numeric` or `categorical` name columns: a data frame, a table of
      `multimargin.read_table`, or a mapping of names to columns.

    Empty texts and texts of unknown words only have no features: their scores are the intercepts.

    Parameters
    ----------
    formulation : {"ww", "cs", "llw", "ovr", "adm", "ats", "atm", "mmr", "rm"}, default="cs"
        As of `MulticlassSVC`.
    C : float or None, default=None
        As of `MulticlassSVC`.
    analyzer : {"word", "char", "char_wb"}, default="word"
        Whether a feature is made of words (of two letters or more), of characters, or of
        characters within the bounds of words.
    ngram_range : tuple (shortest, longest), default=(1, 1)
        How many words or characters make a feature.
    min_df, max_df : int or float, default=1 and 1.0
        Leave out words in fewer or in more texts: a number of texts (int) or a share (float).
    max_features : int or None, default=None
        Keep this many of the most frequent ones.
    lowercase : bool, default=True
    strip_accents : {"ascii", "unicode"} or None, default=None
    stop_words : "english", list of str or None, default=None
        Words to leave out.
    sublinear_tf : bool, default=True
        ``1 + log(count)`` in place of the count.
    use_idf : bool, default=True
        Whether rare words weigh more.
    text : str, list of str or None, default=None
        Columns with texts. None, and no other columns: ``X`` is a sequence of texts itself.
    numeric : str or list of str, default=()
        Columns with numbers, which are standardised; a missing one counts as the mean.
    categorical : str or list of str, default=()
        Columns with categories; one that was not there in training has no feature.
    encoder : str, object or callable, default=None
        Turns texts into vectors: the name of a sentence-transformers model (of the Hugging Face
        hub, or a folder), an object with ``.encode(texts)``, or a function from a list of texts to
        an array of shape (n_texts, n_numbers). Vectors of a named one are kept on disk, by the
        encoder's revision and the text: ``$MULTIMARGIN_EMBEDDINGS``, or else the user's cache. The
        model file has its name, revision and dimension; one without a name is passed again to
        `load_model`. With ``verbose=1`` a progress bar shows long work.
    features : {"tfidf", "embedding", "both"}, default=None
        What texts become. By default "both" where there is an encoder, and "tfidf" else. Embeddings
        are centred. Rows of either kind have unit length; side by side, the kind that tells the
        labels of the training texts apart less well has a shorter one.
    loss, solver, n_reductions, tol, stopping, max_iter, fit_intercept, intercept_scaling, \
class_weight, label_cost, n_jobs, warm_start, sparse_coef, random_state, verbose, time_limit, \
n_bundles, shrinking, calibration
        As of `MulticlassSVC`.

    Attributes
    ----------
    features_ : TextFeatures
        Makes the features; ``features_.get_feature_names_out()`` are their names.
    n_features_in_ : int
        Number of features: columns of `coef_`.
    classes_, coef_, intercept_, n_iter_, primal_objective_, dual_objective_, dual_gap_, \
violation_, converged_, n_bundles_, history_, model_density_, calibration_
        As of `MulticlassSVC`.

    Examples
    --------
    >>> from multimargin import TextClassifier
    >>> texts = ["a small dog", "a big dog", "a red rose", "a white rose"]
    >>> model = TextClassifier(random_state=0).fit(texts, ["pet", "pet", "flower", "flower"])
    >>> model.predict(["an old dog", "roses and a rose"]).tolist()
    ['pet', 'flower']
    >>> model.features_.get_feature_names_out().tolist()
    ['big', 'dog', 'red', 'rose', 'small', 'white']

    Columns of a table, here a dict:

    >>> table = {"title": texts, "price": [100, 200, 3, 4]}
    >>> model = TextClassifier(text="title", numeric="price", random_state=0)
    >>> model.fit(table, ["pet", "pet", "flower", "flower"]).n_features_in_
    7

    Samples with several labels, or none:

    >>> model = TextClassifier("ovr", C=10, random_state=0)
    >>> model.fit(texts, [["pet"], ["pet", "big"], ["flower"], []]).predict(["a big dog"]).tolist()
    [('big', 'pet')]
    """

    features_: TextFeatures
    text: str | Sequence[str] | None
    numeric: str | Sequence[str]
    categorical: str | Sequence[str]
    encoder: Any

    def __init__(
        self,
        formulation: FormulationName = "cs",
        C: float | None = None,
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
        loss: LossName = "hinge",
        solver: SolverName = "auto",
        n_reductions: int = 10,
        tol: float = 0.01,
        stopping: StoppingName = "gap",
        max_iter: int = 10_000,
        fit_intercept: bool | Literal["free"] = True,
        intercept_scaling: float = 1.0,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        label_cost: Any = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        sparse_coef: bool | Literal["auto"] = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        time_limit: float | None = None,
        n_bundles: int | None = None,
        shrinking: bool = True,
        calibration: float | Literal["cv"] | None = None,
    ) -> None:
        given = locals()
        super().__init__(**{name: given[name] for name in _OF_ANY_SAMPLES})
        for name in _FEATURES:
            setattr(self, name, given[name])

    # ------------------------------------------------------------ hooks of MulticlassSVC

    def _check_more(self) -> None:
        check_options(self)

    def _learned_features(self, X: Any, y: Any) -> tuple[Any, dict[str, Any]]:
        features = TextFeatures(**{name: getattr(self, name) for name in _FEATURES})
        features.shows_progress = bool(self.verbose)
        return features.fit_transform(X, y), {"features_": features}

    def _raw_keys(self, X: Any) -> Keys | None:
        # Features change with the words and frequencies of the other samples; texts do not.
        texts = names_of(self.text)
        names = (*texts, *names_of(self.numeric), *names_of(self.categorical))
        columns = named_columns(X, texts, names).values()
        return text_keys("\x1f".join(map(str, row)) for row in zip(*columns, strict=True))

    def _pack_features(self, arrays: Arrays) -> dict[str, Any]:
        return pack_features(self.features_, arrays)

    def _unpack_features(
        self, path: StrPath, about: dict[str, Any], arrays: Arrays, *, verify: bool
    ) -> None:
        features = unpack_features(path, about, arrays, verify=verify)
        made, known = features.n_features_out_, self.n_features_in_
        if made != known:
            damaged(path, f"{made} made for a model of {known} features")
        self.features_ = features

    def _replace_encoder(self, encoder: Any) -> None:
        self.features_.replace_encoder(encoder)
        self.encoder = encoder

    def _validated(self, X: Any) -> Any:
        """Return the features of raw samples; a matrix of numbers is taken for features itself."""
        made = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"
        if not sp.issparse(X) and not made:
            self.features_.shows_progress = bool(self.verbose)
            return self.features_.transform(X)
        matrix: Any = X
        columns, known = matrix.shape[1], self.features_.n_features_out_
        if columns != known:
            raise ValueError(f"X has {columns} features, but {type(self).__name__} has {known}")
        return super()._validated(matrix)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = False
        return tags
