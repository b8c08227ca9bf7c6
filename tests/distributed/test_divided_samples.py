"""Samples divided over ranks: the same model, from parts of the file. Ranks are threads here."""

import gzip
import re

import numpy as np
import pytest
import scipy.sparse as sp

from multimargin import MulticlassSVC, distributed
from multimargin.parallel import _divided_rows
from multimargin.parallel._divided_rows import DividedRows
from multimargin.solvers.active_set import _pass_plan
from multimargin.solvers.active_set._divided_workspace import memory_of_host
from tests.support.rank_threads import run_ranks


@pytest.fixture(autouse=True)
def many_parts(monkeypatch):
    monkeypatch.setattr(_divided_rows, "_PART", 300)
    monkeypatch.setattr(_divided_rows, "_PIECE", 500)


def write(path, n=260, k=80, names=False, seed=0):
    """Uneven classes that share features with a few others; some rows are empty."""
    rng = np.random.default_rng(seed)
    with path.open("w") as file:
        for i in range(n):
            c = i if i < k else int(k * rng.random() ** 2)
            near = np.concatenate([c + np.arange(5), 40 * (c % 3) + np.arange(9), rng.choice(k, 6)])
            used = [] if i == 7 else np.unique(np.concatenate([near, 100 + rng.choice(200, 8)])) + 1
            row = " ".join(
                f"{j}:{value:.3f}" for j, value in zip(used, rng.random(25), strict=False)
            )
            file.write(f"{'label' * names}{c} {row}\n")
    return path


def trained(path, comm, divide, options, load=()):
    X, y = distributed.load(path, normalize="l2", divide=divide, comm=comm, **dict(load))
    assert isinstance(X, DividedRows) == (divide == "samples")
    given = {"random_state": 3, "n_bundles": 6, "n_jobs": 1, **options}
    model = distributed.fit(MulticlassSVC(**given), X, y, comm=comm)
    model.save(path.with_name(f"model-{divide}-{comm.size}"))
    return X, model


def assert_same(path, ranks, hosts=None, load=(), **options):
    whole = run_ranks(1, lambda comm: trained(path, comm, "classes", options, load)[1])[0]
    parts = run_ranks(ranks, lambda comm: trained(path, comm, "samples", options, load), hosts)
    expected = path.with_name("model-classes-1").read_bytes()
    assert path.with_name(f"model-samples-{ranks}").read_bytes() == expected
    assert parts[0][1].dual_objective_ == whole.dual_objective_
    held = [X.nnz for X, _ in parts]
    assert max(held) < sum(held)
    assert sum(held) == int(parts[0][0].starts[-1])
    return held


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("formulation", ["ww", "cs"])
def test_same_model(tmp_path, formulation, intercept, ranks):
    path = write(tmp_path / "data", names=ranks == 2)
    assert_same(path, ranks, formulation=formulation, fit_intercept=intercept)


@pytest.mark.parametrize("formulation", ["ww", "cs"])
def test_same_model_with_all_classes_active(tmp_path, formulation):
    path = write(tmp_path / "data", k=12)
    assert_same(path, 3, formulation=formulation, solver="passes", max_iter=40)


@pytest.mark.parametrize("formulation", ["ww", "cs"])
def test_same_model_by_batches(tmp_path, formulation, monkeypatch):
    monkeypatch.setattr(_pass_plan, "_SMALL_WORK", 0)
    held = assert_same(write(tmp_path / "data"), 2, formulation=formulation, n_bundles=2, C=2.0)
    assert min(held) > 0.4 * sum(held)


def test_same_model_in_double_precision_with_costs_weights_and_more_ranks_than_matches(tmp_path):
    path = write(tmp_path / "data", n=200, k=70)
    cost = 1.0 + (np.arange(70)[:, None] // 7 != np.arange(70) // 7)
    np.fill_diagonal(cost, 0)
    options = {"label_cost": cost, "class_weight": "balanced", "formulation": "ww"}
    held = assert_same(
        path, 4, load={"dtype": np.float64}, stopping="violation", tol=0.1, **options
    )
    assert min(held) > 0


def test_hosts_have_the_rows_and_their_first_ranks_train(tmp_path, monkeypatch):
    monkeypatch.setenv("MULTIMARGIN_POOL", "1")
    held = assert_same(write(tmp_path / "data"), 3, hosts=[0, 0, 1], formulation="ww")
    assert held[1] == 0


def test_nothing_is_divided_on_one_host(tmp_path, monkeypatch):
    monkeypatch.setenv("MULTIMARGIN_POOL", "1")
    path = write(tmp_path / "data")
    for X, y in run_ranks(2, lambda comm: distributed.load(path, divide="samples", comm=comm)):
        assert not isinstance(X, DividedRows)
        assert X.shape[0] == len(y) == 260


# ---------------------------------------------------------------- reading


def loaded(path, ranks, **options):
    return run_ranks(
        ranks, lambda comm: distributed.load(path, divide="samples", comm=comm, **options)
    )


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("ranks", [2, 5])
def test_parts_of_the_file_make_up_the_whole(tmp_path, ranks, end):
    path = tmp_path / "data"
    lines = ["# a comment", "3 1:2 4:0.5", "", "-1 2:1", "3", "20 7:1 # more"]
    path.write_bytes(end.join(lines).encode())
    X, y = distributed.load(path)
    for part, labels in (parts := loaded(path, ranks)):
        assert part.shape == X.shape
        np.testing.assert_array_equal(labels, y)
        assert labels.dtype == y.dtype
        np.testing.assert_array_equal(part.lengths, np.diff(X.indptr))
    assert (sum(part.toarray() for part, _ in parts) == X.toarray()).all()


def test_an_error_names_the_line_of_the_file(tmp_path):
    path = tmp_path / "data"
    path.write_text("1 1:1\n" * 20 + "2 1:x\n" + "1 1:1\n")
    with pytest.raises(ValueError, match=re.escape(f"{path}:21: column 3")):
        loaded(path, 3)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (gzip.compress(b"1 1:1\n"), "unpack it"),
        (b"", "the file is empty"),
        (b"# nothing\n" * 9, "no examples"),
        (b"1 1:1\n" * 30 + b"one 1:1\n" * 9, "some labels are whole numbers and others are not"),
    ],
)
def test_files_that_cannot_be_divided(tmp_path, content, reason):
    (tmp_path / "data").write_bytes(content)
    with pytest.raises(ValueError, match=reason):
        loaded(tmp_path / "data", 2)


def test_sets_of_labels_are_refused(tmp_path):
    with pytest.raises(ValueError, match="one label per sample"):
        loaded(write(tmp_path / "data"), 2, multilabel=True)


def test_divide_is_one_of_two(tmp_path):
    with pytest.raises(ValueError, match="'classes' or 'samples', got 'rows'"):
        distributed.load(tmp_path / "data", divide="rows")


# ---------------------------------------------------------------- fits


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"formulation": "llw"}, "are divided with formulation='ww' or 'cs', got 'llw'"),
        ({"calibration": "cv"}, "calibration does not work with divided samples"),
    ],
)
def test_fits_that_are_refused(tmp_path, options, reason):
    path = write(tmp_path / "data")
    with pytest.raises(ValueError, match=reason):
        run_ranks(2, lambda comm: trained(path, comm, "samples", options))


def test_weights_of_zero_checkpoints_dense_rows_and_few_classes_are_refused(tmp_path):
    path, dense = write(tmp_path / "data", k=12), tmp_path / "dense"
    dense.write_text("\n".join(f"{i % 170} 1:{i} 2:1" for i in range(340)))

    def refused(comm, file, reason, **more):
        X, y = distributed.load(file, divide="samples", comm=comm)
        if "sample_weight" in more:
            more["sample_weight"] = np.arange(len(y))
        with pytest.raises(ValueError, match=reason):
            svc = MulticlassSVC(random_state=0, class_weight=more.pop("class_weight", None))
            distributed.fit(svc, X, y, comm=comm, **more)

    def work(comm):
        refused(comm, path, "need solver='passes' up to 64 classes")
        refused(comm, path, "positive weight", sample_weight=True)
        refused(comm, path, "positive weight", class_weight=dict(enumerate([0.0] + [1.0] * 11)))
        refused(comm, path, "checkpoint does not work", checkpoint=tmp_path / "state")
        refused(comm, dense, "they are dense")

    run_ranks(2, work)


def test_they_are_for_these_ranks_as_they_are(tmp_path):
    path = write(tmp_path / "data")

    def work(comm):
        X, y = distributed.load(path, divide="samples", comm=comm)
        with pytest.raises(ValueError, match=r"for distributed\.fit, by the ranks that have them"):
            MulticlassSVC("ww").fit(X, y)
        with pytest.raises(ValueError, match="cannot be selected or changed"):
            distributed.fit(MulticlassSVC("ww"), X[:200], y[:200], comm=comm)
        model = distributed.fit(MulticlassSVC("ww", random_state=0), X, y, comm=comm)
        with pytest.raises(ValueError, match="load others with divide='classes'"):
            model.score(X, y)

    run_ranks(2, work)


def test_memory_of_a_host_is_a_share(tmp_path):
    path = write(tmp_path / "data", n=3000)

    def told(comm):
        X, _ = distributed.load(path, divide="samples", comm=comm)
        return memory_of_host(X, 10**6, 2000)

    two, four = (run_ranks(ranks, told)[0] for ranks in (2, 4))
    weights = [re.search(r"up to ([\d,]+) MB for weights", text) for text in (two, four)]
    weights = [int(found[1].replace(",", "")) for found in weights]
    assert abs(weights[0] - 2 * weights[1]) <= 2 < weights[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sizes", [(0, 0), (5, 0, 3), (1000, 1, 127, 5000), (70_001, 3)])
def test_sums_of_squares_are_those_of_numpy(dtype, sizes, monkeypatch):
    monkeypatch.setattr(_divided_rows, "_AT_ONCE", 1000)
    values = np.random.default_rng(0).random(sum(sizes)).astype(dtype)
    cuts = np.cumsum([0, *sizes])

    def work(comm):
        mine = values[cuts[comm.rank] : cuts[comm.rank + 1]]
        rows = sp.csr_matrix(mine.reshape(-1, 1))
        return _divided_rows.divided_rows(rows, comm).squares

    assert run_ranks(len(sizes), work) == [float(np.sum(np.square(values)))] * len(sizes)
