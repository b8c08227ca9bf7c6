"""The nouns of an experiment: its runs, and the tables and figures that it shows."""
