"""Generated data of the sizes of the LSHTC sets, which need a registration.

The words that tell the class are 10 % of a sample, so that about half of the test samples go to a
wrong class, as in the paper's tables; 90 different words per sample are LSHTC-2011's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_matrix

from multimargin.datasets._catalog import CatalogEntry
from multimargin.datasets._generator import make_hierarchical_text

_WORDS = 90
_TOPIC_SHARE = 0.1


def make_set(
    entry: CatalogEntry, dtype: DTypeLike
) -> tuple[csr_matrix[Any], NDArray[Any], csr_matrix[Any], NDArray[Any]]:
    """Return training rows and labels, test rows and labels; the same at every call."""
    X, y = make_hierarchical_text(
        entry.n_train + entry.n_test,
        entry.n_features,
        entry.n_classes,
        words_per_sample=_WORDS,
        topic_share=_TOPIC_SHARE,
        random_state=0,
        dtype=dtype,
    )
    # One sample of each class is for training.
    first = np.unique(y, return_index=True)[1]
    order = np.concatenate([first, np.setdiff1d(np.arange(len(y)), first)])
    train, test = np.sort(order[: entry.n_train]), order[entry.n_train :]
    return X[train], y[train], X[test], y[test]
