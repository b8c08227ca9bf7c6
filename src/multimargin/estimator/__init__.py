"""MulticlassSVC and all that stands between it and a solver."""
