"""MulticlassSVC, the scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from multimargin.estimator._calibrate import calibrated_by_splits, calibration_splits
from multimargin.estimator._doc_link import DocumentedEstimator
from multimargin.estimator._fit import Fit, take
from multimargin.estimator._gap_plot import GapPlotMixin
from multimargin.estimator._label_sets import LabelSetsMixin
from multimargin.estimator._names import FormulationName, LossName, SolverName, StoppingName
from multimargin.estimator._observers import CallbackSupportMixin, FitTasks, note, with_callbacks
from multimargin.estimator._options import checked_options
from multimargin.estimator._probabilities import ProbabilityMixin
from multimargin.estimator._samples import problem_of, refuse_texts
from multimargin.estimator._warm_start import carried_over
from multimargin.inspection._mixin import InspectionMixin
from multimargin.io._atomic import StrPath
from multimargin.models._coef import ClassRows, in_form
from multimargin.models._sample_keys import Keys, Samples
from multimargin.models._scores import ClassScores, LinearScores
from multimargin.models.file._strings import Arrays
from multimargin.models.label_sets._sets import predictions
from multimargin.parallel._divided_rows import DividedRows
from multimargin.parallel._threads import thread_count
from multimargin.solvers._problem import Problem
from multimargin.solvers._records import Observer
from multimargin.solvers._solution import Start


class MulticlassSVC(
    ProbabilityMixin,
    InspectionMixin,
    GapPlotMixin,
    DocumentedEstimator,
    CallbackSupportMixin,
    LabelSetsMixin,
    ClassifierMixin,
    BaseEstimator,
):
    """Exact linear multi-class support vector machine for many classes.

    All classes are trained in one problem, to a certified relative duality gap; with many classes,
    "ww" and "cs" have sparse weights throughout.

    Parameters
    ----------
    formulation : {"ww", "cs", "llw", "ovr", "adm", "ats", "atm", "mmr", "rm"}, default="cs"
        The loss of a sample. "ww", Weston-Watkins: for every class that comes within a margin of
        1 of its own. "cs", Crammer-Singer: for the worst of them only. "llw", Lee-Lin-Wahba: for
        every other class that scores above -1, with scores that sum to zero. "ovr", one-vs-rest:
        every class by itself against all others; samples may have several. Five more, whose scores
        sum to zero: "adm", the worst class of "llw" only; "ats", the loss of "ovr"; "atm", the
        worst class of that; "mmr", max-margin regression, the own class where it scores below 1;
        "rm", reinforced, "llw" and the own class where it scores below the number of the others.
        All but the models of "ww"
        and "cs" are dense.
    C : float or None, default=None
        Penalty of the losses; larger fits the training data more closely. None is a number that
        suits the formulation: 0.5 for "ww", 2 for "ovr" (1 with the squared hinge), 1 for "cs" and
        all others. ``numpy.inf``, for
        "llw" only, is the hard margin: no loss at all, or a ValueError where there is no such
        solution.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The squared hinge is for "ovr" only.
    solver : {"auto", "passes", "block", "alternating", "extrapolated"}, default="auto"
        All reach the same optimum. "auto" chooses from the data one of three engines (all classes
        of a sample at once; those that it needs; each class by itself), and may go over to Newton
        steps where passes are slow. "passes" only visits samples. The others are for "llw":
        "block" solves all classes of a sample at once; "alternating" trains each class by itself
        with the mean of all held fixed in between, which is slow for large C; "extrapolated" does
        so with a mean held ahead of where it is.
    n_reductions : int, default=10
        How often per pass "alternating" and "extrapolated" take the mean.
    tol : float, default=0.01
        The tolerance to reach, see `stopping`.
    stopping : {"gap", "violation"}, default="gap"
        "gap": stop at a relative duality gap of `tol`, so that the objective is within that
        fraction of the optimum. "violation": stop when no projected gradient exceeds `tol` (as
        in the literature; leaves coordinates within `tol` alone and says little about the gap).
    max_iter : int, default=10000
        Most passes over the training samples.
    fit_intercept : bool or "free", default=True
        Whether to add a constant feature. Its weights are regularised like the others. "free", for
        "ww" and "cs": they are not, so that moving all samples alike moves no score; they add up to
        zero. In one process, without bundles and checkpoints, and with ``stopping="gap"``.
    intercept_scaling : float, default=1.0
        Value of the constant feature; larger regularises the intercept less. 1 for "free".
    class_weight : dict, "balanced" or None, default=None
        Weight of each class's samples.
    label_cost : array, sparse matrix, tree or None, default=None
        Costs of taking samples of one class for another, for "ww" and "cs": the margin asked of
        the other class, 1 by default. An array of shape (n_classes, n_classes), own class by other
        class in the order of `classes_`, not negative and zero on the diagonal; a sparse matrix of
        that shape, whose entries replace the cost 1; or a `LabelTree`, or a dict of the parent of
        each node, which is ``LabelTree(dict)``.
    n_jobs : int or None, default=None
        Threads; -1 uses all cores that the process may use. The model is the same, bit by bit,
        for any number.
    warm_start : bool, default=False
        Start from the dual variables of the last fit: of every sample that it had with the same
        label, also when C or weights changed, when samples or classes were added or are gone, or
        when they come in another order. The result is as exact as without, and sooner there.
    sparse_coef : bool or "auto", default="auto"
        Whether `coef_` is a CSR matrix; "auto" if a dense one would be larger than 32 MiB and no
        more than a quarter of it is not zero.
    random_state : int, RandomState or None, default=None
        Seeds the order of visits.
    verbose : int, default=0
        1 shows a progress bar on stderr; 2 also says which engine solves the problem, and why.
    time_limit : float or None, default=None
        Seconds after which the fit ends with its best model so far, and a warning with the gap.
        "ovr" then trains all classes roughly first, and keeps samples x classes dual variables
        for that (up to 2 GiB; beyond, the last classes may remain untrained).
    n_bundles : int or None, default=None
        Bundles of classes, which ranks hold and pass on (`multimargin.distributed`). The model
        depends on it, where it is given, and not on the number of ranks or threads. None: the
        fastest choice, which is two per rank where there are several ranks.
    shrinking : bool, default=True
        Whether passes leave out, for a while, variables that seem settled, which is faster; the
        optimum is the same.
    calibration : {"cv"}, float or None, default=None
        Learn probabilities at fit, from held-out samples. A float: models of the other samples
        score this share of the samples of each class. "cv": of five folds each is scored by a
        model of the four others. The weights are those without: trained on all samples.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray or csr_matrix of shape (n_classes, n_features), or (1, n_features) for two
        classes, of which a sample has one
    intercept_ : ndarray of shape (n_classes,), or (1,) likewise
    multilabel_ : {"dense", "sparse", "lists"} or None
        The form of sets of labels, in `y` and as predicted; None: one label per sample.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
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
    n_bundles_ : int or None
        Bundles that the model was trained in; None for none.
    n_known_samples_ : int
        Samples whose dual variables were taken over from the last fit. Only with `warm_start`.
    history_ : list of dict
        Per scan: time, primal, dual, gap, violation, active (pairs), passes; and the engine.
    model_density_ : float
        Share of non-zero weights, of all classes and features.
    calibration_ : Calibration
        How scores become probabilities. Only after `calibrate`, or with `calibration`.

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

    classes_: NDArray[Any]
    coef_: NDArray[Any] | sp.csr_matrix[Any]
    intercept_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    n_iter_: int
    primal_objective_: float
    dual_objective_: float
    dual_gap_: float
    violation_: float
    converged_: bool
    history_: list[dict[str, float]]
    n_bundles_: int | None
    model_density_: float

    if TYPE_CHECKING:
        # Methods of scikit-learn's classes, which ships no types.
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def set_callbacks(self, *callbacks: Any) -> Self: ...

    def __init__(
        self,
        formulation: FormulationName = "cs",
        C: float | None = None,
        *,
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
        self.label_cost = label_cost
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.sparse_coef = sparse_coef
        self.random_state = random_state
        self.verbose = verbose
        self.time_limit = time_limit
        self.n_bundles = n_bundles
        self.shrinking = shrinking
        self.calibration = calibration

    # ------------------------------------------------------------ fitting

    @with_callbacks
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            CSR of float32 or float64 is used in place, without a copy. Rows without entries are
            allowed.
        y : array-like of shape (n_samples,)
            Labels. For "ovr" samples may have several, or none: lists, tuples or sets of labels,
            or an indicator matrix of shape (n_samples, n_classes), an array or sparse.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0; an integer weight equals repeating the sample, 0 leaving it out.

        Returns
        -------
        self : MulticlassSVC
        """
        options = checked_options(self)
        threads = thread_count(options.n_jobs)
        given = X = list(X) if isinstance(X, Iterator) else X  # read again for a warm start
        fit = Fit.of(self, options, X, y, sample_weight)
        splits = calibration_splits(self.calibration, fit)
        tasks = FitTasks(self, fit.X, fit.y, fit.linear_model)
        samples = None
        if options.warm_start:
            samples = Samples.of(fit.problem, fit.classes, self._raw_keys(given))
        watching: list[Observer] = [tasks, fit.bar()] if options.verbose else [tasks]
        start = self._start(fit.problem, samples)
        solved = fit.solve(watching, threads=threads, start=start)
        take(self, solved, fit.linear_model(solved.solution.weights))
        self._keep_dual(solved.solution.alpha, samples)
        fit.warn_unless_converged(solved.solution, stacklevel=4)
        tasks.fit_ended(solved.solution.weights)
        self.__dict__.pop("calibration_", None)
        if splits:
            data, spoken = fit.given(given, sample_weight), options.verbose > 0
            self.calibration_ = calibrated_by_splits(
                self, data, splits, MulticlassSVC.fit, spoken=spoken
            )
        return self

    def _learned_features(self, X: Any, y: Any) -> tuple[Any, dict[str, Any]]:
        """For subclasses: the features of training samples, and fitted attributes to make more."""
        return X, {}

    def _raw_keys(self, X: Any) -> Keys | None:
        """For subclasses: keys of the given samples, where their features change with others."""
        return None

    def _check_more(self) -> None:
        """For subclasses: check the parameters that they add."""

    def _problem(self, X: Any, y: Any, sample_weight: Any) -> tuple[NDArray[Any], Problem]:
        return problem_of(checked_options(self), X, y, sample_weight)

    def _start(self, problem: Problem, samples: Samples | None) -> Start | None:
        self.__dict__.pop("n_known_samples_", None)
        if samples is None:
            return None
        last: Start | None = getattr(self, "_warm_alpha", None)
        before: Samples | None = getattr(self, "_warm_samples", None)
        self.n_known_samples_ = 0
        if last is None or before is None:
            return None
        start, self.n_known_samples_ = carried_over(last, before, samples, problem)
        if self.verbose:
            known, n = self.n_known_samples_, len(problem.y)
            note(f"{known:,} of {n:,} samples are known from the last fit")
        return start

    def _keep_dual(self, alpha: Start | None, samples: Samples | None) -> None:
        """Keep dual variables for the next fit to start from, or nothing without samples."""
        self.__dict__.pop("_warm_alpha", None)
        self.__dict__.pop("_warm_samples", None)
        if samples is not None:
            self._warm_alpha, self._warm_samples = alpha, samples

    # ------------------------------------------------------------ predicting

    def decision_function(self, X: Any) -> NDArray[np.floating]:
        """Scores of all classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes of one label
            For two classes positive scores mean ``classes_[1]``.
        """
        X = self._checked(X)
        scores = self._row_scores().scores(X)
        return scores[:, 0] if scores.shape[1] < len(self.classes_) else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Best class of each sample; no array of samples x classes is made.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            Where samples have several labels, those with a positive score, in the form of `y`: an
            indicator matrix (sparse for more than 1,000 labels), or an array of tuples.
        """
        X = self._checked(X)
        return predictions(self._scores(), self, X)

    def sparsify(self) -> Self:
        """Turn ``coef_`` into a CSR matrix. Predictions stay the same.

        Returns
        -------
        self : MulticlassSVC
        """
        check_is_fitted(self, "coef_")
        if not sp.issparse(self.coef_):
            self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Turn ``coef_`` into an ndarray. Predictions stay the same.

        Returns
        -------
        self : MulticlassSVC
        """
        check_is_fitted(self, "coef_")
        self.coef_ = in_form(self.coef_, sparse=False)
        return self

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self, "coef_")
        return self._validated(X)

    def _validated(self, X: Any) -> Any:
        if isinstance(X, DividedRows):
            raise ValueError("divided samples are for a fit: load others with divide='classes'")
        if self._is_plain(X):
            return X
        kinds = [np.float64, np.float32]
        try:
            return validate_data(self, X, accept_sparse="csr", dtype=kinds, reset=False)
        except (TypeError, ValueError):
            refuse_texts(self, X)
            raise

    def _is_plain(self, X: Any) -> bool:
        """Whether scikit-learn's checks, which take longer than one prediction, find nothing."""
        return (
            isinstance(X, sp.csr_matrix | sp.csr_array)
            and X.dtype in (np.float32, np.float64)
            and len(X.shape) == 2
            and X.shape[0] > 0
            and X.shape[1] == self.n_features_in_
            and not hasattr(self, "feature_names_in_")
            and bool(np.isfinite(X.data).all())
        )

    def _scores(self) -> ClassScores:
        return ClassScores(self._row_scores(), ClassRows.of(self))

    def _row_scores(self) -> LinearScores:
        cache = self.__dict__.get("_feature_major")
        return LinearScores(self.coef_, self.intercept_, thread_count(self.n_jobs), cache)

    # ------------------------------------------------------------ model files, for subclasses

    def _pack_features(self, arrays: Arrays) -> dict[str, Any] | None:
        """Add to the arrays of a model file how features are made; return its metadata."""
        return None

    def _unpack_features(
        self, path: StrPath, about: dict[str, Any], arrays: Arrays, *, verify: bool
    ) -> None:
        """Take back from a model file how features are made."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
