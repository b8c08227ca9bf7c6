"""The formulations, by name. A new one is a file here and a header in ``src/core``."""

from multimargin.formulations._base import Formulation
from multimargin.formulations._cs import CrammerSinger
from multimargin.formulations._llw import LeeLinWahba
from multimargin.formulations._ovr import OneVsRest
from multimargin.formulations._ww import WestonWatkins

FORMULATIONS: dict[str, type[Formulation]] = {
    f.name: f for f in (WestonWatkins, CrammerSinger, LeeLinWahba, OneVsRest)
}

__all__ = [
    "FORMULATIONS",
    "CrammerSinger",
    "Formulation",
    "LeeLinWahba",
    "OneVsRest",
    "WestonWatkins",
]
