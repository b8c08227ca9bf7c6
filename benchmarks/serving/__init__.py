"""Requests a second of ``multimargin serve``: ``python -m benchmarks.serving``."""
