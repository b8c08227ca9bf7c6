"""Names for the compiled classes, which exist once per value and index type."""

from __future__ import annotations

from typing import TypeAlias

from multimargin import _core

Rows: TypeAlias = (
    _core.RowsF32I32
    | _core.RowsF32I64
    | _core.RowsF32Dense
    | _core.RowsF64I32
    | _core.RowsF64I64
    | _core.RowsF64Dense
)
Samples: TypeAlias = (
    _core.SamplesF32I32
    | _core.SamplesF32I64
    | _core.SamplesF32Dense
    | _core.SamplesF64I32
    | _core.SamplesF64I64
    | _core.SamplesF64Dense
)
OneVsRest: TypeAlias = (
    _core.OneVsRestF32I32
    | _core.OneVsRestF32I64
    | _core.OneVsRestF32Dense
    | _core.OneVsRestF64I32
    | _core.OneVsRestF64I64
    | _core.OneVsRestF64Dense
)
LeeLinWahba: TypeAlias = (
    _core.LeeLinWahbaF32I32
    | _core.LeeLinWahbaF32I64
    | _core.LeeLinWahbaF32Dense
    | _core.LeeLinWahbaF64I32
    | _core.LeeLinWahbaF64I64
    | _core.LeeLinWahbaF64Dense
)
