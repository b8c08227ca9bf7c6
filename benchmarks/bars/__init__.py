"""The promises of multimargin about speed, memory and equal bits: ``python -m benchmarks.bars``."""
