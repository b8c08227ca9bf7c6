"""Measure fits: their data, the machine, and processes and ranks of their own."""
