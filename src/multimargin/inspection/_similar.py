"""Find classes whose weights are alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from multimargin.inspection._labels import class_index, native
from multimargin.models._arguments import whole_number
from multimargin.parallel._blas_threads import one_blas_thread

# Cosines in memory at a time.
_MOST_AT_A_TIME = 2**22


def similar_classes(model: Any, label: Any, k: int = 10) -> list[tuple[Any, float]]:
    """Return the classes that the same features speak for.

    Only positive weights are compared. Training pushes classes apart, most of all similar ones:
    with negative weights, "tree" would be as unlike "fruit tree" as anything else.

    Parameters
    ----------
    model : MulticlassSVC
        Fitted.
    label : object
        One of its classes.
    k : int, default=10
        Number of classes, at most.

    Returns
    -------
    list of (label, cosine)
        The most similar first; cosines lie between 0 and 1. Intercepts are left out.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from multimargin import MulticlassSVC
    >>> from multimargin.inspection import similar_classes
    >>> iris = load_iris()
    >>> model = MulticlassSVC(random_state=0).fit(iris.data, iris.target_names[iris.target])
    >>> [name for name, cosine in similar_classes(model, "setosa")]
    ['versicolor', 'virginica']
    """
    check_is_fitted(model, "coef_")
    c = class_index(model.classes_, label)
    order, cosine = nearest(model, np.array([c]), whole_number("k", k, 1))
    return [
        (native(model.classes_[place]), float(value))
        for place, value in zip(order[0], cosine[0], strict=True)
    ]


def nearest(model: Any, rows: NDArray[Any], k: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the places of the ``k`` classes most similar to each of some, and the cosines."""
    W = _directions(model)
    n_classes = W.shape[0]
    k = max(0, min(k, n_classes - 1))
    order = np.empty((len(rows), k), dtype=np.intp)
    cosine = np.empty((len(rows), k))
    step = max(1, _MOST_AT_A_TIME // n_classes)
    for begin in range(0, len(rows), step):
        some = rows[begin : begin + step]
        with one_blas_thread():  # the last bits decide between classes that are equally similar
            block: Any = W[some] @ W.T
        dense: Any = block if isinstance(block, np.ndarray) else block.toarray()
        dense[np.arange(len(some)), some] = -np.inf
        best = np.argsort(-dense, axis=1, kind="stable")[:, :k]
        order[begin : begin + step] = best
        cosine[begin : begin + step] = np.take_along_axis(dense, best, axis=1)
    return order, cosine


def cosines(model: Any, a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
    W = _directions(model)
    if isinstance(W, np.ndarray):
        dense: NDArray[np.float64] = np.einsum("ij,ij->i", W[a], W[b])
        return dense
    return np.asarray(W[a].multiply(W[b]).sum(axis=1), dtype=np.float64).reshape(-1)


def _directions(model: Any) -> Any:
    coef = model.coef_
    one_row = coef.shape[0] < len(model.classes_)
    if isinstance(coef, np.ndarray):
        # Two classes share one row; the first has its negative.
        dense = np.maximum(np.vstack([-coef, coef]) if one_row else coef, 0)
        norm = np.sqrt(np.einsum("ij,ij->i", dense, dense, dtype=np.float64))
        return dense / np.where(norm > 0, norm, 1)[:, None]
    coef = coef.tocsr()
    if one_row:
        coef = sp.vstack([-coef, coef], format="csr")
    row_of = np.repeat(np.arange(coef.shape[0]), np.diff(coef.indptr))
    kept = np.flatnonzero(coef.data > 0)
    row_of, data, columns = row_of[kept], coef.data[kept].astype(np.float64), coef.indices[kept]
    norm = np.sqrt(np.bincount(row_of, data**2, minlength=coef.shape[0]))
    return sp.csr_matrix((data / norm[row_of], (row_of, columns)), shape=coef.shape)
