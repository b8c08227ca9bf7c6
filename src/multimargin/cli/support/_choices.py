"""Names that options offer. Help must not import what computes, so they stand here once more;
``tests/cli/test_help.py`` compares them with the package.
"""

from __future__ import annotations

FORMULATIONS = {
    "ww": "Weston-Watkins",
    "cs": "Crammer-Singer",
    "llw": "Lee-Lin-Wahba",
    "ovr": "One-vs-rest",
    "adm": "Absolute margins, discriminative maximum",
    "ats": "Absolute margins, total sum",
    "atm": "Absolute margins, total maximum",
    "mmr": "Max-margin regression",
    "rm": "Reinforced multicategory SVM",
}
TRIED = ("ww", "cs", "ovr")  # by `tune`, where no formulations are asked for
SOLVERS = ("auto", "passes", "block", "alternating", "extrapolated")
NORMS = ("none", "l2")
ANALYZERS = ("word", "char", "char_wb")
FEATURES = ("tfidf", "embedding", "both")
FORMATS = ("csv", "tsv", "jsonl", "parquet")
WEIGHTS = ("float16", "float32")
MEASURES = ("error", "mean-cost", "micro-f1", "macro-f1", "top-k")
MOST_BYTES, RATE = 1 << 20, 100.0  # of requests to the server
