"""Tables for models that make their features themselves."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from multimargin._agreement import agreed
from multimargin.cli._labels import labelled_rows
from multimargin.tables import Table, read_table
from multimargin.tables._read import FORMATS, table_format
from multimargin.tables._records import MissingColumnError


def read_raw(
    model: Any,
    model_path: str,
    path: str,
    *,
    text: tuple[str, ...] | None = None,
    label: str | None = None,
    labelled: bool | None = None,
    format: str | None = None,
    encoding: str | None = None,
    skip_unlabelled: bool = False,
) -> tuple[Any, NDArray[Any] | None]:
    """What the model takes of a table, and the labels. Called by all ranks.

    Parameters
    ----------
    model : DistributedModel
        With `features_`.
    text : tuple of str, default=None
        The column with the texts, where it has another name than in the training data.
    label : str, default=None
        The column with the labels; by default the one of the training data.
    labelled : bool or None, default=None
        Whether there must be labels. None: they are read if there is such a column.
    skip_unlabelled : bool, default=False
        Whether to leave rows without a label out.

    Returns
    -------
    X : Table or ndarray of str
    y : ndarray or None
    """
    _check_recorded(model.preprocessing_, model_path)
    if format is None and table_format(path) is None:
        raise ValueError(
            f"{path}: {model_path} takes tables, and the name does not tell which this is: give "
            f"--format {'|'.join(FORMATS)}"
        )
    wanted, renamed = _columns(model, model_path, text)
    column = label or model.preprocessing_.get("label")
    if labelled and column is None:
        raise ValueError("say which column holds the labels: --label COLUMN")
    with agreed(model.comm):
        table, column = _read(path, wanted, column, labelled, format, encoding)
        y = None
        if column is not None:
            table, y, _ = labelled_rows(table, column, skip_unlabelled=skip_unlabelled)
    return (table[renamed] if renamed is not None else table), y


def _check_recorded(recorded: dict[str, Any], model_path: str) -> None:
    for name, value in recorded.items():
        if name != "label":
            raise ValueError(
                f"{model_path}: the model was trained on samples with {name}={value!r}, which "
                "this command cannot repeat; load the model in Python with multimargin.load_model"
            )


def _columns(
    model: Any, model_path: str, text: tuple[str, ...] | None
) -> tuple[list[str], str | None]:
    """The columns to read; and that of the texts alone, where its name is not the model's."""
    texts, numeric, categorical = model.features_.column_names()
    needed = [*texts, *numeric, *categorical]
    if not needed and text is None:
        raise ValueError(
            f"{model_path} was trained on texts without columns: say which column holds them, "
            "--text COLUMN"
        )
    if text is None or text == texts:
        return needed, None
    if len(needed) > 1 or len(text) > 1:
        listed = ", ".join(repr(name) for name in needed)
        raise ValueError(f"{model_path} was trained on the columns {listed}; --text cannot rename")
    return [text[0]], text[0]


def _read(
    path: str,
    wanted: list[str],
    label: str | None,
    labelled: bool | None,
    format: str | None,
    encoding: str | None,
) -> tuple[Table, str | None]:
    encoding = encoding or "utf-8"
    if label is None or labelled is False:
        return read_table(path, wanted, format=format, encoding=encoding), None
    if labelled:
        return read_table(path, [*wanted, label], format=format, encoding=encoding), label
    try:
        return read_table(path, [*wanted, label], format=format, encoding=encoding), label
    except MissingColumnError:  # that of the labels; or another one, of which this tells
        return read_table(path, wanted, format=format, encoding=encoding), None
