"""What every wheel must do where it was just installed: fit, save, load, predict, the command.

``python -W error smoke.py``; it needs nothing but the package, and leaves nothing behind.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import multimargin
from multimargin import MulticlassSVC, dump_svmlight, load_model, load_svmlight, save_model
from multimargin.datasets import make_hierarchical_text

FORMULATIONS = ("ww", "cs", "llw", "ovr", "adm", "ats", "atm", "mmr", "rm")


def command(*arguments: str) -> str:
    """Run ``multimargin`` as it was installed beside this Python; what it printed."""
    program = Path(sys.executable).parent / "multimargin"
    done = subprocess.run(
        [program, *arguments], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def check(folder: Path) -> None:
    X, y = make_hierarchical_text(300, 400, 20, random_state=0)
    for name in FORMULATIONS:
        model = MulticlassSVC(name, C=10.0, n_jobs=2, random_state=0).fit(X, y)
        assert model.converged_ and model.score(X, y) > 0.5
        save_model(model, folder / name)
        again = load_model(folder / name, verify=True)
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    dump_svmlight(folder / "data.svm", X, y)
    assert load_svmlight(folder / "data.svm")[0].shape[0] == 300
    assert command("--version") == f"multimargin {multimargin.__version__}\n"
    command("train", "data.svm", "model", "--quiet")
    command("predict", "model", "data.svm", "-o", "labels")
    predicted = (folder / "labels").read_text().split()
    assert np.mean(np.array(predicted) == y.astype(str)) > 0.5
    print(f"multimargin {multimargin.__version__} on Python {sys.version.split()[0]}: fine")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        before = os.getcwd()  # noqa: PTH109
        os.chdir(made)  # not where a folder `multimargin` could be taken for the package
        try:
            check(Path(made))
        finally:
            os.chdir(before)
