"""The matrix: each formulation next to a rival on small sets: ``python -m benchmarks.matrix``."""
