"""The table of the paper's appendix that validates its solvers (tab:smallDataResultsAll).

Test error and model density in percent, of the paper's solver (D) and of the Shark library's (S),
for Lee-Lin-Wahba and Weston-Watkins; means of ten runs that differ in the order of the samples.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Solver = Literal["D", "S"]
SOLVERS: tuple[Solver, ...] = ("D", "S")
FORMULATIONS = ("llw", "ww")
LOG10_C = (-1, 0, 1)
STOP = 1e-3
"""Largest projected gradient at which the solvers stop."""

SETS = {
    "sensit-combined": "SensIT v.(com.)",
    "xcsvm-glass": "glass",
    "xcsvm-iris": "iris",
    "letter": "letter",
    "news20": "news20",
    "rcv1": "rcv1",
    "satimage": "satimage",
    "xcsvm-splice": "splice",
    "usps": "usps",
}
"""Names of the catalogue and the paper's, in the paper's order."""


class Figures(NamedTuple):
    """The paper's figures for one solver, in percent."""

    error: float
    density: float


# As printed: for log10 C = -1, 0, 1 the error and the density of D-LLW, S-LLW, D-WW, S-WW.
_PRINTED = {
    "sensit-combined": """
        21.34 100.0  21.34 100.0  19.88 100.0  19.88 100.0
        20.95 100.0  20.95 100.0  19.51 100.0  19.51 100.0
        20.78 100.0  20.78 100.0  19.38 100.0  19.38 100.0""",
    "xcsvm-glass": """
        66.67 100.0  66.67 100.0  38.10 100.0  38.10 100.0
        61.90 100.0  61.90 100.0  19.05 100.0  19.05 100.0
        33.33 100.0  33.33 100.0  19.05 100.0  19.05 100.0""",
    "xcsvm-iris": """
        13.33 100.0  13.33 100.0   6.67 100.0   6.67 100.0
        26.67 100.0  26.67 100.0  13.33 100.0  13.33 100.0
        26.67 100.0  26.67 100.0  13.33 100.0  13.33 100.0""",
    "letter": """
        87.04 100.0  87.04 100.0  28.25 100.0  28.26 100.0
        87.24 100.0  87.24 100.0  29.04 100.0  29.03 100.0
        61.91 100.0  87.24 100.0  28.92 100.0  28.93 100.0""",
    "news20": """
        29.23 97.24  29.23 97.24  15.32 51.16  15.30 49.72
        22.97 97.24  22.97 97.24  14.80 44.74  14.80 42.70
        16.15 97.17  16.15 97.04  15.98 45.97  15.98 43.47""",
    "rcv1": """
        47.96 78.00  47.96 78.00  11.31 26.42  11.31 23.45
        33.27 78.00  33.41 77.98  11.52 22.93  11.52 20.12
        12.03 78.00  12.03 77.98  12.03 23.05  12.03 20.06""",
    "satimage": """
        26.75 100.0  26.73 100.0  15.80 100.0  15.80 100.0
        26.80 100.0  26.80 100.0  15.47 100.0  15.53 100.0
        26.90 100.0  26.90 100.0  15.96 100.0  16.00 100.0""",
    "xcsvm-splice": """
        16.29 100.0  16.37 100.0  16.16 100.0  16.16 100.0
        16.09 100.0  16.15 100.0  16.37 100.0  16.28 100.0
        16.34 100.0  16.28 100.0  16.32 100.0  16.24 100.0""",
    "usps": """
        31.84 100.0  31.84 100.0   8.17 100.0   8.17 100.0
        30.09 100.0  30.04 100.0   9.37 100.0   9.37 100.0
        28.00 100.0  28.00 100.0  10.51 100.0  10.51 100.0""",
}


def _parsed() -> dict[tuple[str, str, int, Solver], Figures]:
    parsed = {}
    for name, printed in _PRINTED.items():
        values = iter(map(float, printed.split()))
        for log_c in LOG10_C:
            for formulation in FORMULATIONS:
                for solver in SOLVERS:
                    parsed[name, formulation, log_c, solver] = Figures(next(values), next(values))
    return parsed


TABLE = _parsed()
"""By name of the catalogue, formulation, log10 C and solver."""
