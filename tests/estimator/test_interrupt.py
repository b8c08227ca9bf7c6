"""Ctrl-C at any moment: during the start, layouts, passes and scans."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import multimargin
from multimargin import MulticlassSVC
from multimargin.datasets import make_hierarchical_text
from multimargin.formulations import FORMULATIONS

# A fit that did not see the signal would go on until this ends it.
pytestmark = pytest.mark.timeout(60)


@pytest.fixture(scope="module")
def data():
    return make_hierarchical_text(6000, 20_000, 1500, words_per_sample=60, random_state=0)


def interrupt(delay, data, **options):
    """Ctrl-C after ``delay`` seconds of a fit that would go on for long."""

    def press():
        time.sleep(delay)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    with pytest.raises(KeyboardInterrupt):
        thread.start()  # inside, or a slow machine could be interrupted too early
        MulticlassSVC(tol=1e-12, random_state=0, **options).fit(*data)
    thread.join()
    # The process is as good as new.
    again = MulticlassSVC(tol=0.5, random_state=0, **{**options, "C": 0.01})
    assert again.fit(data[0][:500], data[1][:500]).converged_


@pytest.mark.parametrize(
    ("delay", "n_jobs"),
    [(0.02, 1), (0.05, 2), (0.1, 1), (0.1, 2), (0.2, 1), (0.3, 2), (0.5, 2), (0.8, 1), (1.3, 2)],
)
def test_ctrl_c_ends_a_fit(data, delay, n_jobs):
    interrupt(delay, data, n_jobs=n_jobs)


VARIANTS = [
    *({"formulation": name} for name in FORMULATIONS if name != "ww"),
    {"formulation": "ovr", "loss": "squared_hinge"},
    {"formulation": "llw", "solver": "alternating"},
    {"formulation": "llw", "solver": "extrapolated"},
]


@pytest.mark.parametrize(("delay", "n_jobs"), [(0.03, 2), (0.6, 1)])
@pytest.mark.parametrize("options", VARIANTS, ids=lambda options: "-".join(options.values()))
def test_ctrl_c_ends_a_fit_of_every_formulation(data, options, delay, n_jobs):
    interrupt(delay, data, C=100.0, n_jobs=n_jobs, **options)


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


# Many short sleeps: Python looks for signals between two of them, and one that comes
# just before a sleep begins does not wake it.
SLOW = """
import time
print("loading", flush=True)
for _ in range(600):
    time.sleep(0.1)
"""
BY_SCRIPT = "import sys; from multimargin.__main__ import main; sys.exit(main())"


@pytest.mark.parametrize("how", [["-m", "multimargin"], ["-c", BY_SCRIPT]], ids=["-m", "script"])
def test_ctrl_c_while_modules_are_loaded(tmp_path, how):
    (tmp_path / "numpy.py").write_text(SLOW)
    package = Path(multimargin.__file__).parents[1]
    with subprocess.Popen(
        [sys.executable, *how, "info", "model"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(package)])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "loading\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "multimargin: interrupted\n")
