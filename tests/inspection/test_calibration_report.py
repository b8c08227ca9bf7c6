"""Calibration reports against the plain formulas."""

import json

import numpy as np
import pytest
from sklearn.metrics import log_loss

from multimargin import Calibration, MulticlassSVC
from multimargin.inspection import calibration_report


@pytest.mark.parametrize("n_classes", [2, 5])
def test_against_the_formulas(n_classes):
    rng = np.random.default_rng(0)
    y = np.arange(300) % n_classes
    X = rng.normal(size=(n_classes, 6))[y] + 1.5 * rng.normal(size=(300, 6))
    model = MulticlassSVC(random_state=0).fit(X[:100], y[:100])
    with pytest.raises(ValueError, match="not calibrated"):
        calibration_report(model, X, y)
    model.calibration_ = Calibration(1.0)
    with pytest.raises(ValueError, match="300 samples but 9 labels"):
        calibration_report(model, X, y[:9])
    model.calibration_ = Calibration(0.4, curvature=0.2, floor=0.1, origin=0.1)
    X, y = X[100:], y[100:]
    p, best = model.predict_proba(X), model.predict(X)
    found = calibration_report(model, X, y)
    assert found.log_loss == pytest.approx(log_loss(y, p))
    brier = ((p - np.eye(n_classes)[y]) ** 2).sum(axis=1)
    assert found.brier == pytest.approx(brier.mean())
    top, hit = p.max(axis=1), best == y
    error = 0
    for k in range(15):
        those = (top >= k / 15) & ((top < (k + 1) / 15) | (k == 14))
        if those.any():
            error += those.sum() * abs(top[those].mean() - hit[those].mean()) / 200
            assert found.confidence[k] == pytest.approx(top[those].mean())
    assert found.calibration_error == pytest.approx(error)
    half = np.argsort(-top, kind="stable")[:100]
    assert found.accuracy_of(0.5) == pytest.approx(hit[half].mean())
    assert found.least[found.share == 0.5] == pytest.approx(top[half].min())
    told = found.as_dict()
    assert json.loads(json.dumps(told)) == told
    assert f"log-loss {found.log_loss:.4f}, Brier score" in str(found)
    found.plot_coverage(found.plot())
    # A label of no class is an error, which the log-loss leaves out.
    other = np.where(np.arange(200) < 20, 77, y)
    more = calibration_report(model, X, other)
    assert more.log_loss == pytest.approx(log_loss(y[20:], p[20:]))
    unseen = (p[:20] ** 2).sum(axis=1) + 1
    assert more.brier == pytest.approx(np.concatenate([unseen, brier[20:]]).mean())
    assert more.accuracy_of(1.0) == pytest.approx(hit[20:].sum() / 200)
