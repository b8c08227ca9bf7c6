"""Tables of texts: CSV, TSV, JSON lines and Parquet."""

from multimargin.tables._read import read_table
from multimargin.tables._table import Table

__all__ = ["Table", "read_table"]
