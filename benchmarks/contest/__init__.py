"""multimargin next to its peers: the table of ``python -m benchmarks``."""
