"""Models divided over ranks: rows change hands, and none is lost."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from multimargin.distributed._rows import collect_rows, cut_evenly, divide_rows, take_rows
from multimargin.distributed._scores import RankScores
from multimargin.models._scores import LinearScores
from tests.distributed.scattered_weights import scattered
from tests.support.rank_threads import run_ranks


def model(rows, columns, density, dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    coef = sp.random(rows, columns, density, "csr", dtype=np.float64, random_state=seed)
    coef.data = rng.standard_normal(coef.nnz)
    return coef.astype(dtype), rng.standard_normal(rows).astype(dtype)


@given(
    st.lists(st.integers(0, 1000), min_size=1, max_size=60),
    st.integers(1, 9),
)
def test_cuts_are_ranges_of_about_equal_size(sizes, ranks):
    sizes = np.array(sizes, dtype=np.int64)
    cuts = cut_evenly(sizes, ranks)
    assert cuts[0] == 0
    assert cuts[-1] == len(sizes)
    assert np.all(np.diff(cuts) >= 0)
    weight = sizes + 1
    even = weight.sum() / ranks
    for begin, end in itertools.pairwise(cuts):
        assert weight[begin:end].sum() <= even + weight.max()


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 30), st.integers(1, 5), st.booleans(), st.booleans(), st.integers(0, 99))
def test_rows_come_together_in_order(rows, ranks, given_sparse, kept_sparse, seed):
    coef, intercept = model(rows, 7, 0.3, seed=seed)

    def work(comm):
        held = scattered(comm, rows, seed)
        mine = coef[held] if given_sparse else coef[held].toarray()
        owned = divide_rows(comm, mine, intercept[held], held, sparse=kept_sparse)
        begin, end = owned.range_of(comm.rank)
        assert owned.rows == rows
        assert sp.issparse(owned.coef) == kept_sparse
        part = owned.coef.toarray() if kept_sparse else owned.coef
        np.testing.assert_array_equal(part, coef[begin:end].toarray())
        np.testing.assert_array_equal(owned.intercept, intercept[begin:end])
        return collect_rows(comm, owned)

    whole, *others = run_ranks(ranks, work)
    assert others == [None] * (ranks - 1)
    all_rows = whole[0].toarray() if kept_sparse else whole[0]
    np.testing.assert_array_equal(all_rows, coef.toarray())
    np.testing.assert_array_equal(whole[1], intercept)


def test_the_form_is_decided_by_the_whole_model():
    # A model of two full rows and thousands of empty ones: the rank with the full ones must not
    # decide by what it has. 3000 x 3000 float64 are 72 MB.
    coef = sp.lil_matrix((3000, 3000))
    coef[:2] = 1.0
    coef = coef.tocsr()

    def work(comm):
        held = np.arange(0, 2) if comm.rank == 0 else np.arange(2, 3000)
        held = held.astype(np.int32)
        owned = divide_rows(comm, coef[held], np.zeros(len(held)), held, sparse="auto")
        return sp.issparse(owned.coef), owned.range_of(comm.rank)

    answers = run_ranks(2, work)
    assert [sparse for sparse, _ in answers] == [True, True]
    # Of about equal size: one full row is more than half of everything.
    assert answers[0][1] == (0, 1)


def test_a_row_that_nobody_holds_is_noticed():
    coef, intercept = model(6, 4, 0.5)

    def work(comm):
        held = np.array([0, 1, 2] if comm.rank == 0 else [2, 4, 5], dtype=np.int32)
        divide_rows(comm, coef[held], intercept[held], held, sparse=True)

    with pytest.raises(RuntimeError, match="no rank holds row 3"):
        run_ranks(2, work)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_best_classes_are_those_of_one_process(ranks, sparse, dtype, monkeypatch):
    monkeypatch.setattr("multimargin.distributed._scores._ROWS", 17)  # several chunks
    rows, columns = 150, 40
    coef, intercept = model(rows, columns, 0.2, dtype)
    coef = coef.tolil()
    coef[40] = coef[41] = coef[149] = coef[3]  # equal scores, on several ranks
    intercept[[40, 41, 149]] = intercept[3]
    coef = coef.tocsr() if sparse else coef.toarray()
    X = sp.random(100, columns, 0.3, "csr", dtype=dtype, random_state=1)
    expected = {k: LinearScores(coef, intercept, 1).top(X, k) for k in (1, 4, rows)}

    def work(comm):
        scores = RankScores(comm, take_rows(comm, coef, intercept), threads=1)
        return {k: scores.top(X, k) for k in expected}

    for found in run_ranks(ranks, work):
        for k, (classes, values) in expected.items():
            np.testing.assert_array_equal(found[k][0], classes)
            np.testing.assert_array_equal(found[k][1], values)


def test_more_ranks_than_classes():
    coef, intercept = model(3, 10, 0.5)
    X = sp.random(8, 10, 0.5, "csr", dtype=np.float32, random_state=1)
    expected = LinearScores(coef, intercept, 1).top(X, 3)

    def work(comm):
        return RankScores(comm, take_rows(comm, coef, intercept), threads=1).top(X, 3)

    for found in run_ranks(5, work):
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
