"""The row engine, Newton steps included, makes the same bits wherever and however often it runs."""

import os
import warnings
from unittest.mock import patch

import joblib
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from multimargin import MulticlassSVC
from multimargin.solvers.rows._newton import Newton
from tests.estimator.test_threads import bits
from tests.reference.cases import CASES
from tests.support.forks import in_fork
from tests.support.tiny_problems import blobs

every_case = pytest.mark.parametrize("case", CASES, ids=str)


def dense(n=700, d=20, n_classes=5, dtype=np.float64):
    """Several chunks of samples, several tasks of a team."""
    X, y = blobs(15, n=n, d=d, n_classes=n_classes)
    return X.astype(dtype), y


def fit(case, data, **options):
    """The bits of a fit that takes Newton steps, unless passes make the violation small enough."""
    given = {"C": 1e3, "tol": 1e-3, "max_iter": 150, "random_state": 0, **options}
    with (
        patch.object(Newton, "step", autospec=True, side_effect=Newton.step) as step,
        warnings.catch_warnings(),
    ):
        # It need not arrive: the way must be the same.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MulticlassSVC(case.formulation, loss=case.loss, **given).fit(*data)
    assert step.call_count > 0 or "stopping" in options
    return bits(model)


@every_case
def test_any_number_of_threads(case):
    data = dense()
    one = fit(case, data, n_jobs=1)
    assert all(fit(case, data, n_jobs=jobs) == one for jobs in (2, 3, 5, 1))


@every_case
@pytest.mark.parametrize(
    ("n_classes", "options"),
    [(2, {}), (5, {"stopping": "violation", "tol": 1e-4})],
    ids=["two classes", "violation"],
)
def test_two_threads_of_other_fits(case, n_classes, options):
    data = dense(300, n_classes=n_classes, dtype=np.float32)
    one, two = (fit(case, data, n_jobs=jobs, **options) for jobs in (1, 2))
    assert one == two


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_in_a_forked_child():
    data, case = dense(), CASES[0]
    expected = fit(case, data, n_jobs=2)
    assert in_fork(lambda: fit(case, data, n_jobs=2)) == expected
    assert fit(case, data, n_jobs=2) == expected


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_inside_joblib(backend):
    data = dense()
    model = MulticlassSVC(C=1e3, tol=1e-6, random_state=0)
    expected = bits(model.fit(*data))
    fits = joblib.Parallel(n_jobs=2, backend=backend)(
        joblib.delayed(MulticlassSVC(C=1e3, tol=1e-6, n_jobs=jobs, random_state=0).fit)(*data)
        for jobs in (1, 2, None)
    )
    assert all(bits(found) == expected for found in fits)
