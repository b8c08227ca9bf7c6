"""Show results: a page, figures, tables on a terminal, CSV and JSON."""
