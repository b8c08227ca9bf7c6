"""Probabilities of models whose classes are divided over ranks that are threads."""

import numpy as np
import pytest

from multimargin import MulticlassSVC, distributed, load_model, save_model
from multimargin.distributed import _scores
from multimargin.inspection import calibration_report
from tests.distributed.test_fit import make_data
from tests.support.rank_threads import run_ranks


@pytest.mark.parametrize("ranks", [1, 3, 9])
@pytest.mark.parametrize("classes", [2, 7])
def test_ranks_give_the_probabilities_of_one_process(tmp_path, monkeypatch, ranks, classes):
    X, y = make_data(k=classes, dtype=np.float64)
    monkeypatch.setattr(_scores, "_ROWS", 40)
    model = MulticlassSVC("ww", random_state=0).fit(X, y).calibrate(X[:60], y[:60])
    save_model(model, tmp_path / "m")
    labels, scores, p = model.predict_topk(X, 2, proba=True)
    report = calibration_report(model, X, y)

    def body(comm):
        loaded = distributed.load_model(tmp_path / "m", comm=comm)
        found = loaded.predict_topk(X, 2, proba=True)
        told = calibration_report(loaded, X, y).as_dict()
        above = loaded._scores().sums(X, np.zeros(90, np.int32), made.shape, ranks=True)[0]
        again = loaded.calibrate(X[:60], y[:60]).calibration_
        loaded.save(tmp_path / "again")
        return found, told, again, above

    made = model.calibration_
    expected = model._scores().sums(X, np.zeros(90, np.int32), made.shape, ranks=True)[0]
    for found, told, again, above in run_ranks(ranks, body):
        np.testing.assert_array_equal(found[0], labels)
        np.testing.assert_array_equal(found[1], scores)
        np.testing.assert_allclose(found[2], p, rtol=1e-10)
        assert told["log_loss"] == pytest.approx(report.log_loss, rel=1e-9)
        assert again.temperature == pytest.approx(made.temperature, rel=1e-4)
        np.testing.assert_allclose(above[:, :4], expected[:, :4], rtol=1e-10)
    assert load_model(tmp_path / "again").calibration_.n_samples == 60


@pytest.mark.parametrize("calibration", ["cv", 0.3])
def test_a_fit_over_ranks_calibrates(calibration):
    X, y = make_data(dtype=np.float64)
    asked = MulticlassSVC("ww", random_state=0, calibration=calibration, n_bundles=3)
    one = MulticlassSVC(**asked.get_params()).fit(X, y)
    for model in run_ranks(2, lambda comm: distributed.fit(asked, X, y, comm=comm)):
        assert model.calibration_.temperature == pytest.approx(
            one.calibration_.temperature, rel=0.01
        )
    whole = distributed.fit(asked, X, y).gather()
    np.testing.assert_array_equal(whole.predict_proba(X).argmax(axis=1), one.predict(X) // 3)
