"""Names for the compiled classes, which exist once per value and index type."""

from __future__ import annotations

from typing import TypeAlias

from multimargin import _core

Samples: TypeAlias = (
    _core.SamplesF32I32 | _core.SamplesF32I64 | _core.SamplesF64I32 | _core.SamplesF64I64
)
OneVsRest: TypeAlias = (
    _core.OneVsRestF32I32 | _core.OneVsRestF32I64 | _core.OneVsRestF64I32 | _core.OneVsRestF64I64
)
LeeLinWahba: TypeAlias = (
    _core.LeeLinWahbaF32I32
    | _core.LeeLinWahbaF32I64
    | _core.LeeLinWahbaF64I32
    | _core.LeeLinWahbaF64I64
)
