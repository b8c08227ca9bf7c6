"""Gap over time, and growth with size: ``python -m benchmarks.curves``."""
