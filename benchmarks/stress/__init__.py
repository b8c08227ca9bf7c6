"""Random fits that try to break the certificate: ``python -m benchmarks.stress``."""
