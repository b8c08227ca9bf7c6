"""The paper's figure "Speed-up averaged over 10 repetitions respectively in the number of cores".

Ten iterations over LSHTC-large at C = 1 without shrinking. MC is one machine; MPI-2 and MPI-4 have
the cores spread evenly over two and four machines. All are relative to MC on one core.
"""

from __future__ import annotations

DATASET = "lshtc-large"
PASSES = 10
LOG_C = 0.0
CORES = (1, 2, 4, 8, 16, 32)

SPEEDUP: dict[str, dict[int, dict[int, float]]] = {
    # By formulation, machines (ranks here; 1 is MC), and cores in all.
    "llw": {
        1: {1: 1.00, 2: 1.43, 4: 2.69, 8: 4.78, 16: 8.77},
        2: {2: 1.94, 4: 2.85, 8: 5.21, 16: 8.99, 32: 16.45},
        4: {4: 3.67, 8: 5.42, 16: 10.21, 32: 18.10},
    },
    "ww": {
        1: {1: 1.00, 2: 1.04, 4: 1.73, 8: 2.92, 16: 4.81},
        2: {2: 1.83, 4: 1.91, 8: 3.09, 16: 4.80, 32: 7.01},
        4: {4: 3.25, 8: 3.46, 16: 5.20, 32: 7.49},
    },
}


def curve(formulation: str, ranks: int) -> str:
    """Return the name in the figure's legend, such as "WW-MPI-2"."""
    return f"{formulation.upper()}-MC" if ranks == 1 else f"{formulation.upper()}-MPI-{ranks}"
