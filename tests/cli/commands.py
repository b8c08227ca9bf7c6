"""LIBSVM text to train on, and the command as a process."""

import subprocess
import sys

import numpy as np

N_FEATURES = 12


def samples(n, seed, labels):
    """Return lines of LIBSVM text: each class has its own feature, the rest is noise."""
    rng = np.random.default_rng(seed)
    lines = []
    for i in range(n):
        c = i % len(labels)
        x = rng.random(N_FEATURES) * (rng.random(N_FEATURES) < 0.3)
        x[c] += 2
        row = " ".join(f"{j + 1}:{v:.4f}" for j, v in enumerate(x) if v)
        lines.append(f"{labels[c]} {row}\n")
    return "".join(lines)


def run(*argv, stdin="", **options):
    return subprocess.run(
        [sys.executable, "-m", "multimargin", *argv],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        **options,
    )


def error_line(capsys):
    """Return the single line on stderr; there is nothing on stdout."""
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1), err
    assert err.startswith("multimargin: error: ")
    return err
