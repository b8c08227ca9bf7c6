"""Measured runs, data sets and command lines, for every benchmark."""
