"""Samples with several labels over ranks, which are threads of this process."""

import numpy as np
import pytest
import scipy.sparse as sp

from multimargin import MulticlassSVC, distributed, load_model
from multimargin.distributed._data_cache import shared as read_shared
from multimargin.parallel._communicator import SerialCommunicator
from tests.distributed.scattered_weights import scatter_all
from tests.support.rank_threads import run_ranks


def some_data(k, n=80, d=25, seed=0):
    random = np.random.default_rng(seed)
    X = sp.random(n, d, 0.3, "csr", random_state=seed)
    Y = (X @ random.standard_normal((d, k)) + 0.3 * random.standard_normal((n, k)) > 0.3).astype(
        int
    )
    return X, Y


@pytest.mark.parametrize("k", [2, 21])
@pytest.mark.parametrize("form", ["dense", "sparse", "lists"])
def test_the_same_model_and_predictions_as_alone(tmp_path, k, form):
    X, Y = some_data(k)
    y = {"dense": Y, "sparse": sp.csr_matrix(Y), "lists": [np.flatnonzero(row) for row in Y]}[form]
    model = MulticlassSVC("ovr", 10.0, random_state=0)
    alone = distributed.fit(model, X, y, comm=SerialCommunicator())
    expected = alone.predict(X)

    def work(comm):
        found = distributed.fit(model, X, y, comm=comm)
        found.save(tmp_path / f"{comm.size}")
        opened = distributed.load_model(tmp_path / f"{comm.size}", comm=comm)
        both = [found.predict(X), opened.predict(X)]
        return both, found.score(X, y), found.dual_gap_, found.predict_topk(X, 2)[0].tolist()

    alone.save(tmp_path / "alone")
    for ranks in (1, 3):
        for both, score, gap, best in run_ranks(ranks, work):
            for each in both:
                assert type(each) is type(expected)
                a, b = (p.toarray() if sp.issparse(p) else p for p in (each, expected))
                assert a.tolist() == b.tolist()
            assert (score, gap) == (alone.score(X, y), alone.dual_gap_)
            assert best == alone.predict_topk(X, 2)[0].tolist()
        assert (tmp_path / f"{ranks}").read_bytes() == (tmp_path / "alone").read_bytes()
    whole = load_model(tmp_path / "alone")
    assert (whole.multilabel_, whole.coef_.shape) == (form, (k, 25))


def test_ranks_with_other_sets_of_labels_are_refused():
    X, Y = some_data(5)

    def work(comm):
        y = Y.copy()
        y[3, 2] ^= comm.rank
        distributed.fit(MulticlassSVC("ovr", random_state=0), X, y, comm=comm)

    with pytest.raises(ValueError, match="fingerprint"):
        run_ranks(2, work)


def test_goes_on_from_a_checkpoint(tmp_path):
    X, Y = some_data(40)
    model = MulticlassSVC("ovr", 100.0, tol=1e-4, random_state=0)
    whole = distributed.fit(model, X, Y).gather()
    options = {"checkpoint": tmp_path / "c", "checkpoint_every": 0}
    with pytest.warns(UserWarning, match="max_iter=1 was reached"):
        distributed.fit(MulticlassSVC(**model.get_params() | {"max_iter": 1}), X, Y, **options)
    other = Y.copy()
    other[0, 0] ^= 1
    with pytest.raises(ValueError, match="another run"):
        distributed.fit(model, X, other, **options)
    found = distributed.fit(model, X, Y, **options)
    assert found.dual_gap_ <= 1e-4
    assert found.primal_objective_ == pytest.approx(whole.primal_objective_, rel=1e-4)


@pytest.mark.parametrize("words", [False, True])
def test_a_host_reads_sets_of_labels_once(tmp_path, monkeypatch, words):
    monkeypatch.setenv("MULTIMARGIN_CACHE", str(tmp_path))
    scatter_all(monkeypatch)
    X, y = sp.csr_matrix(np.eye(4)), [(3, 7), (), (7,), (12, 3, 7)]
    y = [tuple(map(str, row)) for row in y] if words else y
    for ranks in (1, 3):
        for matrix, labels in run_ranks(
            ranks, lambda comm: read_shared(comm, lambda: (X, np.fromiter(y, object)))
        ):
            assert labels.tolist() == y
            assert matrix.toarray().tolist() == X.toarray().tolist()
    (tmp_path / "d.svm").write_text("3,7 1:1\n2:1\n")
    assert distributed.load(tmp_path / "d.svm", multilabel=True)[1].tolist() == [(3, 7), ()]
