"""Every formulation with every loss it offers, and with every other way to its optimum."""

from dataclasses import dataclass

from multimargin import MulticlassSVC
from multimargin.formulations import FORMULATIONS
from tests.reference.references import reference_of
from tests.reference.ww import box_of, dense, with_intercept
from tests.support.certificate import check_optimum, check_reported

# Of solvers that get on in short steps.
COARSE = {"alternating": 1e-2, "extrapolated": 1e-2}


@dataclass(frozen=True)
class Case:
    """A formulation, a loss and a solver, by what users write."""

    formulation: str
    loss: str = "hinge"
    solver: str = "auto"
    bundles: int | None = None  # a number keeps rows away: lines, or the active set

    def __str__(self):
        rest = [self.loss] if self.loss != "hinge" else []
        rest += [self.solver] if self.solver != "auto" else []
        return "-".join([self.formulation, *rest, *(["bundles"] if self.bundles else [])])

    @property
    def facts(self):
        return FORMULATIONS[self.formulation]

    @property
    def reference(self):
        return reference_of(self.formulation, self.loss)

    @property
    def tol(self):
        """A tight tolerance for this solver."""
        return COARSE.get(self.solver, 1e-4 if self.bundles else 1e-6)

    def model(self, **options):
        """An estimator of this case, to a tight tolerance unless another is given."""
        given = {"C": 1.0, "tol": self.tol, "max_iter": 10**6, "random_state": 0}
        given |= {"n_bundles": self.bundles} | options
        return MulticlassSVC(self.formulation, loss=self.loss, solver=self.solver, **given)

    def primal(self, model, X, y, box, scaling=1.0):
        """The true objective of a fitted model's weights."""
        W = self.reference.weights_of(model, scaling)
        return self.reference.primal(W, rows(model, X, scaling), y, box)

    def check_reported(self, model, X, y, box, scaling=1.0, rel=1e-9):
        """The model says the truth about itself; returns its true objective."""
        primal = self.primal(model, X, y, box, scaling)
        check_reported(model, primal, rel)
        return primal

    def check_optimum(self, model, X, y, box, scaling=1.0, rel=1e-9):
        """The model is as near to the certified optimum as it says; returns the optimum."""
        A, W = rows(model, X, scaling), self.reference.weights_of(model, scaling)
        best = self.reference.solve(A, y, box, len(model.classes_))
        assert W.shape == best[0].shape
        check_optimum(model, W, self.reference.primal(W, A, y, box), best, rel)
        return best[2]

    def check_tiny(self, model, problem, rel=1e-9):
        """Fit a `TinyProblem` and compare with its optimum."""
        model.set_params(**problem.options)
        model.fit(problem.X, problem.y, sample_weight=problem.sample_weight)
        assert model.coef_.dtype == problem.X.dtype
        self.check_optimum(model, problem.X, problem.y, problem.box, problem.scaling, rel)

    def best(self, X, y, C=1.0):
        """The certified optimum, with an intercept."""
        return self.reference.solve(with_intercept(X), y, box_of(y, C), int(y.max()) + 1)[2]


def rows(model, X, scaling=1.0):
    """Samples as the references take them."""
    return with_intercept(X, scaling) if model.fit_intercept else dense(X)


CASES = [Case(name, loss) for name, f in FORMULATIONS.items() for loss in f.offered_losses]
# Ways to the optimum that differ: "block" is what "auto" takes.
WAYS = [
    *CASES,
    *(
        Case(name, solver=solver)
        for name, f in FORMULATIONS.items()
        for solver, kind in f.solvers.items()
        if kind != f.solvers["auto"] and solver != "passes"
    ),
    *(Case(case.formulation, case.loss, bundles=1) for case in CASES if not case.facts.centred),
]
