"""Exact multi-class support vector machines for thousands of classes."""

__version__ = "0.1.0"

__all__ = ["__version__"]
