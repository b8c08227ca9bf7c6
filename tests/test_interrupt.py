"""Ctrl-C at any moment: during the start, layouts, passes and scans."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from multimargin import MulticlassSVC
from multimargin.datasets import make_hierarchical_text


@pytest.fixture(scope="module")
def data():
    return make_hierarchical_text(6000, 20_000, 1500, words_per_sample=60, random_state=0)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("delay", [0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.3])
def test_ctrl_c_ends_a_fit(data, delay, n_jobs):
    sent = []

    def press():
        time.sleep(delay)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    with pytest.raises(KeyboardInterrupt):
        thread.start()  # inside, or a slow machine could be interrupted too early
        MulticlassSVC(tol=1e-12, n_jobs=n_jobs, random_state=0).fit(*data)
    # A hundredth of a second on an idle machine; the promise is one second.
    assert time.monotonic() - sent[0] < 5.0
    thread.join()
    # The process is as good as new.
    model = MulticlassSVC(tol=0.5, n_jobs=n_jobs, random_state=0).fit(data[0][:500], data[1][:500])
    assert model.converged_


def test_a_killed_process_leaves_no_model_and_no_temporary_file(tmp_path, data):
    from multimargin import dump_svmlight

    X, y = data
    dump_svmlight(tmp_path / "train.svm", X[:3000], y[:3000])
    folder = set(tmp_path.iterdir())
    train = [sys.executable, "-m", "multimargin", "train", "train.svm", "model.mm"]
    process = subprocess.Popen(
        [*train, "--tol", "1e-12", "--quiet"], cwd=tmp_path, stderr=subprocess.DEVNULL
    )
    time.sleep(2.5)
    assert process.poll() is None, "the training ended before it could be killed"
    process.kill()
    process.wait()
    assert set(tmp_path.iterdir()) == folder
