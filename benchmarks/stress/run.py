"""One problem of the stress program from its seed to what was found."""

from __future__ import annotations

import copy
import re
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import joblib

from benchmarks.stress.checks import Finding, findings, other_bits, rounded_findings
from benchmarks.stress.problem import Step, name, steps
from multimargin import MulticlassSVC, load_model, prune, save_model

# What a fit may refuse, and says so in the documentation.
_DOCUMENTED = re.compile(
    "C=inf is infeasible|too large or too small for|too large to be squared|at least 2 classes|"
    "the texts give no features|the weights reach"
)


@dataclass
class Outcome:
    """The outcome of a problem.

    Attributes
    ----------
    seed : int
    name : str
        Formulation, and loss where there are two.
    found : list of (step, Finding)
    fits : int
    seconds : float
    """

    seed: int
    name: str
    found: list[tuple[int, Finding]] = field(default_factory=list)
    fits: int = 0
    seconds: float = 0.0


def run(
    seed: int,
    beat: Callable[[], None] = lambda: None,
    say: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Fit and check all steps of a problem.

    Parameters
    ----------
    seed : int
    beat : callable
        Called before every fit: this process is alive.
    say : callable
        Told of every step and what was found.
    """
    began = time.perf_counter()
    planned, outcome = steps(seed), Outcome(seed, name(seed))
    model = planned[0].estimator()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", category=RuntimeWarning, module="multimargin")
        for number, step in enumerate(planned):
            say(f"step {number}, {step}")
            run_of_step = _StepRun(step, outcome, beat, say)
            found = list(run_of_step.of(model))
            for finding in found:
                say(f"    {finding.kind}: {finding.text}")
            outcome.found += [(number, finding) for finding in found]
            if run_of_step.refused:
                break
            model = run_of_step.model
    outcome.seconds = time.perf_counter() - began
    return outcome


class _StepRun:
    """A fit, and everything that is tried with it."""

    def __init__(
        self, step: Step, outcome: Outcome, beat: Callable[[], None], say: Callable[[str], None]
    ) -> None:
        self._step, self._outcome, self._beat, self._say = step, outcome, beat, say
        self.refused = False
        self.model = step.estimator()

    def of(self, before: MulticlassSVC) -> Iterator[Finding]:
        """Fit, from what the last step left; yields what is wrong."""
        before.set_params(**self._step.parameters)
        try:
            self.model = self._fitted(copy.deepcopy(before))
            self._say(f"    {_numbers(self.model)}")
            yield from findings(self.model, self._step)
            yield from self._same_for_all_threads(before)
            yield from self._through_a_file()
        except Exception as error:  # whatever it is, it is what is looked for
            self.refused = True
            self._say(f"    {type(error).__name__}: {error}")
            if not (isinstance(error, ValueError) and _DOCUMENTED.search(str(error))):
                at = traceback.extract_tb(error.__traceback__)[-1]
                where = f"{Path(at.filename).name}:{at.lineno}"
                yield Finding("exception", f"{type(error).__name__} in {where}: {error}"[:200])

    def _fitted(self, model: MulticlassSVC) -> MulticlassSVC:
        self._beat()
        self._outcome.fits += 1
        data = self._step.samples
        return model.fit(data.given(), data.y, data.weight)

    def _fitted_beside(self, model: MulticlassSVC) -> MulticlassSVC:
        # Otherwise joblib would give one thread to what is not in the main one.
        with joblib.parallel_config("threading"):
            return self._fitted(model)

    def _same_for_all_threads(self, before: MulticlassSVC) -> Iterator[Finding]:
        jobs = self._step.parameters["n_jobs"]
        if self._step.parameters["time_limit"] is not None:
            return  # another clock, another model
        if jobs > 1:
            other = self._fitted(copy.deepcopy(before).set_params(n_jobs=1))
            yield from other_bits(self.model, other, f"n_jobs {jobs} and 1")
        if self._step.at_once:
            with ThreadPoolExecutor(3) as pool:
                copies = [copy.deepcopy(before).set_params(n_jobs=jobs) for jobs in (1, 2, 3)]
                for other in pool.map(self._fitted_beside, copies):
                    yield from other_bits(self.model, other, "fits at once")

    def _through_a_file(self) -> Iterator[Finding]:
        kind, data = self._step.file, self._step.samples
        if not kind:
            return
        X, y, weight = data.given(), data.y, data.weight
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            if kind != "plain":
                small = prune(self.model, keep=0.5) if kind == "pruned" else self.model
                save_model(small, path, weights="float16")
                loaded = load_model(path)
                yield from rounded_findings(loaded, loaded.certify(X, y, weight), kind)
                return
            kept = getattr(self.model, "_warm_alpha", None) is not None
            save_model(self.model, path, dual=kept)
            loaded = load_model(path, verify=True)
            one, other = (m.certify(X, y, weight) for m in (self.model, loaded))
            if one != other:
                yield Finding("other bits", f"from a file: {one} and {other}")
            if kept:  # what follows goes on from the file
                self.model = copy.deepcopy(loaded)


def _numbers(model: Any) -> str:
    return (
        f"claims primal {model.primal_objective_:.9g}, dual {model.dual_objective_:.9g}, gap "
        f"{model.dual_gap_:.3g}, {'converged' if model.converged_ else 'not converged'} after "
        f"{model.n_iter_} passes"
    )
