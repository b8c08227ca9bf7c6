"""Types of the compiled module."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer

class SvmlightParseError(ValueError):
    """Raised with ``args == (line, column, message)``."""

def parse_svmlight(
    source: Buffer,
    *,
    n_features: int = -1,
    double_precision: bool = False,
    zero_based: bool = False,
    ignore_extra_features: bool = False,
    n_threads: int = 1,
    block_bytes: int = 1048576,
) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[Any], int, NDArray[Any]]: ...
