"""The progress bar of a fit: how far it is, and about how long it will still take."""

import math
import re

import numpy as np
import pytest

from multimargin import MulticlassSVC
from multimargin.estimator import _observers
from multimargin.estimator._observers import Bar
from multimargin.estimator._time_left import TimeLeft, said
from multimargin.solvers._records import ScanRecord


def test_a_gap_that_falls_geometrically_is_foretold():
    estimate = TimeLeft(1e-4, 1.0)
    for seconds in (5, 10, 15):  # a decade in 10 s: 40 s in all
        estimate.add(seconds, 10 ** (-seconds / 10))
        assert estimate.done(seconds) == pytest.approx(seconds / 40)
        assert estimate.left(seconds) == pytest.approx(40 - seconds)
    assert estimate.done(20) == pytest.approx(0.5)  # it moves on between the records
    assert estimate.left(20) == pytest.approx(20)


def test_the_rate_is_that_of_the_last_records():
    estimate = TimeLeft(1e-6, 1.0)
    for seconds, decades in [(1, 1), (2, 2), (3, 3), (13, 3.1), (23, 3.2), (33, 3.3), (43, 3.4)]:
        estimate.add(seconds, 10**-decades)
    assert estimate.left(43) == pytest.approx(260)
    assert estimate.done(43) == pytest.approx(3.4 / 6)


def test_it_never_runs_ahead_to_the_end():
    estimate = TimeLeft(0.01, 1.0)
    estimate.add(1, 0.1)
    before = [estimate.done(seconds) for seconds in (1, 1.5, 3, 100)]
    assert before == sorted(before)
    assert 0.5 <= before[0] < before[1] <= before[-1] < 0.7
    late = [estimate.left(seconds) for seconds in (2, 4, 10, 100)]
    assert late == sorted(late)  # what is late gets later
    estimate.add(101, 0.001)
    assert (estimate.done(101), estimate.left(101)) == (1.0, 0.0)


def test_a_worse_gap_takes_nothing_back():
    estimate = TimeLeft(0.01, 1.0)
    estimate.add(1, 0.1)
    done = estimate.done(1)
    for value in (0.5, math.inf, math.nan):
        estimate.add(2, value)
        assert estimate.done(1) >= done


def test_nothing_is_foretold_from_nothing():
    estimate = TimeLeft(0.01, None)  # of a measure whose beginning is not known
    assert (estimate.done(5), estimate.left(5)) == (0.0, None)
    estimate.add(5, 3.0)
    assert (estimate.done(5), estimate.left(5)) == (0.0, None)
    estimate.add(6, 2.9)  # hardly anything of the way
    assert estimate.left(6) is None
    estimate.add(7, 1.0)
    assert estimate.left(7) > 0


def test_work_that_is_known_counts():
    estimate = TimeLeft(0.01, 1.0)
    estimate.add_work(0.25)
    estimate.add(10, 0.99)  # the gap of all classes hardly falls while most are not trained
    assert estimate.done(10) == 0.25
    assert estimate.left(10) == pytest.approx(30)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *[(0.2, "1 s"), (12.4, "12 s"), (59.4, "59 s"), (59.6, "1 min"), (90, "2 min")],
        *[(3599, "1 h"), (3600, "1 h"), (4800, "1 h 20 min"), (7260, "2 h 1 min")],
    ],
)
def test_times_are_said(seconds, text):
    assert said(seconds) == text


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 100.0

        def monotonic(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(_observers, "time", clock)
    return clock


def record(gap, passes):
    return ScanRecord(time=0.0, primal=1.0, dual=1 - gap, violation=1.0, active=7, passes=passes)


def test_the_bar_moves_between_scans_and_says_how_long(clock, capsys):
    bar = Bar("SVM", 0.01, "gap")
    clock.now += 2
    bar.on_pass(1)
    bar.on_scan(record(0.1, 2), lambda: None)
    clock.now += 0.05
    bar.on_pass(3)  # too soon to be shown
    clock.now += 0.5
    bar.on_pass(4)
    clock.now += 1.45
    bar.on_scan(record(0.009, 5), lambda: None)
    bar.close()
    states = [text for text in capsys.readouterr().err.split("\r") if "pass" in text]
    shown = [re.search(r"SVM +(\d+)%.*\| (?:\S+), (.*)pass (\d)", text).groups() for text in states]
    assert [passes for *_, passes in shown] == ["1", "2", "4", "5", "5"]
    assert shown[0] == ("0", "", "1")
    assert shown[1] == ("50", "about 2 s left, gap 10.00%, 7 active pairs, ", "2")
    assert 50 < int(shown[2][0]) < 100
    assert "about 1 s left" in shown[2][1]
    assert shown[3] == ("100", "gap 0.90%, 7 active pairs, ", "5")


def test_a_time_limit_is_known_of(clock, capsys):
    bar = Bar("SVM", 1e-9, "gap", time_limit=10.0)
    clock.now += 4
    bar.on_scan(record(0.1, 2), lambda: None)
    bar.close()
    assert "about 6 s left" in capsys.readouterr().err


def test_the_bar_of_one_vs_rest_moves_with_the_classes(monkeypatch):
    """Their gap is that of zero until the last of them is trained."""
    seen = []
    monkeypatch.setattr(Bar, "on_pass", lambda self, passes, done=None: seen.append(done))
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 4)).astype(np.float32), np.arange(4000) % 2000
    MulticlassSVC("ovr", C=0.01, tol=0.5, max_iter=2, verbose=1, random_state=0).fit(X, y)
    known = [done for done in seen if done is not None]
    assert len(known) > 1
    assert known == sorted(known)
    assert known[-1] == 1.0
