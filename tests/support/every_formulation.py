"""Options of the command for every formulation and solver, and LIBSVM text to train on."""

import numpy as np

MODELS = {
    "ww": ["--formulation", "ww"],
    "cs": ["--formulation", "cs"],
    "ovr": ["--formulation", "ovr"],
    "ovr-squared": ["--formulation", "ovr", "--loss", "squared_hinge", "--normalize", "l2"],
    "llw": ["--formulation", "llw"],
    **{name: ["--formulation", name] for name in ("adm", "ats", "atm", "mmr", "rm")},
    "llw-alternating": ["--formulation", "llw", "--solver", "alternating"],
    "llw-extrapolated": ["--formulation", "llw", "--solver", "extrapolated", "--reductions", "4"],
}


def write_data(path, n, seed, n_classes=37, n_features=60):
    """Uneven classes with names; each has a feature of its own, the rest is noise."""
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, n_classes + 1)
    classes = np.concatenate(
        [np.arange(n_classes), rng.choice(n_classes, n - n_classes, p=share / share.sum())]
    )
    with path.open("w") as file:
        for c in classes:
            x = rng.random(n_features) * (rng.random(n_features) < 0.15)
            x[c] += 1
            row = " ".join(f"{j + 1}:{v:.4f}" for j, v in enumerate(x) if v)
            file.write(f"label{c} {row}\n")
