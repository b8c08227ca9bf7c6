"""MulticlassSVC, the scikit-learn estimator."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from multimargin._callbacks import CallbackSupportMixin, FitTasks, with_callbacks
from multimargin._parameters import check_parameters
from multimargin._prediction import LinearScores
from multimargin._problem import Problem, as_core_csr
from multimargin._progress import Bar, CallbackObserver, Observer, Observers, ScanRecord, Weights
from multimargin._solution import Limits, Solution
from multimargin._solvers import SOLVERS
from multimargin._stopping import STOPPINGS
from multimargin._threads import thread_count
from multimargin.formulations import FORMULATIONS

# "auto" keeps coef_ dense up to this size; above, a text model is mostly zeros.
_LARGE_DENSE_BYTES = 32 * 2**20


class MulticlassSVC(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Exact linear multi-class support vector machine for many classes.

    All classes are trained in one problem, to a certified relative duality gap, with sparse
    weights throughout.

    Parameters
    ----------
    formulation : {"ww", "cs", "llw", "ovr"}, default="ww"
        What a sample loses. "ww", Weston-Watkins: for every class that comes within a margin of
        1 of its own. "cs", Crammer-Singer: for the worst of them only. "llw", Lee-Lin-Wahba: for
        every other class that scores above -1, with scores that sum to zero. "ovr", one-vs-rest:
        every class by itself against all others. The models of "llw" and "ovr" are dense.
    C : float, default=1.0
        Penalty of the losses; larger fits the training data more closely. ``numpy.inf``, for
        "llw" only, is the hard margin: no loss at all, or a ValueError where there is no such
        solution.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The squared hinge is for "ovr" only.
    solver : {"auto", "block", "alternating", "extrapolated"}, default="auto"
        For "llw" only; all reach the same optimum. "block" (what "auto" chooses) solves all
        classes of a sample at once. "alternating" trains each class by itself with the mean of
        all held fixed in between, which is slow for large C; "extrapolated" does so with a mean
        held ahead of where it is.
    n_reductions : int, default=10
        How often per pass "alternating" and "extrapolated" take the mean.
    tol : float, default=0.01
        What has to be reached, see `stopping`.
    stopping : {"gap", "violation"}, default="gap"
        "gap": stop at a relative duality gap of `tol`, so that the objective is within that
        fraction of the optimum. "violation": stop when no projected gradient exceeds `tol` (as
        in the literature; leaves coordinates within `tol` alone and says little about the gap).
    max_iter : int, default=10000
        Most passes over the training samples.
    fit_intercept : bool, default=True
        Whether to add a constant feature. Its weights are regularised like the others.
    intercept_scaling : float, default=1.0
        Value of the constant feature; larger regularises the intercept less.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class's samples.
    n_jobs : int or None, default=None
        Threads; -1 uses all cores that the process may use. The model is the same, bit by bit,
        for any number.
    warm_start : bool, default=False
        Start from the dual variables of the last fit if it had the same samples and labels,
        also when C or weights changed.
    sparse_coef : bool or "auto", default="auto"
        Whether `coef_` is a CSR matrix; "auto" if a dense one would be larger than 32 MiB and no
        more than a quarter of it is not zero.
    random_state : int, RandomState or None, default=None
        Seeds the order of visits.
    verbose : int, default=0
        1 shows a progress bar on stderr.
    time_limit : float or None, default=None
        Seconds after which the fit ends with what it has, and a warning with the gap. "ovr" then
        trains all classes roughly first, and keeps samples x classes dual variables for that
        (up to 2 GiB; beyond, the last classes may remain untrained).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray or csr_matrix of shape (n_classes, n_features), or (1, n_features) for two
        classes
    intercept_ : ndarray of shape (n_classes,), or (1,) for two classes
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only when `X` has string column names.
    n_iter_ : int
        Passes over the training samples.
    primal_objective_, dual_objective_ : float
        Of the model as it is: the optimum lies between them.
    dual_gap_ : float
        (primal - dual) / primal.
    violation_ : float
        Largest projected gradient.
    converged_ : bool
        Whether `tol` was reached.
    history_ : list of dict
        Per scan: time, primal, dual, gap, violation, active (pairs), passes.
    model_density_ : float
        Share of non-zero weights, of all classes and features.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from multimargin import MulticlassSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MulticlassSVC(random_state=0).fit(X, y)
    >>> model.dual_gap_ <= 0.01
    True
    >>> labels, scores = model.predict_topk(X[:1], k=2)
    >>> labels.tolist()
    [[0, 1]]
    """

    def __init__(
        self,
        formulation: str = "ww",
        C: float = 1.0,
        *,
        loss: str = "hinge",
        solver: str = "auto",
        n_reductions: int = 10,
        tol: float = 0.01,
        stopping: str = "gap",
        max_iter: int = 10_000,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        sparse_coef: bool | Literal["auto"] = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        time_limit: float | None = None,
    ) -> None:
        self.formulation = formulation
        self.C = C
        self.loss = loss
        self.solver = solver
        self.n_reductions = n_reductions
        self.tol = tol
        self.stopping = stopping
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.sparse_coef = sparse_coef
        self.random_state = random_state
        self.verbose = verbose
        self.time_limit = time_limit

    # ------------------------------------------------------------ fitting

    @with_callbacks  # type: ignore[untyped-decorator,unused-ignore]
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> MulticlassSVC:
        """Train.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            CSR of float32 or float64 is used in place, without a copy. Rows without entries are
            allowed.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0; an integer weight equals repeating the sample, 0 leaving it out.

        Returns
        -------
        self : MulticlassSVC
        """
        check_parameters(self)
        threads = thread_count(self.n_jobs)
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            accept_large_sparse=True,
        )
        check_classification_targets(y)
        tasks = FitTasks(self, X, y)
        classes, problem = self._problem(as_core_csr(X), y, sample_weight)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        kind = SOLVERS[self.formulation][self.solver]
        options = {"reductions": int(self.n_reductions)} if kind.takes_reductions else {}
        solver = kind(
            problem,
            STOPPINGS[self.stopping](float(self.tol)),
            Limits(int(self.max_iter), self.time_limit),
            threads=threads,
            seed=seed,
            observers=Observers(self._observers(tasks, classes, problem)),
            keep_alpha=bool(self.warm_start),
            **options,
        )
        solution = solver.run(getattr(self, "_warm_alpha", None) if self.warm_start else None)
        self._take(solution, self._linear_model(solution.weights, classes, problem))
        if self.warm_start:
            self._warm_alpha = solution.alpha
        elif hasattr(self, "_warm_alpha"):
            del self._warm_alpha
        if not solution.converged:
            self._warn(solution)
        tasks.fit_ended(lambda: self._linear_model(solution.weights, classes, problem))
        return self

    def _problem(
        self, X: sp.csr_matrix, y: Any, sample_weight: ArrayLike | None
    ) -> tuple[NDArray[Any], Problem]:
        """The classes, and the problem to solve: what has weight zero is left out."""
        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes in the data, but the data "
                f"contains only one class: {classes.tolist()[0]!r}"
            )
        weight = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True, copy=True
        )
        if self.class_weight is not None:
            # "balanced" counts repetitions: a weight of two is two samples.
            weight = weight * self._class_weights(classes, labels, weight)[labels]
        if not np.all(weight > 0):
            used = np.flatnonzero(weight > 0)
            kept, labels = np.unique(labels[used], return_inverse=True)
            if len(kept) < 2:
                raise ValueError(
                    f"the weights leave samples of {len(kept)} class(es) with a positive "
                    "weight; at least 2 classes are needed"
                )
            X, classes, weight = X[used], classes[kept], weight[used]
        # Sums of squares and of box-sized numbers must not overflow.
        largest = float(np.max(np.abs(X.data), initial=0.0)) + (
            float(self.intercept_scaling) if self.fit_intercept else 0.0
        )
        ceiling = float(np.finfo(X.dtype).max) ** 0.5 / max(1, X.shape[1]) ** 0.5
        if largest > ceiling:
            raise ValueError(
                f"X (with the intercept) holds values up to {largest:.3g}, too large to be squared "
                f"and added in {X.dtype.name}: scale the features"
            )
        dtype = X.dtype
        if np.isinf(self.C):
            # What has to hold for every sample needs the digits; the model is rounded afterwards.
            X = X.astype(np.float64)
        box = np.ascontiguousarray(float(self.C) * weight, dtype=X.dtype)
        most = np.finfo(X.dtype).max ** 0.5
        # The squared hinge divides by it.
        least = 1 / most if self.loss == "squared_hinge" else 0.0
        large = box * len(classes) >= most
        if (np.isfinite(self.C) and np.any(large)) or not np.all(box > least):
            raise ValueError(
                f"C times the weights is too large or too small for {X.dtype.name}: it spans "
                f"{float(self.C) * weight.min():g} .. {float(self.C) * weight.max():g}"
            )
        return classes, Problem(
            X=X,
            y=np.ascontiguousarray(labels, dtype=np.int32),
            box=box,
            n_classes=len(classes),
            bias=float(self.intercept_scaling) if self.fit_intercept else 0.0,
            formulation=self.formulation,
            loss=self.loss,
            dtype=dtype,
        )

    def _class_weights(
        self, classes: NDArray[Any], labels: NDArray[np.intp], weight: NDArray[Any]
    ) -> NDArray[Any]:
        if self.class_weight == "balanced":
            total = np.bincount(labels, weights=weight, minlength=len(classes))
            present = total > 0
            balanced = np.zeros(len(total))
            balanced[present] = total.sum() / (present.sum() * total[present])
            return balanced
        given: NDArray[Any] = compute_class_weight(
            dict(self.class_weight or {}), classes=classes, y=classes[labels]
        )
        if np.any(given < 0) or not np.all(np.isfinite(given)):
            raise ValueError(
                f"class_weight must hold finite weights >= 0, got {self.class_weight!r}"
            )
        return given

    def _observers(
        self, tasks: FitTasks, classes: NDArray[Any], problem: Problem
    ) -> list[Observer]:
        def scan_ended(record: ScanRecord, weights: Callable[[], Weights]) -> bool:
            return tasks.scan_ended(lambda: self._linear_model(weights(), classes, problem))

        observers: list[Observer] = [CallbackObserver(scan_ended)]
        if self.verbose:
            title = FORMULATIONS[self.formulation].title
            observers.append(Bar(title, float(self.tol), self.stopping))
        return observers

    def _linear_model(
        self, weights: Weights, classes: NDArray[Any], problem: Problem
    ) -> dict[str, Any]:
        """The fitted attributes that prediction needs."""
        coef, shape = weights.coef, (problem.machines, problem.X.shape[1])
        coef = coef.astype(problem.dtype or coef.dtype, copy=False)
        stored = _nonzeros(coef)
        intercept = weights.constant.astype(coef.dtype) * coef.dtype.type(problem.bias)
        if shape[0] == 2:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        return {
            "classes_": classes,
            "n_features_in_": shape[1],
            "coef_": self._stored(coef),
            "intercept_": intercept,
            "model_density_": stored / max(1, shape[0] * shape[1]),
        }

    def _take(self, solution: Solution, model: dict[str, Any]) -> None:
        """Set the fitted attributes."""
        self.__dict__.pop("preprocessing_", None)  # that of a model loaded before
        self.classes_: NDArray[Any] = model["classes_"]
        self.coef_: Any = model["coef_"]
        self.intercept_: NDArray[Any] = model["intercept_"]
        self.model_density_: float = model["model_density_"]
        self.n_iter_ = solution.passes
        self.primal_objective_ = solution.primal
        self.dual_objective_ = solution.dual
        self.dual_gap_ = solution.gap
        self.violation_ = solution.violation
        self.converged_ = solution.converged
        self.history_ = [record.as_dict() for record in solution.history]

    def _stored(self, coef: Any) -> Any:
        """The weights in the form that `sparse_coef` asks for."""
        wanted = self.sparse_coef
        if wanted == "auto":
            size = coef.shape[0] * coef.shape[1]
            # An index takes as much as a value or more, so this saves half the memory at least.
            full = 4 * _nonzeros(coef) > size
            wanted = size * coef.dtype.itemsize > _LARGE_DENSE_BYTES and not full
        if wanted:
            return sp.csr_matrix(coef)
        return coef if isinstance(coef, np.ndarray) else coef.toarray()

    def _warn(self, solution: Solution) -> None:
        remedy = {
            "max_iter": f"max_iter={self.max_iter} was reached: raise it, or raise tol",
            "time_limit": f"time_limit={self.time_limit} s was reached: raise it, or raise tol",
            "precision": "rounding does not allow more: train on float64 data, or raise tol",
            "a callback": "a callback asked to stop",
        }[solution.ended_by]
        warnings.warn(
            f"tol was not reached after {solution.passes} passes: relative duality gap "
            f"{solution.gap:.3g}, largest violation {solution.violation:.3g}, with "
            f"stopping={self.stopping!r} and tol={self.tol:g}. {remedy}.",
            ConvergenceWarning,
            stacklevel=4,
        )

    # ------------------------------------------------------------ predicting

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Scores of all classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            For two classes positive scores mean ``classes_[1]``.
        """
        X = self._checked(X)
        scores = self._scores().scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Best class of each sample; no array of samples x classes is made.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        X = self._checked(X)
        if len(self.classes_) == 2:
            best: NDArray[Any] = (self._scores().scores(X)[:, 0] > 0).astype(np.intp)
        else:
            best = self._scores().top(X, 1)[0][:, 0]
        labels: NDArray[Any] = self.classes_[best]
        return labels

    def predict_topk(self, X: Any, k: int = 5) -> tuple[NDArray[Any], NDArray[Any]]:
        """The ``k`` best classes of each sample, best first.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        k : int, default=5
            At most the number of classes.

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
        scores : ndarray of shape (n_samples, k)
        """
        X = self._checked(X)
        n_classes = len(self.classes_)
        if not isinstance(k, Integral) or isinstance(k, bool) or not 1 <= k <= n_classes:
            raise ValueError(f"k must be an integer between 1 and the {n_classes} classes: {k!r}")
        if n_classes == 2:
            score = self._scores().scores(X)[:, 0]
            # One-vs-rest has one machine, whose score is the second class's; otherwise two
            # classes share the difference of their scores evenly.
            share = score if self.formulation == "ovr" else score / 2
            both = np.column_stack([-share, share])
            best = np.column_stack([score > 0, score <= 0]).astype(np.intp)[:, :k]
            return self.classes_[best], np.take_along_axis(both, best, axis=1)
        order, score = self._scores().top(X, int(k))
        return self.classes_[order], score

    def sparsify(self) -> MulticlassSVC:
        """Turn ``coef_`` into a CSR matrix. Predictions stay the same.

        Returns
        -------
        self : MulticlassSVC
        """
        check_is_fitted(self, "coef_")
        if not sp.issparse(self.coef_):
            self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> MulticlassSVC:
        """Turn ``coef_`` into an ndarray. Predictions stay the same.

        Returns
        -------
        self : MulticlassSVC
        """
        check_is_fitted(self, "coef_")
        if sp.issparse(self.coef_):
            sparse: Any = self.coef_
            self.coef_ = sparse.toarray()
        return self

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self, "coef_")
        return validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False
        )

    def _scores(self) -> LinearScores:
        return LinearScores(self.coef_, self.intercept_, thread_count(self.n_jobs))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _nonzeros(coef: Any) -> int:
    return int(np.count_nonzero(coef) if isinstance(coef, np.ndarray) else coef.nnz)
