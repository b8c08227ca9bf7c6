"""Probabilities from scores."""
