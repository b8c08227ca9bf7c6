"""Dense samples with many classes: embeddings of WordNet's definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

from multimargin.datasets._wordnet import load_wordnet_hypernyms
from multimargin.io._svmlight import float_type
from multimargin.models._arguments import whole_number


def make_wordnet_embeddings(
    n_features: int = 256,
    n_classes: int | None = None,
    *,
    random_state: int = 0,
    dtype: npt.DTypeLike = np.float32,
) -> tuple[npt.NDArray[Any], npt.NDArray[np.str_]]:
    """Make dense rows of unit length from the training definitions of WordNet.

    Their tf-idf features are projected on the largest singular vectors (latent semantic analysis),
    which takes about a minute for 256 of them.

    Parameters
    ----------
    n_features : int, default=256
        Singular vectors.
    n_classes : int, default=None
        The definitions of so many of the largest classes are returned; None: of all 12,582.
    random_state : int, default=0
        Of the randomized decomposition.
    dtype : dtype, default=numpy.float32
        Of the values: ``numpy.float32`` or ``numpy.float64``.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        65,025 samples of all classes, 28,630 of the 1,000 largest.
    y : ndarray of shape (n_samples,)

    Examples
    --------
    >>> from multimargin.datasets import make_wordnet_embeddings
    >>> X, y = make_wordnet_embeddings(2, 1000)
    >>> X.shape
    (28630, 2)
    """
    whole_number("n_features", n_features, least=1)
    if n_classes is not None:
        whole_number("n_classes", n_classes, least=2)
    kind = float_type(dtype)
    features, labels = load_wordnet_hypernyms(return_X_y=True, dtype=kind)
    decomposition = TruncatedSVD(n_features, random_state=random_state)
    X = normalize(decomposition.fit_transform(features)).astype(kind)
    if n_classes is None:
        return X, labels
    _, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    largest = np.argsort(-sizes, kind="stable")[:n_classes]
    kept = np.isin(codes, largest)
    return X[kept], labels[kept]
