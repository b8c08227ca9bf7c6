"""The state of a run on disk, to go on from after a rank died."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from multimargin._communicator import Communicator

Part = Mapping[str, NDArray[Any]]


class Checkpoints:
    """Checkpoints of one run in one folder."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        every: float,
        comm: Communicator,
        identity: Mapping[str, Any],
    ) -> None:
        raise NotImplementedError
