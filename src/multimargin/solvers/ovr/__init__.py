"""One-vs-rest: binary machines, several classes at a time."""
