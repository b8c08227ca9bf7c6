"""distributed.fit and what it returns, by ranks that are threads of this process."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from multimargin import MulticlassSVC, distributed, load_model, save_model
from multimargin.distributed import _scores
from multimargin.formulations import FORMULATIONS
from multimargin.parallel._communicator import SerialCommunicator
from multimargin.parallel._threads import rank_thread_count, thread_count
from tests.distributed.scattered_weights import scatter_all
from tests.support.rank_threads import run_ranks

SCALARS = [
    "n_iter_",
    "primal_objective_",
    "dual_objective_",
    "dual_gap_",
    "violation_",
    "converged_",
    "model_density_",
    "n_features_in_",
]


def make_data(n=90, d=20, k=7, dtype=np.float32, seed=0, names=False):
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    X = sp.random(n, d, 0.3, "csr", dtype=np.float64, random_state=seed).tolil()
    X[np.arange(n), y] = 1.0
    labels = np.array([f"klasse-{c}" for c in range(k)])[y] if names else y * 3
    return X.tocsr().astype(dtype), labels


@pytest.fixture
def shared(monkeypatch):
    scatter_all(monkeypatch)


def coef_bytes(model):
    coef = model.coef_
    parts = [coef.data, coef.indices, coef.indptr] if sp.issparse(coef) else [coef]
    return [np.ascontiguousarray(part).tobytes() for part in [*parts, model.intercept_]]


# ---------------------------------------------------------------- one model


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("sparse_coef", [True, False])
def test_same_model_as_one_process(shared, formulation, ranks, sparse_coef, tmp_path):
    X, y = make_data(names=formulation == "cs")
    asked = MulticlassSVC(formulation, random_state=3, sparse_coef=sparse_coef, n_bundles=4)
    plain = MulticlassSVC(**asked.get_params()).fit(X, y)
    save_model(plain, tmp_path / "plain", preprocessing={"normalize": "l2"})
    best, scores = plain.predict_topk(X, 3)

    def work(comm):
        model = distributed.fit(asked, X, y, comm=comm)
        for name in SCALARS:
            assert getattr(model, name) == getattr(plain, name), name
        np.testing.assert_array_equal(model.classes_, plain.classes_)
        assert [r["primal"] for r in model.history_] == [r["primal"] for r in plain.history_]
        np.testing.assert_array_equal(model.predict(X), plain.predict(X))
        for found, expected in zip(model.predict_topk(X, 3), (best, scores), strict=True):
            np.testing.assert_array_equal(found, expected)
        assert model.score(X, y) == plain.score(X, y)
        model.save(tmp_path / "shared", preprocessing={"normalize": "l2"})
        return model.gather()

    whole, *others = run_ranks(ranks, work)
    assert all(other is None for other in others)
    assert isinstance(whole, MulticlassSVC)
    assert coef_bytes(whole) == coef_bytes(plain)
    np.testing.assert_array_equal(whole.predict(X), plain.predict(X))
    assert (tmp_path / "shared").read_bytes() == (tmp_path / "plain").read_bytes()
    assert not hasattr(asked, "classes_")  # what was given stays as it was


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("sparse_coef", [True, False])
def test_two_classes(shared, formulation, ranks, sparse_coef, tmp_path):
    X, y = make_data(k=2)
    asked = MulticlassSVC(formulation, random_state=3, sparse_coef=sparse_coef, n_bundles=4)
    plain = MulticlassSVC(**asked.get_params()).fit(X, y)
    save_model(plain, tmp_path / "plain")
    best, scores = plain.predict_topk(X, 2)

    def work(comm):
        model = distributed.fit(asked, X, y, comm=comm)
        assert model.model_density_ == plain.model_density_
        np.testing.assert_array_equal(model.predict(X), plain.predict(X))
        for found, expected in zip(model.predict_topk(X, 2), (best, scores), strict=True):
            np.testing.assert_array_equal(found, expected)
        model.save(tmp_path / "shared")
        return model.gather()

    whole = run_ranks(ranks, work)[0]
    assert coef_bytes(whole) == coef_bytes(plain)
    assert (tmp_path / "shared").read_bytes() == (tmp_path / "plain").read_bytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_same_bytes_for_any_number_of_ranks_and_threads(formulation, dtype, tmp_path):
    """With the solvers as they are."""
    X, y = make_data(n=200, d=40, k=23, dtype=dtype)
    files = {}
    for ranks, threads in [(1, 1), (1, 2), (2, 1), (3, 2), (5, 1)]:
        asked = MulticlassSVC(formulation, random_state=3, n_bundles=6, n_jobs=threads)
        path = tmp_path / f"{ranks}x{threads}"
        run_ranks(ranks, lambda comm: distributed.fit(asked, X, y, comm=comm).save(path))  # noqa: B023
        files[ranks, threads] = path.read_bytes()
    save_model(MulticlassSVC(formulation, random_state=3, n_bundles=6).fit(X, y), tmp_path / "m")
    files["plain"] = (tmp_path / "m").read_bytes()
    assert len(set(files.values())) == 1, {key: hash(content) for key, content in files.items()}


def test_more_ranks_than_classes(shared, tmp_path):
    X, y = make_data(k=3)
    plain = MulticlassSVC(random_state=0, n_bundles=3).fit(X, y)
    save_model(plain, tmp_path / "plain")

    def work(comm):
        model = distributed.fit(MulticlassSVC(random_state=0), X, y, comm=comm)
        np.testing.assert_array_equal(model.predict(X), plain.predict(X))
        model.save(tmp_path / "shared")
        return model.n_bundles_

    assert run_ranks(6, work) == [3] * 6  # no more bundles than classes
    assert (tmp_path / "shared").read_bytes() == (tmp_path / "plain").read_bytes()


def test_named_features_and_dense_input(shared, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = make_data(d=12)
    frame = pandas.DataFrame(X.toarray(), columns=[f"f{j}" for j in range(12)])
    plain = MulticlassSVC(random_state=0, n_bundles=4).fit(frame, y)
    save_model(plain, tmp_path / "plain")

    def work(comm):
        model = distributed.fit(MulticlassSVC(random_state=0, n_bundles=4), frame, y, comm=comm)
        np.testing.assert_array_equal(model.predict(frame), plain.predict(frame))
        model.save(tmp_path / "shared")

    run_ranks(2, work)
    assert (tmp_path / "shared").read_bytes() == (tmp_path / "plain").read_bytes()


def test_the_number_of_bundles_is_kept_with_the_model(shared, tmp_path):
    X, y = make_data()

    def work(comm):
        model = distributed.fit(MulticlassSVC(random_state=0), X, y, comm=comm)
        model.save(tmp_path / f"m{comm.size}")
        return model.n_bundles_

    assert run_ranks(1, work) == [None]
    assert run_ranks(2, work) == [4, 4]
    assert load_model(tmp_path / "m1").n_bundles is None
    loaded = load_model(tmp_path / "m2")
    assert loaded.n_bundles == 4
    save_model(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m2").read_bytes()


def test_samples_of_weight_zero_take_their_class_with_them(shared):
    X, y = make_data()
    weight = np.where(y == 3, 0.0, 1.5)
    asked = MulticlassSVC(random_state=0, n_bundles=2)
    plain = MulticlassSVC(**asked.get_params()).fit(X, y, weight)

    def work(comm):
        return distributed.fit(asked, X, y, weight, comm=comm).gather()

    whole = run_ranks(2, work)[0]
    np.testing.assert_array_equal(whole.classes_, plain.classes_)
    assert coef_bytes(whole) == coef_bytes(plain)


# ---------------------------------------------------------------- loading


@pytest.mark.parametrize("sparse_coef", [True, False])
@pytest.mark.parametrize("k", [2, 7])
def test_a_model_file_is_divided(sparse_coef, k, tmp_path):
    X, y = make_data(k=k)
    plain = MulticlassSVC(random_state=0, sparse_coef=sparse_coef).fit(X, y)
    save_model(plain, tmp_path / "m", preprocessing={"normalize": "l2"})

    def work(comm):
        model = distributed.load_model(tmp_path / "m", verify=True, comm=comm)
        assert model.preprocessing_ == {"normalize": "l2"}
        assert model.dual_gap_ == plain.dual_gap_
        np.testing.assert_array_equal(model.predict(X), plain.predict(X))
        model.save(tmp_path / "again")
        return model._owned.coef.shape[0]

    held = run_ranks(3, work)
    assert sum(held) == (1 if k == 2 else k)
    assert max(held) < k
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_a_damaged_model_file_is_refused_on_all_ranks(tmp_path):
    X, y = make_data()
    save_model(MulticlassSVC(random_state=0).fit(X, y), tmp_path / "m")
    content = bytearray((tmp_path / "m").read_bytes())
    content[-100] ^= 1
    (tmp_path / "m").write_bytes(content)

    def work(comm):
        with pytest.raises(ValueError, match="damaged"):
            distributed.load_model(tmp_path / "m", verify=True, comm=comm)

    run_ranks(3, work)


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize("k", [2, 3])
def test_samples_too_large_to_be_scored_are_refused_on_all_ranks(shared, k, monkeypatch):
    monkeypatch.setattr(_scores, "_ROWS", 16)
    X, y = make_data(k=k)
    large = X.astype(np.float64)
    large.data[large.indptr[50]] = 1e300

    def work(comm):  # the fourth has no class
        model = distributed.fit(MulticlassSVC(random_state=0), X, y, comm=comm)
        with pytest.raises(ValueError, match=r"X holds 1e\+300 in row 50, .* overflow"):
            model.predict(large)

    run_ranks(4, work)


def test_lengths_that_overflow_are_refused(tmp_path):
    (tmp_path / "d").write_text("a 1:1e200 2:1\nb 2:1\n")
    with pytest.raises(ValueError, match=r"d: values up to 1e\+200 are too large to be squared"):
        distributed.load(tmp_path / "d", dtype=np.float64, normalize="l2")


def refused(work, message):
    def guarded(comm):
        with pytest.raises(ValueError, match=message):
            work(comm)

    run_ranks(2, guarded)


def test_other_data_on_a_rank():
    X, y = make_data()

    def work(comm):
        mine = X.copy()
        mine.data[5] += comm.rank
        distributed.fit(MulticlassSVC(random_state=0), mine, y, comm=comm)

    refused(work, "rank 1 was given data .* and rank 0 .* same data and parameters")


def test_other_weights_on_a_rank():
    X, y = make_data()

    def work(comm):
        weight = np.full(len(y), 1.0 + comm.rank)
        distributed.fit(MulticlassSVC(random_state=0), X, y, weight, comm=comm)

    refused(work, "rank 1 was given data")


def test_other_parameters_on_a_rank():
    X, y = make_data()

    def work(comm):
        distributed.fit(MulticlassSVC(C=1.0 + comm.rank, random_state=0), X, y, comm=comm)

    refused(work, "rank 1 was given C 2.0, and rank 0 1.0")


@pytest.mark.parametrize("value", [0, -1, 1.5, "two", True, 2**21])
def test_bundles_that_cannot_be(value):
    X, y = make_data()
    with pytest.raises(ValueError, match=r"n_bundles must be None or an integer between 1"):
        MulticlassSVC(n_bundles=value).fit(X, y)


def test_what_is_for_one_process_only():
    X, y = make_data()
    with pytest.raises(ValueError, match="warm_start=True is for fits in one process"):
        distributed.fit(MulticlassSVC(warm_start=True), X, y)
    with pytest.raises(TypeError, match="must be a MulticlassSVC, got dict"):
        distributed.fit({}, X, y)


def test_k_is_checked(shared):
    X, y = make_data()

    def work(comm):
        distributed.fit(MulticlassSVC(random_state=0), X, y, comm=comm).predict_topk(X, 8)

    refused(work, "k must be an integer between 1 and the 7 classes")


# ---------------------------------------------------------------- how it runs


def test_rank_0_draws_the_seed(shared):
    X, y = make_data()

    def work(comm):
        model = distributed.fit(MulticlassSVC("ovr", tol=0.3), X, y, comm=comm)
        return model.primal_objective_

    first, second, third = run_ranks(3, work)
    assert first == second == third


def test_only_rank_0_warns(shared):
    X, y = make_data()

    def work(comm):
        model = distributed.fit(
            MulticlassSVC(random_state=0, max_iter=1, tol=1e-9), X, y, comm=comm
        )
        return model.converged_

    with pytest.warns(ConvergenceWarning) as caught:
        assert run_ranks(3, work) == [False] * 3
    told = [w for w in caught if issubclass(w.category, ConvergenceWarning)]
    assert len(told) == 1
    assert "max_iter=1 was reached" in str(told[0].message)


class Host(SerialCommunicator):
    """One of several ranks of a host, whose processors are known."""

    def __init__(self, processors):
        super().__init__()
        self.size = len(processors)
        self._processors = [[np.array(p)] for p in processors]

    def allgather(self, message):
        return self._processors


@pytest.mark.parametrize(
    ("processors", "n_jobs", "threads"),
    [
        ([[0, 1, 2, 3]] * 2, -1, 2),  # shared
        ([[0, 1, 2, 3]] * 3, -1, 1),
        ([[0, 1, 2, 3]] * 9, -1, 1),  # never none
        ([[0, 1, 2, 3], [4, 5, 6, 7]], -1, 4),  # each rank bound to its own
        ([[0, 1, 2, 3], [2, 3, 4, 5]], -1, 3),
        ([[0, 1, 2, 3]] * 2, -2, 1),
        ([[0, 1, 2, 3]] * 2, 7, 7),  # as asked
        ([[0, 1, 2, 3]] * 2, None, 1),
    ],
)
def test_ranks_share_the_processors_of_their_host(processors, n_jobs, threads, monkeypatch):
    own = np.array(processors[0], dtype=np.int64)
    monkeypatch.setattr("multimargin.parallel._threads.usable_processors", lambda: own)
    monkeypatch.setattr("multimargin.parallel._threads.joblib.cpu_count", lambda: 4)
    assert rank_thread_count(n_jobs, Host(processors)) == threads


def test_a_container_limit_is_for_all_ranks_in_it(monkeypatch):
    own = np.arange(64)
    monkeypatch.setattr("multimargin.parallel._threads.usable_processors", lambda: own)
    monkeypatch.setattr("multimargin.parallel._threads.joblib.cpu_count", lambda: 8)
    assert rank_thread_count(-1, Host([list(own)] * 4)) == 2


def test_one_rank_has_the_threads_of_a_process():
    assert rank_thread_count(-1, SerialCommunicator()) == thread_count(-1)


def test_ranks_may_ask_for_different_numbers_of_threads():
    def work(comm):
        return rank_thread_count([1, -1, None][comm.rank], comm)

    one, share, default = run_ranks(3, work)
    assert one == default == 1 <= share


def test_a_refused_checkpoint_is_let_go(tmp_path):
    """The same call again is refused for the same reason, not because the folder is in use."""
    X, y = make_data()

    def fit(C):
        model = MulticlassSVC("llw", C=C, random_state=0, max_iter=2, tol=1e-9)
        return distributed.fit(model, X, y, checkpoint=tmp_path / "kept", checkpoint_every=0)

    with pytest.warns(ConvergenceWarning):
        fit(1.0)
    refusals = []
    for _ in range(2):
        with pytest.raises(ValueError, match="its C is") as refusal:
            fit(2.0)
        refusals.append(refusal)  # and with it the frames of the call
