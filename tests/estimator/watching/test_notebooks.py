"""What notebooks show: a plot of the gap, and a progress bar of theirs."""

import sys
import types
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn import config_context

from multimargin import MulticlassSVC, TextClassifier, load_model, save_model
from multimargin.estimator import _observers
from multimargin.estimator._gap_plot import gap_plot

SVG = "{http://www.w3.org/2000/svg}"
TEXTS = ["a small dog", "a big dog", "a red rose", "a white rose"]


def svg_of(html):
    begin = html.index('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 420')
    return ElementTree.fromstring(html[begin : html.index("</svg>", begin) + len("</svg>")])


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    return MulticlassSVC(tol=1e-4, random_state=0).fit(rng.normal(size=(60, 5)), np.arange(60) % 3)


def test_a_fitted_model_shows_its_gap_over_time(model):
    texts = TextClassifier(stopping="violation", random_state=0).fit(TEXTS, [0, 0, 1, 1])
    for fitted, dashed in ((model, 1), (texts, 0)):
        for html in (fitted._repr_html_(), fitted._repr_mimebundle_()["text/html"]):
            svg = svg_of(html)
            assert len(svg.findall(f"{SVG}circle")) == len(fitted.history_)
            tol = [p for p in svg.findall(f"{SVG}path") if p.get("stroke-dasharray")]
            assert len(tol) == dashed
            title = svg.get("aria-label")
            assert f"{fitted.dual_gap_:.2g}" in title and ("tol=" in title) == bool(dashed)


def test_what_has_no_history_shows_no_plot(model, tmp_path):
    save_model(model, tmp_path / "model")
    for other in (MulticlassSVC(), load_model(tmp_path / "model")):
        assert 'viewBox="0 0 420' not in other._repr_html_()
        assert 'viewBox="0 0 420' not in other._repr_mimebundle_()["text/html"]
    with config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()
        assert not hasattr(model, "_repr_html_")


def heights(svg):
    return [float(each.get("cy")) for each in svg.findall(f"{SVG}circle")]


def test_the_curve_of_some_scans():
    svg = ElementTree.fromstring(
        gap_plot([{"time": t, "gap": g} for t, g in ((0, 1), (1, 0.1), (4, 0.01))], 0.01)
    )
    xs = [float(each.get("cx")) for each in svg.findall(f"{SVG}circle")]
    assert xs[1] - xs[0] == pytest.approx((xs[2] - xs[0]) / 4, abs=0.1)
    ys = heights(svg)
    assert ys[1] - ys[0] == pytest.approx(ys[2] - ys[1], abs=0.1) and ys[2] > ys[0]
    words = [each.text for each in svg.findall(f"{SVG}text")]
    assert {"1", "0.1", "0.01", "0", "4 s"} <= set(words)


@pytest.mark.parametrize("gaps", [[0.0], [1.0], [0.5, 0.0], [np.inf, 0.3], [1e-9, 1e-9]])
def test_gaps_at_the_limits_stay_within_the_plot(gaps):
    history = [{"time": 0.0, "gap": gap} for gap in gaps]
    ys = heights(ElementTree.fromstring(gap_plot(history, None)))
    assert len(ys) == np.isfinite(gaps).sum() and all(20 <= y <= 140 for y in ys)


def test_nothing_to_draw():
    assert gap_plot([], 0.01) == "" and gap_plot([{"time": 0, "gap": np.nan}], 0.01) == ""


def test_the_bar_is_tqdms_own_choice_in_notebooks(monkeypatch, capsys):
    made = []

    class Widget:
        def __init__(self, **options):
            made.append(options)

    monkeypatch.setattr("tqdm.auto.tqdm", Widget)
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    _observers.progress_bar(total=3).close()
    assert not made and "0/3" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    assert isinstance(_observers.progress_bar(total=3), Widget) and made[0]["total"] == 3
