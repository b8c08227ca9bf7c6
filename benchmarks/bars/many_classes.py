"""The bars of many classes: what an intercept costs, how time grows with C, dense rows."""

from __future__ import annotations

from benchmarks.bars.outcome import Options, Outcome, Row, at_least, at_most, without_figure
from benchmarks.common.data import ALL_EMBEDDINGS, DMOZ, EMBEDDINGS, LSHTC, WORDNET
from benchmarks.common.run import Runs, measure_in_turns

_INTERCEPT_SETS = (WORDNET, DMOZ, "clinc150", LSHTC)
_INTERCEPT_COSTS = 1.4  # times
_PENALTIES = (1e-3, 1e-2, 0.1, 10.0, 100.0, 1e3)
_MOST_TIMES, _MOST_MB = 4.0, 4000.0
_EMBEDDING_S = {1.0: 6.0, 10.0: 20.0}
_ALL_EMBEDDINGS_S = 60.0
_LIMIT_S = 300.0


def intercept(options: Options) -> Outcome:
    """Time with an intercept over time without one."""
    outcome = Outcome()
    for dataset in _INTERCEPT_SETS:
        for formulation in ("ww", "cs"):
            tasks = {
                name: options.job(
                    "multimargin",
                    dataset,
                    formulation=formulation,
                    options={"fit_intercept": name == "with"},
                )
                for name in ("without", "with")
            }
            count = options.runs(3)
            runs = measure_in_turns({name: (job, count) for name, job in tasks.items()})
            outcome.runs += list(runs.values())
            outcome.rows.append(
                _times(f"{dataset}: {formulation}, intercept", runs, _INTERCEPT_COSTS)
            )
    return outcome


def _times(title: str, runs: dict[str, Runs], limit: float) -> Row:
    first, second = runs["without"], runs["with"]
    if not first.results or not second.results:
        return without_figure(title, first.problem or second.problem, f"<= {limit:g}x")
    return _ratio(title, second.seconds, first.seconds, limit)


def _ratio(title: str, seconds: float, of: float, limit: float) -> Row:
    value = seconds / of
    figure = f"{value:.2f}x ({of:.2f} s, {seconds:.2f} s)"
    return Row(title, figure, value, f"<= {limit:g}x", value <= limit)


def penalties(options: Options) -> Outcome:
    """12,582 classes: time for C from 0.001 to 1,000, over that for C = 1, and memory."""
    outcome = Outcome()
    for formulation in ("ww", "cs"):
        runs = {}
        for C in (1.0, *_PENALTIES):
            limits = {"time_limit": _LIMIT_S, "max_iter": 10**6}
            job = options.job("multimargin", WORDNET, formulation=formulation, C=C, options=limits)
            runs[C] = measure_in_turns({"ours": (job, 1)})["ours"]
        outcome.runs += list(runs.values())
        for C in _PENALTIES:
            title = f"{WORDNET}: {formulation}, C = {C:g}"
            if not runs[C].results or not runs[1.0].results:
                problem = runs[C].problem or runs[1.0].problem
                outcome.rows.append(without_figure(title, problem, f"<= {_MOST_TIMES:g}x"))
                continue
            row = _ratio(title, runs[C].seconds, runs[1.0].seconds, _MOST_TIMES)
            gap = runs[C].results[0]["details"]["own_gap"]
            outcome.rows += [
                row,
                Row(f"{title}: duality gap", f"{gap:.2%}", gap, "<= 1%", gap <= 0.01),
                at_most(f"{title}: peak memory", runs[C].peak_mb, _MOST_MB, "MB"),
            ]
    return outcome


def embeddings(options: Options) -> Outcome:
    """Dense rows: 1,000 and 12,582 classes, and two threads against one."""
    jobs = {
        f"{EMBEDDINGS}: {formulation}, C = {C:g}": (
            options.job("multimargin", EMBEDDINGS, formulation=formulation, C=C),
            limit,
        )
        for C, limit in _EMBEDDING_S.items()
        for formulation in ("ww", "cs")
    }
    jobs[f"{ALL_EMBEDDINGS}: ww"] = (
        options.job("multimargin", ALL_EMBEDDINGS),
        _ALL_EMBEDDINGS_S,
    )
    outcome = Outcome()
    for title, (job, limit) in jobs.items():
        runs = measure_in_turns({"ours": (job, 1)})["ours"]
        outcome.runs.append(runs)
        if not runs.results:
            outcome.rows.append(without_figure(title, runs.problem, f"< {limit:g} s"))
            continue
        figure = f"{runs.seconds:.2f} s"
        outcome.rows.append(
            Row(title, figure, runs.seconds, f"< {limit:g} s", runs.seconds < limit)
        )
    title = f"{EMBEDDINGS}: two threads against one"
    pair = {
        str(number): (options.job("multimargin", EMBEDDINGS, threads=number), options.runs(3))
        for number in (1, 2)
    }
    runs_of = measure_in_turns(pair)
    one, two = runs_of["1"], runs_of["2"]
    outcome.runs += [one, two]
    if not one.results or not two.results:
        outcome.rows.append(without_figure(title, one.problem or two.problem, ">= 1.7x"))
        return outcome
    note = f" ({one.seconds:.2f} s, {two.seconds:.2f} s)"
    outcome.rows.append(at_least(title, one.seconds / two.seconds, 1.7, note=note))
    return outcome
