"""The report: what it says, that it needs nothing else, and how a browser lays it out."""

import html
import re
import shutil
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser

import pytest

import multimargin
from reproduction.interface._cell import Cell, Record
from reproduction.interface._document import Column, Entry, Row, Table
from reproduction.interface._experiment import Missing
from reproduction.report._figure_numbers import numbers
from reproduction.report._page import Chapter, Report, page, table_html, words
from reproduction.report._plots import draw, why_not
from reproduction.report._text_table import section_text, table_text
from reproduction.runner._store import Kept, Session
from tests.reproduction.fake_experiment import NASTY, section

VERSION = multimargin.__version__


@pytest.fixture(scope="module")
def report():
    session = Session.begin(f"python -m reproduction {NASTY}")
    old = Session(**{**session.__dict__, "id": "old", "version": "0.0.1"})
    records = [Record(_cell(c), {"test_error": 10 - c}, session.machine) for c in (-1.0, 0.0, 1.0)]
    records.append(Record(_cell(2.0), {"error": f"ValueError: {NASTY}"}, session.machine))
    kept = [Kept(record, session, "now", 1.0) for record in records]
    kept[0] = Kept(records[0], old, "then", 1.0)
    shown = section(records[:3], records[3:])
    chapter = Chapter("fake", shown, tuple(kept), 5, 3, (Missing(NASTY, NASTY, NASTY),))
    undrawn = why_not()
    return Report(
        chapters=(chapter,),
        sessions=(old, session),
        drawings={} if undrawn else {figure.name: draw(figure) for figure in shown.figures},
        undrawn=undrawn,
        version=VERSION,
        commit=NASTY,
        command=NASTY,
        written="today",
    )


def _cell(log_c):
    return Cell("fake", NASTY, "ww", log_c, "optimum")


class Elements(HTMLParser):
    """Every element with its attributes, and whether they are nested as they should be."""

    _EMPTY = frozenset(("meta", "br", "path", "use"))

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.text = ""
        self._open = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in self._EMPTY:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag not in self._EMPTY:
            assert self._open.pop() == tag

    def handle_data(self, data):
        if "style" not in self._open:
            self.text += data

    def all(self, tag):
        return [attributes for name, attributes in self.found if name == tag]


@pytest.fixture(scope="module")
def elements(report):
    return Elements(page(report))


def test_text_is_escaped_everywhere(report, elements):
    assert "<script" not in page(report)
    assert elements.all("script") == []
    assert elements.text.count(NASTY) > 15


def test_the_file_needs_no_other(elements):
    assert elements.all("link") == elements.all("img") == elements.all("iframe") == []
    for tag, attributes in elements.found:
        assert "src" not in attributes
        if tag != "a":  # links for people; an SVG may only refer to itself
            targets = [attributes.get("href"), attributes.get("xlink:href")]
            assert all(target is None or target.startswith("#") for target in targets)
    assert [m.get("name") for m in elements.all("meta")] == [None, "viewport", "generator"]


def test_ids_are_unique_and_links_lead_somewhere(elements):
    ids = Counter(attributes["id"] for _, attributes in elements.found if "id" in attributes)
    assert [name for name, count in ids.items() if count > 1] == []
    for _, attributes in elements.found:
        for name in ("href", "xlink:href", "aria-labelledby", "clip-path"):
            value = attributes.get(name) or ""
            target = re.search(r"#([^)]*)", value)
            if name == "aria-labelledby" and value:
                assert value in ids
            elif target and not value.startswith("http"):
                assert target[1] in ids


def test_structure_is_told_to_those_who_cannot_see(elements):
    assert elements.all("html") == [{"lang": "en"}]
    assert len(elements.all("caption")) == len(elements.all("table")) > 4
    assert all("scope" in attributes for attributes in elements.all("th"))
    assert len(elements.all("main")) == len(elements.all("nav")) == len(elements.all("h1")) == 1
    assert len(elements.all("figure")) == len(elements.all("figcaption")) == 2
    assert "paper’s and ours are equal" in elements.text  # not by colour alone


def test_what_a_reader_must_know_is_said(elements):
    assert "3 made of 5 that can be made here" in elements.text
    assert f"1 of the runs shown were made by multimargin 0.0.1, not by {VERSION}." in elements.text
    assert f"seed 0: ValueError: {NASTY}" in elements.text
    assert "What is missing here" in elements.text


def test_words_recognise_code_and_addresses():
    assert words("see https://a.example/b?c=1&d=2, or `x < y`.") == (
        'see <a href="https://a.example/b?c=1&amp;d=2">https://a.example/b?c=1&amp;d=2</a>, '
        "or <code>x &lt; y</code>."
    )


# ---------------------------------------------------------------- figures


def test_figures_are_drawn_in_the_pages_colours(report):
    pytest.importorskip("matplotlib")
    first, second = (report.drawings[name] for name in ("errors", "more-errors"))
    assert len(first.inline) == 2
    assert len(second.inline) == 1
    for element in (*first.inline, *second.inline):
        assert element.startswith('<svg role="img" aria-label="Plot &lt;script&gt;')
        assert "currentColor" in element
        assert "var(--series-0)" in element
        assert "stroke-dasharray" in element  # the paper's
        assert not re.search(r"<svg[^>]* (width|height)=", element)
    assert b"currentColor" not in first.svg
    assert first.png.startswith(b"\x89PNG")


def test_the_same_figure_is_the_same_file(report):
    pytest.importorskip("matplotlib")
    figure = report.chapters[0].section.figures[1]
    assert draw(figure).svg == report.drawings["more-errors"].svg


def test_without_matplotlib_the_numbers_are_there(report, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert "pip install 'multimargin[plot]'" in why_not()
    plain = page(Report(**{**report.__dict__, "drawings": {}, "undrawn": why_not()}))
    elements = Elements(plain)
    assert elements.all("svg") == []
    assert "<code>pip install &#39;multimargin[plot]&#39;</code>" in plain
    # Not folded away: all of them are in view.
    assert plain.index("figure-errors-numbers-1") < plain.index("figure-more-errors-numbers-0")
    assert len(elements.all("details")) == 1


def test_numbers_of_a_figure(report):
    figure = report.chapters[0].section.figures[1]
    found = numbers(figure, figure.plots[0])
    assert [column.title for column in found.columns] == ["log C", "$WW", "$WW (paper)"]
    assert [[entry.text for entry in row.entries] for row in found.rows] == [
        ["-1", "11 (11 to 12)", "5"],
        ["0", "10 (10 to 11)", ""],
        ["1", "9 (9 to 10)", "7"],
    ]


# ---------------------------------------------------------------- plain text


def test_table_as_text():
    columns = (Column("log C"), Column("ours", "error"), Column("paper", "error"), Column("s"))
    rows = (
        Row((Entry("-1"), Entry("9.50", "equal"), Entry("9.50"), Entry("1")), "iris"),
        Row((Entry("0"), Entry("10.50", "differs", "why"), Entry("9.50"), Entry("20")), "iris"),
        Row((Entry("0"), Entry("", "missing", "no data"), Entry("7.00"), Entry("")), "rcv1"),
    )
    assert table_text(Table("Errors", "In %.", columns, rows, ("scaled",))) == (
        "Errors\n"
        "------\n"
        "In %.\n"
        "\n"
        "       ----- error ------\n"
        "log C         ours  paper   s\n"
        "-----  -----------  -----  --\n"
        "iris\n"
        "-1      9.50 =       9.50   1\n"
        "0      10.50 !=[1]   9.50  20\n"
        "rcv1\n"
        "0        n/a [2]     7.00\n"
        "=: the paper's and ours are equal; ~: near each other; !=: they differ\n"
        "[1] why\n"
        "[2] no data\n"
        "- scaled"
    )


def test_many_notes_are_folded_and_only_gaps_are_explained_on_a_terminal():
    entries = [Entry(str(i), note=f"gap {i}") for i in range(13)]
    rows = [Row((Entry("0"), entry)) for entry in entries]
    rows.append(Row((Entry("1"), Entry("", "missing", "no data"))))
    many = Table("Many", "", (Column("x"), Column("y")), tuple(rows))
    few = Table("Few", "", (Column("x"), Column("y")), tuple(rows[:12]))
    assert "<details><summary>14 notes</summary>" in table_html(many, "many")
    assert "<details>" not in table_html(few, "few")
    assert "gap 3" not in table_text(many)
    assert "[1] no data" in table_text(many)
    assert "[4] gap 3" in table_text(few)


def test_section_as_text_has_the_figures_numbers(report):
    text = section_text(report.chapters[0].section)
    assert "The same (numbers)" in text
    assert "11 (11 to 12)" in text


# ---------------------------------------------------------------- a real browser

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))),
    None,
)
_FRAMES = """<!DOCTYPE html><html><body>{frames}<script>
window.onload = () => {{
  const roots = [...document.querySelectorAll("iframe")].map(
    (frame) => frame.contentDocument.documentElement);
  document.title = "beyond " + roots.map((root) => root.scrollWidth - root.clientWidth).join(" ");
}};
</script></body></html>"""


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_nothing_is_wider_than_a_phone(report, tmp_path):
    # In frames, since a browser's own window cannot be made that narrow. The second page has
    # tables without a box that scrolls: it shows that the measure sees what is too wide.
    good = page(report)
    bad = good.replace("overflow-x: auto", "overflow-x: visible")
    assert bad != good
    frames = "".join(
        f'<iframe style="width:360px;height:800px;border:0" srcdoc="{html.escape(each)}"></iframe>'
        for each in (good, bad)
    )
    file = tmp_path / "frames.html"
    file.write_text(_FRAMES.format(frames=frames), encoding="utf-8")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000"]
    done = subprocess.run(
        [BROWSER, *options, f"--user-data-dir={tmp_path}/profile", "--dump-dom", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    found = re.search(r"<title>beyond (\d+) (\d+)</title>", done.stdout)
    assert found, done.stderr[-2000:]
    assert int(found[1]) == 0
    assert int(found[2]) > 100
