"""The cost of predictions: rows per second on one core next to LinearSVC with the same weights.

Run as ``python -m benchmarks.serving.prediction [--sets NAME ...] [--model FILE]``. For every set a
model is trained (or, with ``--model``, loaded), put into a file and loaded again. Its weights are
then given to scikit-learn's LinearSVC, dense where that takes no more than ``--dense-gib``, and
sparse as ``sparsify`` makes them. All predictions are compared. One thread for all.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks.common.command_line import (
    add_data,
    add_json,
    positive,
    print_columns,
    print_machine,
    run_command,
    write_json,
)
from benchmarks.common.data import WORDNET, DataUnavailableError, default_folder, known, load
from benchmarks.common.timing import best_of
from multimargin import MulticlassSVC, load_model, prune, save_model

SETS = ["clinc150", "dmoz-108", "lshtc1-dryrun-task2", WORDNET]
_LATENCIES = 300  # single rows that are timed
_SHARED_BY = 3  # processes
_MOST_ROWS_SPARSE = 500  # scikit-learn's sparse product makes rows x classes, at 16 bytes each


def linear_svc(model: MulticlassSVC, *, sparse: bool) -> LinearSVC:
    """scikit-learn's estimator with the weights of the model."""
    peer = LinearSVC()
    peer.classes_, peer.intercept_ = model.classes_, np.asarray(model.intercept_)
    coef: Any = model.coef_
    if sparse:
        peer.coef_ = sp.csr_matrix(coef)
    else:
        # LinearSVC leaves it in this order, and multiplies with its transpose.
        dense = coef if isinstance(coef, np.ndarray) else coef.toarray()
        peer.coef_ = np.asfortranarray(dense)
    peer.n_features_in_ = model.n_features_in_
    return peer


def latencies(predict: Callable[[Any], Any], X: Any) -> dict[str, float]:
    """Seconds for one row: the middle one and the slowest of a hundred."""
    rows = [X[i % X.shape[0]] for i in range(_LATENCIES)]
    for row in rows[:20]:
        predict(row)
    times = [best_of(1, lambda row=row: predict(row))[0] for row in rows]
    return {"median": float(np.median(times)), "p99": float(np.quantile(times, 0.99))}


def _memory(path: str, ready: Any, go_on: Any, answer: Any) -> None:
    """In a process of its own: the pages of the file in memory, whose they are."""
    model = load_model(path)
    # Every page of the weights is read.
    float(np.sum(model.coef_.data if sp.issparse(model.coef_) else model.coef_))
    ready.release()
    go_on.wait()
    answer.put(mapped(path))


def mapped(path: str) -> dict[str, int]:
    """Bytes of this process's maps of a file: in memory, its fair part of them, and its own."""
    wanted = {"Rss": 0, "Pss": 0, "Private_Dirty": 0}
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        name, _, rest = line.partition(":")
        if "-" in name.split(" ")[0] and name[:1] in "0123456789abcdef":
            inside = line.endswith(path)
        elif inside and name in wanted:
            wanted[name] += 1024 * int(rest.split()[0])
    return wanted


def sharing(path: Path) -> list[dict[str, int]]:
    """Return the memory of a model that several processes use at the same time."""
    context = get_context("spawn")
    ready, go_on, answer = context.Semaphore(0), context.Event(), context.Queue()
    arguments = (str(path.resolve()), ready, go_on, answer)
    processes = [context.Process(target=_memory, args=arguments) for _ in range(_SHARED_BY)]
    for process in processes:
        process.start()
    for _ in processes:
        ready.acquire()
    go_on.set()
    found = [answer.get() for _ in processes]
    for process in processes:
        process.join()
    return found


def measure(name: str, args: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    """All figures of one set."""
    data = load(name, args.data)
    assert data.X_test is not None and data.y_test is not None
    X, y = data.X_test[: args.rows], data.y_test[: args.rows]
    if args.model is not None:
        model = load_model(args.model)
    else:
        model = MulticlassSVC("ww", 1.0, tol=args.tol, random_state=0, n_jobs=-1).fit(
            data.X, data.y
        )
    files = {"float32": scratch / "a", "float16": scratch / "b", "half": scratch / "c"}
    save_model(model, files["float32"])
    save_model(model, files["float16"], weights="float16")
    halved = prune(model, keep=0.5)
    save_model(halved, files["half"], weights="float16")
    opening, model = best_of(5, lambda: load_model(files["float32"]))
    first, predicted = best_of(1, lambda: model.predict(X))
    one_row = latencies(model.predict, X)  # after which sparse weights lie there by feature, too
    seconds, predicted = best_of(args.repeats, lambda: model.predict(X))
    dense_bytes = model.coef_.shape[0] * model.coef_.shape[1] * model.coef_.dtype.itemsize
    result = {
        "set": name,
        "rows": X.shape[0],
        "classes": len(model.classes_),
        "features": model.n_features_in_,
        "sparse": bool(sp.issparse(model.coef_)),
        "open_seconds": opening,
        "bytes": {key: path.stat().st_size for key, path in files.items()},
        "error": {
            "float32": float(np.mean(predicted != y)),
            "float16": float(np.mean(load_model(files["float16"]).predict(X) != y)),
            "half": float(np.mean(load_model(files["half"]).predict(X) != y)),
        },
        "rows_per_second": X.shape[0] / seconds,
        "rows_per_second_first": X.shape[0] / first,
        "one_row": one_row,
        "one_row_top5": latencies(lambda row: model.predict_topk(row, 5), X),
        "shared": sharing(files["float32"]),
    }
    if dense_bytes <= args.dense_gib * 2**30:
        result["dense"] = against(linear_svc(model, sparse=False), X, predicted, args.repeats)
    few = X[:_MOST_ROWS_SPARSE] if len(model.classes_) > 2000 else X
    peer = linear_svc(model, sparse=True)
    result["sparse_peer"] = against(peer, few, predicted[: few.shape[0]], args.repeats)
    return result


def against(peer: LinearSVC, X: Any, predicted: Any, repeats: int) -> dict[str, Any]:
    """Figures of the peer; its predictions must be ours, up to ties in the last bit."""
    seconds, found = best_of(repeats, lambda: peer.predict(X))
    return {
        "rows_per_second": X.shape[0] / seconds,
        "agreement": float(np.mean(found == predicted)),
        "one_row": latencies(peer.predict, X[:32]),
    }


def show(result: dict[str, Any]) -> None:
    """One set in words."""
    kind = "sparse" if result["sparse"] else "dense"
    print(
        f"\n{result['set']}: {result['classes']:,} classes, {result['features']:,} features, "
        f"{kind} weights, {result['rows']:,} rows"
    )
    own = result["rows_per_second"]
    lines = [("one core", "rows/s", "ours is", "one row", "99 of 100", "agree")]
    lines.append(("multimargin", f"{own:,.0f}", "", *_times(result["one_row"]), ""))
    speed = f"{result['rows_per_second_first']:,.0f}"
    lines.append(("multimargin, first call", speed, "", "", "", ""))
    lines.append(("multimargin, 5 best", "", "", *_times(result["one_row_top5"]), ""))
    for key, title in (("dense", "LinearSVC"), ("sparse_peer", "LinearSVC, sparsified")):
        if key not in result:
            lines.append((title, "too large", "", "", "", ""))
            continue
        peer = result[key]
        ratio = own / peer["rows_per_second"]
        agree = f"{100 * peer['agreement']:.2f} %"
        speed = f"{peer['rows_per_second']:,.0f}"
        lines.append((title, speed, f"{ratio:.1f} x", *_times(peer["one_row"]), agree))
    print_columns(lines, frozenset({1, 2, 3, 4, 5}))
    print(f"opening the file: {1e3 * result['open_seconds']:.1f} ms")
    for key, title in (
        ("float32", "float32"),
        ("float16", "float16"),
        ("half", "float16, half the weights"),
    ):
        size, error = result["bytes"][key], result["error"][key]
        print(f"on disk, {title}: {size / 1e6:.2f} MB, error {100 * error:.2f} %")
    rss, pss, own_pages = (
        sum(each[key] for each in result["shared"]) / len(result["shared"]) / 1e6
        for key in ("Rss", "Pss", "Private_Dirty")
    )
    print(
        f"{len(result['shared'])} processes: {rss:.2f} MB mapped each, {pss:.2f} MB its part, "
        f"{own_pages:.2f} MB its own"
    )


def _times(seconds: dict[str, float]) -> tuple[str, str]:
    return f"{1e6 * seconds['median']:,.0f} us", f"{1e6 * seconds['p99']:,.0f} us"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", type=known, default=SETS, metavar="NAME")
    add_data(parser)
    parser.add_argument("--model", metavar="FILE", help="a model of the one set, trained before")
    parser.add_argument("--rows", type=positive, default=5000, metavar="N", help="test rows used")
    parser.add_argument("--repeats", type=positive, default=3, metavar="N")
    parser.add_argument("--tol", type=float, default=0.05, help="of the training")
    parser.add_argument("--dense-gib", type=float, default=2.0, metavar="G")
    add_json(parser, "all numbers")
    args = parser.parse_args()
    args.data = args.data or default_folder()
    if args.model is not None and len(args.sets) != 1:
        parser.error("--model is for one set: name it with --sets")
    about = print_machine()
    results = []
    with threadpool_limits(1):
        for name in args.sets:
            with tempfile.TemporaryDirectory() as scratch:
                try:
                    results.append(measure(name, args, Path(scratch)))
                except DataUnavailableError as error:
                    print(f"\n{name}: left out: {error}")
                    continue
            show(results[-1])
    if args.json is not None:
        write_json(args.json, {"machine": about, "results": results})


if __name__ == "__main__":
    run_command(main)
