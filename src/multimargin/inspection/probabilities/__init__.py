"""Reports and sets of calibrated models."""
