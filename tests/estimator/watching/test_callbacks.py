"""scikit-learn's callbacks, where this scikit-learn has them."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from multimargin import MulticlassSVC

pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")


class Recorder:
    """Counts tasks, predicts with the model of each scan, and may ask to stop."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.ended = []
        self.scores = []

    def setup(self, estimator, context):
        self.ended.append("setup")

    def teardown(self, estimator, context):
        self.ended.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None):
        if X is not None:
            self.data = X, y

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.ended.append(context.task_name)
        self.scores.append(fitted_estimator.score(*self.data))
        return self.stop_after is not None and self.ended.count("scan") >= self.stop_after


@pytest.fixture
def data():
    return load_iris(return_X_y=True)


def test_callbacks_see_every_scan_with_a_usable_model(data):
    recorder = Recorder()
    model = MulticlassSVC(random_state=0, tol=1e-3).set_callbacks(recorder).fit(*data)
    assert recorder.ended == ["setup", *["scan"] * len(model.history_), "fit", "teardown"]
    assert recorder.scores[-1] == model.score(*data)
    assert all(0.5 < score <= 1 for score in recorder.scores)


def test_a_callback_can_stop_a_fit(data):
    with pytest.warns(match="a callback asked to stop"):
        model = (
            MulticlassSVC(random_state=0, tol=1e-6).set_callbacks(Recorder(stop_after=1)).fit(*data)
        )
    assert len(model.history_) == 1
    assert not model.converged_


def test_scoring_monitor_of_scikit_learn(data):
    from sklearn.callback import ScoringMonitor

    monitor = ScoringMonitor(scoring="accuracy")
    model = MulticlassSVC(random_state=0, tol=1e-3).set_callbacks(monitor).fit(*data)
    scores = monitor.get_logs().data_as_pandas["accuracy"].to_numpy()
    assert len(scores) >= len(model.history_) > 1
    assert scores[-1] == model.score(*data)


def test_progress_bar_of_scikit_learn(data):
    from sklearn.callback import ProgressBar

    pytest.importorskip("rich", reason="scikit-learn's ProgressBar needs rich")
    model = MulticlassSVC(random_state=0).set_callbacks(ProgressBar()).fit(*data)
    assert np.isfinite(model.dual_gap_)
