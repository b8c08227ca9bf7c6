"""Fingerprints of problems: which data a checkpoint belongs to."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from multimargin.solvers._problem import Problem, fingerprint


def problem(**changes):
    X = sp.csr_matrix(np.eye(3) * [1.0, 2.0, 3.0])
    fields = {
        "X": X,
        "y": np.array([0, 1, 2], np.int32),
        "box": np.ones(3),
        "n_classes": 3,
        "bias": 0.0,
        "formulation": "ww",
    }
    return Problem(**{**fields, **changes})


def test_fingerprints_tell_problems_apart():
    X = problem().X
    wider = sp.csr_matrix((X.data, X.indices, X.indptr), shape=(3, 4))
    moved = sp.csr_matrix((X.data, [1, 0, 2], X.indptr), shape=(3, 3))
    rows = sp.csr_matrix((X.data, X.indices, [0, 2, 2, 3]), shape=(3, 3))
    others = [
        problem(X=X.astype(np.float32)),
        problem(X=X * 1.5),
        problem(X=wider),
        problem(X=moved),
        problem(X=rows),
        problem(y=np.array([0, 2, 1], np.int32)),
        problem(box=np.full(3, np.inf)),
        problem(bias=1.0),
    ]
    names = {fingerprint(each) for each in [problem(), *others]}
    assert len(names) == len(others) + 1
    assert fingerprint(problem()) == fingerprint(problem(X=X.copy()))


def test_fingerprints_do_not_see_how_arrays_lie():
    X = problem().X
    spare = sp.csr_matrix((3, 3))
    spare.data = np.append(X.data, 9.0)
    spare.indices = np.append(X.indices, X.indices.dtype.type(9))
    spare.indptr = np.repeat(X.indptr, 2)[::2]
    assert fingerprint(problem(X=spare)) == fingerprint(problem())
