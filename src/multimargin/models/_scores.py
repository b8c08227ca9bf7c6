"""Scores and best classes of new samples, blockwise and in parallel."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from multimargin import _core
from multimargin.io._array_file import ModelFileError
from multimargin.models._arguments import is_whole
from multimargin.models._coef import ClassRows, canonical
from multimargin.models._feature_major import FeatureMajorCache
from multimargin.models.probabilities._softmax import ABOVE, COUNT, Shape, empty_sums, sums_of
from multimargin.solvers._layout import Matrix, arrays_of, as_core_csr, as_core_rows, core_rows

# Scores of all classes that are held at a time, where those above zero are looked for.
_SCORES_AT_ONCE = 1 << 24
# Dense input that has to be copied, for its order or its type, is so this many rows at a time.
_DENSE_ROWS = 65_536


# Places of classes or rows and their scores, best first; the sums of a softmax (`_softmax`) and the
# scores of the samples' own classes; places, scores and sums.
Best = tuple[NDArray[Any], NDArray[Any]]
Sums = tuple[NDArray[np.float64], NDArray[Any]]
BestAndSums = tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]


class LinearScores:
    """Linear scores ``X @ coef.T + intercept``: the same bits for a dense ``coef`` and a CSR one.

    The cache keeps the weights by feature between calls.
    """

    def __init__(
        self,
        coef: Any,
        intercept: NDArray[Any],
        threads: int,
        cache: FeatureMajorCache | None = None,
    ) -> None:
        self._given, self._cache, self._threads = coef, cache, threads
        self._isa = _core.best_isa()
        self._dtype = coef.dtype if coef.dtype in (np.float32, np.float64) else np.float64
        self._shape = coef.shape
        self._intercept = np.ascontiguousarray(intercept, dtype=self._dtype)
        self._values: NDArray[Any]
        self._weights: _core.CoefficientsF32 | _core.CoefficientsF64
        if sp.issparse(coef):
            csr = canonical(coef)  # which a user's own may not be
            if csr.nnz > np.iinfo(np.int32).max:
                raise ValueError(f"coef_ has {csr.nnz} non-zeros; at most 2**31 - 1 can be used")
            self._values = np.ascontiguousarray(csr.data, dtype=self._dtype)
            indices = np.ascontiguousarray(csr.indices, dtype=np.int32)
            indptr = np.ascontiguousarray(csr.indptr, dtype=np.int32)
            self._weights = _core.sparse_weights(
                self._values, indices, indptr, self._shape[1], self._intercept
            )
        else:
            self._values = np.ascontiguousarray(coef, dtype=self._dtype)
            self._weights = _core.dense_weights(self._values, self._intercept)

    def scores(self, X: Any, first: int = 0) -> NDArray[Any]:
        """All scores, shape (n_samples, n_rows); `first` numbers samples in messages."""
        out = np.empty((X.shape[0], self._shape[0]), dtype=self._dtype)
        self._fill(_core.scores, X, first, out=out)
        return out

    def top(self, X: Any, k: int, first: int = 0) -> Best:
        """The ``k`` best rows of each sample and their scores, best first."""
        best = np.empty((X.shape[0], k), dtype=np.int32)
        score = np.empty((X.shape[0], k), dtype=self._dtype)
        self._fill(_core.top, X, first, cls_out=best, score_out=score)
        return best, score

    def positive(self, X: Any) -> sp.csr_matrix:
        """A one for each row that has a positive score, of shape (n_samples, n_rows)."""
        step = max(1, _SCORES_AT_ONCE // self._shape[0])
        parts = (self.scores(X[k : k + step], k) > 0 for k in range(0, X.shape[0], step))
        found: sp.csr_matrix = sp.vstack([sp.csr_matrix(part, dtype=np.int8) for part in parts])
        return found.tocsr()

    def top_with_sums(self, X: Any, k: int, shape: Shape) -> BestAndSums:
        """The same, and what is summed over all classes (`_softmax`), in one product."""
        best = np.empty((X.shape[0], k), dtype=np.int32)
        score, sums = np.empty((X.shape[0], k), dtype=self._dtype), empty_sums(X.shape[0])
        kernel = partial(_core.top_with_sums, **shape._asdict())
        self._fill(kernel, X, 0, cls_out=best, score_out=score, sums_out=sums)
        return best, score, sums

    def sums(
        self, X: Any, own: NDArray[Any], shape: Shape, own_score: NDArray[Any] | None = None
    ) -> Sums:
        """All sums but those of classes above the own one, whose score is found.

        Given its score those of the classes above it, but none of g and h.
        """
        kernel = partial(_core.softmax_sums, **shape._asdict(), moments=own_score is None)
        below = {}
        if own_score is None:
            own_score = np.full(X.shape[0], -np.inf, dtype=self._dtype)
        else:
            below = {"below_own": np.nextafter(own_score, own_score.dtype.type(-np.inf))}
        sums = empty_sums(X.shape[0])
        self._fill(kernel, X, 0, sums_out=sums, own=own, own_score=own_score, **below)
        return sums, own_score

    def totals(self, X: Any) -> NDArray[np.float64]:
        """The sum of all scores of each sample."""
        coef = np.asarray(self._given.sum(axis=0, dtype=np.float64)).ravel()
        found: NDArray[np.float64] = X @ coef + self._intercept.sum(dtype=np.float64)
        return found

    def _fill(self, kernel: Any, X: Any, first: int, **out: NDArray[Any]) -> None:
        try:
            for rows, part in self._parts(X, first):
                kernel(**self._arguments(part), **{name: of[rows] for name, of in out.items()})
        except _core.DamagedWeightsError as error:  # in a file that was not read when opened
            raise ModelFileError(
                f"{error}; load_model(path, verify=True) and 'multimargin info --verify' say where"
            ) from None

    def _arguments(self, part: Matrix) -> dict[str, Any]:
        columns = None if self._cache is None else self._cache.weights(self._given)
        if columns is None:
            weights, threads = self._weights, self._threads
        else:
            weights = _core.weights_by_feature(*columns, intercept=self._intercept)
            # A handful of samples is done before threads have started.
            threads = min(self._threads, 1 + part.shape[0] // 32)
        rows = core_rows(part)
        return {"rows": rows, "weights": weights, "isa": self._isa, "threads": threads}

    def _parts(self, X: Any, first: int) -> Any:
        if not isinstance(X, np.ndarray):
            yield slice(0, X.shape[0]), self._typed(as_core_csr(X), first)
            return
        for begin in range(0, X.shape[0], _DENSE_ROWS):
            end = min(X.shape[0], begin + _DENSE_ROWS)
            part = as_core_rows(X[begin:end], many_classes=True)
            yield slice(begin, end), self._typed(part, first + begin)

    def _typed(self, X: Matrix, first: int) -> Matrix:
        with np.errstate(over="ignore"):
            typed: Matrix = X if X.dtype == self._dtype else X.astype(self._dtype)
            values = arrays_of(typed)[0].reshape(-1)
            # Where squares do not overflow, scores do not: |w x| is at most |w| times |x|.
            if not math.isfinite(np.dot(values, values)):
                self._check_reach(X, first)
        return typed

    def _check_reach(self, X: Any, first: int) -> None:
        """Refuse values whose scores would overflow, be it while they are added up."""
        weight = max(1.0, float(np.max(np.abs(self._values), initial=0.0)))
        reach = np.asarray(abs(X).sum(axis=1, dtype=np.float64)).ravel() * weight
        row = int(np.argmax(reach))
        if reach[row] <= np.finfo(self._dtype).max:
            return
        values = X[row] if isinstance(X, np.ndarray) else X[row].toarray().reshape(-1)
        column = int(np.argmax(np.abs(values)))
        raise ValueError(
            f"X holds {values[column]:.3g} in row {first + row}, column {column}: scores of "
            f"this sample overflow {self._dtype}; scale the features, as for training"
        )


class RowScores(Protocol):
    """Scores of the rows of ``coef_``: of one row per class, or of one row for two classes."""

    def scores(self, X: Any, first: int = 0) -> NDArray[Any]: ...
    def top(self, X: Any, k: int) -> Best: ...
    def positive(self, X: Any) -> sp.csr_matrix: ...
    def top_with_sums(self, X: Any, k: int, shape: Shape) -> BestAndSums: ...
    def sums(
        self, X: Any, own: NDArray[Any], shape: Shape, own_score: NDArray[Any] | None = None
    ) -> Sums: ...
    def totals(self, X: Any) -> NDArray[np.float64]: ...


class ClassScores:
    """Scores with a column per class, also of two classes."""

    def __init__(self, of_rows: RowScores, rows: ClassRows) -> None:
        self._of_rows, self._rows = of_rows, rows
        self.n_classes = rows.n_classes

    def scores(self, X: Any, first: int = 0) -> NDArray[Any]:
        """All scores, shape (n_samples, n_classes); `first` numbers samples in messages."""
        return self._rows.scores(self._of_rows.scores(X, first))

    def positive(self, X: Any) -> sp.csr_matrix:
        """A one for each class of a multi-label model that has a positive score."""
        return self._of_rows.positive(X)

    def top(self, X: Any, k: int) -> Best:
        """The places of the ``k`` best classes of each sample and their scores, best first."""
        if self._rows.rows == self._rows.n_classes:
            return self._of_rows.top(X, k)
        return _better_of_two(self.scores(X), k)

    def top_with_sums(self, X: Any, k: int, shape: Shape) -> BestAndSums:
        """The same, and what a softmax sums over all classes."""
        if self._rows.n_classes != 2:
            return self._of_rows.top_with_sums(X, k, shape)
        both = self.scores(X)
        return *_better_of_two(both, k), sums_of(both, shape, None)

    def sums(self, X: Any, own: NDArray[Any], shape: Shape, *, ranks: bool = False) -> Sums:
        """What a softmax sums over all classes, and the score of a class of each sample, `own`.

        With ``ranks`` also over the classes that rank above it, shape (n_samples, WIDTH).
        """
        if self._rows.n_classes != 2:
            sums, own_score = self._of_rows.sums(X, own, shape)
            if ranks:
                above, _ = self._of_rows.sums(X, own, shape, own_score)
                sums[:, [ABOVE, COUNT]] = above[:, [ABOVE, COUNT]]
            return sums, own_score
        both = self.scores(X)
        return sums_of(both, shape, own), np.take_along_axis(both, own[:, None], axis=1)[:, 0]

    def means(self, X: Any) -> NDArray[np.float64]:
        """The mean score of each sample over all classes; that of two classes is zero."""
        if self.n_classes == 2:
            return np.zeros(X.shape[0])
        return self._of_rows.totals(X) / self.n_classes


def _better_of_two(both: NDArray[Any], k: int) -> Best:
    second = both[:, 1] > 0  # of equal scores the first class is best
    best = np.column_stack([second, ~second]).astype(np.intp)[:, :k]
    return best, np.take_along_axis(both, best, axis=1)


def best_labels(scores: ClassScores, classes: NDArray[Any], X: Any) -> NDArray[Any]:
    """Best class of each sample, shape (n_samples,)."""
    return np.asarray(classes[scores.top(X, 1)[0][:, 0]])


def best_k_labels(scores: ClassScores, classes: NDArray[Any], X: Any, k: int) -> Best:
    """The ``k`` best classes of each sample and their scores, best first."""
    order, score = scores.top(X, checked_k(k, len(classes)))
    return classes[order], score


def checked_k(k: Any, n_classes: int) -> int:
    if not is_whole(k) or k > n_classes:
        raise ValueError(f"k must be an integer between 1 and the {n_classes} classes: {k!r}")
    return int(k)
