"""Run what experiments plan, and keep the results."""
