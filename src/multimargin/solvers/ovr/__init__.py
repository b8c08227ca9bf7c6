"""One-vs-rest: binary problems, several classes at a time."""
