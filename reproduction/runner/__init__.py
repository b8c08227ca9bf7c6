"""Run what experiments plan, and keep what they measure."""
