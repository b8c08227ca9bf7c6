"""The page for models of columns and of numbers: a form, a box to paste into."""

from __future__ import annotations

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("playwright")
from playwright.sync_api import expect

from multimargin import MulticlassSVC, save_model
from multimargin.serving import Limits
from tests.support.chromium import opened
from tests.support.served import live, number_model, number_rows, table_model


@pytest.fixture
def page_of(browser, tmp_path):
    """Open the page of a model; it must not complain."""
    running, pages = [], []

    def open_page(model, **options):
        save_model(model, tmp_path / "some.model")
        server = live(tmp_path / "some.model", Limits(rate=0))
        running.append(server)
        host, port = server.__enter__()
        pages.append(opened(browser, f"http://{host}:{port}/", **options))
        return pages[-1]

    yield open_page
    for page in pages:
        page.context.close()
    for server in running:
        server.__exit__(None, None, None)
    assert [page.complaints for page in pages if page.complaints] == []


def names(page):
    return page.locator("#classes .name").all_text_contents()


def test_form_of_columns(page_of):
    model = table_model()
    page = page_of(model)
    expect(page.locator("#text")).to_be_hidden()
    expect(page.locator("#columns label")).to_have_text(["text", "length", "kind"])
    page.get_by_label("text", exact=True).fill("a small zebra")
    page.get_by_label("length").fill("12.5")
    page.get_by_label("kind").fill("pet")
    labels = model.predict_topk({"text": ["a small zebra"], "length": [12.5], "kind": ["pet"]}, 5)[
        0
    ]
    expect(page.locator("#classes .name")).to_have_text(labels[0].tolist())
    expect(page.locator("#words th").filter(has_text="kind=pet")).to_have_count(1)
    expect(page.locator("#unknown")).to_have_text("Not known to the model: zebra")
    # Values that are known are suggested, a missing number is said to be the mean, others are none.
    suggested = page.locator("#columns datalist option")
    assert [option.get_attribute("value") for option in suggested.all()] == [
        *("food", "pet", "thing", "water")
    ]
    assert page.get_by_label("length").get_attribute("placeholder") == "missing: 23.17"
    page.get_by_label("kind").fill("robot")
    expect(page.locator("#unknown")).to_have_text("Not known to the model: zebra, kind=robot")
    page.get_by_label("length").fill("12,5")
    expect(page.get_by_role("alert")).to_have_text("length: “12,5” is not a number.")
    assert page.get_by_label("length").get_attribute("aria-invalid") == "true"
    page.get_by_label("length").fill("")
    expect(page.get_by_role("alert")).to_be_hidden()
    for label in ("text", "kind"):
        page.get_by_label(label, exact=True).fill("")
    expect(page.locator("#invitation")).to_be_visible()


def test_nothing_known_of_a_form(page_of):
    page = page_of(table_model())
    page.get_by_label("kind").fill("robot")
    expect(page.locator("#nothing-known")).to_contain_text("knows nothing of this row")
    expect(page.locator("#classes")).to_be_hidden()


def test_examples_fill_the_form(page_of):
    page = page_of(table_model())
    page.get_by_role("button").first.click()
    label = page.get_by_role("button").first.text_content()
    expect(page.locator("#winner")).to_have_text(label)
    assert page.get_by_label("text", exact=True).input_value()
    assert page.get_by_label("kind").input_value() in ("food", "pet", "thing", "water")


def test_form_of_numbers_waits_until_it_is_complete(page_of):
    page = page_of(number_model(), viewport={"width": 320, "height": 700})
    page.get_by_label("width").fill("5")
    expect(page.locator("#missing")).to_have_text("Still empty: height, weight.")
    expect(page.locator("#answer")).to_be_hidden()
    page.get_by_label("height").fill("0")
    page.get_by_label("weight").fill("0")
    expect(page.locator("#winner")).to_have_text("wide")
    expect(page.locator("#missing")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_pasted_numbers(page_of):
    X, y = number_rows()
    model = MulticlassSVC(random_state=0).fit(X, y)
    page = page_of(model)
    row = X[3].round(3).tolist()
    expected = model.predict_topk([row], 3)[0][0].tolist()
    box = page.get_by_label("Paste 12 numbers")
    written = [
        ", ".join(map(str, row)),
        " ".join(map(str, row)),
        "\n".join(map(str, row)) + "\n",
        str(row),
        f"[{'  '.join(map(str, row))}]",
        " ".join(f"{place}:{number}" for place, number in enumerate(row)),
        "{" + ", ".join(f'"{place}": {number}' for place, number in enumerate(row)) + "}",
    ]
    for text in written:
        box.fill("")
        expect(page.locator("#answer")).to_be_hidden()
        box.fill(text)
        expect(page.locator("#classes .name")).to_have_text(expected)
        expect(page.get_by_role("alert")).to_be_hidden()
    page.get_by_role("radio").last.check()
    expect(page.locator("#rival")).to_have_text(expected[2])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1, 2, x, 4", "Number 3 of 4, “x”, is not a number."),
        ("1 2 3", "There are 3 numbers; the model takes 12."),
        ("1", "There is 1 number; the model takes 12."),
        ("3:1 7:x", "Entry 2, “7:x”, is not a feature and a number, such as 3:0.5."),
        ("3:1 3:2", "Entry 2: feature 3 is there twice."),
        ("3:1 99:2", "The server refused: row: the model has no feature '99'; they are 0 to 11."),
        ('{"3": 1', "This is not JSON: "),
        ('{"3": "x"}', "The server refused: row: '3' must be a number: 'x'."),
    ],
)
def test_what_is_wrong_with_pasted_numbers(browser, number_url, text, says):
    page = opened(browser, number_url)
    page.get_by_label("Paste 12 numbers").fill(text)
    expect(page.get_by_role("alert")).to_contain_text(says)
    page.context.close()


@pytest.fixture(scope="module")
def number_url(tmp_path_factory):
    path = tmp_path_factory.mktemp("numbers") / "numbers.model"
    save_model(MulticlassSVC(random_state=0).fit(*number_rows()), path)
    with live(path, Limits(rate=0)) as (host, port):
        yield f"http://{host}:{port}/"


def test_examples_are_pasted(browser, number_url):
    page = opened(browser, number_url)
    for button in page.locator("#examples button").all():
        button.click()
        expect(page.locator("#winner")).to_have_text(button.text_content())
    assert len(page.locator("#text").input_value().split(", ")) == 12
    expect(page.locator("#count")).to_have_text("12 numbers")
    page.context.close()
