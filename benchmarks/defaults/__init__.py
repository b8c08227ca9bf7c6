"""The study that the defaults come from: ``python -m benchmarks.defaults``."""
