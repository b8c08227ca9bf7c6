"""The experiments of *Distributed Optimization of Multi-Class SVMs*, made again.

``python -m reproduction`` in the root of the repository runs them. `experiments` has one file per
experiment, `paper` the figures that were printed, `runner` measures and keeps results, `report`
shows them.
"""
