"""What multimargin promises about speed and memory, measured on this machine.

``python -m benchmarks`` runs the bars, ``python -m benchmarks.scaling`` the curve over threads,
``python -m benchmarks.svmlight_reader`` the data reader, ``python -m benchmarks.paper_validation``
the test errors of a published table.
"""
