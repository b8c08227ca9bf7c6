"""Trained models: scores, files, pruning, other formats."""
