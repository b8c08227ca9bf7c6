"""The bars of Weston-Watkins: time, ratio to LIBLINEAR, memory, and two threads against one."""

from __future__ import annotations

import os
from typing import Any

from benchmarks.bars.outcome import Options, Outcome, Row, at_least, at_most, without_figure
from benchmarks.common.data import GENERATED, LSHTC, WORDNET
from benchmarks.common.run import Runs, measure_in_turns

_TEST_ERROR, _TEST_ERROR_SLACK = 0.593, 0.003


def wordnet(options: Options) -> Outcome:
    """12,582 classes: time, ratio to LIBLINEAR, memory and errors, in one thread."""
    ours_job = options.job("multimargin", WORDNET, judge=True)
    runs = measure_in_turns({"ours": (ours_job, options.runs(3))})
    if not options.quick:
        # About four minutes; once is enough next to a bar of 12 times.
        peer = options.job("liblinear", WORDNET, judge=True, formulation="cs")
        runs["liblinear"] = options.shared.measure(peer)
    outcome = Outcome(runs=list(runs.values()))
    ours = runs["ours"]
    if not ours.results:
        outcome.rows.append(without_figure(WORDNET, ours.problem))
        return outcome
    error, slack = _TEST_ERROR, _TEST_ERROR_SLACK
    value = ours.judged["test_error"]
    outcome.rows += [
        *_time_rows(WORDNET, runs, 12, goal=30),
        at_most(f"{WORDNET}: peak memory", ours.peak_mb, 1000, "MB"),
        Row(
            f"{WORDNET}: test error",
            f"{value:.2%}",
            value,
            f"{error:.1%} +- {slack:.1%}",
            abs(value - error) <= slack,
        ),
        Row(f"{WORDNET}: top-5 accuracy", f"{ours.judged['top5']:.2%}", ours.judged["top5"]),
    ]
    return outcome


def lshtc(options: Options) -> Outcome:
    """1,139 classes with four samples each: ratio to LIBLINEAR, in one thread."""
    runs = measure_in_turns(
        {
            "ours": (options.job("multimargin", LSHTC, judge=True), options.runs(5)),
            "liblinear": (
                options.job("liblinear", LSHTC, judge=True, formulation="cs"),
                options.runs(3),
            ),
        }
    )
    outcome = Outcome(runs=list(runs.values()))
    ours = runs["ours"]
    if not ours.results:
        outcome.rows.append(without_figure(LSHTC, ours.problem))
        return outcome
    value = ours.judged["test_error"]
    outcome.rows += [
        *_time_rows(LSHTC, runs, 4),
        Row(f"{LSHTC}: test error", f"{value:.2%}", value),
    ]
    return outcome


def _time_rows(name: str, runs: dict[str, Runs], limit: float, **more: Any) -> list[Row]:
    """Time and gap, and the ratio to LIBLINEAR unless it is missing."""
    ours, peer = runs["ours"], runs.get("liblinear")
    seconds, gap = ours.seconds, ours.judged["gap"]
    rows = [
        Row(f"{name}: time", f"{seconds:.3f} s (median of {len(ours.results)})", seconds),
        Row(f"{name}: duality gap", f"{gap:.2%}", gap, "<= 1%", gap <= 0.01),
    ]
    title = f"{name}: LIBLINEAR -s 4"
    if peer is None:
        rows.append(without_figure(title, "skipped: --quick", f">= {limit:g}x"))
    elif not peer.results:
        rows.append(without_figure(title, peer.problem, f">= {limit:g}x"))
    else:
        note = f" ({peer.seconds:.2f} s, error {peer.judged['test_error']:.2%})"
        rows.append(at_least(title, peer.seconds / seconds, limit, note=note, **more))
    return rows


def threads(options: Options) -> Outcome:
    """Two threads against one, and whether the model stays the same."""
    title = "two threads against one"
    if (os.cpu_count() or 1) < 2:
        row = without_figure(title, "skipped: this machine has one processor", ">= 1.6x")
        return Outcome(rows=[row])
    count = options.runs(3)
    runs = measure_in_turns(
        {
            str(number): (options.job("multimargin", WORDNET, threads=number), count)
            for number in (1, 2)
        }
    )
    one, two = runs["1"], runs["2"]
    outcome = Outcome(runs=[one, two])
    if not one.results or not two.results:
        outcome.rows.append(without_figure(title, one.problem or two.problem, ">= 1.6x"))
        return outcome
    note = f" ({one.seconds:.2f} s, {two.seconds:.2f} s)"
    same = len(one.hashes | two.hashes) == 1
    outcome.rows += [
        at_least(title, one.seconds / two.seconds, 1.6, note=note),
        Row(f"{title}: same model", "all bits" if same else "differs", None, "all bits", same),
    ]
    return outcome


def memory(options: Options) -> Outcome:
    """20,000 classes and 300,000 features: dense weights would be 24 GB."""
    title = f"{GENERATED}: peak memory"
    if options.quick:
        return Outcome(rows=[without_figure(title, "skipped: --quick", "< 3,000 MB")])
    runs = measure_in_turns({"ours": (options.job("multimargin", GENERATED), 1)})["ours"]
    outcome = Outcome(runs=[runs])
    if not runs.results:
        outcome.rows.append(without_figure(title, runs.problem, "< 3,000 MB"))
        return outcome
    gap = runs.results[0]["details"]["own_gap"]
    outcome.rows += [
        Row(f"{GENERATED}: time", f"{runs.seconds:.1f} s", runs.seconds),
        Row(f"{GENERATED}: duality gap", f"{gap:.2%}", gap, "<= 1%", gap <= 0.01),
        at_most(title, runs.peak_mb, 3000, "MB"),
    ]
    return outcome
