"""Tables for models that make their features themselves."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from multimargin.cli.support._labels import labelled_rows
from multimargin.parallel._agreement import raise_on_all
from multimargin.tables import read_table
from multimargin.tables._read import FORMATS, table_format


def read_raw(
    model: Any,
    model_path: str,
    path: str,
    *,
    labelled: bool,
    text: tuple[str, ...] | None = None,
    label: str | None = None,
    format: str | None = None,
    encoding: str | None = None,
    skip_unlabelled: bool = False,
) -> tuple[Any, NDArray[Any] | None, int]:
    """What the model takes of a table, the labels, and how many rows were left out.

    Called by all ranks.

    Parameters
    ----------
    model : DistributedModel
        With `features_`.
    labelled : bool
        Whether labels are read; then there must be some.
    text : tuple of str, default=None
        The column with the texts, where it has another name than in the training data.
    label : str, default=None
        The column with the labels; by default the one of the training data.
    skip_unlabelled : bool, default=False
        Whether to leave rows without a label out.

    Returns
    -------
    X : Table or ndarray of str
    y : ndarray or None
    skipped : int
        Rows without a label.
    """
    _check_recorded(model.preprocessing_, model_path)
    if format is None and table_format(path) is None:
        raise ValueError(
            f"{path}: {model_path} takes tables, and the name does not tell which this is: give "
            f"--format {'|'.join(FORMATS)}"
        )
    wanted, renamed = _columns(model, model_path, text)
    column = (label or model.preprocessing_.get("label")) if labelled else None
    if labelled and column is None:
        raise ValueError("say which column holds the labels: --label COLUMN")
    with raise_on_all(model.comm):
        more = [] if column is None else [column]
        table = read_table(path, [*wanted, *more], format=format, encoding=encoding or "utf-8")
        y, skipped = None, 0
        if column is not None:
            table, y, skipped = labelled_rows(table, column, skip_unlabelled=skip_unlabelled)
    return (table[renamed] if renamed is not None else table), y, skipped


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
