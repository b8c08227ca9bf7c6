"""The formulations, by name. A new one is a file here and a header in ``src/core``."""

from multimargin.formulations._adm import AbsoluteDiscriminativeMax
from multimargin.formulations._atm import AbsoluteTotalMax
from multimargin.formulations._ats import AbsoluteTotalSum
from multimargin.formulations._base import Formulation, OwnClass
from multimargin.formulations._cs import CrammerSinger
from multimargin.formulations._llw import LeeLinWahba
from multimargin.formulations._mmr import MaxMarginRegression
from multimargin.formulations._ovr import OneVsRest
from multimargin.formulations._registry import FORMULATIONS, register
from multimargin.formulations._rm import Reinforced
from multimargin.formulations._ww import WestonWatkins

for _kind in (
    *(WestonWatkins, CrammerSinger, LeeLinWahba, OneVsRest),
    *(AbsoluteDiscriminativeMax, AbsoluteTotalSum, AbsoluteTotalMax),
    *(MaxMarginRegression, Reinforced),
):
    register(_kind)

__all__ = [
    "FORMULATIONS",
    "AbsoluteDiscriminativeMax",
    "AbsoluteTotalMax",
    "AbsoluteTotalSum",
    "CrammerSinger",
    "Formulation",
    "LeeLinWahba",
    "MaxMarginRegression",
    "OneVsRest",
    "OwnClass",
    "Reinforced",
    "WestonWatkins",
    "register",
]
