"""Solvers: from a problem to weights, dual variables and a certificate."""
