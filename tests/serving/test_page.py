"""The page of ``multimargin serve``, in a headless Chromium."""

from __future__ import annotations

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("playwright")
from playwright.sync_api import expect

from multimargin import Calibration, TextClassifier, save_model
from multimargin.serving import Limits
from tests.support.chromium import opened
from tests.support.served import TEXTS, live, small_model

TEXT = "A small dog, that plays the violin with a cat"


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "things.model"
    save_model(small_model(), path)
    return path


@pytest.fixture(scope="module")
def url(model_file):
    limits = Limits(max_chars=2000, rate=0)
    with live(model_file, limits, examples=["a <b>dog</b> & a cat"]) as (host, port):
        yield f"http://{host}:{port}/"


@pytest.fixture
def page(browser, url):
    page = opened(browser, url)
    yield page
    assert page.complaints == []
    page.context.close()


def test_probabilities_of_a_calibrated_model(browser, tmp_path):
    model = small_model()
    model.calibration_ = Calibration(0.2)
    save_model(model, tmp_path / "m")
    labels, scores, p = model.predict_topk([TEXT], 5, proba=True)
    with live(tmp_path / "m", Limits(rate=0)) as (host, port):
        page = opened(browser, f"http://{host}:{port}/")
        page.keyboard.type(TEXT, delay=2)
        expect(page.locator("#classes .name")).to_have_text(labels[0].tolist())
        shown = page.locator("#classes .score")
        expect(shown).to_have_text([f"{100 * each:.1f} %" for each in p[0]])
        expect(shown.first).to_have_attribute("title", f"score {scores[0, 0]:.3f}")
        gauge = page.locator("#classes .best .gauge")
        assert gauge.get_attribute("style") == f"--share: {100 * p[0, 0]:.1f}%;"
        assert page.complaints == []
        page.context.close()


def names(page):
    return page.locator("#classes .name").all_text_contents()


def marked(page, kind):
    return page.locator(f'#mirror mark[class^="{kind}"]').all_text_contents()


def test_typing_shows_classes_and_words(page):
    expect(page.locator("#name")).to_have_text("things.model")
    expect(page.locator("#facts")).to_contain_text("6 classes")
    expect(page.locator("#facts")).to_contain_text("Crammer-Singer")
    expect(page.get_by_label("Type or paste a text")).to_be_focused()
    expect(page.locator("#answer")).to_be_hidden()
    page.keyboard.type(TEXT, delay=2)
    expect(page.locator("#classes .name")).to_have_count(5)
    model = small_model()
    labels, scores = model.predict_topk([TEXT], 5)
    expect(page.locator("#classes .name")).to_have_text(labels[0].tolist())
    expect(page.locator("#classes .score")).to_have_text([f"{score:.3f}" for score in scores[0]])
    expect(page.locator("#winner")).to_have_text(str(labels[0][0]))
    expect(page.locator("#rival")).to_have_text(str(labels[0][1]))
    # The words are marked where they stand in the text, and listed with what they add.
    why = model.explain(TEXT, k=50)
    apart = {c.feature: c.contribution for c in why.contributions}
    largest = max(map(abs, apart.values()))
    shown = {word: value for word, value in apart.items() if abs(value) >= 0.03 * largest}
    assert set(map(str.lower, marked(page, "for"))) == {w for w, v in shown.items() if v > 0}
    assert set(map(str.lower, marked(page, "against"))) == {w for w, v in shown.items() if v < 0}
    assert page.locator("#mirror").text_content().rstrip("\u200b") == TEXT
    rows = page.locator("#words tr")
    expect(rows).to_have_count(len(shown))
    for row, (word, value) in zip(
        rows.all_text_contents(), sorted(shown.items(), key=lambda item: -item[1]), strict=True
    ):
        assert row == f"{word}{'+' if value > 0 else '−'}{abs(value):.3f}"
    expect(page.locator("#sums .total")).to_contain_text(f"+{why.difference:.3f}")
    expect(page.get_by_role("status")).to_contain_text(f"{labels[0][0]}, ahead of {labels[0][1]}")


def test_marks_lie_under_the_words(page):
    page.fill("#text", "a dog\n" * 3 + "and a car that carries a long family " * 6)
    expect(page.locator("#mirror mark").first).to_be_attached()
    field, copy = page.locator("#text").bounding_box(), page.locator("#mirror").bounding_box()
    assert field == copy
    # The field is as high as its text: no line of it is scrolled out of sight.
    assert page.evaluate("text.scrollHeight <= text.clientHeight + 1")


def test_near_miss_by_keyboard_and_by_mouse(page):
    page.fill("#text", TEXT)
    expect(page.locator("#classes .name")).to_have_count(5)
    classes = names(page)
    page.get_by_role("radio", name=classes[3]).check()
    expect(page.locator("#rival")).to_have_text(classes[3])
    assert names(page) == classes
    expect(page.get_by_role("radio", name=classes[3])).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.locator("#rival")).to_have_text(classes[2])
    expect(page.get_by_role("radio", name=classes[2])).to_be_checked()
    difference = small_model().explain(TEXT, against=classes[2]).difference
    expect(page.locator("#sums .total")).to_contain_text(f"+{difference:.3f}")
    page.locator("#text").press_sequentially(" small")
    expect(page.locator("#rival")).to_have_text(names(page)[1])  # the runner-up again


def test_examples_and_what_is_no_html(page):
    page.get_by_role("button", name="a <b>dog</b> & a cat").click()
    expect(page.locator("#text")).to_have_value("a <b>dog</b> & a cat")
    expect(page.locator("#classes .name")).to_have_count(5)
    page.fill("#text", "<img src=x onerror=alert(1)> 😀 dog <script>")
    expect(page.locator("#mirror mark")).to_have_text(["dog"])
    assert page.locator("main img, main script").count() == 0


def test_nothing_known_and_nothing_at_all(page):
    page.fill("#text", "xyzzy")
    expect(page.locator("#nothing-known")).to_contain_text("knows nothing of this text")
    expect(page.get_by_role("status").first).to_contain_text("knows nothing of this text")
    expect(page.locator("#why")).to_be_hidden()
    expect(page.locator("#classes")).to_be_hidden()
    page.fill("#text", "xyzzy dog")
    expect(page.locator("#classes .name").first).to_have_text("dog")
    expect(page.locator("#nothing-known")).to_be_hidden()
    expect(page.locator("#unknown")).to_have_text("Not known to the model: xyzzy")
    page.fill("#text", "a dog")
    expect(page.locator("#unknown")).to_be_hidden()
    page.fill("#text", "  ")
    expect(page.locator("#answer")).to_be_hidden()
    expect(page.locator("#invitation")).to_be_visible()


def test_too_long_text(page):
    page.fill("#text", "dog " * 501)
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("2,004 characters (Unicode code points); at most 2,000 are read")
    page.fill("#text", "dog")
    expect(alert).to_be_hidden()
    expect(page.locator("#winner")).to_have_text("dog")


def test_refusals_are_shown(browser, url):
    page = opened(browser, url)
    answer = '{"error": {"status": 422, "code": "x", "message": "no <b>such</b> thing"}}'
    page.route("**/predict", lambda route: route.fulfill(status=422, body=answer))
    page.fill("#text", "dog")
    expect(page.get_by_role("alert")).to_have_text("The server refused: no <b>such</b> thing.")
    page.context.close()


def test_server_that_goes_and_comes_back(browser, url):
    page = opened(browser, url)
    page.route("**/predict", lambda route: route.abort("connectionrefused"))
    page.fill("#text", "dog")
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer")
    page.unroute("**/predict")
    expect(page.locator("#winner")).to_have_text("dog")  # without typing anything more
    expect(page.get_by_role("alert")).to_be_hidden()
    page.context.close()


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("dog", "3 characters"),
        ("x", "1 character"),
        (
            "\U0001f468\u200d\U0001f469\u200d\U0001f467",
            "1 character",
        ),  # a family: one emoji of three
        ("e\u0301", "1 character"),  # a letter and its accent
        ("\U0001f1eb\U0001f1f7 \u0928\u093f", "3 characters"),  # a flag, a blank, a syllable
    ],
)
def test_characters_are_counted_as_people_count(page, text, count):
    page.fill("#text", text)
    expect(page.locator("#count")).to_have_text(count)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phone(browser, url, scheme):
    page = opened(
        browser, url, viewport={"width": 340, "height": 700}, color_scheme=scheme, has_touch=True
    )
    page.fill("#text", f"{TEXT} {'w' * 200}")
    expect(page.locator("#classes .name")).to_have_count(5)
    assert page.evaluate("document.documentElement.scrollWidth") <= 340
    page.locator("#classes label").nth(2).tap()
    expect(page.locator("#rival")).to_have_text(names(page)[3])
    assert page.evaluate(CONTRAST) == []
    assert page.complaints == []
    page.context.close()


def test_words_are_whole_on_a_phone(browser, tmp_path):
    labels = [f"Unternehmensberatung/Berufshaftpflicht{n}" for n in range(12)]
    texts = [f"{text} Unwahrscheinlichkeit{n} unmistakable" for n, text in enumerate(TEXTS)]
    save_model(TextClassifier(random_state=0).fit(texts, labels), tmp_path / "long.model")
    with live(tmp_path / "long.model", Limits(rate=0)) as (host, port):
        viewport = {"width": 320, "height": 700}
        page = opened(browser, f"http://{host}:{port}/", viewport=viewport)
        page.get_by_role("button").first.click()
        page.locator("#text").press_sequentially(f" unwahrscheinlichkeit3 {'w' * 200}")
        expect(page.locator("#classes .name")).to_have_count(5)
        expect(page.locator("#words th").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        assert page.evaluate("text.parentNode.scrollWidth <= text.parentNode.clientWidth")
        assert page.evaluate(BROKEN_WORDS) == []
        # It looks: the word of 200 letters, which is longer than any line, has to be broken.
        assert page.evaluate(BROKEN_WORDS.replace("21", "1000")) != []
        page.context.close()


# Words of at most 21 letters that begin on one line and end on another.
BROKEN_WORDS = """() => {
  const broken = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    if (!node.parentElement.checkVisibility() || node.parentElement.closest(".unseen")) continue;
    for (const word of node.data.matchAll(/[^\\s-]+/g)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map((line) => Math.round(line.top)));
      if (word[0].length <= 21 && lines.size > 1) broken.push(word[0]);
    }
  }
  return broken;
}"""


# Texts whose contrast to what is behind them is below 4.5, as WCAG AA asks for.
CONTRAST = """() => {
  const channels = (css) => css.match(/[\\d.]+%?/g).map((part) => parseFloat(part));
  const light = ([r, g, b]) => [r, g, b]
    .map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const over = ([r, g, b, a = 1], below) => [r, g, b].map((v, i) => v * a + below[i] * (1 - a));
  const behind = (node) => {
    const below = node.parentElement ? behind(node.parentElement) : [255, 255, 255];
    return over(channels(getComputedStyle(node).backgroundColor), below);
  };
  const poor = [];
  for (const node of document.querySelectorAll("body *:not(mark)")) {
    const own = [...node.childNodes].some((c) => c.nodeType === 3 && c.data.trim());
    if (!own || node.closest("#mirror, .unseen") || !node.checkVisibility()) continue;
    const below = behind(node);
    const [a, b] = [light(over(channels(getComputedStyle(node).color), below)), light(below)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push(`${node.tagName} ${node.className} ${ratio.toFixed(2)}`);
  }
  return poor;
}"""
