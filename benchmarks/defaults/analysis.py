"""Ranks and regrets of candidate defaults, and the numbers in their rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from benchmarks.defaults.choices import FIXED, KINDS, Kind, Rule, nearest, penalties, rules
from benchmarks.defaults.results import Row
from benchmarks.defaults.sets import SETS

CUSTOMARY = Rule(1.0)


@dataclass(frozen=True)
class Candidate:
    """A default: what is fitted, and the rule for its C."""

    kind: Kind
    rule: Rule

    def __str__(self) -> str:
        return f"{self.kind}, {self.rule}"

    def on_grid(self, n_classes: int, squared_norm: float) -> float:
        """The value of C that is measured for it."""
        grid = penalties(self.kind, n_classes, squared_norm)
        return nearest(self.rule.of(n_classes, squared_norm), grid)


def paths(rows: Iterable[Row], kind: Kind) -> dict[str, list[Row]]:
    """The fits along C of a kind, by set."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.kind == kind and not row.cold:
            found.setdefault(row.dataset, []).append(row)
    return found


def rule_errors(rows: Sequence[Row], kind: Kind) -> dict[Rule, float]:
    """The mean error of every rule on the sets that choose, the best rule first.

    Where a rule asks for a C that was not measured, the nearest one stands for it. Of equals the
    first is the first one, which is the simplest.
    """
    which = [path for name, path in paths(rows, kind).items() if SETS[name].chooses]
    if not which:
        return {}
    mean = {rule: float(np.mean([_at(path, rule).error for path in which])) for rule in rules(kind)}
    return dict(sorted(mean.items(), key=lambda item: item[1]))


def _at(path: Sequence[Row], rule: Rule) -> Row:
    at = {row.C: row for row in path}
    return at[nearest(rule.of(path[0].classes, path[0].squared_norm), list(at))]


def candidates(rows: Sequence[Row], *, customary: bool = True) -> list[Candidate]:
    """Every kind with the rules that are best where numbers are chosen, and with C = 1.

    These are the best of all rules, and of those with a fixed C; without `customary` the latter
    alone. A kind that was not measured on all sets yet is none of them.
    """
    found = []
    sets = {row.dataset for row in rows if not row.cold}
    for kind in KINDS:
        errors = rule_errors(rows, kind)
        if not errors or len(paths(rows, kind)) < len(sets):
            continue
        fixed = next(rule for rule in errors if rule.form == FIXED)
        chosen = [fixed, next(iter(errors)), CUSTOMARY] if customary else [fixed]
        found += [Candidate(kind, rule) for rule in dict.fromkeys(chosen)]
    return found


def at_candidate(rows: Iterable[Row], candidate: Candidate) -> dict[str, Row]:
    """The fit of a candidate on every set, the one from zero where there are two."""
    found: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: row.cold):
        if row.kind == candidate.kind:
            C = candidate.on_grid(row.classes, row.squared_norm)
            if row.C == C:
                found[row.dataset] = row
    return found


def tuned(rows: Iterable[Row], kinds: Iterable[Kind]) -> dict[str, Row]:
    """The fit along C with the least error on the samples that choose C, by set."""
    allowed = set(kinds)
    best: dict[str, Row] = {}
    for row in rows:
        if row.kind in allowed and not row.cold:
            old = best.get(row.dataset)
            if old is None or row.validation_error < old.validation_error:
                best[row.dataset] = row
    return best


@dataclass(frozen=True)
class Standing:
    """How a candidate does on some sets; errors and regrets in points.

    `regret` is against the best candidate of each set, `strict` against the best of all fits on
    it, whatever their C. `slowdown` is the geometric mean of seconds over those of the fastest
    candidate.
    """

    candidate: Candidate
    sets: int
    rank: float
    regret: float
    worst: float
    worst_set: str
    strict: float
    f1_regret: float
    top5_regret: float
    slowdown: float
    most_slowdown: float


def standings(
    rows: Sequence[Row], names: Sequence[str], which: Sequence[Candidate]
) -> list[Standing]:
    """Compare candidates on the sets where all of them were measured, the best first."""
    at = {candidate: at_candidate(rows, candidate) for candidate in which}
    names = [name for name in names if all(name in found for found in at.values())]
    if not names or not which:
        return []
    table = {c: [found[name] for name in names] for c, found in at.items()}
    errors = np.array([[100 * row.error for row in line] for line in table.values()])
    ranks = np.apply_along_axis(rankdata, 0, np.round(errors, 6))
    regrets = errors - errors.min(axis=0)
    least = np.array([min(100 * r.error for r in rows if _ours(r, name)) for name in names])
    f1 = np.array([[100 * row.macro_f1 for row in line] for line in table.values()])
    top5 = np.array([[100 * row.top5_error for row in line] for line in table.values()])
    ratios = _slowdowns(table)
    found = [
        Standing(
            candidate,
            len(names),
            rank=float(ranks[i].mean()),
            regret=float(regrets[i].mean()),
            worst=float(regrets[i].max()),
            worst_set=names[int(regrets[i].argmax())],
            strict=float((errors[i] - least).mean()),
            f1_regret=float((f1.max(axis=0) - f1[i]).mean()),
            top5_regret=float((top5[i] - top5.min(axis=0)).mean()),
            slowdown=float(np.exp(np.mean(np.log(ratios[i])))) if ratios.size else np.nan,
            most_slowdown=float(ratios[i].max()) if ratios.size else np.nan,
        )
        for i, candidate in enumerate(table)
    ]
    return sorted(found, key=lambda standing: standing.regret)


def _ours(row: Row, name: str) -> bool:
    return row.dataset == name and row.kind in KINDS


def _slowdowns(table: Mapping[Candidate, Sequence[Row]]) -> np.ndarray:
    """Seconds over those of the fastest candidate, of the sets where all were fitted from zero."""
    lines = list(table.values())
    which = [i for i in range(len(lines[0])) if all(line[i].cold for line in lines)]
    seconds = np.array([[line[i].seconds for i in which] for line in lines])
    return seconds / seconds.min(axis=0) if which else np.empty((len(lines), 0))
