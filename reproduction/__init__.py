"""The experiments of *Distributed Optimization of Multi-Class SVMs*, made again.

Each experiment is one file with a subclass of `Experiment`; the paper's figures for it are in
`reproduction.paper`. What was measured is kept as it comes, so that an interrupted run
goes on where it stopped.
"""
