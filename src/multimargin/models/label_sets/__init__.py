"""Samples with sets of labels: as users give them, as models predict them, and measured."""
