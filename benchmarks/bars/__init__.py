"""What multimargin promises about speed, memory and equal bits: ``python -m benchmarks.bars``."""
