"""The experiments of *Distributed Optimization of Multi-Class SVMs*, made again.

``python -m reproduction`` in the root of the repository runs them. Its folders, of which each
imports only those below it:

- `report` shows results: a page, figures, tables, CSV and JSON;
- `runner` makes the planned runs and keeps their results;
- `experiments` has a file for each experiment;
- `measuring` measures a fit;
- `interface` says what an experiment, a run and a table are; `paper` has the printed figures.
"""
