"""The titles and categories of a shop."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from benchmarks.defaults.product_csv import as_csv, held_out, main, make_products


@pytest.fixture(autouse=True)
def _few_words(monkeypatch):
    monkeypatch.setattr("benchmarks.defaults.product_csv._COMMON_WORDS", 600)
    monkeypatch.setattr("benchmarks.defaults.product_csv._BRANDS", 200)


def test_the_same_numbers_make_the_same_file():
    made = make_products(200, 20)
    assert as_csv(made) == as_csv(make_products(200, 20))
    assert as_csv(made) != as_csv(make_products(200, 20, random_state=1))


def test_titles_resemble_those_of_a_shop():
    made = make_products(3_000, 60)
    lengths = {len(title.split()) for title in made.titles}
    assert lengths == {5, 6, 7, 8}
    names, sizes = np.unique(made.categories, return_counts=True)
    assert len(names) == 60
    assert sizes.max() > 5 * np.median(sizes)
    # Siblings share words: a shelf's name is in titles of several of its categories.
    shelves = {name.split(" > ")[1] for name in names}
    assert len(shelves) == 10


def test_one_label_in_twenty_is_wrong(monkeypatch):
    given = make_products(3_000, 60)
    monkeypatch.setattr("benchmarks.defaults.product_csv._WRONG", 0.0)
    true = make_products(3_000, 60)
    assert true.titles == given.titles
    share = np.mean(np.array(true.categories) != np.array(given.categories))
    assert share == pytest.approx(0.05, abs=0.015)


def test_one_title_in_ten_is_held_out():
    train, test = held_out(1_000)
    assert (len(train), len(test)) == (900, 100)
    assert (np.sort(np.concatenate([train, test])) == np.arange(1_000)).all()


def test_from_the_command_line(tmp_path, capsys):
    out = tmp_path / "products.csv"
    assert main([str(out), "--titles", "400", "--categories", "20", "--compare"]) == 0
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [str(number) for number in range(1, 401)]
    assert [row["title"] for row in rows] == make_products(400, 20).titles
    said = capsys.readouterr().out
    assert f"wrote {out}: 400 titles, 20 categories" in said
    for line in ("TextClassifier()", "TfidfVectorizer(), LinearSVC()"):
        seconds, error = said[said.index(line) + len(line) :].split()[:2]
        assert float(seconds) >= 0 and 0 < float(error.rstrip("%")) < 100
