"""The paper's figure "Training time averaged over 10 repetitions per C".

Sixteen cores: OVR (LIBLINEAR's multi-core solver of the hinge loss) and WW-MC on one machine,
WW-MPI-2 on two machines with 8 each, WW-MPI-4 on four with 4 each; CS is LIBLINEAR's, which has one
thread. All stop at a violation of 0.1. (The figure's source has one more column for LSHTC-large,
WWMPIL, which is not drawn.)
"""

from __future__ import annotations

CORES = 16
TOL = 0.1
LOG_C = (-2, -1, 0, 1)
METHODS = ("OVR", "CS", "WW-MC", "WW-MPI-2", "WW-MPI-4")

SECONDS: dict[str, dict[str, tuple[float, float, float, float]]] = {
    # By data set and method; one for each of LOG_C.
    "lshtc-large": {
        "OVR": (4072.47, 3024.74, 3097.85, 3099.62),
        "CS": (1311.25, 2267.25, 3512.93, 4659.54),
        "WW-MC": (534.61, 801.65, 1078.32, 1379.97),
        "WW-MPI-2": (897.32, 1046.06, 1623.74, 2681.47),
        "WW-MPI-4": (949.79, 955.94, 1610.36, 3016.48),
    },
    "lshtc-2011": {
        "OVR": (28825.69, 24771.76, 23894.07, 25600.86),
        "CS": (11277.34, 17609.56, 26341.08, 32904.49),
        "WW-MC": (3485.23, 6508.54, 11361.44, 21257.55),
        "WW-MPI-2": (5963.24, 6882.01, 12516.90, 26354.00),
        "WW-MPI-4": (4699.54, 6240.57, 12522.83, 27585.64),
    },
}
