"""What `tests.project.bits` hashes: all formulations and options, on small sets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning

import multimargin
from multimargin import MulticlassSVC, TextClassifier, distributed, load_model, save_model
from multimargin.datasets import load_wordnet_texts, load_wordnet_tfidf, make_hierarchical_text
from multimargin.inspection import class_report, confusions, margins, similar_classes

if TYPE_CHECKING:
    from tests.project.bits import Hashes

FORMULATIONS: dict[str, dict[str, Any]] = {
    "ww": {"formulation": "ww"},
    "cs": {"formulation": "cs"},
    "llw": {"formulation": "llw"},
    "ovr": {"formulation": "ovr"},
    **{name: {"formulation": name} for name in ("adm", "ats", "atm", "mmr", "rm")},
    "ovr squared": {"formulation": "ovr", "loss": "squared_hinge"},
}
OPTIONS: dict[str, dict[str, Any]] = {
    "no intercept": {"fit_intercept": False},
    "intercept scaled": {"intercept_scaling": 3.0},
    "balanced": {"class_weight": "balanced"},
    "weights of classes": {"class_weight": {1: 2.0, 3: 0.5}},
    "C=0.05": {"C": 0.05},
    "C=20": {"C": 20.0},
    "tol=1e-4": {"tol": 1e-4},
    "violation": {"stopping": "violation", "tol": 0.1},
    "passes": {"solver": "passes"},
    "no shrinking": {"shrinking": False},
    "sparse coef": {"sparse_coef": True},
    "seed 5": {"random_state": 5},
    "two passes": {"max_iter": 2, "tol": 1e-9},
    "time limit": {"time_limit": 1e6},
    "kept dual": {"warm_start": True},
}
LLW_OPTIONS: dict[str, dict[str, Any]] = {
    "block": {"solver": "block"},
    "alternating": {"solver": "alternating"},
    "extrapolated": {"solver": "extrapolated"},
    "reductions": {"solver": "extrapolated", "n_reductions": 3},
    "large C": {"C": 1000.0},
    "hard margin": {"C": np.inf},
}
# Bundles are fixed for these, and with them the bits for any number of ranks.
OVER_RANKS = {**FORMULATIONS, "llw alternating": {"formulation": "llw", "solver": "alternating"}}
COUNTS = (1, 2, 3)  # of threads and ranks


def small_set(dtype: Any = np.float32) -> tuple[Any, Any]:
    return make_hierarchical_text(300, 200, 15, words_per_sample=12, random_state=1, dtype=dtype)


def add_threads(hashes: Hashes) -> None:
    """Sets that are large enough for threads to share the work, in batches and in a league."""
    X, y = make_hierarchical_text(2500, 2500, 150, words_per_sample=40, random_state=0)
    many = np.random.default_rng(0).normal(size=(9000, 220)).astype(np.float32)
    labels = (many[:, :26] + 0.5 * many[:, 26:52]).argmax(axis=1)
    for threads in COUNTS:
        for name, options in FORMULATIONS.items():
            more = {"tol": 0.05, "warm_start": name != "llw", "n_jobs": threads}
            hashes.fit(f"{name} text threads={threads}", X, y, **options, **more)
        more = {"max_iter": 3, "tol": 0.5, "n_jobs": threads}
        hashes.fit(f"ww league threads={threads}", many, labels, **more)


def add_options(hashes: Hashes) -> None:
    X, y = small_set()
    weight = np.random.default_rng(2).integers(0, 4, size=len(y)).astype(float)
    iris, kinds = load_iris(return_X_y=True)
    digits, numbers = load_digits(return_X_y=True)
    for name, options in FORMULATIONS.items():
        of_llw = LLW_OPTIONS if name == "llw" else {}
        for option, more in {**OPTIONS, **of_llw}.items():
            hashes.fit(f"{name} {option}", X, y, **{**options, **more})
        for bundles in (1, 4):
            hashes.fit(f"{name} {bundles} bundles", X, y, **options, n_bundles=bundles)
        hashes.fit(f"{name} weights of samples", X, y, weight, **options)
        hashes.fit(f"{name} float64", *small_set(np.float64), **options, tol=1e-6)
        hashes.fit(f"{name} dense", X.toarray(), y, **options)
        hashes.fit(f"{name} words as labels", X, np.array([f"class {k}" for k in y]), **options)
        hashes.fit(f"{name} two classes", X, y > 5, **options)
        hashes.fit(f"{name} iris", iris, kinds, **options, C=100.0, max_iter=2000)
        hashes.fit(f"{name} digits", digits[:400] / 16, numbers[:400], **options, tol=0.001)
        add_warm_starts(hashes, name, X, y, options)


def add_warm_starts(hashes: Hashes, name: str, X: Any, y: Any, options: Any) -> None:
    old = y < 13
    model = MulticlassSVC(**options, warm_start=True, random_state=0).fit(X[old], y[old])
    save_model(model, hashes.folder / "old", dual=True)
    hashes.add_model(f"{name} larger C", model.set_params(C=2.0).fit(X[old], y[old]), X, dual=True)
    hashes.add_model(f"{name} more classes", model.fit(X[::-1], y[::-1]), X, dual=True)
    hashes.add_model(f"{name} from a file", load_model(hashes.folder / "old").fit(X, y), X)


def add_selection(hashes: Hashes) -> None:
    X, y = small_set()
    for name, options in FORMULATIONS.items():
        found = multimargin.path(
            X[:200], y[:200], [0.1, 1.0], validation=(X[200:], y[200:]), random_state=0, **options
        )
        hashes.add(f"{name} path", found.rows(), [point.model for point in found.points])
    for name, split in {"folds": {"folds": 3}, "holdout": {"holdout": 0.3}}.items():
        tuning = multimargin.tune(X, y, Cs=[0.1, 1.0], random_state=0, **split)
        hashes.add(f"tune {name}", tuning.as_dict())


def add_uses(hashes: Hashes) -> None:
    """What is done with models."""
    X, y = small_set()
    for name, options in FORMULATIONS.items():
        model = MulticlassSVC(**options, warm_start=True, random_state=0).fit(X, y)
        for weights in ("float16", "float32"):
            save_model(model, hashes.folder / weights, weights=weights)
            hashes.add_model(f"{name} {weights}", load_model(hashes.folder / weights), X)
        given = {"max_loss": 0.02, "X": X, "y": y}
        for how, kept in {"keep": {"keep": 0.3}, "at": {"threshold": 0.05}, "loss": given}.items():
            hashes.add_model(f"{name} pruned {how}", multimargin.prune(model, **kept), X)
        hashes.add(f"{name} costs", multimargin.pruning_costs(model, X, y))
        hashes.add(f"{name} certify", model.certify(X, y))
        hashes.add(f"{name} explain", [model.explain(X[k]).as_dict() for k in range(5)])
        hashes.add(f"{name} top features", [model.top_features(k).as_dict() for k in (0, 7)])
        hashes.add(f"{name} margins", margins(model, X, y))
        hashes.add(f"{name} similar", similar_classes(model, 3))
        hashes.add(f"{name} report", class_report(model, X, y), confusions(model, X, y).as_dict())


def add_texts(hashes: Hashes) -> None:
    bunch = load_wordnet_texts()
    texts, labels = list(bunch.texts_train[:600]), list(bunch.y_train[:600])
    kinds = {
        "words": {"ngram_range": (1, 2), "min_df": 2},
        "characters": {"analyzer": "char_wb", "ngram_range": (2, 3), "max_features": 2000},
        "warm": {"warm_start": True, "fit_intercept": False},
    }
    for name, options in kinds.items():
        model = TextClassifier(random_state=0, tol=0.05, **options).fit(texts, labels)
        hashes.add_model(f"texts {name}", model, texts[:100], dual=name == "warm")
        hashes.add(f"texts {name} explain", model.explain(texts[3]).as_dict())
    table = {"text": texts, "length": [len(t) for t in texts], "first": [t[0] for t in texts]}
    mixed = TextClassifier(text="text", numeric="length", categorical="first", random_state=0)
    hashes.add_model("texts and columns", mixed.fit(table, labels), table)
    full = load_wordnet_tfidf()
    hashes.add("shipped data", full.X_train, full.y_train, full.X_test, full.y_test)
    hashes.add("rounds", [multimargin.rounds(k) for k in range(2, 12)])


def add_ranks(hashes: Hashes) -> int:
    """For all ranks to call; the hashes of rank 0 count. Returns the rank."""
    X, y = small_set()
    for name, options in OVER_RANKS.items():
        model = MulticlassSVC(**options, n_bundles=6, random_state=0, tol=0.05)
        kept = {"checkpoint": hashes.folder / f"state of {name}", "checkpoint_every": 0}
        runs = {"whole": distributed.fit(model, X, y)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            limited = MulticlassSVC(**{**model.get_params(), "max_iter": 2})
            runs["two passes"] = distributed.fit(limited, X, y, **kept)
        runs["resumed"] = distributed.fit(model, X, y, **kept)
        for case, trained in runs.items():
            file, place = hashes.folder / "shared", f"{name} {case} ranks={trained.comm.size}"
            trained.save(file)
            found = [trained.predict(X), trained.predict_topk(X, 3), trained.certify(X, y)]
            whole = trained.gather()
            if whole is not None:
                hashes.add_model(place, whole, X)
                hashes.add(f"{place}: over ranks", file, found)
    return trained.comm.rank


def add_commands(hashes: Hashes) -> None:
    """The command line: the files and the JSON that it writes."""
    X, y = small_set()
    multimargin.dump_svmlight(hashes.folder / "train.svm", X, y)
    bunch = load_wordnet_texts()
    rows = zip(bunch.texts_train[:400], bunch.y_train[:400], strict=True)
    lines = [json.dumps({"text": text, "label": str(label)}) for text, label in rows]
    (hashes.folder / "train.jsonl").write_text("\n".join(lines))
    columns = "--text text --label label"
    commands = {
        "m.svm": "train train.svm m.svm --normalize l2 --keep-dual --json",
        "again": "train train.svm again --normalize l2 --start m.svm --C 2 --json",
        "m.text": f"train train.jsonl m.text {columns} --ngrams 1-2 --weights float16 --json",
        "labels": "predict m.svm train.svm -o labels",
        "top": "predict m.svm train.svm -o top --top-k 3",
        "top.csv": "predict m.text train.jsonl -o top.csv --top-k 3",
        "evaluate": "evaluate m.svm train.svm --certify --json",
        "report": "report m.text train.jsonl --json",
        "explain": "explain m.text --data train.jsonl --row 17 --json",
        "explain as text": "explain m.text --data train.jsonl --row 17",
        "info": "info m.svm --verify --json",
        "class": "info m.svm --class 3",
        "pruned": "prune m.svm pruned --keep 0.3 --data train.svm --json",
        "tune": "tune train.svm --C 0.1,1 --formulations ww,ovr --holdout 0.3 --quiet --json",
    }
    # The package that was imported here, also where it was found by a relative path.
    paths = [str(Path(path).resolve()) for path in sys.path if path]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    for name, command in commands.items():
        run = [sys.executable, "-m", "multimargin", *command.split()]
        done = subprocess.run(run, cwd=hashes.folder, capture_output=True, check=True, env=env)
        said = json.loads(done.stdout) if "--json" in command else done.stdout
        file = hashes.folder / name
        hashes.add(f"command {command}", said, file if file.exists() else None)


HERE = (add_threads, add_options, add_selection, add_uses, add_texts)
