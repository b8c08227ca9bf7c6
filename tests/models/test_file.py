"""Saved models: they come back whole and predict the same bits."""

import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from multimargin import ModelFileError, MulticlassSVC, load_model, save_model
from multimargin.io._array_file import read_arrays, write_arrays
from tests.models.made_models import data, made_model, random_coef
from tests.support.mapped import map_of


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("layout", ["csr", "C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_bits(tmp_path, n_classes, layout, dtype):
    coef = random_coef(1 if n_classes == 2 else n_classes, 30, dtype=dtype)
    if layout != "csr":
        coef = np.asarray(coef.toarray(), order=layout)
    intercept = np.linspace(-0.1, 0.1, coef.shape[0])
    model = made_model(coef, np.arange(n_classes), intercept)
    save_model(model, tmp_path / "m")
    again = load_model(tmp_path / "m", verify=True)
    X = sp.random(50, 30, 0.4, "csr", dtype, np.random.default_rng(1))
    assert again.coef_.dtype == dtype
    assert again.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    assert again.predict(X).tobytes() == model.predict(X).tobytes()


def test_coefficients_are_views_of_the_file(tmp_path):
    save_model(made_model(random_coef(4, 9), range(4)), tmp_path / "sparse")
    save_model(made_model(random_coef(4, 9).toarray(), range(4)), tmp_path / "dense")
    coef = load_model(tmp_path / "sparse").coef_
    dense = load_model(tmp_path / "dense").coef_
    assert coef.has_sorted_indices
    assert coef.has_canonical_format
    for array in (coef.data, coef.indices, coef.indptr, dense):
        assert not array.flags.writeable
        assert not array.flags.owndata
        assert map_of(array) is not None


def test_unsorted_coefficients_are_sorted_in_the_file_only(tmp_path):
    coef = sp.csr_matrix(
        (np.array([1.0, 2.0, 3.0, 4.0]), np.array([3, 0, 3, 1]), np.array([0, 3, 4, 4])),
        shape=(3, 5),
    )
    save_model(made_model(coef, range(3)), tmp_path / "m")
    again = load_model(tmp_path / "m", verify=True).coef_
    np.testing.assert_array_equal(again.toarray(), coef.toarray())
    np.testing.assert_array_equal(again.indices, [0, 3, 1])
    np.testing.assert_array_equal(coef.indices, [3, 0, 3, 1])


def test_wide_indices_become_narrow(tmp_path):
    coef = random_coef(3, 8)
    coef.indices, coef.indptr = coef.indices.astype(np.int64), coef.indptr.astype(np.int64)
    save_model(made_model(coef, range(3)), tmp_path / "m")
    assert load_model(tmp_path / "m").coef_.indices.dtype == np.int32


@pytest.mark.parametrize(
    "classes",
    [
        np.array([-3, 0, 70_000]),
        np.array([1, 2, 3], dtype=np.uint8),
        np.array([False, True]),
        np.array([0.5, 1.5, 2.5]),
        np.array(["", "Äpfel", "日本語🙂"]),
        np.array(["a", "b", "c"], dtype="U20"),
        np.array([b"a", b"bc", b"d"]),
        np.array(["a", "b", "c"], dtype=object),
    ],
    ids=lambda classes: str(classes.dtype),
)
def test_class_labels(tmp_path, classes):
    coef = random_coef(1 if len(classes) == 2 else len(classes), 6)
    save_model(made_model(coef, classes), tmp_path / "m")
    again = load_model(tmp_path / "m", verify=True)
    assert again.classes_.dtype == classes.dtype
    assert again.classes_.tolist() == classes.tolist()


@pytest.mark.parametrize(
    "classes", [np.array([1, "a", None], dtype=object), np.array([1, 2, 3], "M8[D]")]
)
def test_labels_that_cannot_be_saved(tmp_path, classes):
    with pytest.raises(ModelFileError, match=r"m: classes of dtype .* cannot be saved"):
        save_model(made_model(random_coef(3, 6), classes), tmp_path / "m")


def test_parameters_and_results(tmp_path):
    model = made_model(
        random_coef(3, 6),
        ["a", "b", "c"],
        n_iter_=17,
        converged_=False,
        primal_objective_=np.float64(0.1 + 0.2),
        dual_objective_=-float("inf"),
        dual_gap_=float("nan"),
    )
    model.set_params(
        C=np.float32(0.1), class_weight={"a": 2.0, "b": np.float64(0.5)}, random_state=7, tol=1e-3
    )
    save_model(model, tmp_path / "m", preprocessing={"normalize": "l2"})
    again = load_model(tmp_path / "m")
    assert again.get_params() == model.get_params()
    assert (again.n_iter_, again.converged_) == (17, False)
    assert again.primal_objective_ == 0.1 + 0.2
    assert again.dual_objective_ == -np.inf
    assert np.isnan(again.dual_gap_)
    assert again.preprocessing_ == {"normalize": "l2"}
    assert not hasattr(again, "history_")


def test_integer_keys_of_class_weight(tmp_path):
    model = made_model(random_coef(3, 6), [1, 2, 3])
    model.set_params(class_weight={np.int64(1): 2.0, 3: 1})
    save_model(model, tmp_path / "m")
    assert load_model(tmp_path / "m").class_weight == {1: 2.0, 3: 1}


def test_random_generator_is_left_out(tmp_path):
    model = made_model(random_coef(3, 6), range(3))
    model.set_params(random_state=np.random.RandomState(0))
    save_model(model, tmp_path / "m")
    assert load_model(tmp_path / "m").random_state is None
    assert read_arrays(tmp_path / "m")[0]["params_omitted"] == ["random_state"]


def test_files_do_not_depend_on_the_run(tmp_path):
    for name, run in {"a": {"n_jobs": 1}, "b": {"n_jobs": 3, "verbose": 1}}.items():
        save_model(made_model(random_coef(3, 6), range(3)).set_params(**run), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert load_model(tmp_path / "b").n_jobs is None


def test_parameters_of_another_version(tmp_path):
    save_model(made_model(random_coef(3, 6), range(3)), tmp_path / "m")
    meta, arrays = read_arrays(tmp_path / "m")
    meta["params"]["newer_option"] = 1
    del meta["params"]["tol"]
    write_arrays(tmp_path / "m", meta, arrays)
    assert load_model(tmp_path / "m").tol == MulticlassSVC().tol


def test_fitted_model(tmp_path):
    X, y = data()
    model = MulticlassSVC(C=0.5, random_state=0).fit(X, y)
    save_model(model, tmp_path / "m")
    again = load_model(tmp_path / "m", verify=True)
    assert again.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    assert again.score(X, y) == model.score(X, y)
    for ours, theirs in zip(again.predict_topk(X, 2), model.predict_topk(X, 2), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert again.model_density_ == model.model_density_
    assert again.n_iter_ == model.n_iter_
    assert again.dual_gap_ == model.dual_gap_
    again.densify()
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_loaded_model_can_be_trained_again(tmp_path):
    X, y = data()
    save_model(MulticlassSVC(random_state=0).fit(X, y), tmp_path / "m")
    again = load_model(tmp_path / "m")
    again.fit(X, y)
    assert again.score(X, y) > 0.9


def test_feature_names(tmp_path):
    X, y = data()
    frame = pd.DataFrame(X.toarray(), columns=[f"fühler {j}" for j in range(X.shape[1])])
    model = MulticlassSVC(random_state=0).fit(frame, y)
    save_model(model, tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert again.feature_names_in_.dtype == object
    np.testing.assert_array_equal(again.feature_names_in_, model.feature_names_in_)
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))


def test_equal_models_give_equal_files(tmp_path):
    X, y = data()
    for name in "ab":
        save_model(MulticlassSVC(random_state=0, n_jobs=1).fit(X, y), tmp_path / name)
        time.sleep(0.01)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_saving_a_loaded_model_gives_the_same_file(tmp_path):
    save_model(made_model(random_coef(3, 6), "abc"), tmp_path / "m", preprocessing={"x": 1})
    before = (tmp_path / "m").read_bytes()
    model = load_model(tmp_path / "m")
    save_model(model, tmp_path / "m")  # over the file that it is mapped from
    assert (tmp_path / "m").read_bytes() == before
    assert np.isfinite(model.coef_.data).all()


def test_unfitted_model(tmp_path):
    with pytest.raises(NotFittedError, match="call fit"):
        save_model(MulticlassSVC(), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
