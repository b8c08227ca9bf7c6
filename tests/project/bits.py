"""Hashes of everything the package computes, to show that a change changes no bit.

    PYTHONPATH=src python -m tests.project.bits --out before.txt
    PYTHONPATH=src python -m tests.project.bits --compare before.txt

Models, predictions, model files, what is derived from them and what the command writes, for all
formulations and their options, for several numbers of threads and of ranks. Only public names are
used, so that the same script runs whatever a tree looks like inside; ``PYTHONPATH`` says which
tree. Hashes are those of one machine: processors and versions of NumPy may round in other ways.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from multimargin import MulticlassSVC, save_model
from multimargin.inspection import support_set
from tests.project import cases

RESULTS = (
    *("classes_", "coef_", "intercept_", "n_iter_", "primal_objective_", "dual_objective_"),
    *("dual_gap_", "violation_", "converged_", "n_bundles_", "model_density_", "history_"),
    "n_known_samples_",
)
MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "OMPI_MCA_btl": "^ofi",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


def encoded(value: Any) -> bytes:
    """Bytes that tell values apart; of mappings and records neither times nor names of keys."""
    if is_dataclass(value) and not isinstance(value, type):
        value = {one.name: getattr(value, one.name) for one in fields(value)}
    if isinstance(value, Mapping):
        kept = {k: v for k, v in value.items() if not re.search("time|second", str(k))}
        return b"{%s}" % b",".join(sorted(digest(one).encode() for one in kept.values()))
    if isinstance(value, Path):
        return b"file " + value.read_bytes()
    if isinstance(value, MulticlassSVC):
        return encoded([getattr(value, name, None) for name in RESULTS])
    if sp.issparse(value):
        rows = value.tocsr()
        return encoded(["sparse", rows.shape, rows.data, rows.indices, rows.indptr])
    if isinstance(value, np.ndarray | np.generic) and value.dtype != object:
        array = np.ascontiguousarray(value)
        return f"{array.dtype.str} {np.shape(value)} ".encode() + array.tobytes()
    if isinstance(value, list | tuple | np.ndarray):
        return b"[%s]" % b",".join(digest(one).encode() for one in value)
    if value is not None and not isinstance(value, bool | int | float | str | bytes):
        raise TypeError(
            f"no hash for {type(value).__name__}: {value!r}"
        )  # its address may be in it
    return (value.hex() if isinstance(value, float) else repr(value)).encode()


def digest(value: Any) -> str:
    return hashlib.sha256(encoded(value)).hexdigest()[:16]


class Hashes(dict[str, str]):
    """Hashes by the names of cases; model files and the like are written to a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def add(self, name: str, *values: Any) -> None:
        assert name not in self, name
        self[name] = digest(values)

    def add_model(self, name: str, model: MulticlassSVC, X: Any, *, dual: bool = False) -> None:
        """A fitted model, what it predicts, and its file, with dual variables if asked for."""
        file, k = self.folder / "model", min(3, len(model.classes_))
        self.add(f"{name}: model", model)
        self.add(
            f"{name}: predictions",
            [model.predict(X), model.decision_function(X), model.predict_topk(X, k)],
        )
        save_model(model, file, dual=dual)
        self.add(f"{name}: file", file)
        if dual:
            self.add(f"{name}: support", support_set(model))

    def fit(self, name: str, X: Any, y: Any, weight: Any = None, **options: Any) -> MulticlassSVC:
        """Add a model that is trained here; a warning is a part of the case."""
        model = MulticlassSVC(**{"random_state": 0, **options})
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            model.fit(X, y, weight)
        said = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
        self.add_model(name, model, X[:200], dual=bool(model.warm_start))
        self.add(f"{name}: warnings", said)
        return model

    def unequal(self) -> list[str]:
        """Cases that depend on the number of threads or ranks, which none may."""
        found: dict[str, set[str]] = {}
        for name, value in self.items():
            alike = re.sub(r" (threads|ranks)=\d", r" \1=N", name)
            found.setdefault(alike, set()).add(value)
        return [name for name, values in found.items() if len(values) > 1]


def add_ranks_by_mpiexec(hashes: Hashes) -> None:
    beside = Path(sys.executable).parent / "mpiexec"
    mpiexec = str(beside) if beside.exists() else "mpiexec"
    for count in cases.COUNTS:
        run = [mpiexec, "-n", str(count), sys.executable, "-m", "tests.project.bits"]
        subprocess.run([*run, "--rank-of", str(hashes.folder)], env=os.environ | MPI, check=True)
        hashes.update(json.loads((hashes.folder / "ranks.json").read_text()))


def collected() -> Hashes:
    """All hashes. What runs in processes of its own does so beside the rest."""

    def add_all(some: tuple[Callable[[Hashes], None], ...]) -> Hashes:
        with tempfile.TemporaryDirectory() as folder:
            hashes = Hashes(Path(folder))
            for add in some:
                add(hashes)
        return hashes

    with ThreadPoolExecutor(2) as pool:
        parts = [cases.HERE, (cases.add_commands, add_ranks_by_mpiexec)]
        hashes, others = pool.map(add_all, parts)
    hashes.update(others)
    return hashes


def compare(hashes: Hashes, file: Path) -> list[str]:
    """What differs from a file that ``--out`` wrote."""
    lines = [line.split(maxsplit=1) for line in file.read_text().splitlines()]
    before = {name: value for value, name in lines if name != "total"}
    names = dict.fromkeys([*before, *hashes])
    return [name for name in names if before.get(name) != hashes.get(name)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, help="write the hashes to this file")
    parser.add_argument("--compare", type=Path, help="name the cases that differ from this file")
    parser.add_argument("--rank-of", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.rank_of is not None:
        hashes = Hashes(args.rank_of)
        if cases.add_ranks(hashes) == 0:
            (args.rank_of / "ranks.json").write_text(json.dumps(hashes))
        return 0
    hashes = collected()
    text = "".join(f"{value}  {name}\n" for name, value in hashes.items())
    text += f"{digest(text)}  total\n"
    print(text, end="")
    if args.out is not None:
        args.out.write_text(text)
    unequal = hashes.unequal()
    for name in unequal:
        print(f"depends on the number: {name}", file=sys.stderr)
    different = [] if args.compare is None else compare(hashes, args.compare)
    for name in different:
        print(f"differs: {name}", file=sys.stderr)
    return int(bool(unequal or different))


if __name__ == "__main__":
    sys.exit(main())
