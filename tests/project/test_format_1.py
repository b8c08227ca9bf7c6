"""Model files and checkpoints that an earlier version wrote: they open, and their runs go on.

``tests/data/format-1/write.py`` wrote them and says what they are.
"""

import importlib.util
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from multimargin import MulticlassSVC, distributed, load_model, save_model

FOLDER = Path(__file__).parent.parent / "data" / "format-1"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
DATA = np.load(FOLDER / "data.npz")


def writer():
    spec = importlib.util.spec_from_file_location("write_format_1", FOLDER / "write.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


WRITE = writer()


def test_every_file_is_tested():
    assert {path.name for path in (FOLDER / "models").iterdir()} == set(EXPECTED["models"])
    folders = {path.name for path in (FOLDER / "checkpoints").iterdir()}
    assert folders == set(EXPECTED["checkpoints"]) == set(WRITE.CHECKPOINTS)


# ---------------------------------------------------------------- models


@pytest.mark.parametrize("name", EXPECTED["models"])
def test_a_model_file_predicts_what_it_did(name, tmp_path):
    expected = EXPECTED["models"][name]
    X = WRITE.TEXTS if name == "text" else DATA["X"]
    model = load_model(FOLDER / "models" / name, verify=True)
    assert model.predict(X).tolist() == expected["predict"]
    # Processors round sums in other ways.
    np.testing.assert_allclose(
        model.decision_function(X[:6]), expected["decision_function"], rtol=1e-5, atol=1e-6
    )
    assert getattr(model, "primal_objective_", None) == expected["primal"]
    assert model.dual_objective_ == expected["dual"]
    if name != "text":
        for key, value in WRITE.MODELS[name][0].items():
            assert model.get_params()[key] == value


@pytest.mark.parametrize("name", [*EXPECTED["models"]])
def test_a_model_file_is_written_again_byte_by_byte(name, tmp_path):
    file = FOLDER / "models" / name
    model, saved = load_model(file), dict(WRITE.MODELS.get(name, ({}, {}))[1])
    save_model(model, tmp_path / "again", **saved)
    assert (tmp_path / "again").read_bytes() == file.read_bytes()


@pytest.mark.parametrize("name", [name for name in WRITE.MODELS if name.endswith("-dual")])
def test_kept_dual_variables_are_started_from(name):
    model = load_model(FOLDER / "models" / name)
    assert model.certify(DATA["X"], DATA["y"]).dual_recomputed
    model.fit(DATA["X"], DATA["y"])
    assert model.n_known_samples_ == len(DATA["y"])
    assert model.primal_objective_ == pytest.approx(EXPECTED["models"][name]["primal"], rel=1e-3)


# ---------------------------------------------------------------- checkpoints


@pytest.fixture
def state(tmp_path, request):
    """A copy of a checkpoint's folder: a run that goes on writes there."""
    return Path(shutil.copytree(FOLDER / "checkpoints" / request.param, tmp_path / "state"))


def bits(model):
    """All that a fit gives but for its times, and its engine: checkpoints are a reason for one."""
    whole = model.gather()
    left_out = ("time", "engine")
    records = [{k: v for k, v in record.items() if k not in left_out} for record in model.history_]
    return whole.coef_.tobytes(), whole.intercept_.tobytes(), model.n_iter_, records


@pytest.mark.parametrize(
    ("state", "name"), [(name, name) for name in EXPECTED["checkpoints"]], indirect=["state"]
)
def test_a_run_goes_on_from_a_checkpoint(state, name, capfd, tmp_path):
    (X, y), expected = WRITE.samples(name, DATA), EXPECTED["checkpoints"][name]
    whole = distributed.fit(WRITE.checkpointed(name), X, y)
    assert "going on" not in capfd.readouterr().err
    found = distributed.fit(WRITE.checkpointed(name), X, y, checkpoint=state, checkpoint_every=1e6)
    # It was not begun anew: it says so, and the first times are those of the run that died.
    assert capfd.readouterr().err.count("going on from the checkpoint in") == 1
    times = [record["time"] for record in found.history_]
    assert times[: len(expected["times"])] == expected["times"]
    assert found.converged_
    assert found.predict(X).tolist() == expected["predict"]
    assert found.primal_objective_ == pytest.approx(expected["primal"], rel=1e-3)
    here = [whole.primal_objective_, whole.dual_objective_, whole.n_iter_]
    if here == [expected["primal"], expected["dual"], expected["passes"]]:
        # This processor rounds as the one that wrote the checkpoint.
        assert bits(found) == bits(whole)
    found.save(tmp_path / "model")
    assert not list(state.glob("step-*"))  # a finished run needs it no more


@pytest.mark.parametrize("state", EXPECTED["checkpoints"], indirect=True)
def test_it_is_not_taken_for_another_runs(state):
    model = MulticlassSVC("ww", C=3.0, n_bundles=4, random_state=0)
    with pytest.raises(ValueError, match="of another run"):
        distributed.fit(model, DATA["run_X"], DATA["run_y"], checkpoint=state)
