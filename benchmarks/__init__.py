"""multimargin next to its peers, and what it promises about speed and memory, on this machine.

``python -m benchmarks`` prints the table of the peers, ``python -m benchmarks.bars`` runs the
bars, ``python -m benchmarks.matrix`` each formulation next to LIBLINEAR or another of ours on
small sets, ``python -m benchmarks.nine`` the error of every formulation at a tuned C, ``python -m
benchmarks.curves`` the gap over time and the growth with classes, samples and non-zeros, ``python
-m benchmarks.scaling`` the curve over threads, ``python -m benchmarks.scale`` the sizes of the
LSHTC sets, ``python -m benchmarks.bars.svmlight_reader`` the reader.
``python -m benchmarks.stress`` measures nothing: it tries to break the certificate. The paper's
own tables are made by ``python -m reproduction``.
"""
