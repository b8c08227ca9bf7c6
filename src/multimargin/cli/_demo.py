"""``multimargin demo``: 12,582 classes, from the data in the package."""

from __future__ import annotations

import argparse
import contextlib
import time
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from multimargin.cli.support import _arguments as arguments
from multimargin.cli.support._messages import exit_status, print_table
from multimargin.datasets._wordnet_examples import DEFINITIONS
from multimargin.io._atomic import check_writable
from multimargin.models._measures import measures
from multimargin.persistence import save_model
from multimargin.text import TextClassifier

_TOP = 5
_MORE = ("run very fast over a short distance",)  # a verb, of which the page offers none
_PARTS = {"n": "noun", "v": "verb", "a": "adjective", "r": "adverb"}


def demo(args: argparse.Namespace) -> int:
    from multimargin.datasets import load_wordnet_texts

    if args.save is not None:
        check_writable(args.save)
    print("Reading WordNet definitions ...", flush=True)
    data = load_wordnet_texts()
    print(
        f"{len(data.texts_train):,} definitions, {len(data.target_names):,} classes. "
        "Training Weston-Watkins, C=1 ...",
        flush=True,
    )
    model = TextClassifier("ww", C=1.0, min_df=2, fit_intercept=False, random_state=0, verbose=1)
    model.set_params(n_jobs=arguments.n_jobs(args))
    with warnings.catch_warnings():
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(data.texts_train, data.y_train)
    _report(model, data)
    if args.save is not None:
        save_model(model, args.save)
        print(f"The model is saved as {args.save}.")
    for definition in (*DEFINITIONS, *_MORE):
        print(f"\n{definition}")
        _answer(model, definition)
    if not args.script:
        _converse(model)
    return exit_status(model)


def _report(model: TextClassifier, data: Any) -> None:
    X: Any = model.features_.transform(data.texts_test)
    known = np.flatnonzero(np.diff(X.indptr))  # without intercept the others score zero
    started = time.perf_counter()
    best, _ = model.predict_topk(X[known], _TOP)
    predict_seconds = time.perf_counter() - started
    result = measures(model.classes_, data.y_test[known], best)
    seconds = model.history_[-1]["time"]  # without reading words
    state = "reached" if model.converged_ else "NOT reached"
    print_table(
        {
            "words": f"{model.n_features_in_:,}",
            "training": f"{seconds:.1f} s, {model.n_iter_} passes",
            "duality gap": f"{model.dual_gap_:.3g} (tolerance {model.tol:g} {state})",
            "density": f"{100 * model.model_density_:.3g} % of the coefficients are not zero",
            "test error": f"{100 * result['error']:.2f} % of {result['samples']:,} definitions",
            f"top-{_TOP} accuracy": f"{100 * result['top_k_accuracy']:.2f} %",
            "prediction": f"{predict_seconds:.2f} s",
        }
    )


def _answer(model: TextClassifier, definition: str) -> None:
    features: Any = model.features_.transform([definition])
    if features.nnz == 0:
        print("  none of these words occurs in the training definitions")
        return
    labels, scores = model.predict_topk(features, _TOP)
    for label, score in zip(labels[0].tolist(), scores[0].tolist(), strict=True):
        print(f"  {score:+.3f}  {_readable(str(label))}")


def _readable(label: str) -> str:
    """Turn ``dog.n#n02084071`` into ``dog (noun)``."""
    word, _, part = label.partition("#")[0].rpartition(".")
    return f"{word.replace('_', ' ')} ({_PARTS[part]})" if part in _PARTS else label


def _converse(model: TextClassifier) -> None:
    with contextlib.suppress(ImportError):  # line editing, where there is any
        import readline  # noqa: F401
    print("\nType a definition; an empty line ends.")
    while True:
        try:
            definition = input("> ").strip()
        except EOFError:
            print()
            return
        if not definition:
            return
        _answer(model, definition)
