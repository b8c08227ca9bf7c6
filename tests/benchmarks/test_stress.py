"""The stress program in short: some problems of every kind, and nothing may be found."""

from __future__ import annotations

import copy
import sys

import numpy as np

from benchmarks.stress.__main__ import line, main
from benchmarks.stress.checks import findings, other_bits
from benchmarks.stress.data import Samples
from benchmarks.stress.lanes import outcomes
from benchmarks.stress.problem import Step, steps
from multimargin.formulations import FORMULATIONS

PROBLEMS = 150


def test_nothing_breaks_the_certificate():
    done = list(outcomes(0, 2, lambda begun: begun < PROBLEMS))
    assert sorted(outcome.seed for outcome in done) == list(range(PROBLEMS))
    assert {outcome.name for outcome in done} == {*FORMULATIONS, "ovr²"}
    found = [line(outcome, step, finding) for outcome in done for step, finding in outcome.found]
    assert not found, "\n".join(["", *sorted(found)])


def test_a_problem_is_a_function_of_its_seed():
    for seed in range(20):
        one, other = steps(seed), steps(seed)
        assert [str(step) for step in one] == [str(step) for step in other]
        for a, b in zip(one, other, strict=True):
            assert np.array_equal(a.samples.X, b.samples.X)
            assert np.array_equal(a.samples.y, b.samples.y)


def test_what_is_false_is_found():
    rng = np.random.default_rng(0)
    data = Samples(rng.normal(size=(20, 3)), np.arange(20) % 3, None)
    passes = {"warm_start": True, "random_state": 0, "solver": "passes"}  # leaves a gap
    step = Step(data, passes, "first", "", False)
    model = step.estimator().fit(data.given(), data.y)
    assert [*findings(model, step)] == []
    gap, primal = model.dual_gap_, model.primal_objective_
    for claims, kinds in (
        ({"dual_gap_": gap - 1e-3}, {"false gap"}),
        ({"dual_gap_": -gap}, {"false gap", "negative gap"}),
        ({"dual_gap_": 0.02}, {"not converged"}),
        ({"primal_objective_": 0.9 * primal}, {"false primal", "beyond optimum"}),
        ({"dual_objective_": 1.1 * primal}, {"false dual", "beyond optimum"}),
        ({"primal_objective_": 1e3 * primal}, {"worse than nothing"}),
        ({"converged_": False, "primal_objective_": 1.1 * primal}, {"primal was smaller"}),
        ({"converged_": False, "dual_gap_": gap + 0.1}, {"gap was smaller"}),
        ({"violation_": np.nan}, {"not finite"}),
    ):
        false = copy.copy(model)
        vars(false).update(claims)
        assert {finding.kind for finding in findings(false, step)} == kinds, claims
    false = copy.copy(model)
    false.coef_ = np.nextafter(model.coef_, 1)
    assert [finding.kind for finding in other_bits(model, false, "")] == ["other bits"]


def test_the_command(tmp_path, monkeypatch, capsys):
    words = ["--problems", "3", "--jobs", "1", "--json", str(tmp_path / "found.json")]
    monkeypatch.setattr(sys, "argv", ["stress", *words])
    status = main()
    out = capsys.readouterr().out
    assert "problems" in out and (tmp_path / "found.json").is_file()
    assert status == int("--only" in out)
