"""The peers' table: its figures, its ladder and its rules. No peer needs to be installed."""

from __future__ import annotations

import csv
import io
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import f1_score

from benchmarks.__main__ import main
from benchmarks.common import cores, evaluate, run, worker
from benchmarks.contest import table
from benchmarks.contest.climbs import TIGHT, Contest, Contestant, Rules, climb, hold, repeat
from benchmarks.peers import (
    PEERS,
    Offer,
    PeerUnavailableError,
    Task,
    _folder,
    bench_napkinxc,
    bench_vowpalwabbit,
    epochs,
    peak_mb,
    peer,
    tolerances,
)
from tests.support.paths import ROOT

RULES = Rules(None, repeats=3, limit_s=100.0, repeat_below_s=10.0)
OURS = Contestant("multimargin", Offer("ovr", tolerances(0.1, 0.01), threads="any"))
THEIRS = Contestant("liblinear", Offer("ovr", tolerances(1, 0.1, 0.01), how="-s 3"))
ONLINE = Contestant("sgd", Offer("ovr", epochs(1, 5, 1000), how="hinge", threads="any"))


class FakeTrainers:
    """In place of `measure_in_turns`: what each task comes to is looked up, and what ran noted."""

    def __init__(self, primals: dict[tuple[str, Any], float], seconds: float = 2.0) -> None:
        self.primals, self.seconds = primals, seconds
        self.ran: list[tuple[str, Any, bool, int]] = []

    def __call__(self, variants: dict[str, tuple[run.Job, int]]) -> dict[str, run.Runs]:
        return {name: self._runs(job, count) for name, (job, count) in variants.items()}

    def _runs(self, job: run.Job, count: int) -> run.Runs:
        setting = job.task.tol if job.task.tol is not None else job.task.options["epochs"]
        self.ran.append((job.peer, setting, job.judge, count))
        primal = self.primals.get((job.peer, setting))
        if primal is None:
            return run.Runs(job, problem=f"skipped: no {job.peer}")
        result = {"seconds": self.seconds, "cpu_seconds": 1.0, "peak_mb": 5.0, "hash": "x"}
        result |= {"version": "1", "dual": 100.0}
        if job.judge:
            result |= {"primal": primal, "test_error": 0.5, "density": 0.25, "model_bytes": 10**6}
        return run.Runs(job, [dict(result) for _ in range(count)])


def test_the_loosest_setting_that_reaches_the_goal_counts():
    trainers = FakeTrainers({("liblinear", 1): 110, ("liblinear", 0.1): 100.5})
    found = climb(THEIRS, "set", 1, 100.0, RULES, measure=trainers)
    assert [ran[1] for ran in trainers.ran] == [1, 0.1]  # and not 0.01
    assert (found.rung, found.reached) == (1, True)
    assert found.above == pytest.approx(0.005)


def test_who_never_reaches_the_goal_is_shown_where_it_came_closest():
    trainers = FakeTrainers({("sgd", 1): 108, ("sgd", 5): 103, ("sgd", 1000): 105}, 1e-3)
    found = climb(ONLINE, "set", 1, 100.0, RULES, measure=trainers)
    assert len(found.tried) == 3
    assert (found.rung, found.reached) == (1, False)


def test_epochs_that_cannot_end_in_time_are_not_begun():
    trainers = FakeTrainers({("sgd", 1): 108, ("sgd", 5): 103, ("sgd", 1000): 100})
    found = climb(ONLINE, "set", 1, 100.0, RULES, measure=trainers)
    assert [ran[1] for ran in trainers.ran] == [1, 5]
    assert found.rung == 1
    assert found.tried[-1].problem == (
        "stopped: sgd on set, ovr epochs=1000 1 thread: about 400 s, more than 100 s"
    )


def test_a_peer_that_is_not_there_is_asked_once():
    trainers = FakeTrainers({})
    found = climb(THEIRS, "set", 1, 100.0, RULES, measure=trainers)
    assert len(trainers.ran) == 1
    assert (found.above, found.reached) == (None, False)
    contest = Contest("set", 1, [found], {"one-vs-rest": 100.0})
    rows = table.rows(contest)
    assert table.lines(rows) == [table.HEAD]
    assert table.problems(rows * 2) == ["LIBLINEAR: skipped: no liblinear"]


def test_contests_start_where_fewer_threads_ended_and_repeat_in_turns():
    trainers = FakeTrainers(
        {
            ("multimargin", TIGHT): 100.0,
            ("multimargin", 0.1): 102.0,
            ("multimargin", 0.01): 100.5,
            ("liblinear", 1): 100.9,
        }
    )
    contests, tight = hold("set", (1, 2), [OURS, THEIRS], RULES, trainers)
    assert len(tight) == 1  # one problem, one optimum
    assert [len(contest.climbs) for contest in contests] == [2, 1]  # LIBLINEAR has one thread
    assert trainers.ran == [
        ("multimargin", TIGHT, True, 1),
        ("multimargin", 0.1, True, 1),
        ("multimargin", 0.01, True, 1),
        ("liblinear", 1, True, 1),
        ("multimargin", 0.01, False, 2),
        ("liblinear", 1, False, 2),
        ("multimargin", 0.01, True, 1),
        ("multimargin", 0.01, False, 2),
    ]
    assert [len(climb.runs.results) for climb in contests[0].climbs] == [3, 3]


def test_a_problem_without_an_optimum_leaves_the_others():
    trainers = FakeTrainers({("multimargin", TIGHT): 100.0, ("multimargin", 0.1): 100.0})
    squared = replace(OURS, offer=replace(OURS.offer, squared=True))

    def measure(variants):
        ((job, _),) = list(variants.values())[:1]
        if job.task.tol == TIGHT and job.task.options:
            return {"tight": run.Runs(job, problem="stopped: it took too long")}
        return trainers(variants)

    contests, tight = hold("set", (1,), [squared, OURS], RULES, measure)
    assert [each.contestant for each in contests[0].climbs] == [OURS]
    assert [runs.problem for runs in tight] == ["stopped: it took too long", None]


def test_objectives_below_the_optimum_are_not_believed():
    trainers = FakeTrainers({("liblinear", 1): 99.0})
    found = climb(THEIRS, "set", 1, 100.0, RULES, measure=trainers)
    assert not found.reached
    (row,) = table.rows(Contest("set", 1, [found], {"one-vs-rest": 100.0}))
    assert row.seconds is None
    assert row.problem.startswith("failed: liblinear on set")
    assert "below 100, a lower bound" in row.problem


def test_slow_settings_are_run_once():
    trainers = FakeTrainers({("liblinear", 1): 100.0}, seconds=11.0)
    found = climb(THEIRS, "set", 1, 100.0, RULES, measure=trainers)
    repeat([found], RULES, trainers)
    assert len(trainers.ran) == 1


def _contest_of(primal: float) -> Contest:
    trainers = FakeTrainers({("multimargin", 0.1): 100.5, ("sgd", 1): primal}, seconds=2.0)
    climbs = [climb(OURS, "set", 1, 100.0, RULES, measure=trainers)]
    trainers.seconds = 7.0
    only = replace(ONLINE, offer=replace(ONLINE.offer, ladder=epochs(1)))
    climbs.append(climb(only, "set", 1, 100.0, RULES, measure=trainers))
    return Contest("set", 1, climbs, {"one-vs-rest": 100.0})


@pytest.mark.parametrize(
    ("primal", "ratio", "above"), [(100, "3.50x", "0.00%"), (120, ">3.50x", "20.00% !")]
)
def test_ratios_of_those_above_the_goal_are_lower_bounds(primal, ratio, above):
    rows = table.rows(_contest_of(primal))
    assert [row.peer for row in rows] == ["multimargin", "sgd"]
    _, ours, theirs = (dict(zip(table.HEAD, line, strict=True)) for line in table.lines(rows))
    assert (ours["x ours"], theirs["x ours"]) == ("", ratio)
    assert theirs["above optimum"] == above
    assert theirs["model MB"] == "1.0"


def test_csv_has_all_rows_and_columns():
    rows = table.rows(_contest_of(120))
    read = list(csv.DictReader(io.StringIO(table.as_csv(rows).decode())))
    assert [line["peer"] for line in read] == ["multimargin", "sgd"]
    assert float(read[1]["above_optimum"]) == pytest.approx(0.2)
    assert read[1]["reached"] == "False"


def test_every_peer_says_what_it_offers_without_being_there():
    for name in PEERS:
        module = peer(name)
        assert module.TITLE
        for offer in module.OFFERS:
            tasks = [offer.task(rung, 1) for rung in range(len(offer.ladder))]
            assert tasks[0].loss() in evaluate.LOSSES
            tolerance = [task.tol or 1 / task.options["epochs"] for task in tasks]
            assert tolerance == sorted(tolerance, reverse=True)
            assert offer.can_use(1) or offer.can_use(2)


def test_a_task_refuses_what_a_peer_does_not_know():
    with pytest.raises(PeerUnavailableError, match="LIBLINEAR has no parameter epochs"):
        Task("ovr", options={"epochs": 5}).check_options("LIBLINEAR", "loss")


def test_a_missing_peer_says_why(tmp_path, monkeypatch):
    monkeypatch.setattr(_folder, "ROOT", tmp_path)
    with pytest.raises(PeerUnavailableError, match="not installed: make peers"):
        _folder.modules("snapml", "snapml")
    (tmp_path / "snapml").mkdir()
    (tmp_path / "snapml" / "why-not.txt").write_text("pip\nERROR: no wheel\n")
    with pytest.raises(PeerUnavailableError, match="not installable here: ERROR: no wheel"):
        _folder.modules("snapml", "snapml")
    assert _folder.version("snapml", "snapml") == "not installed"


def test_macro_f1_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    for n_classes in (2, 5, 50):
        truth, said = rng.integers(-1, n_classes, (2, 40))
        expected = f1_score(truth, said, average="macro")
        assert evaluate.macro_f1(truth, said) == pytest.approx(expected, abs=1e-12)


def _brute_losses(scores: list[float], own: int) -> dict[str, float]:
    """The losses of one sample, class by class."""
    margins = {k: 1 - scores[own] + s for k, s in enumerate(scores) if k != own}
    binary = [max(0.0, 1 - s if k == own else 1 + s) for k, s in enumerate(scores)]
    return {
        "weston-watkins": sum(max(0.0, m) for m in margins.values()),
        "crammer-singer": max(0.0, *margins.values()),
        "lee-lin-wahba": sum(max(0.0, 1 + s) for k, s in enumerate(scores) if k != own),
        "one-vs-rest": sum(binary),
        "one-vs-rest-squared": sum(b * b for b in binary),
    }


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_objectives_are_those_of_brute_force(kind):
    rng = np.random.default_rng(1)
    W = rng.normal(size=(4, 6)) * (rng.random((4, 6)) < 0.7)
    X = sp.random(15, 6, 0.6, format="csr", random_state=2)
    own = rng.integers(0, 4, 15)
    norm = 0.5 * math.fsum(w * w for w in W.ravel())
    for loss in evaluate.LOSSES:
        lost = 0.0
        for row, label in zip(X.toarray(), own, strict=True):
            scores = [math.fsum(a * b for a, b in zip(w, row, strict=True)) for w in W]
            lost += _brute_losses(scores, label)[loss]
        assert evaluate.primal(kind(W), X, own, 0.3, loss) == pytest.approx(norm + 0.3 * lost)


def test_on_test_counts_errors():
    W = np.eye(3)
    X = sp.csr_matrix(np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]]))
    found = evaluate.on_test(W, X, np.array([0, 1, 2, -1]))
    assert found["test_error"] == 0.25
    assert found["macro_f1"] == pytest.approx((1 + 1 + 2 / 3 + 0) / 4)


def test_napkinxc_weights_are_read_dense_and_sparse(tmp_path):
    """Its file, written by hand: the weights of class 0 are those against it."""
    head = np.array([2, 0, 1], "<i4").tobytes() + np.array([5, 2] * 2, "<i8").tobytes()
    dense = head + b"\0" + np.array([0, 9, 1, 0, -2], "<f4").tobytes() + b"\0"
    head = np.array([2, 1, 1], "<i4").tobytes() + np.array([5, 1] * 2, "<i8").tobytes()
    sparse = head + b"\1" + np.array([(3, 4.0)], "<i4,<f4").tobytes() + b"\0"
    file = tmp_path / "weights.bin"
    file.write_bytes(np.array([2], "<i4").tobytes() + dense + sparse)
    np.testing.assert_array_equal(bench_napkinxc._weights(file, 3), [[-1, 0, 2], [0, 4, 0]])
    file.write_bytes(np.array([1], "<i4").tobytes() + dense)
    np.testing.assert_array_equal(bench_napkinxc._weights(file, 4), [[-1, 0, 2, 0]])
    file.write_bytes(np.array([1], "<i4").tobytes() + dense.replace(b"\2", b"\3", 1))
    with pytest.raises(RuntimeError, match="has 3 labels and 2 of 5 weights"):
        bench_napkinxc._weights(file, 3)


def test_vowpal_wabbit_weights_are_read_and_scaled(tmp_path):
    pairs = np.array([(0, 1.0), (1, 2.0), (5, 3.0)], "<u4,<f4")  # feature 0 twice, then 1
    (tmp_path / "model").write_bytes(b"head" + pairs.tobytes())
    W = bench_vowpalwabbit._weights(tmp_path / "model", 4, (3, 2), 4)
    np.testing.assert_array_equal(W, [[1, 0], [2, 3], [0, 0]])

    class Workspace:
        """Scores with half of these weights, cut as it cuts them."""

        def predict(self, line: str) -> list[float]:
            pairs = [pair.split(":") for pair in line.split("| ")[1].split()]
            x = np.zeros(2)
            x[[int(at) for at, _ in pairs]] = [float(value) for _, value in pairs]
            return list(np.clip(0.5 * W @ x, -1, 1))

    X = sp.csr_matrix(np.array([[5.0, 0.0], [-1.0, 7.0]]))
    assert bench_vowpalwabbit._scale(Workspace(), X, W) == pytest.approx(0.5)
    with pytest.raises(RuntimeError, match="do not come from the weights"):
        bench_vowpalwabbit._scale(Workspace(), X, W[::-1])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="as on Linux")
def test_memory_is_that_of_the_process_alone():
    """Not that of its parent, which holds the data where a peer has a process of its own."""
    held = np.ones(30_000_000)  # 240 MB
    told = "from benchmarks.peers import peak_mb; print(peak_mb())"
    done = subprocess.run(
        [sys.executable, "-c", told], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < peak_mb() - 0.5 * held.nbytes / 1e6


def test_models_are_saved_to_see_their_size():
    def save(folder: Path) -> None:
        (folder / "deep").mkdir()
        (folder / "deep" / "part").write_bytes(b"x" * 1000)
        (folder / "rest").write_bytes(b"y" * 10)

    found = worker._saved(np.zeros((2, 3)), {"save": ("its folder", save)})
    assert found == {"model_bytes": 1010, "model_file": "its folder"}
    plain = worker._saved(np.zeros((2, 3)), {})
    assert plain == {"model_bytes": 128 + 48, "model_file": "numpy.save"}
    known = worker._saved(np.zeros((2, 3)), {"saved": ("its folder", 7)})
    assert known == {"model_bytes": 7, "model_file": "its folder"}
    huge = np.broadcast_to(0.0, (10**5, 10**5))  # no memory behind it
    assert worker._saved(huge, {})["model_file"] == "numpy.save, not written"


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="cores cannot be chosen here")
def test_cores_are_whole_ones_first(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    monkeypatch.setattr(cores, "_siblings", lambda cpu: "a" if cpu < 2 else "b")
    assert [cores.cores(count) for count in range(1, 6)] == [
        {3},
        {3, 1},
        {3, 1, 2},
        {0, 1, 2, 3},
        {0, 1, 2, 3},
    ]


def test_every_second_turn_goes_backwards(monkeypatch):
    order = []

    def measure(job: run.Job) -> dict[str, Any]:
        order.append((job.peer, job.judge))
        return {"seconds": 1.0, "cpu_seconds": 1.0, "peak_mb": 1.0, "hash": ""}

    monkeypatch.setattr(run, "measure", measure)
    run.measure_in_turns({name: (run.Job(name, "set", None, judge=True), 2) for name in "ab"})
    assert order == [("a", True), ("b", True), ("b", False), ("a", False)]


def test_runs_that_take_too_long_are_ended(monkeypatch):
    sleep = [sys.executable, "-c", "import time; print(1, flush=True); time.sleep(60)"]
    monkeypatch.setattr(run, "command", lambda *_: sleep)
    job = run.Job("multimargin", "set", None, limit_s=0.3)
    runs = run.measure_in_turns({"slow": (job, 3)})["slow"]
    assert runs.problem == "stopped: multimargin on set, ww 1 thread: more than 0.3 s"


def test_a_run_has_the_cores_of_its_threads(monkeypatch):
    if not hasattr(os, "sched_getaffinity"):
        pytest.skip("cores cannot be chosen here")
    tell = "import os, json; print(json.dumps({'cores': len(os.sched_getaffinity(0))}))"
    monkeypatch.setattr(run, "command", lambda *_: [sys.executable, "-c", tell])
    available = len(os.sched_getaffinity(0))
    for threads in (1, 2):
        found = run.measure(run.Job("multimargin", "set", None, Task(threads=threads)))
        assert found["cores"] == min(threads, available)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--dataset", "nowhere"], "no data set is called 'nowhere'"),
        (["--json", "/"], "cannot write '/': / exists and is not a regular file"),
    ],
)
def test_wrong_words_are_wrong_usage(words, message, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_the_command_names_its_peers(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--only", "nobody"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert all(name in said for name in PEERS if name != "multimargin")
