"""The separator of text tables: found out, or given."""

import pytest

from multimargin import DataFileError, read_table

NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}


@pytest.fixture
def table(tmp_path):
    def write(text, name="t.csv", columns=None, **options):
        path = tmp_path / name
        path.write_text(text, newline="")
        return read_table(path, columns, **options)

    return write


@pytest.mark.parametrize("separator", NAMES)
def test_each_is_found(table, separator):
    text = "id,text,label\n1,a rose,x\n2,a dog,y\n".replace(",", separator)
    assert table(text)["text"].tolist() == ["a rose", "a dog"]
    assert table(text, columns=["label"])["label"].tolist() == ["x", "y"]


@pytest.mark.parametrize("separator", NAMES)
def test_quoted_fields_may_hold_all_of_them(table, separator):
    field = '"a, b; c | d\t""e""\nf"'
    text = f'"text, or; so|on\t"{separator}label\n{field}{separator}x\n'
    found = table(text)
    assert found.columns == ["text, or; so|on\t", "label"]
    assert found["text, or; so|on\t"].tolist() == ['a, b; c | d\t"e"\nf']


def test_others_may_stand_in_the_fields_without_quotes(table):
    assert table("text\tlabel\na, b, c\tx\nd; e\ty\n")["text"].tolist() == ["a, b, c", "d; e"]
    genres = table("title,genres\nToy Story,Comedy|Family\nHeat,Crime|Drama\n")
    assert genres["genres"].tolist() == ["Comedy|Family", "Crime|Drama"]
    assert table("id;price;label\n1;2,5;x\n2;3,0;y\n")["price"].tolist() == ["2,5", "3,0"]


def test_the_wanted_columns_decide_a_tie(table):
    text = "a,b;c\n1,2;3\n4,5;6\n"  # two columns, whichever of both it is
    assert table(text).columns == ["a", "b;c"]  # the comma, which comes first
    assert table(text, columns=["c"])["c"].tolist() == ["3", "6"]
    assert table(text, columns=["a"])["a"].tolist() == ["1", "4"]
    header = "number; title, in English; label\n"
    columns = [" title, in English"]
    assert table(header + "1;a, b;x\n", columns=columns)[columns[0]].tolist() == ["a, b"]


def test_rows_decide_where_names_do_not(table):
    found = table("name, first;name, last\nA;B\nC;D\n")
    assert found.columns == ["name, first", "name, last"]


def test_a_table_of_one_column(table):
    assert table("text\na rose\na dog\n")["text"].tolist() == ["a rose", "a dog"]
    assert table("text\na rose, red\na dog\n")["text"].tolist() == ["a rose, red", "a dog"]
    assert table("text, or so\nx, y\n", columns=["text, or so"])["text, or so"].tolist() == ["x, y"]
    with pytest.raises(DataFileError, match=r"t.csv:1: .* 'a:b', which is the only one: --delim"):
        table("a:b\n1:2\n", columns=["a"])
    assert table("a:b\n1:2\n", columns=["a"], delimiter=":")["a"].tolist() == ["1"]


def test_a_row_far_below_does_not_count(table):
    text = "a;b\n" + "1;2,5\n" * 100
    assert table(text + "x,y\n".replace(",", ";"))["a"].tolist()[-1] == "x"
    with pytest.raises(DataFileError, match=r"t.csv:102: 1 field, but the header has 2; .*semicol"):
        table(text + "x,y\n")


@pytest.mark.parametrize("separator", NAMES)
def test_a_row_of_other_length_names_the_separator(table, separator):
    text = "a,b\n1,2\n3,4,5\n".replace(",", separator)
    named = rf"t.csv:3: 3 fields, but the header has 2; a field with a {NAMES[separator]} .* quotes"
    with pytest.raises(DataFileError, match=f"{named}; --delimiter .* sets the separator$"):
        table(text)
    with pytest.raises(DataFileError, match=f"{named}$"):  # whoever gave it knows of it
        table(text, delimiter=separator)


def test_a_given_one_is_used(table):
    assert table("a,b|c\n1,2|3\n", delimiter="|").columns == ["a,b", "c"]
    assert table("a~b\n1~2\n", delimiter="~").columns == ["a", "b"]
    assert table("a;b\n1;2\n", name="t.tsv", delimiter=";").columns == ["a", "b"]
    assert table("a,b\n1,2\n", name="t.tsv").columns == ["a,b"]  # which the name says
    assert table("a|b\n1|2\n", name="t.dat", delimiter="|").columns == ["a", "b"]


@pytest.mark.parametrize("wrong", ["", "||", '"', "\n", 7])
def test_what_cannot_be_one(table, wrong):
    with pytest.raises(ValueError, match="delimiter must be one character"):
        table("a,b\n1,2\n", delimiter=wrong)
    with pytest.raises(ValueError, match="for CSV and TSV, not for jsonl"):
        table('{"a": 1}\n', name="t.jsonl", delimiter=",")


@pytest.mark.parametrize("ending", ["xlsx", "xls", "XLSX", "ods"])
def test_spreadsheets_are_refused_with_the_remedy(tmp_path, ending):
    (tmp_path / f"t.{ending}").write_bytes(b"PK\3\4")
    with pytest.raises(DataFileError, match=rf"t.{ending}: spreadsheets .*export it as CSV"):
        read_table(tmp_path / f"t.{ending}")
