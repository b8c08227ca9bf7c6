"""A random problem for the stress program: samples, parameters, and how both change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.stress.data import Samples, joined, more_samples, samples, some, weights
from multimargin import LabelTree, MulticlassSVC, TextClassifier
from multimargin.formulations import FORMULATIONS
from multimargin.solvers._registry import SOLVERS

_WORK = 3e7  # multiply-adds of all passes of a fit: well under a second
Parameters = dict[str, Any]
Random = np.random.Generator


@dataclass(frozen=True)
class Step:
    """One fit: what it is given, what is changed since the last one, and what else is tried.

    Attributes
    ----------
    samples : Samples
    parameters : dict
    change : str
        Since the step before.
    file : {"", "plain", "float16", "pruned"}
        The model goes through such a file.
    at_once : bool
        Whether the same is also fitted by several threads at once.
    """

    samples: Samples
    parameters: Parameters
    change: str
    file: str
    at_once: bool

    def estimator(self) -> MulticlassSVC:
        kind = TextClassifier if self.samples.texts else MulticlassSVC
        return kind(**self.parameters)

    def __str__(self) -> str:
        plain = MulticlassSVC().get_params()
        parameters = ", ".join(
            f"{name}={value!r}"
            for name, value in self.parameters.items()
            if name not in plain or value != plain[name]
        )
        return f"{self.change}: {self.samples}\n    {parameters}"


def steps(seed: int) -> list[Step]:
    """The fits of a problem, one after the other by one estimator; a function of the seed alone."""
    rng = np.random.default_rng(seed)
    data = samples(rng)
    parameters = _parameters(rng, data)
    parameters["random_state"] = seed % 2**31
    found = [_step(rng, data, parameters, "first")]
    if parameters["warm_start"] and rng.random() < 0.5:
        for _ in range(int(rng.integers(1, 5))):
            changes = rng.choice(list(_CHANGES), size=int(rng.integers(1, 4)), replace=False)
            for name in changes:
                data, parameters = _CHANGES[name](rng, data, parameters)
            classes = np.unique(data.y).tolist()
            if len(classes) < 2:
                break
            if isinstance(given := parameters["class_weight"], dict):
                given = {label: given[label] for label in given if label in classes}
            parameters = {
                **parameters,
                "class_weight": given,
                "max_iter": _most_passes(rng, data, parameters),
            }
            found.append(_step(rng, data, parameters, " and ".join(changes)))
    return [_with_costs(step, seed) for step in found]


def name(seed: int) -> str:
    """Formulation of a problem, and a mark for the squared loss."""
    first = steps(seed)[0].parameters
    return str(first["formulation"]) + ("²" if first["loss"] != "hinge" else "")


def _step(rng: Random, data: Samples, parameters: Parameters, change: str) -> Step:
    file = str(rng.choice(["plain", "float16", "pruned"])) if rng.random() < 0.2 else ""
    return Step(data, dict(parameters), change, file, bool(rng.random() < 0.08))


def _with_costs(step: Step, seed: int) -> Step:
    """The same step with a tree of its labels, in two of five problems."""
    rng = np.random.default_rng([seed, 1])  # of its own, so that the rest stays what it was
    if rng.random() > 0.4 or not FORMULATIONS[step.parameters["formulation"]].label_costs:
        return step
    width, cost = int(rng.integers(2, 6)), str(rng.choice(["distance", "depth"]))
    labels = np.unique(step.samples.y).tolist()
    parents = {label: ("inner", int(label) % width) for label in labels}
    parents |= {("inner", k): ("upper", k % 2) for k in range(width)}
    tree = LabelTree(parents, cost)
    return replace(step, parameters={**step.parameters, "label_cost": tree})


def _parameters(rng: Random, data: Samples) -> Parameters:
    formulation = str(rng.choice([*SOLVERS]))
    solver = str(rng.choice(["auto", *SOLVERS[formulation]]))
    if solver in ("auto", "block") and _slow_inside(data) and rng.random() < 0.8:
        solver = "passes"
    whole = solver in ("block", "passes") and formulation == "llw"
    parameters: Parameters = {
        "formulation": formulation,
        "solver": solver,
        "loss": _loss(rng, formulation),
        "C": _penalty(rng, formulation),
        "tol": float(10 ** rng.uniform(-6, -1)),
        "stopping": "gap" if rng.random() < 0.75 else "violation",
        "class_weight": _class_weight(rng, data.y),
        "n_jobs": int(rng.integers(1, 4)),
        "warm_start": bool(rng.random() < 0.75),
        "sparse_coef": [True, False, "auto"][int(rng.integers(3))],
        "time_limit": float(rng.choice([0.001, 0.01, 0.1])) if rng.random() < 0.05 else None,
        "n_bundles": int(rng.choice([1, 2, 5])) if rng.random() < 0.3 and not whole else None,
        "shrinking": bool(rng.random() < 0.8),
        **_intercept(rng),
    }
    parameters["max_iter"] = _most_passes(rng, data, parameters)
    if solver in ("alternating", "extrapolated"):
        parameters["n_reductions"] = int(rng.choice([1, 3, 10]))
    if data.texts:
        parameters["min_df"] = int(rng.integers(1, 3))
    return parameters


def _slow_inside(data: Samples) -> bool:
    """Whether an interior point, if there is one, would take seconds."""
    weights = 0 if data.texts else data.X.shape[1] * len(np.unique(data.y))
    return 500 < weights < 3000


def _penalty(rng: Random, formulation: str) -> float:
    if formulation == "llw" and rng.random() < 0.1:
        return float("inf")
    wide = rng.random() < 0.5
    return float(10 ** (rng.uniform(-7, 5) if wide else rng.uniform(-2, 2)))


def _loss(rng: Random, formulation: str) -> str:
    return "squared_hinge" if formulation == "ovr" and rng.random() < 0.5 else "hinge"


def _intercept(rng: Random) -> Parameters:
    scaling = float(rng.choice([0.01, 1.0, 1.0, 10.0, 100.0]))
    return {"fit_intercept": bool(rng.random() < 0.6), "intercept_scaling": scaling}


def _class_weight(rng: Random, y: np.ndarray) -> Any:
    kind = rng.random()
    if kind < 0.7:
        return None
    if kind < 0.85:
        return "balanced"
    classes = np.unique(y)
    return {int(classes[c]): float(10 ** rng.uniform(-3, 2)) for c in some(rng, len(classes))}


def _most_passes(rng: Random, data: Samples, parameters: Parameters) -> int:
    if rng.random() < 0.4:
        return int(rng.integers(1, 51))
    features = 6 if data.texts else data.X.shape[1]
    work = len(data.y) * features * len(np.unique(data.y))
    # Where classes are divided, a pass is many calls.
    divided = parameters["n_bundles"] or parameters["solver"] in ("alternating", "extrapolated")
    return int(np.clip(_WORK / work, 20, 100 if divided else 2000))


# ------------------------------------------------------------ changes between two fits

Change = Callable[[Random, Samples, Parameters], tuple[Samples, Parameters]]


def _rows_vanish(rng: Random, data: Samples, p: Parameters) -> tuple[Samples, Parameters]:
    return data.take(np.delete(np.arange(len(data.y)), some(rng, len(data.y)))), p


def _rows_appear(rng: Random, data: Samples, p: Parameters) -> tuple[Samples, Parameters]:
    return joined(data, more_samples(rng, data)), p


def _rows_become_empty(rng: Random, data: Samples, p: Parameters) -> tuple[Samples, Parameters]:
    return data.emptied(some(rng, len(data.y))), p


def _another_order(rng: Random, data: Samples, p: Parameters) -> tuple[Samples, Parameters]:
    return data.take(rng.permutation(len(data.y))), p


def _labels_change(rng: Random, data: Samples, p: Parameters) -> tuple[Samples, Parameters]:
    y, rows = data.y.copy(), some(rng, len(data.y))
    y[rows] = rng.choice(data.y, len(rows))
    return replace(data, y=y), p


def _a_class_vanishes(rng: Random, data: Samples, p: Parameters) -> tuple[Samples, Parameters]:
    return data.take(np.flatnonzero(data.y != rng.choice(data.y))), p


def _columns_vanish(rng: Random, data: Samples, p: Parameters) -> tuple[Samples, Parameters]:
    if data.texts:
        return data, {**p, "min_df": int(rng.integers(1, 4))}
    X = data.X.copy()
    X[:, some(rng, X.shape[1])] = 0
    return replace(data, X=X), p


def _weights_change(rng: Random, data: Samples, p: Parameters) -> tuple[Samples, Parameters]:
    return replace(data, weight=weights(rng, len(data.y))), p


def _form_changes(rng: Random, data: Samples, p: Parameters) -> tuple[Samples, Parameters]:
    return replace(data, dtype=str(rng.choice(["float32", "float64"])), sparse=not data.sparse), p


def _parameter(draw: Callable[[Random, Samples, Parameters], Parameters]) -> Change:
    return lambda rng, data, p: (data, {**p, **draw(rng, data, p)})


_CHANGES: dict[str, Change] = {
    "rows vanish": _rows_vanish,
    "rows appear": _rows_appear,
    "rows become empty": _rows_become_empty,
    "another order": _another_order,
    "labels change": _labels_change,
    "a class vanishes": _a_class_vanishes,
    "columns vanish": _columns_vanish,
    "weights": _weights_change,
    "form": _form_changes,
    "C": _parameter(lambda rng, _, p: {"C": _penalty(rng, p["formulation"])}),
    "C rises": _parameter(lambda rng, _, p: {"C": p["C"] * float(10 ** rng.uniform(0, 2))}),
    "loss": _parameter(lambda rng, _, p: {"loss": _loss(rng, p["formulation"])}),
    "intercept": _parameter(lambda rng, _, p: _intercept(rng)),
    "class weights": _parameter(lambda rng, d, p: {"class_weight": _class_weight(rng, d.y)}),
    "tol": _parameter(lambda rng, _, p: {"tol": float(10 ** rng.uniform(-6, -1))}),
}
