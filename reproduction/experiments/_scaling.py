"""The features of the paper's small data sets, as it scales them.

"Datapoints in iris and news were thus normalized to unit norm, letter and satimage were normalized
to unit variance. All other data was considered unnormalized." (The paper, on validation.)

*Unit variance* is taken at its word: columns are divided by the standard deviation that they have
in the training file, and not centred. The authors' own file of splice, which is called
"standardized", is made that way: the columns of its training part have a standard deviation of
exactly 1 (with 1/n) and means between 1.7 and 2.5, and the test part has the same factors. So are
`letter` and `satimage` here, from the [-1, 1] of their files.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler, normalize

from multimargin.datasets._sets import SetParts
from reproduction.measuring._training import Data

Scaling = Literal["unit norm", "unit variance", "as in the files"]

SCALINGS: dict[str, Scaling] = {
    "news20": "unit norm",
    "letter": "unit variance",
    "satimage": "unit variance",
}
"""Sets that are scaled here; the authors' files of iris and splice are scaled already."""

TEST_SHARE = 0.1
"""Of samples that are set apart for the test where there is no test file, as in the paper."""
_SPLIT_SEED = 0


def scaled(name: str, parts: SetParts) -> Data:
    """Return a data set scaled as in the paper.

    Parameters
    ----------
    name : str
        Of the catalogue.
    parts : SetParts
        As in the files. Without test samples, a tenth of the training samples, drawn with a
        fixed seed, becomes the test set.
    """
    X, y, X_test, y_test = parts
    if X_test is None or y_test is None:
        X, y, X_test, y_test = split(X, y)
    scaling = SCALINGS.get(name, "as in the files")
    if scaling == "unit norm":
        X, X_test = normalize(X), normalize(X_test)
    elif scaling == "unit variance":
        X, X_test = unit_variance(X, X_test)
    return Data.encoded(X, y, X_test, y_test)


def split(X: Any, y: Any) -> tuple[Any, Any, Any, Any]:
    """Split into training and test samples; the same way for the same number of samples."""
    order = np.random.default_rng(_SPLIT_SEED).permutation(len(y))
    test, train = np.split(order, [round(TEST_SHARE * len(y))])
    test.sort()
    train.sort()
    return X[train], y[train], X[test], y[test]


def unit_variance(X: Any, X_test: Any) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Divide columns by the standard deviation of the training samples; do not centre them."""
    scaler = StandardScaler(with_mean=False).fit(X)
    return sp.csr_matrix(scaler.transform(X)), sp.csr_matrix(scaler.transform(X_test))
